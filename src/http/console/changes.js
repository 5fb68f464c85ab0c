// Differences of the configuration: shown key by key, and looked at before anything is saved.

import { get } from "./api.js";
import { confirm } from "./dialog.js";
import { chip, h, prose, setText } from "./dom.js";
import { number, time } from "./format.js";
import { pageOf } from "./kinds.js";
import { valueText } from "./schema.js";

const TONES = { added: "good", changed: "busy", removed: "bad" };

/** Resources that are shown at once: the first version has all of them. */
const SHOWN = 25;

/** Every resource that differs, with its keys before and after. */
export function differences(changes) {
  const list = h("div", { class: "differences" });
  const more = h("button", { type: "button", class: "small", onclick: () => show() });
  let shown = 0;
  function show() {
    list.append(...changes.slice(shown, shown + SHOWN).map(difference));
    shown += SHOWN;
    more.hidden = shown >= changes.length;
    setText(more, `${number(changes.length - shown)} more`);
  }
  show();
  return h("div", {}, list, more);
}

function difference(change) {
  return h("section", { class: "difference" },
    h("h3", {}, h("a", { href: pageOf(change.resource) }, change.resource), " ", chip(change.action, TONES[change.action] ?? "quiet")),
    change.fields.length ? fields(change) : null);
}

/** The keys of one change. */
export function fields(change) {
  return h("dl", { class: "diff" }, change.fields.map((one) => h("div", {},
    h("dt", {}, one.field),
    h("dd", {},
      change.action === "added" ? null : h("del", {}, valueText(one.before)),
      change.action === "changed" ? " → " : null,
      change.action === "removed" ? null : h("ins", {}, valueText(one.after))))));
}

/** What works and is probably not meant. */
export function warnings(list) {
  return list.length ? h("ul", { class: "warnings" }, list.map((one) => h("li", {}, one.field && h("strong", {}, `${one.field}: `), prose(one.message)))) : null;
}

/** Shows what a dry run has said, and asks whether to do it; true if so. */
export function review({ title, said, action, text = "", danger = false }) {
  return confirm({
    title, action, danger,
    text: text || (said.changes.length === 1 ? "This changes one resource, on every node." : `This changes ${said.changes.length} resources, on every node.`),
    content: h("div", { class: "review", tabindex: "0", role: "region", "aria-label": "What changes" }, differences(said.changes), said.warnings.length ? [h("h3", {}, "Probably not meant"), warnings(said.warnings)] : null),
  });
}

/** The version of the whole configuration; all of that is megabytes where there are a thousand accounts. */
export async function presentVersion() {
  return (await get("/v1/policies?limit=1")).version;
}

/** Entries of a list of versions that changed one resource; `beside(one, at)` gives what stands beside each. */
export function versionItems(versions, beside = () => null) {
  if (!versions.length) return [h("li", { class: "quiet" }, "It was never changed.")];
  return versions.map((one, at) => {
    const [change] = one.changes;
    return h("li", {},
      h("div", { class: "version-head" }, h("a", { href: `#/versions/${one.version}` }, `Version ${one.version}`), chip(change.action, "quiet"), beside(one, at)),
      h("p", { class: "quiet" }, one.who, ", ", time(one.at)), change.action === "changed" ? fields(change) : null);
  });
}

/** The versions that changed a resource, newest first. */
export function historyOf(resource, limit = 10) {
  return get(`/v1/config/versions?${new URLSearchParams({ resource, limit })}`);
}
