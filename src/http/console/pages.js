// Lists that come in pages.

import { h } from "./dom.js";

/**
 * Reads one page after another: `ask(before)` gives `next_before` and the entries as `items`, `show` gets all that
 * were read so far. `button` reads the next one, while there is one; `load(true)` begins anew; `drop` takes out an entry
 * that is there no longer.
 */
export function pages({ label, ask, show, failed }) {
  const button = h("button", { type: "button", hidden: true, onclick: () => load(false) }, label);
  let found = [];
  let before = null;
  async function load(anew) {
    button.setAttribute("aria-busy", "true");
    try {
      const page = await ask(anew ? null : before);
      found = anew ? page.items : found.concat(page.items);
      before = page.next_before;
      button.hidden = !before;
      show(found, Boolean(before));
    } catch (error) {
      failed(error);
    } finally {
      button.removeAttribute("aria-busy");
    }
  }
  function drop(entry) {
    found = found.filter((one) => one !== entry);
    if (found.length || !before) show(found, Boolean(before));
    else load(true);
  }
  return { button, load, drop };
}

/** A path with a question, 50 entries of it, and where the next page begins, as the parameter `name` says. */
export function pagePath(path, query, at, name = "before") {
  const asked = new URLSearchParams(query);
  asked.set("limit", "50");
  if (at) asked.set(name, at);
  return `${path}?${asked}`;
}
