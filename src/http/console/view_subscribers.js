// Subscribers: numbers that want no messages, what is known about a number, and erasing one.

import { get, may, put, remove, segment } from "./api.js";
import { command, confirm, failed, failedAt, failedIn, toast } from "./dialog.js";
import { field, h, heading, nothing, setAttribute, setText, table } from "./dom.js";
import { number, time } from "./format.js";
import { showLink, showOwner } from "./kinds.js";
import { pagePath, pages } from "./pages.js";
import { textInput } from "./view_messages.js";

export default function subscribers({ query }) {
  const inputs = { number: textInput(query, "number"), account: textInput(query, "account") };
  inputs.number.inputMode = "tel";
  const problem = h("p", { class: "problem", role: "alert" });
  const search = h("button", { type: "submit", class: "primary" }, "Search");
  const add = h("button", { type: "button", hidden: !may("operate"), onclick: optOut }, "Put on the list");
  const form = h("form", { class: "card search", role: "search", onsubmit: (event) => {
    event.preventDefault();
    const next = new URLSearchParams();
    for (const [name, input] of Object.entries(inputs)) if (input.value.trim()) next.set(name, input.value.trim());
    const hash = next.size ? `#/subscribers?${next}` : "#/subscribers";
    if (hash === location.hash) load(true);
    else location.hash = hash;
  } },
  field("Number", inputs.number, "Digits, with or without a plus."), field("Account (optional)", inputs.account, "Only its list; everybody's without it."),
  h("div", { class: "buttons" }, search, add, problem));
  const list = table({
    caption: "Opt-outs, newest first",
    key: (row) => `${row.number} ${row.account ?? ""}`,
    columns: [
      { title: "Number", class: "mono", render: (cell, row) => showLink(cell, `#/messages?to=${row.number}`, row.number) },
      { title: "Messages of", render: (cell, row) => (row.account ? showOwner(cell, "accounts", row.account) : setText(cell, "everybody")) },
      { title: "Since", render: (cell, row) => { if (!cell.firstChild) cell.append(time(row.at)); } },
      { title: "By", class: "wraps", text: (row) => row.by },
      { title: "Commands", class: "commands", hidden: !may("operate"), render: (cell, row) => { if (!cell.firstChild) cell.append(optIn(row)); } },
    ],
    empty: () => nothing("Nobody", "Numbers on a list get no messages: of one account, or of everybody."),
  });
  const { button: older, load } = pages({
    label: "Older entries",
    async ask(before) {
      const page = await get(pagePath("/v1/opt-outs", query, before));
      return { items: page.opt_outs, next_before: page.next_before };
    },
    show: (found) => list.update(found),
    failed: refused,
  });

  function refused(error) {
    if (error.status === 401) return failed(error);
    setText(problem, error.message);
    setAttribute(inputs.number, "aria-invalid", error.problem?.field === "number" ? "true" : null);
    return undefined;
  }

  async function optOut() {
    setText(problem, "");
    const of = inputs.account.value.trim();
    const wanted = inputs.number.value.trim();
    if (!wanted) return refused(new Error("Enter the number that wants no messages."));
    try {
      const { changed } = await put(`/v1/opt-outs/${segment(wanted)}${of ? `?account=${segment(of)}` : ""}`, undefined);
      toast(changed ? `${wanted} gets no messages of ${of || "anybody"} any more.` : `${wanted} was on the list already.`, changed ? "good" : "warn");
      await load(true);
    } catch (error) {
      refused(error);
    }
    return undefined;
  }

  function optIn(row) {
    return command({
      label: "Take off", describe: `Take ${row.number} off the list of ${row.account ?? "everybody"}`, send: remove, after: () => load(true),
      path: ({ remark }) => `/v1/opt-outs/${segment(row.number)}?${new URLSearchParams({ account: row.account ?? "", reason: remark })}`,
      said: `${row.number} may get messages again`,
      ask: { title: `Take ${row.number} off the list?`, text: `It may then get messages of ${row.account ?? "every account that has no list with it"}.`, remark: "Why, for the audit log", action: "Take off" },
    });
  }

  load(true);
  return {
    elements: [heading("Subscribers"), h("p", { class: "lead" }, "Numbers that want no messages (opt-outs), what is known about numbers, and erasing one."), form,
      h("section", { class: "card" }, list.element), h("div", { class: "below" }, older), lookups(), may("admin") ? erase() : ""],
  };
}

/** What is looked up about numbers: how many answers are kept, and forgetting them. */
function lookups() {
  const names = { network: "Networks", imsi: "IMSIs" };
  const card = h("section", { class: "card" }, h("h2", {}, "Look-ups on this node"));
  const list = table({
    caption: "Look-ups",
    key: (row) => row.question,
    columns: [
      { title: "What", text: (row) => names[row.question] ?? row.question },
      { title: "Source", text: (row) => (!row.has_source ? "only the table" : row.away ? "away" : "answers") },
      { title: "Answers kept", numeric: true, text: (row) => number(row.cached) },
      { title: "Messages that wait", numeric: true, text: (row) => number(row.waiting) },
      { title: "Commands", class: "commands", hidden: !may("operate"), render: (cell, row) => {
        if (cell.firstChild) return;
        cell.append(command({
          label: "Forget all", describe: `Forget all answers about ${names[row.question] ?? row.question}`, path: `/v1/lookups/${segment(row.question)}`, send: remove, after: load,
          said: (done) => `${number(done.forgotten)} answers are forgotten here; other nodes forget theirs`,
          ask: { title: "Forget all answers?", text: "Numbers are looked up anew, on every node, when messages to them come.", action: "Forget all" },
        }));
      } },
    ],
    empty: () => nothing("Nothing is looked up"),
  });
  async function load() {
    try {
      list.update((await get("/v1/lookups")).lookups);
    } catch (error) {
      failedIn(list, error);
    }
  }
  const one = h("input", { type: "text", name: "forget", inputmode: "tel", required: true, autocomplete: "off" });
  const problem = h("p", { class: "problem", role: "alert" });
  const form = h("form", { class: "search", hidden: !may("operate"), onsubmit: async (event) => {
    event.preventDefault();
    setText(problem, "");
    try {
      for (const question of Object.keys(names)) await remove(`/v1/lookups/${question}/${segment(one.value.trim())}`);
      toast(`${one.value.trim()} is looked up anew.`, "good");
      load();
    } catch (error) {
      failedAt(problem, error);
    }
  } }, field("Number to look up anew", one), h("div", { class: "buttons" }, h("button", { type: "submit" }, "Forget it"), problem));
  load();
  card.append(list.element, form);
  return card;
}

/** Erasing a number and its texts from finished messages. */
function erase() {
  const input = h("input", { type: "text", name: "erase", inputmode: "tel", required: true, autocomplete: "off" });
  const problem = h("p", { class: "problem", role: "alert" });
  const said = h("p", { class: "quiet", role: "status" });
  const form = h("form", { class: "search", onsubmit: async (event) => {
    event.preventDefault();
    setText(problem, "");
    const wanted = input.value.trim();
    if (!await confirm({ title: `Erase ${wanted}?`, text: "The number and the texts are removed from every finished message, call detail records included. This cannot be undone.", action: "Erase", typed: wanted })) return;
    try {
      const done = await remove(`/v1/subscribers/${segment(wanted)}/messages`);
      setText(said, `${number(done.erased)} messages are erased${done.active ? `; ${number(done.active)} are still under way: erase again when they have ended` : ""}.`);
    } catch (error) {
      failedAt(problem, error);
    }
  } }, field("Number to erase", input, "As a subscriber may demand by law."), h("div", { class: "buttons" }, h("button", { type: "submit", class: "risky" }, "Erase"), problem));
  return h("section", { class: "card" }, h("h2", {}, "Erase a subscriber"), form, said);
}
