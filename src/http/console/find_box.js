// One box for whatever somebody has in hand: a number, a message id, a bind, an account, an operator, an error, a key of the
// configuration, or a word of the manual. The server searches, a few of each kind; Enter goes to the first one.

import { get } from "./api.js";
import { failed } from "./dialog.js";
import { h, setAttribute, setText } from "./dom.js";
import { hasPlace, pageOf, placeOf, wordsOf } from "./kinds.js";
import { firstDigits } from "./view_messages.js";

/** After the last key, before the server is asked. */
const PAUSE_MS = 150;
/** The server's own limit. */
const LONGEST = 256;
/** Of each kind. */
const SHOWN = 5;
/** Signs that people write between the digits of a number. */
const BETWEEN = /[\s+().-]/g;
/** E.164 numbers have at most 15 digits: what has more is a message id. */
const NUMBER = /^\d{3,15}$/;
const ID = /^\d{16,19}$/;
const BIND = /^\d{1,3}\/\d{1,19}$/;
/** Errors that are the state of a message. */
const STATES = ["EXPIRED", "DELETED", "UNDELIVERABLE", "UNKNOWN", "REJECTED"];

/** What digits can be. */
function ofDigits(text) {
  if (BIND.test(text)) return [{ kind: "bind", name: text, href: `#/binds/${text}` }];
  const digits = text.replace(BETWEEN, "");
  if (ID.test(digits)) return [{ kind: "message", name: digits, href: `#/messages/${digits}` }];
  if (!NUMBER.test(digits)) return [];
  const to = new URLSearchParams({ to: firstDigits(digits) });
  return [
    { kind: "number", name: digits, text: "Messages to it", href: `#/messages?${to}` },
    { kind: "number", name: digits, text: "Failed messages to it", href: `#/dead-letters?${to}` },
    { kind: "number", name: digits, text: "Where it goes", href: `#/routes?${new URLSearchParams({ to: digits })}` },
  ];
}

/** What the server has found, and where it leads. */
function leading({ kind, name, text, page }) {
  if (kind === "error") {
    const asked = STATES.includes(name) ? { state: name } : { error: name === "no answer" ? "none" : name };
    return { kind, name, text, href: `#/failures?${new URLSearchParams(asked)}` };
  }
  if (kind === "key") return { kind, name, text, href: `#/config/${name.split(".")[0]}` };
  if (kind === "manual") return { kind, name, text, href: `/docs/${page}` };
  return { kind: wordsOf(kind).one, name, text, href: hasPlace(kind) ? placeOf(kind, name) : pageOf(`${kind}/${name}`) };
}

/**
 * Whether what was found has the whole name that was written, so that Enter goes there, whatever else begins so. Of digits
 * only an account or an operator comes before the number: routes are called by prefixes.
 */
function isMeant({ kind, name }, text, areDigits) {
  return name.toLowerCase() === text.toLowerCase() && (!areDigits || ["account", "operator"].includes(kind));
}

/** The box; `views` are the pages of this token, as `path` and `title`. Its `button` opens it, and so does `open`. */
export function findBox(views) {
  const button = h("button", { type: "button", class: "small find-open", "aria-haspopup": "dialog", onclick: open }, "Find ", h("kbd", {}, "Ctrl K"));
  /** Ends the box that is open. */
  let close = () => {};

  function open() {
    if (document.querySelector("dialog[open]")) return;
    const list = h("ul", { id: "find-list", class: "find-list", role: "listbox", "aria-label": "What was found", hidden: true });
    const said = h("p", { class: "quiet", role: "status" });
    const input = h("input", {
      type: "text", role: "combobox", "aria-label": "Find", "aria-controls": "find-list", "aria-expanded": "false", "aria-autocomplete": "list", autocomplete: "off", spellcheck: "false",
      maxlength: LONGEST, placeholder: "Number, id, account, operator, error, key, word", oninput: soon, onkeydown: onKey,
    });
    const dialog = h("dialog", { class: "find", "aria-label": "Find", onclose: left, onclick: (event) => { if (event.target === dialog) dialog.close(); } },
      h("div", { class: "find-head" }, input, h("button", { type: "button", class: "small", onclick: () => dialog.close() }, "Close")), list, said);
    let items = [];
    let active = 0;
    let timer = null;
    let asked = 0;
    /** What the list is about. */
    let shownFor = "";
    const end = () => dialog.close();
    close = end;
    // Back and forward of the browser lead to another page, which the box must not hide.
    addEventListener("hashchange", end);

    function left() {
      clearTimeout(timer);
      removeEventListener("hashchange", end);
      dialog.remove();
    }

    function show(text, found) {
      shownFor = text;
      items = found;
      active = 0;
      list.replaceChildren(...items.map((item, at) => h("li", { id: `find-${at}`, role: "option", "aria-selected": "false", onclick: () => go(item) },
        h("span", { class: "find-kind" }, item.kind), " ", h("span", { class: "find-name" }, item.name), " ", item.text && h("span", { class: "find-text" }, item.text))));
      list.hidden = items.length === 0;
      setAttribute(input, "aria-expanded", String(items.length > 0));
      mark();
    }

    function mark() {
      [...list.children].forEach((one, at) => setAttribute(one, "aria-selected", String(at === active)));
      setAttribute(input, "aria-activedescendant", items.length ? `find-${active}` : null);
      list.children[active]?.scrollIntoView({ block: "nearest" });
    }

    /** What is known here: digits, and pages of the console. */
    function known(text) {
      const word = text.toLowerCase();
      const fitting = views.filter(({ title }) => title.toLowerCase().includes(word)).slice(0, SHOWN);
      return { digits: ofDigits(text), pages: fitting.map(({ path, title }) => ({ kind: "page", name: title, href: `#/${path}` })) };
    }

    function soon() {
      clearTimeout(timer);
      timer = setTimeout(ask, PAUSE_MS);
    }

    async function ask() {
      asked += 1;
      const own = asked;
      const text = input.value.trim();
      if (!text) {
        show(text, []);
        setText(said, "");
        return;
      }
      const { digits, pages } = known(text);
      try {
        const { found } = await get(`/v1/find?${new URLSearchParams({ text, limit: SHOWN })}`);
        // What was typed meanwhile counts.
        if (own !== asked || !dialog.open) return;
        const all = found.map(leading);
        const isWord = ({ kind }) => ["error", "key", "manual"].includes(kind);
        const rest = [...digits, ...all.filter((one) => !isWord(one)), ...pages, ...all.filter(isWord)];
        const meant = rest.filter((one) => isMeant(one, text, digits.length > 0)).sort((one, other) => (other.name === text) - (one.name === text));
        show(text, [...meant, ...rest.filter((one) => !meant.includes(one))]);
        setText(said, items.length === 0 ? "Nothing has this name." : items.length === 1 ? "1 found" : `${items.length} found`);
      } catch (error) {
        if (own !== asked || !dialog.open) return;
        show(text, [...digits, ...pages]);
        setText(said, error.message);
        if (error.status === 401) {
          dialog.close();
          failed(error);
        }
      }
    }

    /** The first of what is written now, not of what was written before. */
    async function enter() {
      if (shownFor !== input.value.trim()) {
        clearTimeout(timer);
        await ask();
      }
      // The box was closed, or something else is written meanwhile: what is listed is not what was meant.
      if (dialog.open && shownFor === input.value.trim() && items[active]) go(items[active]);
    }

    function go({ href }) {
      dialog.close();
      if (href.startsWith("#")) location.hash = href;
      else location.assign(href);
    }

    function onKey(event) {
      const steps = { ArrowDown: 1, ArrowUp: -1 };
      // This Enter chooses a word of an input method.
      if (event.isComposing) return;
      if (event.key === "Enter") {
        event.preventDefault();
        enter();
      } else if (event.key in steps && items.length) {
        event.preventDefault();
        active = (active + steps[event.key] + items.length) % items.length;
        mark();
      }
    }

    document.body.append(dialog);
    dialog.showModal();
    input.focus();
  }

  return { button, open, close: () => close() };
}
