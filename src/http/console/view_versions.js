// The history of the configuration: who changed what, the difference between two versions, and going back.

import { get, may, postIf } from "./api.js";
import { differences, presentVersion, review, warnings } from "./changes.js";
import { command, failed, failedIn, toast } from "./dialog.js";
import { field, h, heading, nothing, table } from "./dom.js";
import { number, time } from "./format.js";
import { showLink } from "./kinds.js";
import { pagePath, pages } from "./pages.js";
import { wholeConfig } from "./whole.js";

export default function versions({ rest, query }) {
  if (!rest.length) return list();
  const [version] = rest;
  return /^[0-9]+$/.test(version) ? one(version, query.get("since")) : missing(version, "A version is a number.");
}

function missing(version, why) {
  return { elements: [heading("History"), h("section", { class: "card" }, h("div", { class: "empty" }, nothing(`There is no version ${version}`, why, " ", h("a", { href: "#/versions" }, "All versions are listed here."))))] };
}

function list() {
  const rows = table({
    caption: "Versions of the configuration, newest first",
    key: (row) => row.version,
    columns: [
      { title: "Version", render: (cell, row) => showLink(cell, `#/versions/${row.version}`, `Version ${row.version}`) },
      { title: "When", render: (cell, row) => {
        if (!cell.firstChild) cell.append(time(row.at));
      } },
      { title: "Who", class: "wraps", text: (row) => row.who },
      { title: "What", class: "wraps", text: (row) => row.what },
    ],
    empty: () => nothing("No versions yet", "The first change makes one."),
  });
  const { button: older, load } = pages({
    label: "Older versions",
    async ask(before) {
      const page = await get(pagePath("/v1/config/versions", {}, before));
      return { items: page.versions, next_before: page.next_before };
    },
    show: (found) => rows.update(found),
    failed: (error) => failedIn(rows, error),
  });
  const file = h("div", {});
  async function compareFile() {
    try {
      const said = await get("/v1/config/diff");
      const text = !said.compared ? "The file of this node leaves accounts, operators, routes and policy to the store."
        : said.changes.length ? `“smsc apply” of ${said.file} would change:` : `${said.file} is what version ${said.version} is.`;
      file.replaceChildren(h("p", { class: "quiet" }, text), differences(said.changes));
    } catch (error) {
      file.replaceChildren(h("p", { class: "problem" }, error.message));
    }
  }
  load(true);
  return {
    elements: [
      heading("History"), h("p", { class: "lead" }, "Every change of accounts, operators, routes and the other resources is a version. Any of them can be compared, and restored."),
      h("section", { class: "card" }, rows.element), h("div", { class: "below" }, older),
      h("section", { class: "card" }, h("div", { class: "card-head" }, h("h2", {}, "The file of this node"), h("div", { class: "buttons" }, h("button", { type: "button", class: "small", onclick: compareFile }, "Compare"))), file),
      wholeConfig(() => load(true)),
      may("admin") ? h("section", { class: "card" }, h("div", { class: "card-head" }, h("h2", {}, "Stored passwords"), h("div", { class: "buttons" }, reseal())),
        h("p", { class: "quiet" }, "After a key of secrets.key_file was set or changed, all passwords of the store and its history are sealed with the first one.")) : "",
    ],
  };
}

function reseal() {
  return command({
    label: "Seal anew", needs: "admin", path: "/v1/config/reseal",
    said: (done) => (done.count ? `${number(done.count)} resources and changes are sealed anew` : "Every password is sealed with the first key"),
  });
}

/** One version: what it changed, or what is different from another one. */
function one(version, since) {
  const title = `Version ${version}`;
  const facts = h("dl", { class: "facts wide" });
  const changed = h("div", {});
  const said = h("h2", {}, since ? `Different from version ${since}` : "What it changed");
  const alert = h("div", { role: "alert" });
  const other = h("input", { type: "text", name: "since", inputmode: "numeric", required: true, autocomplete: "off", value: since ?? "" });
  const form = h("form", { class: "search", onsubmit: (event) => {
    event.preventDefault();
    location.hash = `#/versions/${version}?since=${encodeURIComponent(other.value.trim())}`;
  } }, field("Compare with version", other), h("div", { class: "buttons" }, h("button", { type: "submit" }, "Compare"),
    since && h("a", { class: "button", href: `#/versions/${version}` }, "Only what it changed")));
  const back = h("button", { type: "button", hidden: true, onclick: rollback }, "Roll back to this version");
  const page = [h("p", { class: "crumb" }, h("a", { href: "#/versions" }, "History")), heading(title, back), alert,
    h("section", { class: "card" }, facts, said, changed), h("section", { class: "card" }, form)];

  async function load() {
    try {
      const [found, now] = await Promise.all([get(`/v1/config/versions/${version}${since ? `?since=${encodeURIComponent(since)}` : ""}`), presentVersion()]);
      facts.replaceChildren(...[["When", time(found.at)], ["Who", found.who], ["What", found.what]].map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))));
      changed.replaceChildren(found.changes.length ? differences(found.changes) : h("p", { class: "quiet" }, "Nothing is different."));
      back.hidden = now === found.version || !may("admin");
    } catch (error) {
      changed.replaceChildren(h("p", { class: "problem" }, error.message));
      if (error.status === 401) failed(error);
    }
  }

  async function rollback() {
    alert.replaceChildren();
    const path = `/v1/config/rollback/${version}`;
    try {
      const would = await postIf(`${path}?dry_run=true`, await presentVersion());
      if (!would.changes.length) return toast(`The configuration is what it was in version ${version}.`, "warn");
      if (!await review({ title: `Roll back to version ${version}?`, said: would, action: "Roll back", danger: true })) return undefined;
      const done = await postIf(path, would.version);
      toast(`Version ${number(done.version)} is what version ${version} was.`, "good");
      location.hash = `#/versions/${done.version}`;
    } catch (error) {
      if (error.status !== 422) return failed(error);
      alert.replaceChildren(h("section", { class: "card note bad" }, h("h2", {}, "Not rolled back"), warnings(error.problem.problems)));
    }
    return undefined;
  }

  load();
  return { elements: page, title };
}
