// The node that answers: draining it, and what it logs.

import { get, may, post, put, remove } from "./api.js";
import { command, failed, failedAt, toast } from "./dialog.js";
import { chip, field, h, setChip, setText } from "./dom.js";
import { number } from "./format.js";

/** While a node drains, how often it is asked how far it is. */
const LOOK_EVERY_MS = 2_000;

export function thisNode() {
  const state = chip("…", "quiet");
  const said = h("p", { class: "quiet", role: "status" });
  const level = h("input", { type: "text", name: "level", autocomplete: "off", spellcheck: "false", required: true, readonly: !may("operate") });
  const problem = h("p", { class: "problem", role: "alert" });
  let timer = null;
  let isOpen = true;
  const begin = command({
    label: "Drain", path: "/v1/drain", send: (path) => post(path), after: look, said: "The node is draining",
    ask: { title: "Drain this node?", text: "It accepts nothing more, finishes what is under way, unbinds, and hands over to the other nodes. Then it can be stopped. Its messages wait when there is no other node.", action: "Drain the node" },
  });
  const end = command({ label: "End the drain", path: "/v1/drain", send: remove, after: look, said: "The node works again" });

  async function look() {
    clearTimeout(timer);
    try {
      const drain = await get("/v1/drain");
      if (!isOpen) return;
      begin.hidden = drain.draining || !may("operate");
      end.hidden = !drain.draining || !may("operate");
      const [text, tone] = !drain.draining ? ["works", "good"] : drain.finished ? ["drained: it can be stopped", "busy"] : ["draining", "warn"];
      setChip(state, text, tone);
      setText(said, drain.draining && !drain.finished ? `${number(drain.in_flight)} messages wait for an answer, ${number(drain.sessions)} sessions are left.` : "");
      if (drain.draining && !drain.finished) timer = setTimeout(look, LOOK_EVERY_MS);
    } catch (error) {
      if (!isOpen) return;
      setChip(state, "not known", "quiet");
      failed(error);
    }
  }

  async function setLevel(event) {
    event.preventDefault();
    setText(problem, "");
    try {
      level.value = (await put("/v1/log-level", { level: level.value.trim() })).level;
      toast("It is logged from now on, until the node is started again.", "good");
    } catch (error) {
      failedAt(problem, error);
    }
  }

  look();
  get("/v1/log-level").then((now) => { level.value = now.level; }, failed);
  return {
    element: h("section", { class: "card" }, h("div", { class: "card-head" }, h("h2", {}, "This node"), state, h("div", { class: "buttons" }, begin, end)), said,
      h("form", { class: "search", onsubmit: setLevel }, field("What it logs", level, "error, warn, info, debug, trace, or a filter such as info,smsc::smpp=debug."),
        h("div", { class: "buttons" }, h("button", { type: "submit", hidden: !may("operate") }, "Set"), problem))),
    close() {
      isOpen = false;
      clearTimeout(timer);
    },
  };
}
