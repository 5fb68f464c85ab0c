// The audit log: who commanded or changed what, when, from where, and whether it was done.

import { get } from "./api.js";
import { failedIn } from "./dialog.js";
import { chip, field, h, heading, nothing, setText, table } from "./dom.js";
import { fromInput, time } from "./format.js";
import { pagePath, pages } from "./pages.js";
import { momentInput, textInput } from "./view_messages.js";

/** Where what was changed is compared with what was before. */
function versionLink(row) {
  return h("span", {}, row.detail ? ", " : "", h("a", { href: `#/versions/${row.version}` }, `Version ${row.version}`));
}

export default function audit({ query }) {
  const inputs = { token: textInput(query, "token"), path: textInput(query, "path") };
  const moments = Object.fromEntries(["since", "until"].map((name) => [name, momentInput(query, name)]));
  inputs.path.placeholder = "/v1/accounts/";
  const form = h("form", { class: "card search four", role: "search", onsubmit: (event) => {
    event.preventDefault();
    const next = new URLSearchParams();
    for (const [name, input] of Object.entries(inputs)) if (input.value.trim()) next.set(name, input.value.trim());
    for (const [name, input] of Object.entries(moments)) if (input.value) next.set(name, fromInput(input.value));
    const hash = next.size ? `#/audit?${next}` : "#/audit";
    if (hash === location.hash) load(true);
    else location.hash = hash;
  } },
  field("Token", inputs.token, "Its whole name."), field("Path", inputs.path, "How it begins."), field("Since", moments.since), field("Until", moments.until),
  h("div", { class: "buttons" }, h("button", { type: "submit", class: "primary" }, "Search"), h("button", { type: "button", onclick: () => { location.hash = "#/audit"; } }, "Clear")));
  const list = table({
    caption: "Audit log, newest first",
    key: (row) => row.id,
    columns: [
      { title: "When", render: (cell, row) => { if (!cell.firstChild) cell.append(time(row.at)); } },
      { title: "Token", class: "wraps", text: (row) => `${row.token || "none"} (${row.role || "–"})` },
      { title: "From", class: "mono", text: (row) => row.address },
      { title: "What", class: "wraps", render: (cell, row) => {
        if (!cell.firstChild) cell.append(row.what, h("br"), h("span", { class: "quiet mono" }, `${row.method} ${row.path}`));
      } },
      { title: "Answer", render: (cell, row) => { if (!cell.firstChild) cell.append(chip(String(row.status), row.status < 400 ? "good" : "warn")); } },
      { title: "Detail", class: "wraps", render: (cell, row) => {
        if (!cell.firstChild) cell.append(row.detail || (row.version ? "" : "–"), row.version ? versionLink(row) : "");
      } },
      { title: "Node", numeric: true, text: (row) => row.node },
    ],
    empty: () => nothing("Nothing fits", "Commands and changes are recorded here, and that a text was read. Looking is not, and neither is a dry run."),
  });
  const said = h("p", { class: "quiet", role: "status" });
  const { button: older, load } = pages({
    label: "Older entries",
    async ask(before) {
      const page = await get(pagePath("/v1/audit", query, before));
      return { items: page.entries, next_before: page.next_before };
    },
    show(found, more) {
      list.update(found);
      setText(said, found.length ? `${found.length}${more ? " or more" : ""} entries` : "");
    },
    failed: (error) => failedIn(list, error),
  });

  load(true);
  return { elements: [heading("Audit log"), form, h("section", { class: "card" }, list.element), h("div", { class: "below" }, said, older)] };
}
