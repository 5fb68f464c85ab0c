// Everything that a search finds, saved as CSV. A spreadsheet must not take a text of somebody else for a formula:
// crates/domain/src/csv.rs does the same for what the server and the command line write.

import { get } from "./api.js";
import { failed, toast } from "./dialog.js";
import { h, saveFile, setText } from "./dom.js";
import { number } from "./format.js";

/** Rows of one request: the server's own limit. */
const PORTION = 1_000;
/** Most rows of one file: the page holds all of them until it is saved. */
const MOST = 100_000;
/** Beginnings of a formula, also full-width ones, and what may be in front of it. */
const FORMULA = /^[=+\-@\t\r\n\0\uff1d\uff0b\uff0d\uff20]/;

/** A value as a field (RFC 4180); a formula gets an apostrophe in front, a number stays as it is. */
function csvField(value) {
  const text = String(value ?? "");
  const safe = FORMULA.test(text) && !/^[+-]\d+(\.\d+)?$/.test(text) ? `'${text}` : text;
  return /["\n\r,]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/**
 * A button that saves whatever `path` finds for `query` as `file`, a page at a time, and what it says meanwhile.
 * `items` is the name of the list in the answer, `columns` are `[title, value(row)]`, `cursor` is the parameter with which the
 * next page begins; `query` and `columns` may be functions. `keep(row)` says whether a row that was found is wanted.
 */
export function csvButton({ path, query, items, columns: wantedColumns, file, cursor = "before", keep = () => true }) {
  const said = h("span", { class: "quiet", role: "status" });
  const button = h("button", { type: "button", class: "small", onclick: () => (running ? stop() : run()) }, "CSV");
  /** The run that is wanted now; another one ends when it sees this. */
  let running = null;

  function end() {
    running = null;
    setText(button, "CSV");
  }

  function stop() {
    end();
    setText(said, "Stopped, nothing is saved");
  }

  async function run() {
    const own = {};
    running = own;
    setText(button, "Stop");
    setText(said, "");
    const lines = [];
    const columns = typeof wantedColumns === "function" ? wantedColumns() : wantedColumns;
    const wanted = typeof query === "function" ? query() : query;
    let next = null;
    try {
      do {
        const asked = new URLSearchParams(wanted);
        asked.set("limit", String(PORTION));
        if (next) asked.set(cursor, next);
        const page = await get(`${path}?${asked}`);
        // Whoever has gone elsewhere wants no file any more.
        if (running !== own || !button.isConnected) return;
        for (const row of page[items].filter(keep)) lines.push(columns.map(([, value]) => csvField(value(row))).join(","));
        next = page[`next_${cursor}`];
        setText(said, `${number(lines.length)} rows`);
      } while (next && lines.length < MOST);
      save(columns, lines, Boolean(next));
    } catch (error) {
      if (running !== own) return;
      setText(said, "");
      failed(error);
    }
    end();
  }

  function save(columns, lines, isCut) {
    const text = [columns.map(([title]) => title).join(","), ...lines].map((line) => `${line}\r\n`);
    saveFile(new Blob(text, { type: "text/csv" }), file);
    setText(said, isCut ? `Only the newest ${number(lines.length)} rows are saved: end the search earlier for the rest` : "");
    if (!isCut) toast(`${file} has ${number(lines.length)} ${lines.length === 1 ? "row" : "rows"}.`, "good");
  }
  return [said, button];
}
