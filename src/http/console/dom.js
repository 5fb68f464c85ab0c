// Elements without a framework: make them, and change only what has changed, so that focus and
// selection survive the update of every second.

/** Makes an element. `on…` properties are listeners; null and false leave a property out. */
export function h(name, properties = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key === "class") element.className = value;
    else element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== false && child !== undefined));
  return element;
}

/** The text of a node, if it is another one. */
export function setText(node, text) {
  const wanted = String(text);
  if (node.textContent !== wanted) node.textContent = wanted;
}

/** An attribute, if it is another one; null removes it. */
export function setAttribute(element, name, value) {
  if (value === null || value === false) element.removeAttribute(name);
  else if (element.getAttribute(name) !== String(value)) element.setAttribute(name, value);
}

/** A label that says a state in a colour and in words: good, busy, warn, bad or quiet. */
export function chip(text, tone) {
  return h("span", { class: `chip ${tone}` }, text);
}

/** Makes `element` a chip with this text. */
export function setChip(element, text, tone) {
  setText(element, text);
  const wanted = `chip ${tone}`;
  if (element.className !== wanted) element.className = wanted;
}

/**
 * A table whose rows are kept by key. Each column has a `title` and either `text(row)` or
 * `render(cell, row)`, which is called again for every update and must do nothing twice; a `hidden` one is left out.
 * With `sorted` (`now()` and `set(order)`) a click on the title of a column with `sort` orders by it: `waiting`, or
 * `-waiting` for the largest first. With `choice` (columns.js) whoever looks chooses the columns.
 */
export function table({ caption, columns: given, key, empty, dense = false, sorted = null, choice = null }) {
  const all = given.filter((column) => !column.hidden);
  let columns = [];
  /** What is shown now; null for something in place of rows. */
  let shown = null;
  const head = h("tr");
  sorted?.keep(all.map(({ sort }) => sort));
  function lay() {
    columns = choice ? choice.of(all) : all;
    head.replaceChildren(...columns.map((column) =>
      h("th", { scope: "col", class: classOf(column) },
        sorted && column.sort ? h("button", { type: "button", class: "sort", onclick: () => order(column) }, column.title) : column.title)));
    if (sorted) mark();
  }
  /** Figures begin with the largest, words with the first. */
  function order({ sort, numeric }) {
    const [first, second] = numeric ? [`-${sort}`, sort] : [sort, `-${sort}`];
    sorted.set(sorted.now() === first ? second : first);
    mark();
  }
  function mark() {
    columns.forEach(({ sort }, at) => {
      const ways = new Map([[sort, "ascending"], [`-${sort}`, "descending"]]);
      setAttribute(head.children[at], "aria-sort", (sort && ways.get(sorted.now())) ?? null);
    });
  }
  lay();
  const body = h("tbody");
  const nothing = h("div", { class: "empty", hidden: true });
  const grid = h("table", {}, h("caption", { class: "unseen" }, caption), h("thead", {}, head), body);
  const element = h("div", { class: dense ? "table dense" : "table" }, choice && choice.element, grid, nothing);
  const rows = new Map();
  const list = {
    element,
    /** The columns that are shown. */
    columns: () => columns,
    hasRows: () => Boolean(shown?.length),
    update(items) {
      shown = items;
      const seen = new Set();
      let place = body.firstElementChild;
      for (const item of items) {
        const id = String(key(item));
        seen.add(id);
        let row = rows.get(id);
        if (!row) {
          row = h("tr", {}, columns.map((column, at) =>
            h(at === 0 ? "th" : "td", {
              scope: at === 0 ? "row" : null,
              class: classOf(column),
              "data-label": column.title,
            })));
          rows.set(id, row);
        }
        columns.forEach((column, at) => {
          if (column.render) column.render(row.children[at], item);
          else setText(row.children[at], column.text(item));
        });
        if (row === place) place = place.nextElementSibling;
        else body.insertBefore(row, place);
      }
      for (const [id, row] of rows) {
        if (seen.has(id)) continue;
        row.remove();
        rows.delete(id);
      }
      grid.hidden = items.length === 0;
      nothing.hidden = items.length > 0;
      if (items.length > 0) return;
      const said = empty();
      if (nothing.textContent !== said.textContent) nothing.replaceChildren(said);
    },
    /** Says something in place of rows. */
    say(node) {
      shown = null;
      nothing.replaceChildren(node);
      nothing.hidden = false;
      grid.hidden = true;
    },
  };
  choice?.begin(all, () => {
    lay();
    rows.clear();
    body.replaceChildren();
    if (shown) list.update(shown);
  });
  return list;
}

function classOf(column) {
  return [column.numeric && "number", column.class].filter(Boolean).join(" ") || null;
}

/** What an empty place says: what it is, and what to do. */
export function nothing(title, ...text) {
  return h("div", {}, h("p", { class: "empty-title" }, title), text.length ? h("p", {}, ...text) : null);
}

/** A labelled field of a form. */
export function field(label, control, hint = null) {
  const id = `field-${field.count += 1}`;
  control.id = id;
  const hintId = `${id}-hint`;
  if (hint) control.setAttribute("aria-describedby", hintId);
  return h("div", { class: "field" },
    h("label", { for: id }, label), control, hint && h("p", { class: "hint", id: hintId }, hint));
}
field.count = 0;

/** Text with `code` in it and names of pages of the manual, as they are in docs/configuration.md. */
export function prose(text) {
  return text.split(/(`[^`]+`|docs\/[a-z-]+\.md)/).filter(Boolean).map((part) => {
    if (part.startsWith("`")) return h("code", {}, part.slice(1, -1));
    return part.startsWith("docs/") ? h("a", { href: `/${part}` }, part) : part;
  });
}

/** A select with the options of `[value, title]`. */
export function select(name, options, chosen = null) {
  return h("select", { name }, options.map(([value, title]) => h("option", { value, selected: value === chosen }, title)));
}

/** The heading of a view, with what stands beside it. */
export function heading(title, ...beside) {
  return h("header", { class: "heading" }, h("h1", { tabindex: "-1" }, title), ...beside);
}

/** Lets the browser save a file. */
export function saveFile(blob, name) {
  const link = h("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  URL.revokeObjectURL(link.href);
}
