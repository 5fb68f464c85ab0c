// A test message for an account: what it becomes while it is written, and what becomes of it when it is sent.

import { get, post, segment } from "./api.js";
import { failed, failedAt, toast } from "./dialog.js";
import { field, h, heading, nothing, setText } from "./dom.js";
import { number } from "./format.js";
import { timeline } from "./view_message.js";
import { accountSelect } from "./view_keys.js";

/** After the last key, before the server is asked. */
const PAUSE_MS = 250;
const LOOK_EVERY_MS = 1000;
/** Stands for the recipient while there is none: the parts of a text do not depend on it. */
const NOBODY = "447700900123";

export default function compose({ query }) {
  const account = accountSelect("account", query.get("account"));
  const from = h("input", { type: "text", name: "from", autocomplete: "off", spellcheck: "false", value: query.get("from") ?? "" });
  const to = h("input", { type: "text", name: "to", inputmode: "tel", required: true, autocomplete: "off", spellcheck: "false", value: query.get("to") ?? "" });
  const text = h("textarea", { name: "text", required: true, rows: "5" });
  const states = h("input", { type: "checkbox", name: "states" });
  const send = h("button", { type: "submit", class: "primary" }, "Send");
  const problem = h("p", { class: "problem", role: "alert" });
  const form = h("form", { class: "card compose", onsubmit: submit, oninput: soon },
    field("Account", account, "It pays for the message, and its limits hold."),
    field("From", from, "A number, a short code, or up to 11 letters."),
    wide(field("To number", to)), wide(field("Text", text)),
    wide(field("Callback for each state", states, "Queued, sent, retrying and the end: where the account has callbacks.")), wide(problem), h("div", { class: "buttons" }, send));
  const facts = Object.fromEntries(["Characters", "Alphabet", "Short messages", "Price", "Route"].map((name) => [name, h("dd", {}, "–")]));
  const before = h("section", { class: "card", "aria-live": "polite" }, h("h2", {}, "Before sending"),
    h("dl", { class: "facts wide" }, Object.entries(facts).map(([name, value]) => h("div", {}, h("dt", {}, name), value))));
  const after = h("section", { class: "card", "aria-live": "polite" }, h("h2", {}, "Timeline"),
    h("div", { class: "empty" }, nothing("Not sent yet", "What happens to the message is shown here.")));
  let asked = 0;
  let pause = null;
  let look = null;
  let isOpen = true;

  const order = () => ({
    to: to.value.trim() || NOBODY, from: from.value.trim(), text: text.value,
    ...(states.checked && { callback_states: ["queued", "sent", "retrying"] }),
  });
  const path = () => `/v1/accounts/${segment(account.value)}/messages`;

  function soon() {
    clearTimeout(pause);
    pause = setTimeout(estimate, PAUSE_MS);
  }

  /** Asks the server, which knows alphabets, prices and routes; an answer that is overtaken is dropped. */
  async function estimate() {
    setText(facts.Characters, number([...text.value].length));
    if (!account.value) return;
    const mine = asked += 1;
    try {
      const hasNumber = to.value.trim() !== "";
      const one = text.value ? (await post(`${path()}/estimate`, order())).messages[0] : null;
      const route = hasNumber && one?.number ? await explained(one.number) : null;
      if (mine !== asked || !isOpen) return;
      setText(facts.Alphabet, one?.alphabet ?? "–");
      setText(facts["Short messages"], one?.parts ? number(one.parts) : "–");
      setText(facts.Price, hasNumber && one ? price(one) : "–");
      setText(facts.Route, route ?? "–");
      const isAboutNobody = !hasNumber && one?.error?.field === "to";
      setText(problem, isAboutNobody ? "" : one?.error?.detail ?? "");
    } catch (error) {
      if (mine !== asked || !isOpen) return;
      failedAt(problem, error);
    }
  }

  async function explained(number) {
    const question = new URLSearchParams({ to: number, account: account.value });
    if (from.value.trim()) question.set("from", from.value.trim());
    const answer = await get(`/v1/routes/explain?${question}`);
    return answer.goes_to.join(" or ") || "No route";
  }

  async function submit(event) {
    event.preventDefault();
    if (send.getAttribute("aria-busy")) return undefined;
    send.setAttribute("aria-busy", "true");
    setText(problem, "");
    try {
      const { messages: [sent] } = await post(path(), order());
      toast("It is accepted", "good");
      follow(sent.id);
    } catch (error) {
      failedAt(problem, error);
    } finally {
      send.removeAttribute("aria-busy");
    }
    return undefined;
  }

  /** Shows what happens to the message until it is final. */
  async function follow(id) {
    clearTimeout(look);
    let isFinal = false;
    try {
      const found = await get(`/v1/messages/${id}`);
      if (!isOpen) return;
      isFinal = Boolean(found.final);
      after.replaceChildren(h("div", { class: "card-head" }, h("h2", {}, "Timeline"), h("a", { class: "mono", href: `#/messages/${id}` }, id)), timeline(found));
    } catch (error) {
      if (error.status === 401) return failed(error);
    }
    if (isOpen && !isFinal) look = setTimeout(() => follow(id), LOOK_EVERY_MS);
    return undefined;
  }

  account.addEventListener("filled", estimate);
  return {
    elements: [heading("Compose"), h("p", { class: "lead" }, "A test message, submitted for an account as by its HTTP API."),
      h("div", { class: "columns" }, form, h("div", { class: "stack last" }, before, after))],
    close() {
      isOpen = false;
      clearTimeout(pause);
      clearTimeout(look);
    },
  };
}

function wide(element) {
  element.classList.add("wide");
  return element;
}

function price({ price, error }) {
  if (error) return "Not accepted";
  return price === null ? "None: the account does not pay in advance" : `${number(price)} credits`;
}
