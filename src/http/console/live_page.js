// A page of a live list: what is searched, sorted and turned to is asked of the server, which sends that page and no more.
// It stands in the address, so that it can be shared and is there again after a reload.

import { h, setText } from "./dom.js";
import { number } from "./format.js";
import { watch } from "./live.js";

/** Most characters of the filter, and the last page: the server's own limits. */
const LONGEST = 256;
const LAST = 1_000_000;

/**
 * `path` is the view, `list` and `kinds` what the stream brings, `limit` how many entries a page has; `more()` are further
 * parameters, and `kept()` those that the address keeps, too. Gives the filter for the heading, what stands below the list, and `stream` for the frame.
 */
export function livePage({ path, list, kinds, limit, query, label, placeholder = "Filter: a part, or a*", more = () => ({}), kept = () => ({}) }) {
  // An address may be of another release, or written by hand: what the server would refuse is left out.
  const now = { find: (query.get("find") ?? "").slice(0, LONGEST), sort: query.get("sort") ?? "", page: Math.min(LAST, Math.max(1, Number.parseInt(query.get("page"), 10) || 1)) };
  const filter = h("input", { type: "search", value: now.find, placeholder, "aria-label": label, maxlength: LONGEST, autocomplete: "off", spellcheck: "false",
    oninput: () => change({ find: filter.value.trim(), page: 1 }) });
  const said = h("span", { class: "quiet" });
  const back = h("button", { type: "button", class: "small", onclick: () => change({ page: now.page - 1 }) }, "Previous");
  const on = h("button", { type: "button", class: "small", onclick: () => change({ page: now.page + 1 }) }, "Next");
  const below = h("div", { class: "below", hidden: true }, said, h("div", { class: "buttons" }, back, on));

  function asked() {
    return { kinds, list, limit, find: now.find, sort: now.sort, page: now.page > 1 ? now.page : null, ...more(), ...kept() };
  }

  function change(news) {
    Object.assign(now, news);
    const set = Object.entries({ ...now, ...kept() }).filter(([name, value]) => value && !(name === "page" && value === 1));
    history.replaceState(null, "", `#/${path}${set.length ? `?${new URLSearchParams(set)}` : ""}`);
    watch(asked());
  }

  return {
    filter, below, change,
    get stream() {
      return asked();
    },
    sorted: {
      now: () => now.sort,
      set: (sort) => change({ sort, page: 1 }),
      /** Forgets an order that is none of these. */
      keep(orders) {
        if (!orders.includes(now.sort.replace(/^-/, ""))) now.sort = "";
      },
    },
    isFiltered: () => now.find !== "",
    /** What is searched, for lists that are not live. */
    found: () => (now.find ? { find: now.find } : {}),
    /** Says where the page is: `shown` entries are on it, `omitted` fit and are on others. */
    tell(shown, omitted) {
      const found = shown + omitted;
      const pages = Math.max(1, Math.ceil(found / limit));
      now.page = Math.min(now.page, pages);
      const first = (now.page - 1) * limit;
      setText(said, `${number(first + 1)}–${number(first + shown)} of ${number(found)}`);
      back.disabled = now.page === 1;
      on.disabled = now.page === pages;
      below.hidden = pages === 1;
    },
  };
}
