// A live trace: what happens to the messages of one number, account or operator, on all nodes, for some minutes. The
// address of the page says whom.

import { field, h, heading, nothing, setText, table } from "./dom.js";
import { columns, steps } from "./steps.js";
import { stateCell } from "./states.js";
import { textInput } from "./view_messages.js";

const KINDS = [["number", "Number"], ["account", "Account"], ["operator", "Operator"]];
const LASTS = [["1m", "1 minute"], ["5m", "5 minutes"], ["15m", "15 minutes"], ["1h", "1 hour"]];

function what(row) {
  if (row.step === "attempt") return `attempt ${row.attempt}`;
  if (row.step === "receipt") return "receipt delivered";
  return row.step;
}

function tone(row) {
  if (["ESME_ROK", "DELIVERED", "ACCEPTED"].includes(row.status)) return "good";
  return ["UNKNOWN", "DELETED", "ESME_RTHROTTLED"].includes(row.status) ? "warn" : "bad";
}

function where(row) {
  if (row.step === "accepted" || row.step === "refused") return [row.sender, row.by].filter(Boolean).join(", ");
  if (row.step === "final") return row.by ? `reported by ${row.by}` : "ended here";
  return [row.queue, row.latency_ms ? `after ${row.latency_ms} ms` : ""].filter(Boolean).join(", ");
}

export default function trace({ query }) {
  const whom = KINDS.find(([name]) => query.get(name))?.[0] ?? "number";
  const kind = h("select", { name: "kind" }, KINDS.map(([name, title]) => h("option", { value: name, selected: name === whom }, title)));
  const name = textInput(new URLSearchParams({ name: query.get(whom) ?? "" }), "name");
  name.required = true;
  name.dataset.focus = true;
  const lasts = h("select", { name: "for" }, LASTS.map(([value, title]) => h("option", { value, selected: value === (query.get("for") ?? "5m") }, title)));
  const button = h("button", { type: "submit", class: "primary" }, "Trace");
  const list = table({
    caption: "Steps, newest first",
    key: (row) => row.key,
    columns: [
      columns.at,
      { title: "Message", class: "mono", render: (cell, row) => {
        if (!cell.firstChild) cell.append(row.message ? h("a", { href: `#/messages/${row.message}` }, row.message) : "no id");
      } },
      { title: "Step", text: what },
      { title: "Status", render: (cell, row) => stateCell(cell, [row.status, tone(row)]) },
      columns.addresses,
      { title: "Where", class: "wrap", text: where },
      { title: "Node", numeric: true, text: (row) => row.node },
    ],
    empty: () => nothing("Nothing yet", "Steps of messages appear here as they happen, of all nodes. Nothing is recorded: what happened before is in the history of each message."),
  });
  const feed = steps({ list, onState: (isOn) => setText(button, isOn ? "Stop" : "Trace") });
  const form = h("form", { class: "card search", onsubmit: (event) => {
    event.preventDefault();
    if (feed.isRunning()) return feed.stop();
    const next = new URLSearchParams({ [kind.value]: name.value.trim(), for: lasts.value });
    history.replaceState(null, "", `#/trace?${next}`);
    return begin();
  } }, field("Whom", kind), field("Number, system_id or operator id", name), field("For", lasts), h("div", { class: "buttons" }, button));

  function begin() {
    return feed.start("POST", "/v1/traces", { [kind.value]: name.value.trim(), for: lasts.value });
  }
  list.update([]);
  if (name.value) begin();
  return {
    elements: [
      heading("Trace"),
      h("p", { class: "lead" }, "Follow one number, account or operator live, on all nodes. It ends by itself, and shows no texts."),
      form, ...feed.elements,
      h("section", { class: "card" }, list.element),
    ],
    close: () => feed.stop(),
  };
}
