// Entries of a list that are ticked, and orders that go to all of them, one after another.

import { may, post } from "./api.js";
import { confirm, toast } from "./dialog.js";
import { h, setText } from "./dom.js";
import { number } from "./format.js";

/** Most names that a question lists. */
const NAMED = 10;

/**
 * `orders` are `{ label, text }`, `path(name, order)` is where one is given for an entry, `what` what they are called, and
 * `shown()` gives the names on the page. Gives `box(name)`, a box to tick, and the bar with the orders, which is there while
 * something is ticked; ticks stay when another page is turned to.
 */
export function ticks({ what, orders, path, shown }) {
  const ticked = new Set();
  const boxes = new Map();
  const said = h("span", { role: "status" });
  const give = orders.map((order) => h("button", { type: "button", class: "small", onclick: () => run(order) }, `${order.label} ticked`));
  const bar = h("div", { class: "card-head", hidden: true }, said,
    h("div", { class: "buttons" }, ...give,
      h("button", { type: "button", class: "small", onclick: () => set(shown(), true) }, "Tick the page"),
      h("button", { type: "button", class: "small", onclick: () => set([...ticked], false) }, "Untick all")));

  function tell() {
    bar.hidden = ticked.size === 0;
    setText(said, `${number(ticked.size)} ${what} ticked`);
  }

  function set(names, isTicked) {
    for (const name of names) {
      if (isTicked) ticked.add(name);
      else ticked.delete(name);
      const box = boxes.get(name);
      if (box) box.checked = isTicked;
    }
    tell();
  }

  async function run(order) {
    const names = [...ticked].toSorted();
    const first = names.slice(0, NAMED).join(", ");
    const rest = names.length > NAMED ? ` and ${number(names.length - NAMED)} more` : "";
    if (!await confirm({ title: `${order.label} ${number(names.length)} ${what}?`, text: `${order.text} ${first}${rest}.`, action: order.label })) return;
    for (const button of give) button.disabled = true;
    const refused = [];
    for (const name of names) {
      try {
        await post(path(name, order));
        set([name], false);
      } catch (error) {
        refused.push(`${name}: ${error.message}`);
      }
    }
    for (const button of give) button.disabled = false;
    if (refused.length) toast(`${number(refused.length)} of ${number(names.length)} were refused and stay ticked. ${refused[0]}`, "bad");
    else toast(`${order.label}: ordered for ${number(names.length)} ${what}`, "good");
  }

  return {
    bar,
    /** The box of an entry; nobody sees one whose token may not give the orders. */
    box(name) {
      const box = h("input", { type: "checkbox", "aria-label": `Tick ${name}`, hidden: !may("operate"), onchange: () => set([name], box.checked) });
      box.checked = ticked.has(name);
      boxes.set(name, box);
      return box;
    },
  };
}
