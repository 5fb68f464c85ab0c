// One message: where it is, everything that happened to it, and its commands.

import { get, segment, whyNot } from "./api.js";
import { command, failed, failedPage, toast } from "./dialog.js";
import { chip, h, heading, nothing, setChip } from "./dom.js";
import { localTimes, milliseconds, said, time } from "./format.js";
import { named } from "./kinds.js";
import { messageState } from "./states.js";
import { targets } from "./targets.js";
import { hasFailed, replay } from "./view_dead_letters.js";
import { orders } from "./view_held.js";

const LOOK_EVERY_MS = 2000;

function step(tone, title, at, ...details) {
  return h("li", { class: `step ${tone}` },
    h("div", { class: "step-head" }, h("strong", {}, title), time(at)),
    details.filter(Boolean).map((detail) => h("div", { class: "step-detail" }, detail)));
}

/** What happened, in the order of time, and what is awaited. */
export function timeline(message) {
  const steps = [{ at: message.accepted_at, item: step("good", "Accepted", message.accepted_at, `from ${message.sender}`) }];
  for (const attempt of message.history) {
    const isOk = attempt.status === "ESME_ROK";
    if (attempt.queue.startsWith("internal:")) {
      const title = message.parts?.sent_as?.length ? "Divided into parts" : "Put together with others";
      steps.push({ at: attempt.at, item: step("busy", title, attempt.at) });
      continue;
    }
    const id = attempt.operator_message_id ? `its id there is ${attempt.operator_message_id}` : null;
    steps.push({ at: attempt.at, item: step(isOk ? "good" : "bad", `Attempt ${attempt.attempt}`, attempt.at,
      `${attempt.queue} answered ${attempt.status} after ${milliseconds(attempt.latency_ms)}`, attempt.in_words?.meaning, id, attempt.bind && `by bind ${attempt.bind}`) });
  }
  for (const change of message.changes) {
    if (change.kind === "give_up") {
      steps.push({ at: change.at, item: step("bad", "Receipt given up", change.at, change.by) });
      continue;
    }
    if (change.kind === "heard") {
      steps.push({ at: change.at, item: step("busy", `Heard: ${change.by}`, change.at, `from ${change.queue}, which ends nothing yet`) });
      continue;
    }
    if (change.kind === "ended_session") {
      steps.push({ at: change.at, item: step("bad", "Ended the session", change.at, `${change.queue} had nothing else under way`) });
      continue;
    }
    const where = change.queue ? `to ${change.queue}` : null;
    steps.push({ at: change.at, item: step("busy", `Ordered: ${change.kind}`, change.at, where, change.by && `by ${change.by}`) });
  }
  const fin = message.final;
  if (fin) {
    const tone = messageState(message)[1];
    steps.push({ at: fin.at, item: step(tone, message.state, fin.at,
      fin.reported_by ? `reported by ${fin.reported_by}` : "ended here",
      fin.error && `error ${fin.error}`, fin.in_words && `${fin.in_words.name}: ${fin.in_words.meaning}`, fin.in_words?.cure, fin.done_at && `done date of the operator: ${said(fin.done_at)}`) });
  }
  steps.sort((one, other) => Date.parse(one.at) - Date.parse(other.at));
  const items = steps.map((one) => one.item);
  items.push(...awaited(message, fin));
  return h("ol", { class: "timeline" }, items);
}

/** What a copy brings. */
function copied(copy) {
  if (copy?.state) return `State "${copy.state}" of`;
  return copy?.receipt ? "Receipt of" : "Copy of";
}

/** Why it, or its receipt, waits, in the server's words. */
function whyWaits(message, otherwise) {
  return localTimes(message.waits?.text ?? otherwise);
}

function awaited(message, fin) {
  if (fin) {
    if (!fin.receipt_to) return [step("quiet", "No receipt", null, "the sender asked for none")];
    const told = fin.receipt_acknowledged;
    if (fin.receipt_given_up) return [step("bad", "Receipt given up", null, `${fin.receipt_to} did not take it`)];
    return [step(told ? "good" : "open", told ? "Receipt acknowledged" : "Receipt not acknowledged yet", null,
      told ? `by ${fin.receipt_to}` : whyWaits(message, `waits for ${fin.receipt_to}`))];
  }
  if (message.stage === "handed over") return [step("open", "Handed over", null, whyWaits(message, "the operator has it; its receipt is awaited"))];
  if (message.stage === "held") return [step("warn", "Held", message.waits?.since, whyWaits(message, "until somebody releases or cancels it"))];
  if (message.stage === "scheduled") return [step("open", "Next attempt", message.due_at, `in ${message.queue}`, whyWaits(message, ""))];
  return [step("open", "Waiting", null, `in ${message.queue}`, whyWaits(message, ""))];
}

export default function message({ rest }) {
  const id = rest[0];
  const path = `/v1/messages/${segment(id)}`;
  const state = chip("…", "quiet");
  const buttons = h("div", { class: "buttons" });
  const body = h("div", { class: "columns" });
  let isOpen = true;
  let timer = null;
  let shown = "";
  let text = null;

  async function load() {
    clearTimeout(timer);
    try {
      const found = await get(path);
      if (!isOpen) return;
      const key = JSON.stringify(found);
      if (key !== shown) draw(found);
      shown = key;
      if (!found.final || (found.final.receipt_to && !found.final.receipt_acknowledged && !found.final.receipt_given_up)) timer = setTimeout(load, LOOK_EVERY_MS);
    } catch (error) {
      if (!isOpen) return;
      if (error.status === 404 || error.status === 400) {
        setChip(state, "not found", "quiet");
        body.replaceChildren(h("section", { class: "card" }, h("div", { class: "empty" },
          nothing("There is no such message", error.message, " It may be older than the retention. "), h("a", { href: "#/messages" }, "Search again"))));
      } else {
        if (!shown) failedPage(body, error);
        if (isOpen) timer = setTimeout(load, LOOK_EVERY_MS);
      }
    }
  }

  function draw(found) {
    setChip(state, ...messageState(found));
    const isWaiting = !found.final && found.stage !== "handed over";
    const hadFocus = buttons.contains(document.activeElement);
    buttons.replaceChildren(...(found.stage === "held" ? orders(id, load) : isWaiting ? commands() : hasFailed(found) ? [replay(found, load)] : []));
    if (hadFocus) (buttons.firstElementChild ?? document.querySelector("h1"))?.focus();
    body.replaceChildren(
      h("section", { class: "card" }, h("h2", {}, "Timeline"), timeline(found)),
      h("section", { class: "card" }, h("h2", {}, "Message"), facts(found), content(found)));
  }

  function commands() {
    return [
      command({ label: "Retry now", path: `${path}/retry`, said: "It is due now", after: load }),
      command({
        label: "Move", path: `${path}/move`, after: load,
        ask: {
          title: "Move this message", text: "From now on it waits in the other queue, and is sent from there.", action: "Move",
          options: { label: "To queue", values: targets },
        },
        body: (to) => ({ to }),
        said: (done) => (done.pending ? "It is being moved" : "It is moved"),
      }),
      command({
        label: "Cancel", tone: "risky", path: `${path}/cancel`, after: load,
        ask: { title: "Cancel this message?", text: `Message ${id} ends DELETED, and its sender is told. This cannot be undone.`, action: "Cancel the message" },
        said: (done) => (done.pending ? "It is being cancelled" : "It is cancelled"),
      }),
    ];
  }

  function facts(found) {
    const rows = {
      From: found.from,
      To: found.to,
      Sender: named(found.sender),
      Queue: named(found.queue),
      Kind: found.kind,
      Expires: time(found.expires_at),
      Attempts: found.attempts,
      Priority: found.priority,
      "Data coding": found.data_coding,
      "ESM class": found.esm_class,
      "Registered delivery": found.registered_delivery,
    };
    if (found.imsi) rows.IMSI = found.imsi;
    if (found.came_as) rows["Came as"] = found.came_as;
    if (found.mo_rule) rows["MO rule"] = found.mo_rule;
    for (const [name, other] of [["Answer to", found.answer_to], ["Replay of", found.replay_of], [copied(found.copy_of), found.copy_of?.id], ["Replayed as", found.replayed_as]]) {
      if (other) rows[name] = h("a", { class: "mono", href: `#/messages/${other}` }, other);
    }
    const trace = found.trace;
    if (trace) {
      const isLink = /^https?:/.test(trace.url ?? "");
      rows["Recorded trace"] = isLink ? h("a", { href: trace.url, rel: "noreferrer" }, trace.trace_id) : trace.trace_id;
    }
    return h("dl", { class: "facts wide" }, Object.entries(rows).map(([name, value]) =>
      h("div", {}, h("dt", {}, name), h("dd", {}, value instanceof Node ? value : String(value ?? "–")))));
  }

  /** The text is shown only when somebody asks for it. */
  function content(found) {
    if (found.note) return h("p", { class: "quiet" }, `The ${found.note}: it is not kept for so long.`);
    if (text) return text;
    const reason = whyNot("operate");
    return h("button", { type: "button", class: "small", title: reason, "aria-disabled": reason && "true", onclick: async (event) => {
      if (reason) return toast(reason, "warn");
      try {
        const { content: said } = await get(`${path}?text=true`);
        text = h("div", { class: "text" }, said.text === null ? h("p", { class: "quiet" }, "The text cannot be decoded; its octets are") : h("blockquote", {}, said.text),
          said.text === null && h("code", {}, said.octets || "none"),
          said.tpdu && h("p", { class: "quiet" }, "As it came (smsc decode --tpdu explains it): ", h("code", {}, said.tpdu)));
        event.target.replaceWith(text);
      } catch (error) {
        failed(error);
      }
      return undefined;
    } }, "Show the text");
  }

  load();
  return {
    title: `Message ${id}`,
    elements: [
      h("p", { class: "crumb" }, h("a", { href: "#/messages" }, "Messages")),
      heading(`Message ${id}`, state, buttons),
      body,
    ],
    close() {
      isOpen = false;
      clearTimeout(timer);
    },
  };
}
