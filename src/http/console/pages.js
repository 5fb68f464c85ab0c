// Lists that come in pages, the newest entry first.

import { h } from "./dom.js";

/**
 * Reads one page after another: `ask(before)` gives `next_before` and the entries as `items`, `show` gets all that
 * were read so far. `button` reads the next one, while there is one; `load(true)` begins anew.
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
  return { button, load };
}

/** A path with a question, 50 entries of it, and where the next page begins. */
export function pagePath(path, query, before) {
  const asked = new URLSearchParams(query);
  asked.set("limit", "50");
  if (before) asked.set("before", before);
  return `${path}?${asked}`;
}
