// Commands: a button that knows whether the token may, asks before it does harm, and says what came
// of it.

import { ApiError, may, post, session, signOut } from "./api.js";
import { field, h, nothing, setText } from "./dom.js";

const SHOWN_MS = 6000;
/** How often a page that is no stream is read again. */
const AGAIN_MS = 2_000;
/** What the token may not use is not shown, whatever a page does with it. */
const FORBIDDEN = "forbidden";

/** A short message at the edge of the window, read out politely. */
export function toast(text, tone = "quiet") {
  const message = h("div", { class: `toast ${tone}` }, text);
  document.getElementById("toasts").append(message);
  setTimeout(() => message.remove(), tone === "bad" ? 2 * SHOWN_MS : SHOWN_MS);
}

/**
 * Asks before something is done; gives false, or true, or which of the `options` was chosen, or the `remark` that was
 * written, as an object. `typed` must be typed for what cannot be undone; `content` is shown below the text. Throws what `options.values` throws.
 */
export async function confirm({ title, text: said, action, typed = null, options = null, remark = null, content = null, danger = !options }) {
  const asked = location.hash;
  const choices = options && await options.values();
  // The person has gone on to another page, and does not expect this question there.
  if (location.hash !== asked) return false;
  // Of what changes while the page is open, it says how it is now.
  const text = typeof said === "function" ? said() : said;
  return new Promise((resolve) => {
    const go = h("button", { class: danger ? "danger" : "primary", type: "button", disabled: typed !== null }, action);
    const select = choices && h("select", {}, choices.map((name) => h("option", {}, name)));
    const input = typed && h("input", {
      type: "text", autocomplete: "off", spellcheck: "false",
      oninput: () => { go.disabled = input.value.trim() !== typed; },
      onkeydown: (event) => { if (event.key === "Enter" && !go.disabled) end(true); },
    });
    const remarks = remark && h("input", { type: "text", maxlength: "200", autocomplete: "off" });
    const dialog = h("dialog", { class: content && "wide", "aria-labelledby": "dialog-title", "aria-describedby": "dialog-text" },
      h("h2", { id: "dialog-title" }, title),
      h("p", { id: "dialog-text" }, text),
      content,
      typed && field(`Type ${typed} to confirm`, input),
      options && field(options.label, select),
      remark && field(remark, remarks),
      h("div", { class: "buttons" },
        h("button", { type: "button", onclick: () => end(false) }, "Cancel"), go));
    const end = (yes) => {
      dialog.close();
      dialog.remove();
      if (yes && remarks) return resolve({ remark: remarks.value.trim() });
      return resolve(yes && select ? select.value : yes);
    };
    go.addEventListener("click", () => end(true));
    dialog.addEventListener("cancel", (event) => {
      event.preventDefault();
      end(false);
    });
    document.body.append(dialog);
    dialog.showModal();
    (input ?? select ?? remarks ?? (content && go))?.focus();
  });
}

/**
 * A button for a command; nobody sees one that the token may not use.
 * `ask` is what `confirm` takes, `body` makes the body of its answer, and so may `path`; `send` is how it is given; `said` is told when
 * it is done, of what came of it and that answer; `toneOf` says in which tone it is told.
 */
export function command({ label, needs = "operate", path, send = post, ask = null, said, body = null, tone = "", toneOf = () => "good", after = null, describe = null }) {
  const button = h("button", { type: "button", class: may(needs) ? `small ${tone}` : FORBIDDEN, "aria-label": describe, onclick: run }, label);
  async function run() {
    if (button.getAttribute("aria-busy")) return undefined;
    button.setAttribute("aria-busy", "true");
    try {
      const answer = ask ? await confirm(ask) : true;
      if (!answer) {
        button.focus();
        return undefined;
      }
      const done = await send(typeof path === "function" ? path(answer) : path, body?.(answer));
      toast(typeof said === "function" ? said(done, answer) : said, toneOf(done));
      await after?.(done);
      // Its row may be gone, and nothing has the focus then.
      if (!button.isConnected && document.activeElement === document.body) document.querySelector("h1")?.focus({ preventScroll: true });
    } catch (error) {
      failed(error);
    } finally {
      button.removeAttribute("aria-busy");
    }
    return undefined;
  }
  return button;
}

/** A button for what needs the role admin; nobody else sees it. */
export function action(label, run, describe = null) {
  return h("button", { type: "button", class: may("admin") ? "small" : FORBIDDEN, "aria-label": describe, onclick: () => run() }, label);
}

/** A text to copy by a click. */
export function copyButton(text, label = "Copy") {
  return h("button", { type: "button", class: "small", onclick: async () => {
    try {
      await navigator.clipboard.writeText(text);
      toast("It is copied", "good");
    } catch {
      toast("The browser does not allow it: select the text and copy it", "warn");
    }
  } }, label);
}

/** A new secret, which is shown once: `place` holds it until somebody says that they have it. */
export function showSecret(place, { title, text, secret, more = null }) {
  const done = h("button", { type: "button", class: "small", onclick: () => {
    place.hidden = true;
    place.replaceChildren();
    document.querySelector("h1").focus();
  } }, "I have it");
  place.replaceChildren(h("section", { class: "card" }, h("h2", {}, title), h("p", { class: "quiet" }, text),
    h("code", { class: "secret" }, secret), more, h("div", { class: "buttons" }, copyButton(secret), done)));
  place.hidden = false;
  place.scrollIntoView({ block: "nearest" });
}

/** Tells of a request that failed; a token that is over leads back to the door. */
export function failed(error) {
  if (error instanceof ApiError && error.status === 401) {
    // An answer that comes after the sign-out disturbs nobody who signs in just now.
    if (session.token || session.name) signOut("The token is not accepted any more. Sign in again.");
  } else if (error instanceof ApiError && error.status === 403) {
    toast(`Not allowed: ${error.message}`, "warn");
  } else {
    toast(error.message, "bad");
  }
}

/** Tells beside a form why its request failed. */
export function failedAt(problem, error) {
  if (error.status === 401) failed(error);
  else setText(problem, error.message);
}

/** Why a request failed in a few words: no answer, a question that makes no sense, or the title that the server gives it. */
export function failureTitle(error) {
  if (error.status === 0) return "No answer";
  if (error.status === 400) return "The search is not understood";
  return error.problem?.title ?? "It cannot be shown";
}

/** Tells in place of the rows of a list why it cannot be shown; rows that are there stay. */
export function failedIn(list, error) {
  if (error.status === 401 || list.hasRows()) failed(error);
  else list.say(nothing(failureTitle(error), error.message));
}

/** Tells in a card why what belongs there cannot be shown. */
export function failedCard(card, error) {
  if (error.status === 401) failed(error);
  else card.replaceChildren(h("div", { class: "empty" }, nothing(failureTitle(error), error.message)));
}

/** Tells in place of a page why it cannot be shown. */
export function failedPage(page, error) {
  const card = h("section", { class: "card" });
  page.replaceChildren(card);
  failedCard(card, error);
}

/** Tells in place of the items of a list, an `ol`, why they cannot be shown. */
export function failedItems(list, error) {
  if (error.status === 401) failed(error);
  else list.replaceChildren(h("li", { class: "quiet" }, error.message));
}

/**
 * Reads now and, while somebody looks at the page, again and again; gives what ends it. `tell(error)` tells that it fails, once
 * until it works again.
 */
export function readAgain(read, tell, everyMs = AGAIN_MS) {
  let timer = null;
  let isOpen = true;
  let isReading = false;
  let isTold = false;
  async function run() {
    isReading = true;
    try {
      await read();
      isTold = false;
    } catch (error) {
      if (!isTold && isOpen) tell(error);
      isTold = true;
    }
    isReading = false;
    // Only behind the answer: a slow server does not get more and more questions at a time.
    if (isOpen && !document.hidden) timer = setTimeout(run, everyMs);
  }
  function seen() {
    clearTimeout(timer);
    if (!document.hidden && !isReading) run();
  }
  document.addEventListener("visibilitychange", seen);
  run();
  return () => {
    isOpen = false;
    clearTimeout(timer);
    document.removeEventListener("visibilitychange", seen);
  };
}
