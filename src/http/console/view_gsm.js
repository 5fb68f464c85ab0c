// GSM networks: how this SMSC is connected to their HLRs, what waits for handsets, and the commands.

import { get, segment } from "./api.js";
import { command, failed } from "./dialog.js";
import { h, heading, nothing, table } from "./dom.js";
import { number } from "./format.js";
import { operatorState, stateCell } from "./states.js";

/** How often it is asked again. */
const EVERY_MS = 2_000;

export default function gsm() {
  const list = h("section", { class: "card" });
  const rows = table({
    caption: "GSM networks",
    key: (row) => row.name,
    columns: [
      { title: "Network", text: (row) => row.name },
      { title: "HLR", text: (row) => row.address },
      { title: "State", render: (cell, row) => stateCell(cell, operatorState(row)) },
      { title: "Connections", numeric: true, text: (row) => `${number(row.connected)} of ${number(row.configured)}` },
      { title: "Under way here", numeric: true, text: (row) => number(row.outstanding) },
      { title: "Waiting", numeric: true, text: (row) => number(row.queue?.waiting ?? 0) },
      { title: "For later", numeric: true, text: (row) => number(row.queue?.scheduled ?? 0) },
      { title: "Last error", text: (row) => row.last_error },
      { title: "", render: (cell, row) => { if (!cell.firstChild) cell.append(...commands(row.name)); } },
    ],
    empty: () => nothing("No GSM networks", "Add a [[gsm]] to the configuration to deliver to handsets."),
  });
  list.append(rows.element);

  async function load() {
    try {
      rows.update((await get("/v1/gsm")).gsm);
    } catch (error) {
      failed(error);
    }
  }

  load();
  const timer = setInterval(load, EVERY_MS);
  return { elements: [heading("GSM networks"), list], close: () => clearInterval(timer) };
}

function commands(name) {
  const path = `/v1/gsm/${segment(name)}`;
  return [
    command({
      label: "Suspend", describe: `Suspend ${name}`, path: `${path}/suspend`,
      ask: { title: `Suspend ${name}?`, text: "The connections to its HLR are closed and stay down until they are resumed. Its messages wait.", action: "Suspend" },
      said: `${name} is being disconnected`,
    }),
    command({ label: "Resume", describe: `Resume ${name}`, path: `${path}/resume`, said: `${name} is being connected` }),
  ];
}
