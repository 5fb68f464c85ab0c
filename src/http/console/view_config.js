// The configuration: every kind of resource with a list that can be searched, and a page for each resource.

import { get, may } from "./api.js";
import { failed } from "./dialog.js";
import { h, heading, nothing, setText, table } from "./dom.js";
import { number } from "./format.js";
import { listPage, newPage, pageOf, wordsOf } from "./kinds.js";
import { isSet, kinds, labelOf, valueText } from "./schema.js";
import object from "./view_object.js";

const FIRST = "accounts";
/** Rows before "Show all". */
const ROWS = 200;
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
      : list(kind, tabs(all, plural), asked.query.get("find") ?? "");
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
  get("/v1/config").then((whole) => {
    for (const [plural, count] of counts) setText(count, whole[plural]?.length || "");
  }, failed);
  return element;
}

/** All resources of a kind. */
function list(kind, tabs, wanted) {
  const words = wordsOf(kind.plural);
  const properties = kind.schema.properties;
  const columns = words.columns.filter((key) => properties[key]);
  const find = h("input", { type: "search", name: "find", autocomplete: "off", spellcheck: "false", value: wanted, placeholder: "Name or any value", "aria-label": `Find among ${words.title}`, oninput: () => show() });
  const add = h("a", { class: "button primary", href: newPage(kind.plural), hidden: !may("admin") }, `Add ${words.one}`);
  const said = h("p", { class: "quiet", role: "status" });
  const all = h("button", { type: "button", hidden: true, onclick: () => {
    most = Infinity;
    show();
  } }, "Show all");
  const rows = table({
    caption: words.title,
    key: (row) => row.name,
    columns: [
      { title: "Name", render: (cell, row) => {
        if (!cell.firstChild) cell.append(h("a", { href: pageOf(`${kind.plural}/${row.name}`) }, row.name));
      } },
      ...columns.map((key) => ({
        title: labelOf(key), numeric: ["integer", "number"].includes(properties[key].type),
        text: (row) => cut(row.settings[key] === null || isNone(row.settings[key]) ? "–" : valueText(row.settings[key])),
      })),
      { title: "Also set", class: "also", text: (row) => alsoSet(row) },
    ],
    empty: () => nothing(`No ${words.title.toLowerCase()}`, found.length ? "Nothing has this name or value." : words.lead),
  });
  let found = [];
  let most = ROWS;

  function alsoSet(row) {
    const keys = Object.keys(properties).filter((key) => key !== kind.name_field && !columns.includes(key) && isSet(properties[key], row.settings[key]) && !isNone(row.settings[key]));
    const first = keys.slice(0, MORE_KEYS).map((key) => `${key} ${cut(valueText(row.settings[key]), 24)}`);
    return [...first, keys.length > MORE_KEYS ? `and ${keys.length - MORE_KEYS} more` : null].filter(Boolean).join(", ") || "–";
  }

  function show() {
    const parts = find.value.toLowerCase().split(/\s+/).filter(Boolean);
    const fits = found.filter((row) => parts.every((part) => row.text.includes(part)));
    rows.update(fits.slice(0, most));
    all.hidden = fits.length <= most;
    setText(said, parts.length ? `${number(fits.length)} of ${number(found.length)}` : "");
  }

  get(kind.path).then((answer) => {
    found = answer[kind.plural].map((one) => ({ name: one.name ?? one.id, settings: one.settings }));
    // What is not set is not searched: every account has a key "callback".
    for (const row of found) row.text = `${row.name} ${Object.entries(row.settings).filter(([, value]) => value !== null).map(([key, value]) => `${key} ${valueText(value)}`).join(" ")}`.toLowerCase();
    show();
  }, (error) => {
    rows.say(nothing("They cannot be listed", error.message));
    failed(error);
  });
  return {
    elements: [
      heading(words.title, find, add), tabs, h("p", { class: "lead" }, words.lead, words.live ? [" ", h("a", { href: words.live }, "How they are now.")] : null),
      h("section", { class: "card" }, rows.element), h("div", { class: "below" }, said, all),
    ],
  };
}

function isNone(value) {
  return value === "" || (typeof value === "object" && value !== null && Object.keys(value).length === 0);
}

function cut(text, longest = LONGEST) {
  return text.length > longest ? `${text.slice(0, longest - 1)}…` : text;
}
