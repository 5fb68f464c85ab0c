// Routes: which way a message would take, and why.

import { get } from "./api.js";
import { field, h, heading, nothing } from "./dom.js";

export default function routes({ query }) {
  const to = h("input", { type: "text", name: "to", inputmode: "tel", "data-focus": true, required: true, autocomplete: "off", spellcheck: "false", value: query.get("to") ?? "", placeholder: "447700900123" });
  const from = h("input", { type: "text", name: "from", autocomplete: "off", spellcheck: "false", value: query.get("from") ?? "" });
  const account = h("input", { type: "text", name: "account", autocomplete: "off", spellcheck: "false", value: query.get("account") ?? "" });
  const result = h("section", { class: "card", "aria-live": "polite" });
  const form = h("form", { class: "card search", onsubmit: (event) => {
    event.preventDefault();
    const next = new URLSearchParams();
    for (const input of [to, from, account]) if (input.value.trim()) next.set(input.name, input.value.trim());
    const hash = `#/routes?${next}`;
    if (hash === location.hash) load();
    else location.hash = hash;
  } },
  field("To number", to), field("From", from, "optional"), field("Account", account, "optional"),
  h("div", { class: "buttons" }, h("button", { type: "submit", class: "primary" }, "Explain")));

  async function load() {
    if (!query.get("to")) {
      result.replaceChildren(h("div", { class: "empty" }, nothing("Ask before you send", "Give a number to see which route it takes, which routes were passed over, and where it would wait now.")));
      return;
    }
    try {
      result.replaceChildren(...explain(await get(`/v1/routes/explain?${query}`)));
    } catch (error) {
      const title = error.status === 404 ? "No explanation" : "That cannot be explained";
      result.replaceChildren(h("div", { class: "empty" }, nothing(title, error.message)));
    }
  }
  load();
  return { elements: [heading("Routes"), form, result] };
}

/** The answer as it is: names and values, lists one below the other. */
function explain(answer) {
  return [h("h2", {}, "The way it takes"), tree(answer)];
}

function tree(value) {
  if (Array.isArray(value)) return value.length ? h("ol", { class: "tree" }, value.map((one) => h("li", {}, tree(one)))) : h("span", { class: "quiet" }, "none");
  if (value !== null && typeof value === "object") {
    return h("dl", { class: "facts wide" }, Object.entries(value).map(([name, inside]) =>
      h("div", {}, h("dt", {}, name.replaceAll("_", " ")), h("dd", {}, tree(inside)))));
  }
  if (value === true || value === false) return value ? "yes" : "no";
  return value === null || value === "" ? h("span", { class: "quiet" }, "–") : String(value);
}
