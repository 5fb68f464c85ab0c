// The configuration: every kind of resource with a list that can be searched, and a page for each resource.

import { get, may } from "./api.js";
import { columnChoice } from "./columns.js";
import { csvButton } from "./csv.js";
import { failed, failureTitle } from "./dialog.js";
import { h, heading, nothing, setText, table } from "./dom.js";
import { number } from "./format.js";
import { hasPlace, listPage, newPage, pageOf, placeOf, showLink, wordsOf } from "./kinds.js";
import { isSet, kinds, labelOf, valueText } from "./schema.js";
import object from "./view_object.js";

const FIRST = "accounts";
/** Rows of a page. */
const ROWS = 100;
/** What is typed within this time is one question. */
const TYPED_MS = 200;
/** Letters of a value in a list; the page of the resource has all. */
const LONGEST = 60;
/** Keys without a column of their own that a list names. */
const MORE_KEYS = 4;

export default function config(asked) {
  const [plural = FIRST, ...name] = asked.rest;
  const page = h("div", { class: "page" });
  const loading = h("p", { class: "quiet", role: "status" }, "Loading …");
  const shown = {
    elements: [page], title: wordsOf(plural).title,
    close() {
      isOpen = false;
      inner?.close?.();
    },
  };
  let inner = null;
  let isOpen = true;
  page.append(heading(wordsOf(plural).title), loading);
  kinds().then((all) => {
    if (!isOpen) return;
    const kind = all.get(plural);
    if (!kind) {
      page.replaceChildren(heading("Configuration"), h("section", { class: "card" }, h("div", { class: "empty" },
        nothing(`There is no kind “${plural}”`, h("a", { href: listPage(FIRST) }, "All kinds are listed here.")))));
      return;
    }
    const isNew = asked.query.has("new") || asked.query.has("copy");
    // There is one policy, with a page of its own.
    const single = kind.name_field === null ? ["all"] : [];
    const wanted = name.length ? name : single;
    inner = wanted.length || isNew
      ? object({ kind, name: wanted.length ? wanted.join("/") : null, query: asked.query, tabs: tabs(all, plural) })
      : list(kind, asked.isLive ? null : tabs(all, plural), asked.query);
    const hadFocus = page.contains(document.activeElement);
    page.replaceChildren(...inner.elements);
    if (hadFocus) page.querySelector("h1").focus();
  }, (error) => {
    setText(loading, error.message);
    failed(error);
  });
  return shown;
}

/** Links to all kinds, with how many there are of each. */
function tabs(all, current) {
  const counts = new Map();
  const element = h("nav", { class: "tabs", "aria-label": "Kinds" }, [...all.keys()].map((plural) => {
    const count = h("span", { class: "quiet" });
    counts.set(plural, count);
    return h("a", { href: listPage(plural), "aria-current": plural === current ? "page" : null }, wordsOf(plural).title, " ", count);
  }));
  // Counted on the server: all of it is megabytes where there are a thousand accounts. One after another, because each reads all of it there.
  const countAll = async () => {
    for (const [plural, count] of counts) {
      const page = await get(`${all.get(plural).path}?limit=1`);
      if (!element.isConnected) return;
      setText(count, page.total || "");
    }
  };
  countAll().catch(failed);
  return element;
}

/** All resources of a kind. Without the tabs of the kinds it is the list of how they do, whose names lead to the page of each. */
function list(kind, tabs, query) {
  const settings = (row) => pageOf(`${kind.plural}/${row.name}`);
  const place = (row) => placeOf(kind.plural, row.name);
  const words = wordsOf(kind.plural);
  const properties = kind.schema.properties;
  const columns = words.columns.filter((key) => properties[key]);
  /** The other keys have columns for those who choose them. */
  const others = Object.keys(properties).filter((key) => key !== kind.name_field && !columns.includes(key));
  let sort = query.get("sort") ?? "";
  const find = h("input", { type: "search", name: "find", maxlength: "256", autocomplete: "off", spellcheck: "false", value: (query.get("find") ?? "").slice(0, 256), placeholder: "Name or any value", "aria-label": `Find among ${words.title}`, oninput: () => {
    clearTimeout(typing);
    typing = setTimeout(() => find.isConnected && change(), TYPED_MS);
  } });
  const add = h("a", { class: "button primary", href: newPage(kind.plural), hidden: !may("admin") }, `Add ${words.one}`);
  const said = h("p", { class: "quiet", role: "status" });
  const back = h("button", { type: "button", class: "small", onclick: () => turn(begins.slice(0, -1)) }, "Previous");
  const on = h("button", { type: "button", class: "small", onclick: () => turn([...begins, next]) }, "Next");
  const rows = table({
    caption: words.title,
    choice: columnChoice(`config/${kind.plural}`),
    sorted: {
      now: () => sort,
      set(by) {
        sort = by;
        change();
      },
      keep(orders) {
        if (!orders.includes(sort.replace(/^-/, ""))) sort = "";
      },
    },
    key: (row) => row.name,
    columns: [
      { title: "Name", sort: "name", render: (cell, row) => showLink(cell, tabs ? settings(row) : place(row), row.name) },
      ...[...columns, ...others].map((key) => ({
        title: labelOf(key), key, sort: key, isExtra: others.includes(key), numeric: ["integer", "number"].includes(properties[key].type),
        text: (row) => cut((row.settings[key] ?? null) === null || isNone(row.settings[key]) ? "–" : valueText(row.settings[key])),
      })),
      { title: "Also set", class: "also", text: (row) => alsoSet(row) },
      { title: tabs ? "Now" : "Keys", hidden: !hasPlace(kind.plural), render: (cell, row) => (tabs ? showLink(cell, place(row), "Live") : showLink(cell, settings(row), "Settings")) },
    ],
    empty: () => nothing(`No ${words.title.toLowerCase()}`, find.value.trim() ? "Nothing has this name or value." : words.lead),
  });
  const csv = csvButton({
    path: kind.path, items: kind.plural, file: `${kind.plural}.csv`, cursor: "after",
    query: asks,
    columns: () => [["name", (row) => row.name ?? row.id], ...rows.columns().filter(({ key }) => key).map(({ key }) => [key, (row) => ((row.settings[key] ?? null) === null ? "" : valueText(row.settings[key]))])],
  });
  /** Behind which name each page begins, up to the one that is shown. */
  let begins = [""];
  let next = null;
  let typing = null;
  let asked = 0;

  function alsoSet(row) {
    const keys = Object.keys(properties).filter((key) => key !== kind.name_field && !columns.includes(key) && isSet(properties[key], row.settings[key]) && !isNone(row.settings[key]));
    const first = keys.slice(0, MORE_KEYS).map((key) => `${key} ${cut(valueText(row.settings[key]), 24)}`);
    return [...first, keys.length > MORE_KEYS ? `and ${keys.length - MORE_KEYS} more` : null].filter(Boolean).join(", ") || "–";
  }

  /** What is searched, and in which order. */
  function asks() {
    return Object.fromEntries(Object.entries({ find: find.value.trim(), sort }).filter(([, value]) => value));
  }

  /** Another search or order: the address keeps it. */
  function change() {
    const kept = new URLSearchParams(asks());
    const here = tabs ? listPage(kind.plural) : `#/${kind.plural}`;
    history.replaceState(null, "", kept.size ? `${here}?${kept}` : here);
    turn([""]);
  }

  /** Shows the last one of these pages. */
  async function turn(to) {
    asked += 1;
    const own = asked;
    const question = Object.entries({ ...asks(), after: to.at(-1) }).filter(([, value]) => value);
    try {
      const page = await get(`${kind.path}?${new URLSearchParams([["limit", ROWS], ...question])}`);
      // What was typed meanwhile counts.
      if (own !== asked) return;
      begins = to;
      next = page.next_after ?? null;
      const shown = page[kind.plural].map((one) => ({ name: one.name ?? one.id, settings: one.settings }));
      rows.update(shown);
      const first = (begins.length - 1) * ROWS;
      const { total } = page;
      const found = find.value.trim() ? `${number(total)} found` : "";
      setText(said, total > ROWS ? `${number(first + 1)}–${number(first + shown.length)} of ${number(total)}` : found);
      back.disabled = begins.length === 1;
      on.disabled = !next;
      for (const one of [back, on]) one.hidden = total <= ROWS;
    } catch (error) {
      if (own !== asked) return;
      // Rows of another search must not stay.
      if (error.status === 401) failed(error);
      else rows.say(nothing(failureTitle(error), error.message));
    }
  }

  for (const one of [back, on]) one.hidden = true;
  turn([""]);
  return {
    elements: [
      heading(words.title, find, h("div", { class: "buttons" }, csv), add), tabs ?? "", h("p", { class: "lead" }, words.lead, words.live ? [" ", h("a", { href: words.live }, "How they are now.")] : null),
      h("section", { class: "card" }, rows.element), h("div", { class: "below" }, said, h("div", { class: "buttons" }, back, on)),
    ],
  };
}

function isNone(value) {
  return value === "" || (typeof value === "object" && value !== null && Object.keys(value).length === 0);
}

function cut(text, longest = LONGEST) {
  return text.length > longest ? `${text.slice(0, longest - 1)}…` : text;
}
