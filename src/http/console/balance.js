// The balance of an account: what is left, its quota, the last top-ups, and adding credits.

import { get, may, post, segment } from "./api.js";
import { failedAt, failedItems, toast } from "./dialog.js";
import { field, h, setText } from "./dom.js";
import { number, time } from "./format.js";

/** Top-ups that are shown; the API has all. */
const SHOWN = 5;

export function balanceCard(account) {
  const path = `/v1/accounts/${segment(account)}/balance`;
  const facts = h("dl", { class: "facts wide" });
  const list = h("ol", { class: "versions" });
  const add = h("input", { type: "text", name: "add", inputmode: "numeric", required: true, autocomplete: "off" });
  const reference = h("input", { type: "text", name: "reference", maxlength: "128", autocomplete: "off", placeholder: "invoice 7" });
  const problem = h("p", { class: "problem", role: "alert" });
  const form = h("form", { class: "fields", hidden: !may("admin"), onsubmit: topUp },
    field("Credits to add", add, "Below zero takes some back."), field("Reference (optional)", reference, "The same one again changes nothing."),
    problem, h("div", { class: "buttons" }, h("button", { type: "submit" }, "Add")));

  async function load() {
    try {
      const [balance, { top_ups: tops }] = await Promise.all([get(path), get(`${path}/top-ups?limit=${SHOWN}`)]);
      show(balance);
      list.replaceChildren(...tops.map((one) => h("li", {}, h("strong", {}, `${one.add > 0 ? "+" : ""}${number(one.add)}`), one.reference && ` ${one.reference}`,
        h("p", { class: "quiet" }, one.by, ", ", time(one.at)))));
    } catch (error) {
      failedItems(list, error);
    }
  }

  function show(balance) {
    const rows = [["Left", balance.prepaid ? `${number(balance.credits)} credits` : `${number(balance.credits)} credits, not used: it does not pay in advance`]];
    if (balance.quota_per_day !== null) rows.push(["Quota today", `${number(balance.quota_used_today)} of ${number(balance.quota_per_day)}`]);
    facts.replaceChildren(...rows.map(([name, text]) => h("div", {}, h("dt", {}, name), h("dd", {}, text))));
  }

  async function topUp(event) {
    event.preventDefault();
    setText(problem, "");
    const order = { add: Number(add.value.replaceAll(",", "").trim()) };
    if (reference.value.trim()) order.reference = reference.value.trim();
    if (!Number.isSafeInteger(order.add)) {
      setText(problem, "Credits are a whole number.");
      return;
    }
    try {
      const { repeated, balance } = await post(path, order);
      toast(repeated ? "This reference was booked before: nothing was changed." : `${account} has ${number(balance.credits)} credits.`, repeated ? "warn" : "good");
      form.reset();
      load();
    } catch (error) {
      failedAt(problem, error);
    }
  }

  load();
  return h("section", { class: "card" }, h("h2", {}, "Balance"), facts, list, form);
}
