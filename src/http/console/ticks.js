// Entries of a list that are ticked, and orders that go to all of them, one after another.

import { may, post, session } from "./api.js";
import { confirm, failed, toast } from "./dialog.js";
import { h, setText } from "./dom.js";
import { number } from "./format.js";

/** Most names that a question lists. */
const NAMED = 10;
/** Most refusals that are shown. */
const SHOWN = 20;
/** Refusals after which no other order would fare better: the server is away, nobody is signed in, the role does not suffice. */
const HOPELESS = [0, 401, 403];

/**
 * `orders` are `{ label, text }`, `path(name, order)` is where one is given for an entry, `what` what they are called, and
 * `shown()` gives the names on the page. Gives `box(name)`, a box to tick, and the bar with the orders, which is there while
 * something is ticked; ticks stay when another page is turned to. What was refused stays ticked, and the bar says why.
 */
export function ticks({ what, orders, path, shown }) {
  const ticked = new Set();
  const boxes = new Map();
  const said = h("span", { role: "status" });
  const give = orders.map((order) => h("button", { type: "button", class: "small", onclick: () => run(order) }, `${order.label} ticked`));
  const problems = h("ul", { class: "reasons" });
  const bar = h("div", { hidden: true },
    h("div", { class: "card-head" }, said,
      h("div", { class: "buttons" }, ...give,
        h("button", { type: "button", class: "small", onclick: () => set(shown(), true) }, "Tick the page"),
        h("button", { type: "button", class: "small", onclick: () => set([...ticked], false) }, "Untick all"))),
    problems);

  function tell() {
    bar.hidden = ticked.size === 0;
    if (bar.hidden) problems.replaceChildren();
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
    problems.replaceChildren();
    await giveAll(names, order);
    for (const button of give) button.disabled = false;
  }

  async function giveAll(names, order) {
    const who = session.name;
    const refused = [];
    let done = 0;
    for (const name of names) {
      // Nobody else gives what this person has ordered.
      if (session.name !== who) return;
      // Whoever unticks meanwhile means: not this one any more.
      if (!ticked.has(name)) continue;
      try {
        await post(path(name, order));
        done += 1;
        set([name], false);
      } catch (error) {
        if (session.name !== who) return;
        if (HOPELESS.includes(error.status)) {
          failed(error);
          toast(`${order.label}: ordered for ${number(done)} of ${number(names.length)} ${what}. The others stay ticked.`, "warn");
          return;
        }
        refused.push(`${name}: ${error.message}`);
      }
    }
    const more = refused.length > SHOWN ? [`and ${number(refused.length - SHOWN)} more`] : [];
    problems.replaceChildren(...[...refused.slice(0, SHOWN), ...more].map((text) => h("li", {}, text)));
    if (refused.length) toast(`${number(refused.length)} of ${number(names.length)} were refused and stay ticked; the list says why.`, "bad");
    else toast(`${order.label}: ordered for ${number(done)} ${what}`, "good");
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
