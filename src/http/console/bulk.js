// One order for many messages: counts first, then does it a portion at a time, and shows how far it is. What was done
// stays done when the page is left or Stop is pressed.

import { may, post } from "./api.js";
import { failed, toast } from "./dialog.js";
import { field, h, setText } from "./dom.js";
import { number } from "./format.js";

/** Messages of one request. */
const PORTION = 500;
/** Most that one count looks at: the server's own limit. */
const MOST = 10_000;
/** Most reasons that are shown. */
const SHOWN = 5;

/** The conditions of a search, as the filter of an order; null without any. */
export function filterOf(query, names) {
  const filter = Object.fromEntries(names.filter((name) => query.get(name)).map((name) => [name, query.get(name)]));
  return Object.keys(filter).length ? filter : null;
}

/**
 * A button that gives `path` the `filter()` of what is searched. `verb` is what it does, `done` the name of the count
 * in the answer; `options` is a choice that `extra(choice)` turns into more of the body; with `rated` it may be slowed down.
 */
export function bulk({ label, verb, path, done, filter, explain, options = null, extra = () => ({}), rated = false, tone = "", after = () => {} }) {
  const button = h("button", { type: "button", class: `small ${tone}`, hidden: !may("operate"), onclick: open }, label);

  async function open() {
    const wanted = filter();
    if (!wanted) return toast("Search for something first: a number, an account, an operator, a state or a day.", "warn");
    button.setAttribute("aria-busy", "true");
    try {
      const found = await post(path, { filter: wanted, dry_run: true, limit: MOST });
      const choices = options && await options.values();
      // The person has gone on to another page, and does not expect this question there.
      if (!button.isConnected) return undefined;
      // Among many messages it may not have come to those that fit.
      if (!found.matched && !found.next_before) toast(`No message of this search can be ${verb.past}.`, "warn");
      else ask(wanted, found, choices);
    } catch (error) {
      failed(error);
    } finally {
      button.removeAttribute("aria-busy");
    }
    return undefined;
  }

  function ask(wanted, found, choices) {
    const all = found.matched;
    const many = `${number(all)}${found.next_before ? " or more" : ""}`;
    const select = choices && h("select", {}, choices.map((name) => h("option", {}, name)));
    const rate = rated && h("input", { type: "number", min: "1", max: "10000", step: "1", inputmode: "numeric" });
    const bar = h("progress", { max: Math.max(1, all), value: 0, "aria-label": "Progress", hidden: true });
    const said = h("p", { role: "status" });
    const problems = h("ul", { class: "reasons" });
    const go = h("button", { type: "button", class: tone === "risky" ? "danger" : "primary", onclick: run }, `${verb.imperative} ${many}`);
    const close = h("button", { type: "button", onclick: end }, "Cancel");
    const dialog = h("dialog", { "aria-labelledby": "bulk-title", "aria-describedby": "bulk-text" },
      h("h2", { id: "bulk-title" }, `${verb.imperative} ${many} messages?`),
      h("p", { id: "bulk-text" }, explain),
      options && field(options.label, select), rate && field("At most per second (optional)", rate), bar, said, problems,
      h("div", { class: "buttons" }, close, go));
    let isOpen = true;
    let isStopped = false;

    function end() {
      isStopped = true;
      if (go.getAttribute("aria-busy")) return;
      isOpen = false;
      dialog.close();
      dialog.remove();
      button.focus();
    }
    dialog.addEventListener("cancel", (event) => {
      event.preventDefault();
      end();
    });

    async function run() {
      if (rate && !rate.checkValidity()) {
        rate.reportValidity();
        return;
      }
      const more = extra(select?.value);
      if (rate && rate.value) more.rate = Number(rate.value);
      const sums = { done: 0, refused: 0 };
      go.setAttribute("aria-busy", "true");
      go.disabled = true;
      if (select) select.disabled = true;
      if (rate) rate.disabled = true;
      setText(close, "Stop");
      bar.hidden = false;
      try {
        for (let before = null; !isStopped && dialog.isConnected;) {
          const body = { ...more, filter: before ? { ...wanted, before } : wanted, limit: PORTION };
          const report = await post(path, body);
          const isPortion = !(report.left && report[done]);
          sums.done += report[done];
          // Those of an unfinished portion are met again.
          if (isPortion) sums.refused += report.refused;
          bar.value = Math.min(all, sums.done + sums.refused);
          setText(said, `${number(sums.done)} of ${many} ${verb.past}${sums.refused ? `, ${number(sums.refused)} refused` : ""}`);
          // What was not reached in time is asked for again; what is older comes next.
          if (!isPortion) continue;
          for (const one of report.reasons.slice(0, SHOWN - problems.children.length)) problems.append(h("li", {}, `${one.id}: ${one.reason}`));
          if (!report.next_before) break;
          before = report.next_before;
        }
      } catch (error) {
        problems.append(h("li", { class: "problem", role: "alert" }, error.message));
      }
      go.removeAttribute("aria-busy");
      go.hidden = true;
      setText(close, "Close");
      if (isOpen) close.focus();
      after();
    }
    document.body.append(dialog);
    dialog.showModal();
    (select ?? close).focus();
  }
  return button;
}
