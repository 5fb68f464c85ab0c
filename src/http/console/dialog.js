// Commands: a button that knows whether the token may, asks before it does harm, and says what came
// of it.

import { ApiError, post, signOut, whyNot } from "./api.js";
import { field, h, setAttribute } from "./dom.js";

const SHOWN_MS = 6000;

/** A short message at the edge of the window, read out politely. */
export function toast(text, tone = "quiet") {
  const message = h("div", { class: `toast ${tone}` }, text);
  document.getElementById("toasts").append(message);
  setTimeout(() => message.remove(), tone === "bad" ? 2 * SHOWN_MS : SHOWN_MS);
}

/**
 * Asks before something is done; gives false, or true, or which of the `options` was chosen. `typed`
 * must be typed for what cannot be undone.
 */
export function confirm({ title, text, action, typed = null, options = null }) {
  return new Promise((resolve) => {
    const go = h("button", { class: options ? "primary" : "danger", type: "button", disabled: typed !== null }, action);
    const select = options && h("select", {}, options.values().map((name) => h("option", {}, name)));
    const input = typed && h("input", {
      type: "text", autocomplete: "off", spellcheck: "false",
      oninput: () => { go.disabled = input.value.trim() !== typed; },
      onkeydown: (event) => { if (event.key === "Enter" && !go.disabled) end(true); },
    });
    const dialog = h("dialog", { "aria-labelledby": "dialog-title", "aria-describedby": "dialog-text" },
      h("h2", { id: "dialog-title" }, title),
      h("p", { id: "dialog-text" }, text),
      typed && field(`Type ${typed} to confirm`, input),
      options && field(options.label, select),
      h("div", { class: "buttons" },
        h("button", { type: "button", onclick: () => end(false) }, "Cancel"), go));
    const end = (yes) => {
      dialog.close();
      dialog.remove();
      resolve(yes && select ? select.value : yes);
    };
    go.addEventListener("click", () => end(true));
    dialog.addEventListener("cancel", (event) => {
      event.preventDefault();
      end(false);
    });
    document.body.append(dialog);
    dialog.showModal();
    (input ?? select)?.focus();
  });
}

/**
 * A button for a command. One that the token may not use stays reachable and says why.
 * `ask` is what `confirm` takes, `body` makes the body of its answer; `send` is how it is given; `said` is told when
 * it is done.
 */
export function command({ label, needs = "operate", path, send = post, ask = null, said, body = null, tone = "", after = null, describe = null }) {
  const reason = whyNot(needs);
  const button = h("button", { type: "button", class: `small ${tone}`, "aria-label": describe, onclick: run }, label);
  setAttribute(button, "aria-disabled", reason ? "true" : null);
  setAttribute(button, "title", reason);
  async function run() {
    if (reason) return toast(reason, "warn");
    if (button.getAttribute("aria-busy")) return undefined;
    const answer = ask ? await confirm(ask) : true;
    if (!answer) {
      button.focus();
      return undefined;
    }
    button.setAttribute("aria-busy", "true");
    try {
      const done = await send(path, body?.(answer));
      toast(typeof said === "function" ? said(done) : said, "good");
      await after?.(done);
    } catch (error) {
      failed(error);
    } finally {
      button.removeAttribute("aria-busy");
    }
    return undefined;
  }
  return button;
}

/** A button for what needs the role admin; it says why the token may not use it. */
export function action(label, run, describe = null) {
  const reason = whyNot("admin");
  const click = () => (reason ? toast(reason, "warn") : run());
  return h("button", { type: "button", class: "small", title: reason, "aria-disabled": reason && "true", "aria-label": describe, onclick: click }, label);
}

/** Tells of a request that failed; a token that is over leads back to the door. */
export function failed(error) {
  if (error instanceof ApiError && error.status === 401) {
    signOut("The token is not accepted any more. Sign in again.");
  } else if (error instanceof ApiError && error.status === 403) {
    toast(`Not allowed: ${error.message}`, "warn");
  } else {
    toast(error.message, "bad");
  }
}
