// The whole configuration as one JSON document: to keep, to compare elsewhere, and to put in place of what there is.

import { get, may, put } from "./api.js";
import { review, warnings } from "./changes.js";
import { failed, toast } from "./dialog.js";
import { h, saveFile } from "./dom.js";

const PATH = "/v1/config";

/** A card with the two; `after` is called when the configuration was replaced. */
export function wholeConfig(after) {
  const problem = h("div", { class: "problem", role: "alert" });
  const file = h("input", { type: "file", name: "whole", accept: ".json,application/json", hidden: true, "aria-label": "The file", onchange: read });
  const replace = h("button", { type: "button", class: "small", onclick: () => file.click() }, "Replace by a file …");
  const download = h("button", { type: "button", class: "small", onclick: save }, "Download");

  async function save() {
    try {
      const whole = await get(PATH);
      saveFile(new Blob([`${JSON.stringify(whole, null, 2)}\n`], { type: "application/json" }), `smsc-config-${whole.version}.json`);
    } catch (error) {
      failed(error);
    }
  }

  async function read() {
    const [chosen] = file.files;
    if (!chosen) return;
    problem.replaceChildren();
    replace.setAttribute("aria-busy", "true");
    try {
      await exchange(chosen.name, await chosen.text());
    } catch (error) {
      refused(chosen.name, error);
    } finally {
      replace.removeAttribute("aria-busy");
      // The same file can be chosen again.
      file.value = "";
    }
  }

  /** A dry run, a look at the difference, and the change itself, of the version that was looked at. */
  async function exchange(name, text) {
    const wanted = JSON.parse(text);
    const { version } = await get(PATH);
    const said = await put(`${PATH}?dry_run=true`, wanted, version);
    if (!said.changes.length) {
      toast(`${name} is what there is.`, "warn");
      return;
    }
    if (!await review({ title: `Replace the configuration by ${name}?`, said, action: "Replace", danger: said.changes.some((one) => one.action === "removed") })) return;
    const done = await put(PATH, wanted, version);
    toast(`${name} is version ${done.version}.`, "good");
    after();
  }

  function refused(name, error) {
    if (error instanceof SyntaxError) problem.replaceChildren(`${name} is no JSON: ${error.message}`);
    else if (error.status === 422) problem.replaceChildren(`${name} is not put in place:`, warnings(error.problem?.problems ?? [{ field: "", message: error.message }]));
    else if (error.status === 412) problem.replaceChildren("Somebody has changed the configuration meanwhile. Choose the file again to see what it would change now.");
    else if (error.status === 401) failed(error);
    else problem.replaceChildren(error.message);
  }

  return h("section", { class: "card" },
    h("div", { class: "card-head" }, h("h2", {}, "The whole configuration"), h("div", { class: "buttons" }, download, may("admin") && replace)),
    h("p", { class: "quiet" }, "As one JSON document, without secrets: those that a file leaves out stay as they are. A resource that it leaves out is removed."),
    problem, file);
}
