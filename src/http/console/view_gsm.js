// GSM networks: how each node is connected to their HLRs or signalling gateways, what waits for handsets and goes to them, and what came of it.

import { get, may, segment } from "./api.js";
import { command, failedIn, readAgain } from "./dialog.js";
import { h, heading, nothing, setAttribute, setText, table } from "./dom.js";
import { milliseconds, number, rate, showAge, span } from "./format.js";
import { newPage, pageOf, showLink } from "./kinds.js";
import { live, serverNow } from "./live.js";
import { bindState, gatewayState, operatorState, stateCell } from "./states.js";

/** RP-causes that this SMSC answers handsets with (3GPP TS 24.011 §8.2.5.4). */
const CAUSES = {
  0: "RP-ACK", 1: "1 unassigned number", 21: "21 short message transfer rejected", 41: "41 temporary failure", 42: "42 congestion",
  50: "50 facility not subscribed", 69: "69 facility not implemented", 96: "96 invalid mandatory information",
};

/** What the firewall does with a request. */
const TAKEN = { block: "refused", drop: "not answered", report: "let in, reported", dry: "let in: dry" };

export default function gsm() {
  const networks = table({
    caption: "GSM networks",
    key: (row) => row.name,
    columns: [
      { title: "Network", render: (cell, row) => showLink(cell, pageOf(`gsm/${row.name}`), row.name) },
      { title: "HLR or gateways", text: (row) => row.address },
      { title: "State", render: (cell, row) => stateCell(cell, operatorState(row)) },
      { title: "Connections", numeric: true, text: (row) => `${number(row.connected)} of ${number(row.configured)}` },
      { title: "Under way here", numeric: true, text: (row) => number(row.outstanding) },
      { title: "Waiting", numeric: true, text: (row) => number(row.queue?.waiting ?? 0) },
      { title: "For later", numeric: true, text: (row) => number(row.queue?.scheduled ?? 0) },
      { title: "Oldest", numeric: true, render: (cell, row) => showAge(cell, row.queue?.oldest_at ?? null, serverNow()) },
      { title: "Delivered / s", numeric: true, text: (row) => rate(liveQueue(row)?.delivered_per_second) },
      { title: "Failed / s", numeric: true, text: (row) => rate(liveQueue(row)?.failed_per_second) },
      { title: "Commands", class: "commands", hidden: !may("operate"), render: (cell, row) => {
        if (!cell.firstChild) cell.append(h("div", { class: "buttons" }, commands(row.name)));
      } },
    ],
    empty: () => nothing("No GSM networks", "Add one to deliver to handsets."),
  });
  const connections = table({
    caption: "Connections",
    key: (row) => `${row.network} ${row.node}`,
    columns: [
      { title: "Network", text: (row) => row.network },
      { title: "Node", numeric: true, text: (row) => row.node ?? "this one" },
      { title: "State", render: (cell, row) => stateCell(cell, bindState(row.state)) },
      { title: "Peer", class: "mono", text: (row) => row.bind?.peer || "–" },
      { title: "Window", numeric: true, text: (row) => (row.bind ? `${number(row.bind.in_flight)} / ${number(row.bind.window)}` : "–") },
      { title: "Answers in", numeric: true, text: (row) => milliseconds(row.bind?.answer_ms) },
      { title: "Out / s", numeric: true, text: (row) => rate(liveBind(row)?.sent_per_second) },
      { title: "In / s", numeric: true, text: (row) => rate(liveBind(row)?.received_per_second) },
      { title: "Note", render: (cell, row) => {
        setText(cell, noteOf(row.bind));
        setAttribute(cell, "title", row.bind?.last_error || null);
      } },
    ],
    empty: () => nothing("No connections", "Nodes that deliver connect to the HLR or the gateways of each enabled network."),
  });
  const gateways = table({
    caption: "Signalling gateways",
    key: (row) => `${row.network} ${row.address}`,
    columns: [
      { title: "Network", text: (row) => row.network },
      { title: "Gateway", class: "mono", text: (row) => row.address },
      { title: "State", render: (cell, row) => stateCell(cell, gatewayState(row.state)) },
      { title: "For", numeric: true, render: (cell, row) => showAge(cell, row.since, serverNow()) },
      { title: "Received", numeric: true, text: (row) => number(row.received_total) },
      { title: "Sent", numeric: true, text: (row) => number(row.sent_total) },
      { title: "Note", render: (cell, row) => {
        setText(cell, againNote(row.last_error, row.next_at));
        setAttribute(cell, "title", row.last_error || null);
      } },
    ],
    empty: () => nothing("No signalling gateways", "Networks over MAP are reached through some."),
  });
  const gatewaysCard = part("Signalling gateways of this node", gateways);
  const findings = table({
    caption: "Firewall",
    key: (row) => `${row.network} ${row.rule} ${row.action} ${row.operation} ${row.calling}`,
    columns: [
      { title: "Network", text: (row) => row.network },
      { title: "Last", numeric: true, render: (cell, row) => showAge(cell, row.at, serverNow()) },
      { title: "Rule", text: (row) => row.rule },
      { title: "Done", text: (row) => TAKEN[row.action] ?? row.action },
      { title: "Operation", text: (row) => row.operation },
      { title: "Global title", class: "mono", text: (row) => row.calling || "none" },
      { title: "Subscriber", class: "mono", text: (row) => row.subscriber || "–" },
      { title: "Sender", class: "mono", text: (row) => row.originator || "–" },
      { title: "How many", numeric: true, text: (row) => number(row.count) },
      { title: "Nodes", numeric: true, text: (row) => (row.nodes ?? []).join(", ") },
    ],
    empty: () => nothing("Nothing found", "Requests that a rule of map.firewall has found are listed here."),
  });
  const findingsCard = part("What the firewall has found", findings);
  const results = table({
    caption: "Results",
    key: (row) => `${row.network} ${row.way} ${row.result}`,
    columns: [
      { title: "Network", text: (row) => row.network },
      { title: "Messages", text: (row) => row.way },
      { title: "Result", text: (row) => row.result },
      { title: "How many", numeric: true, text: (row) => number(row.count) },
      { title: "Share", numeric: true, text: (row) => `${(100 * row.count / row.of).toFixed(1)} %` },
    ],
    empty: () => nothing("Nothing yet", "What the network and handsets say to messages is counted here, for this node since it was started. smsc_attempts_total has all nodes."),
  });

  const close = readAgain(async () => {
    const { gsm: all } = await get("/v1/gsm");
    networks.update(all);
    connections.update(all.flatMap(connectionsOf));
    const found = all.flatMap(gatewaysOf);
    gateways.update(found);
    gatewaysCard.hidden = found.length === 0;
    findings.update(all.flatMap(findingsOf));
    findingsCard.hidden = !all.some(isGuarded);
    results.update(all.flatMap(resultsOf));
  }, (error) => failedIn(networks, error));
  return {
    elements: [
      heading("GSM networks", h("a", { class: "button", href: newPage("gsm"), hidden: !may("admin") }, "Add a network")), h("section", { class: "card" }, networks.element),
      part("Connections", connections), gatewaysCard, findingsCard, part("Results on this node", results),
    ],
    stream: { kinds: ["queues", "binds"], list: "binds", direction: "gsm", limit: 256 },
    close,
  };
}

function part(title, list) {
  return h("section", { class: "card" }, h("div", { class: "card-head" }, h("h2", {}, title)), list.element);
}

function liveQueue(network) {
  return live.queues?.queues.find((queue) => queue.name === `gsm:${network.name}`);
}

function liveBind({ bind }) {
  return bind && live.binds?.binds.find((one) => one.session === bind.session);
}

/** One row for each node; only this one knows its connection well. */
function connectionsOf(network) {
  const own = network.connections.map((bind) => ({ network: network.name, node: live.hello?.node ?? null, state: bind.state, bind }));
  const others = network.nodes.filter((share) => share.node !== live.hello?.node && share.binds > 0);
  return own.concat(others.map((share) => ({ network: network.name, node: share.node, state: share.bound ? "bound" : "waiting", bind: null })));
}

/** Of networks over MAP, as this node is connected to them. */
function gatewaysOf(network) {
  return network.connections.flatMap((bind) => (bind.gateways ?? []).map((gateway) => ({ network: network.name, ...gateway })));
}

/** What the firewalls of all nodes have found lately, the newest first. */
function findingsOf(network) {
  return (network.firewall ?? []).map((finding) => ({ network: network.name, ...finding }));
}

/** Whether a firewall looks at what others send. */
function isGuarded(network) {
  return network.firewall?.length > 0 || (network.settings?.map?.firewall?.mode ?? "off") !== "off";
}

/** By how often: to handsets, then from them. */
function resultsOf(network) {
  const rows = (way, counts, name) => {
    const of = counts.reduce((sum, one) => sum + one.count, 0);
    const most = counts.toSorted((one, other) => other.count - one.count);
    return most.map((one) => ({ network: network.name, way, result: name(one), count: one.count, of }));
  };
  return [
    ...rows("to handsets", network.results, (one) => (one.result === "ESME_ROK" ? "arrived" : one.result)),
    ...rows("from handsets", network.submissions, (one) => CAUSES[one.cause] ?? String(one.cause)),
  ];
}

function noteOf(bind) {
  if (!bind) return "";
  if (bind.state === "bound") return bind.since ? `for ${span(serverNow() - Date.parse(bind.since))}` : "";
  return againNote(bind.last_error, bind.next_reconnect_at);
}

function againNote(error, at) {
  const next = at ? `again in ${span(Date.parse(at) - serverNow())}` : "";
  return [error, next].filter(Boolean).join(" · ");
}

function commands(name) {
  const path = `/v1/gsm/${segment(name)}`;
  return [
    command({
      label: "Suspend", describe: `Suspend ${name}`, path: `${path}/suspend`,
      ask: { title: `Suspend ${name}?`, text: "Its connections are closed and stay down until they are resumed. Its messages wait.", action: "Suspend" },
      said: `${name} is being disconnected`,
    }),
    command({ label: "Resume", describe: `Resume ${name}`, path: `${path}/resume`, said: `${name} is being connected` }),
  ];
}
