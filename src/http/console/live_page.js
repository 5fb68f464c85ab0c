// A page of a live list: what is searched, sorted and turned to is asked of the server, which sends that page and no more.
// It stands in the address, so that it can be shared and is there again after a reload.

import { h, setText } from "./dom.js";
import { number } from "./format.js";
import { watch } from "./live.js";

/**
 * `path` is the view, `list` and `kinds` what the stream brings, `limit` how many entries a page has; `more()` are further
 * parameters. Gives the filter for the heading, what stands below the list, and `stream` for the frame.
 */
export function livePage({ path, list, kinds, limit, query, label, placeholder = "Filter: a part, or a*", more = () => ({}) }) {
  const now = { find: query.get("find") ?? "", sort: query.get("sort") ?? "", page: Math.max(1, Number.parseInt(query.get("page"), 10) || 1) };
  const filter = h("input", { type: "search", value: now.find, placeholder, "aria-label": label, maxlength: "256", autocomplete: "off", spellcheck: "false",
    oninput: () => change({ find: filter.value.trim(), page: 1 }) });
  const said = h("span", { class: "quiet" });
  const back = h("button", { type: "button", class: "small", onclick: () => change({ page: now.page - 1 }) }, "Previous");
  const on = h("button", { type: "button", class: "small", onclick: () => change({ page: now.page + 1 }) }, "Next");
  const below = h("div", { class: "below", hidden: true }, said, h("div", { class: "buttons" }, back, on));

  function asked() {
    return { kinds, list, limit, find: now.find, sort: now.sort, page: now.page > 1 ? now.page : null, ...more() };
  }

  function change(news) {
    Object.assign(now, news);
    const set = Object.entries(now).filter(([name, value]) => value && !(name === "page" && value === 1));
    history.replaceState(null, "", `#/${path}${set.length ? `?${new URLSearchParams(set)}` : ""}`);
    watch(asked());
  }

  return {
    filter, below, change, stream: asked(),
    sorted: { now: () => now.sort, set: (sort) => change({ sort, page: 1 }) },
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
