// Saved views: addresses of the console under names. This browser keeps them, for each name that signs in.

import { session } from "./api.js";
import { confirm, toast } from "./dialog.js";
import { h } from "./dom.js";

const KEY = "smsc.views";
/** Most of one person. */
const MOST = 50;

/** What is kept: `{ who, name, hash }`. What is no such record is left out: it may be of another release. */
function read() {
  try {
    const all = JSON.parse(localStorage.getItem(KEY)) ?? [];
    return all.filter((one) => typeof one?.who === "string" && typeof one.name === "string" && typeof one.hash === "string" && one.hash.startsWith("#/"));
  } catch {
    return [];
  }
}

function write(all) {
  try {
    localStorage.setItem(KEY, JSON.stringify(all));
  } catch {
    toast("This browser keeps nothing: set a bookmark instead.", "warn");
  }
}

/** The links to them, and the button that saves the page that is open. */
export function savedViews() {
  const who = session.name ?? "";
  const links = h("div", { class: "saved" });
  const element = h("div", { class: "saved" }, h("p", { class: "nav-part" }, "Saved views"), links,
    h("button", { type: "button", class: "small", onclick: add }, "Keep this view"));

  const isOwn = (one, name) => one.who === who && one.name === name;

  function show() {
    const own = read().filter((one) => one.who === who).toSorted((one, other) => one.name.localeCompare(other.name));
    links.replaceChildren(...own.map(({ name, hash }) => h("span", {}, h("a", { href: hash, title: hash }, name),
      h("button", { type: "button", class: "small", "aria-label": `Forget the view ${name}`, onclick: () => remove(name) }, "Forget"))));
  }

  function remove(name) {
    write(read().filter((one) => !isOwn(one, name)));
    show();
    element.lastElementChild.focus();
  }

  async function add() {
    const { hash } = location;
    const answer = await confirm({
      title: "Keep this view?", text: "This browser keeps the address of the page with its filter, order and search: numbers that are searched, too.",
      action: "Keep", remark: "Name", danger: false,
    });
    const name = answer?.remark;
    if (!answer) return;
    if (!name) {
      toast("A view needs a name.", "warn");
      return;
    }
    const others = read().filter((one) => !isOwn(one, name));
    if (others.filter((one) => one.who === who).length >= MOST) {
      toast(`There are ${MOST} saved views: forget one first.`, "warn");
      return;
    }
    write([...others, { who, name, hash: hash.startsWith("#/") ? hash : "#/overview" }]);
    show();
  }

  show();
  return element;
}
