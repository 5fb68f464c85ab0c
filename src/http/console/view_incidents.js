// Incidents: operators and accounts that are not well, who knows of it, and those that have ended.

import { get, may, segment } from "./api.js";
import { command, failedIn } from "./dialog.js";
import { h, heading, nothing, setText, table } from "./dom.js";
import { localTimes, number, showTime } from "./format.js";
import { showNamed } from "./kinds.js";
import { stateCell } from "./states.js";

const PATH = "/v1/incidents";

/** How it stands, in words and in a tone. */
function incidentState(row) {
  if (row.ended_at) return ["ended", "quiet"];
  return row.acknowledged_at ? ["acknowledged", "busy"] : ["open", "bad"];
}

/** Whether it goes on, and nobody has said that they know of it. */
function needsLook(row) {
  return !row.ended_at && !row.acknowledged_at;
}

/** The button that says that somebody knows of it. */
function acknowledge(row, after) {
  return command({
    label: "Acknowledge", describe: `Acknowledge: ${localTimes(row.text)}`, path: `${PATH}/${segment(row.id)}/acknowledge`, after,
    said: "It is acknowledged, and needs no look until it ends",
  });
}

/** Columns of every list of incidents; `load` reads them again. */
export function incidentColumns(load) {
  return {
    state: { title: "State", render: (cell, row) => stateCell(cell, incidentState(row)) },
    what: { title: "What", class: "wrap", text: (row) => localTimes(row.text) },
    began: { title: "Began", render: (cell, row) => showTime(cell, row.began_at) },
    commands: { title: "Commands", class: "commands", hidden: !may("operate"), render: (cell, row) => {
      if (!needsLook(row)) cell.replaceChildren();
      else if (!cell.firstChild) cell.append(acknowledge(row, load));
    } },
  };
}

export default function incidents() {
  let isOpen = true;
  let told = null;
  const columns = incidentColumns(load);
  const list = table({
    caption: "Incidents, those that need a look first",
    key: (row) => row.id,
    columns: [
      { title: "About", render: (cell, row) => showNamed(cell, row.about, row.about.replace(":", " ")) },
      columns.state, columns.what, columns.began,
      { title: "Ended", render: (cell, row) => showTime(cell, row.ended_at) },
      { title: "Acknowledged by", class: "wrap", text: (row) => row.acknowledged_by ?? "–" },
      columns.commands,
    ],
    empty: () => nothing("Every operator and account is well, and was", "An operator that refuses or fails more than usual, brings no receipts or answers slowly would be listed here, and so would an account."),
  });
  const said = h("p", { class: "quiet", role: "status" });

  async function load() {
    try {
      const page = await get(PATH);
      if (!isOpen) return;
      list.update(page.incidents);
      const open = page.incidents.filter(needsLook).length;
      setText(said, open ? `${number(open)} need a look` : "");
    } catch (error) {
      if (!isOpen) return;
      failedIn(list, error);
    }
  }
  load();
  return {
    elements: [
      heading("Incidents"),
      h("section", { class: "card" }, list.element), h("div", { class: "below" }, said),
    ],
    /** Reads them again when what needs a look has changed. */
    update(live) {
      const now = JSON.stringify(live.overview?.attention ?? []);
      if (told !== null && told !== now) load();
      told = now;
    },
    close() {
      isOpen = false;
    },
  };
}
