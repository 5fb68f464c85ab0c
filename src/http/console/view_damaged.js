// Damaged rows: what of the store is not as it was written; forgotten when somebody has dealt with it.

import { get, may, remove, segment } from "./api.js";
import { command, failed, failedIn } from "./dialog.js";
import { field, h, heading, nothing, setText, table } from "./dom.js";
import { number, time } from "./format.js";
import { pagePath, pages } from "./pages.js";
import { textInput } from "./view_messages.js";

const PATH = "/v1/damaged";
/** Tables whose rows are about messages that can be shown. */
const OF_MESSAGES = ["sent", "fin", "change"];
const STAYS = "What is damaged stays so; only the list forgets it. Nothing is sent again.";

export default function damaged({ query }) {
  const id = textInput(query, "id");
  id.dataset.focus = true;
  const wanted = query.get("id");
  let isOpen = true;
  const list = table({
    caption: "Damaged rows, the last ids first",
    key: (row) => `${row.table}/${row.id}`,
    columns: [
      { title: "Id", class: "mono", render: (cell, row) => {
        if (!cell.firstChild) cell.append(OF_MESSAGES.includes(row.table) ? h("a", { href: `#/messages/${segment(row.id)}` }, row.id) : row.id);
      } },
      { title: "Table", text: (row) => row.table },
      { title: "Found", render: (cell, row) => {
        if (!cell.firstChild) cell.append(time(row.found_at));
      } },
      { title: "Why", class: "wrap", text: (row) => row.why },
      { title: "Seems to say", class: "wrap", text: (row) => row.legible || "–" },
      { title: "Commands", class: "commands", hidden: !may("operate"), render: (cell, row) => {
        if (cell.firstChild) return;
        cell.append(command({
          label: "Forget", describe: `Forget row ${row.id} of ${row.table}`, path: `${PATH}/${segment(row.table)}/${segment(row.id)}`, send: remove, tone: "risky",
          ask: { title: "Forget this row?", text: STAYS, action: "Forget" },
          said: "The row is forgotten", after: () => drop(row),
        }));
      } },
    ],
    empty: () => (wanted
      ? nothing(`No damaged row has the id ${wanted}`)
      : nothing("Nothing is damaged", "A row of the store that is not as it was written would be listed here. It is not used, and its message is not sent.")),
  });
  const forgetAll = command({
    label: "Forget all", describe: "Forget all damaged rows", path: PATH, send: remove, tone: "risky",
    ask: { title: "Forget all damaged rows?", text: `${STAYS} Those that are not shown here are forgotten, too.`, action: "Forget all" },
    said: (done) => `${number(done.count)} rows are forgotten`, after: () => load(true),
  });
  const said = h("p", { class: "quiet", role: "status" });
  const form = h("form", { class: "card search", role: "search", onsubmit: (event) => {
    event.preventDefault();
    const asked = id.value.trim();
    const hash = asked ? `#/damaged?${new URLSearchParams({ id: asked })}` : "#/damaged";
    if (hash === location.hash) load(true);
    else location.hash = hash;
  } }, field("Message id, or number of a row", id), h("div", { class: "buttons" }, h("button", { type: "submit", class: "primary" }, "Search")));

  const { button: more, load, drop } = pages({
    label: "More rows",
    async ask(before) {
      const page = await get(pagePath(PATH, wanted ? { id: wanted } : {}, before));
      return { items: page.rows, next_before: page.next_before };
    },
    show(found, hasMore) {
      if (!isOpen) return;
      list.update(found);
      forgetAll.hidden = !found.length;
      setText(said, found.length ? `${found.length}${hasMore ? " or more" : ""} found` : "");
    },
    failed(error) {
      if (!isOpen) return;
      failedIn(list, error);
    },
  });
  forgetAll.hidden = true;
  load(true);
  return {
    elements: [
      heading("Damaged rows", h("div", { class: "buttons" }, forgetAll)), form,
      h("section", { class: "card" }, list.element), h("div", { class: "below" }, said, more),
    ],
    close() {
      isOpen = false;
    },
  };
}
