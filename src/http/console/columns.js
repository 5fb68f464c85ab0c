// Which columns a list shows: whoever looks at it chooses, and this browser remembers.

import { h } from "./dom.js";

const KEY = "smsc.columns";

/** What was chosen: by list and title, whether the column is shown. What is no such record counts as nothing. */
function chosen() {
  try {
    const all = JSON.parse(localStorage.getItem(KEY));
    return new Map(Object.entries(all ?? {}).map(([list, columns]) => [list, new Map(Object.entries(columns ?? {}))]));
  } catch {
    return new Map();
  }
}

function keep(list, own) {
  // Other tabs may have chosen for other lists meanwhile.
  const all = chosen().set(list, own);
  try {
    localStorage.setItem(KEY, JSON.stringify(Object.fromEntries([...all].map(([name, columns]) => [name, Object.fromEntries(columns)]))));
  } catch {
    // A browser that keeps nothing shows it until the page is left.
  }
}

/**
 * The choice of the list of this name, for `table`. The first column is always shown; one with `isExtra` only when it is
 * chosen. What was chosen for a column that is there no longer does nothing.
 */
export function columnChoice(list) {
  const own = chosen().get(list) ?? new Map();
  const boxes = h("div", { class: "buttons" });
  const element = h("details", { class: "column-choice" }, h("summary", {}, "Columns"), boxes);
  const isShown = ({ title, isExtra }) => (own.has(title) ? own.get(title) === true : !isExtra);
  return {
    element,
    of: (all) => all.filter((column, at) => at === 0 || isShown(column)),
    /** `lay` shows the list anew. */
    begin(all, lay) {
      // A closed one costs no elements.
      element.addEventListener("toggle", () => boxes.replaceChildren(...(element.open ? all.slice(1).map((column) => check(column, lay)) : [])));
    },
  };

  function check(column, lay) {
    const box = h("input", { type: "checkbox", checked: isShown(column), onchange: () => {
      own.set(column.title, box.checked);
      keep(list, own);
      lay();
    } });
    return h("label", {}, box, column.title);
  }
}
