// The first steps of an empty SMSC: a customer, an operator whose connection is tried, a route, a test message, and the sheet
// that the customer gets. Each step is one call of the admin API. Names of what was made are kept while the tab is open, so
// that the steps can be left and gone on with.

import { get, may, post, put, segment, wrongInPath } from "./api.js";
import { warnings } from "./changes.js";
import { copyButton, failed, failedPage, toast } from "./dialog.js";
import { chip, field, h, heading, saveFile, setAttribute, setText } from "./dom.js";
import { resourceForm } from "./form.js";
import { pageOf, routeName, wordsOf } from "./kinds.js";
import { testResult } from "./operator_test.js";
import { kinds } from "./schema.js";
import { keepPassword, readSheet } from "./sheet.js";
import { timeline } from "./view_message.js";
import { note } from "./view_object.js";

const KEPT = "smsc.first-steps";
const HIDDEN = "smsc.first-steps.hidden";
const LOOK_EVERY_MS = 1000;
/** What the demo makes by itself. */
const OF_DEMO = { accounts: "demo", operators: "simulated" };
/** Delivers everything at once, without an operator. */
const NO_OPERATOR = "test:delivered";

const STEPS = [
  { path: "account", title: "Customer", show: account },
  { path: "operator", title: "Operator", show: operator },
  { path: "route", title: "Route", show: route },
  { path: "message", title: "Test message", show: message },
  { path: "sheet", title: "Sheet", show: sheet },
];

/** What each step has made, by its path. */
const made = JSON.parse(sessionStorage.getItem(KEPT) ?? "{}");

function keep(path, name) {
  made[path] = name;
  sessionStorage.setItem(KEPT, JSON.stringify(made));
}

const addressOf = (step) => `#/first-steps?step=${step.path}`;
const stepOf = (path) => STEPS.find((one) => one.path === path);
const after = (step) => STEPS[STEPS.indexOf(step) + 1];

/** The first resource of each kind that is not of the demo; undefined without one. Only names are read: bodies of thousands take long. */
async function firstNames() {
  const { found } = await get("/v1/find?text=*");
  return Object.fromEntries(["accounts", "operators", "gsm"].map((plural) => [plural, found.find(({ kind, name }) => kind === plural && name !== OF_DEMO[plural])?.name]));
}

/** Whether what was made here is there still: somebody may have removed it, or this is another store. */
async function isStillThere(plural, name) {
  if (name === NO_OPERATOR) return true;
  try {
    await get(`/v1/${plural}/${segment(name)}`);
    return true;
  } catch (error) {
    if (error.status === 404) return false;
    throw error;
  }
}

/** For the overview: a way to the first steps, where there is nobody to serve or nothing to send by. */
export function firstStepsCard() {
  const hide = h("button", { type: "button", onclick: () => {
    localStorage.setItem(HIDDEN, "1");
    card.hidden = true;
    document.querySelector("h1").focus();
  } }, "Hide");
  const card = h("section", { class: "card note", "aria-labelledby": "is-empty", hidden: true }, h("h2", { id: "is-empty" }, "This SMSC is empty"),
    h("p", {}, "A customer and an operator are missing before messages can go through it."),
    h("div", { class: "buttons" }, h("a", { class: "button primary", href: "#/first-steps" }, "Set it up in five steps"), hide));
  if (may("admin") && !localStorage.getItem(HIDDEN)) {
    // Who is signed out, or has lost the connection, is told so elsewhere.
    firstNames().then(({ accounts, operators, gsm }) => { card.hidden = Boolean(accounts && (operators || gsm)); }, () => {});
  }
  return card;
}

export default function firstSteps({ query }) {
  const place = { body: h("div", { class: "stack" }), alert: h("div", { role: "alert" }), isOpen: true, close: () => {} };
  const step = stepOf(query.get("step"));
  const shown = {
    title: step ? `First steps: ${step.title}` : "First steps",
    elements: [heading("First steps"), h("p", { class: "lead" }, "From an empty SMSC to a message that is delivered. You can leave at any step and go on later."),
      progress(step), place.alert, place.body],
    close() {
      place.isOpen = false;
      place.close();
    },
  };
  if (step) step.show(place, step);
  else goOn(place);
  return shown;
}

/** Goes to the first step that is not done. */
async function goOn(place) {
  try {
    const names = await firstNames();
    for (const [path, plural] of [["account", "accounts"], ["operator", "operators"], ["route", "routes"]]) {
      if (made[path] && !(await isStillThere(plural, made[path]))) keep(path, undefined);
      // Routes that others have made may lead elsewhere.
      const there = made[path] ?? (path === "route" ? null : names[plural]);
      if (there) keep(path, there);
    }
    if (place.isOpen) location.replace(addressOf(STEPS.find((one) => !made[one.path])));
  } catch (error) {
    if (place.isOpen) failedPage(place.body, error);
  }
}

function progress(at) {
  return h("ol", { class: "wizard", "aria-label": "Steps" }, STEPS.map((step, place) => h("li", {},
    h("a", { href: addressOf(step), "aria-current": step === at ? "step" : null }, `${place + 1}. ${step.title}`),
    made[step.path] ? [" ", chip("Done", "good")] : null)));
}

function next(step) {
  return h("a", { class: "button primary", href: addressOf(after(step)) }, `Go on: ${after(step).title.toLowerCase()}`);
}

// === steps that make a resource ===

function account(place, step) {
  return makes(place, step, {
    plural: "accounts", keys: ["system_id", "password"],
    lead: "Who sends messages: it binds by SMPP with this system_id and password. The page of the account has its limits, prices and everything else.",
    saved: (name, settings) => keepPassword(name, settings.password),
  });
}

function operator(place, step) {
  const without = h("button", { type: "button", onclick: () => {
    keep(step.path, NO_OPERATOR);
    location.hash = addressOf(after(step));
  } }, "I have none yet");
  return makes(place, step, {
    plural: "operators", keys: ["id", "address", "tls", "system_id", "password", "system_type", "bind"],
    lead: "Who delivers the messages. It has given you an address, a system_id and a password. Test the connection before you save: the answer says what is wrong.",
    more: (form) => [tester(place, form), without],
  });
}

function route(place, step) {
  return makes(place, step, {
    plural: "routes", keys: ["prefix", "to"], filled: [["to", made.operator ?? NO_OPERATOR]],
    lead: "Where messages go. An empty prefix takes every number; test:delivered is a target that delivers everything and sends nothing.",
  });
}

/**
 * A step that makes a resource of some of its keys. `more` gives further buttons, for the form; `saved` hears what was
 * made.
 */
async function makes(place, step, { plural, keys, lead, filled = [], more = () => [], saved = () => {} }) {
  let kind;
  try {
    if (made[step.path] && await isStillThere(plural, made[step.path])) {
      if (place.isOpen) isThere(place, step, plural, () => makes(place, step, { plural, keys, lead, filled, more, saved }));
      return undefined;
    }
    keep(step.path, undefined);
    kind = part((await kinds()).get(plural), keys, step.title);
  } catch (error) {
    if (place.isOpen) failedPage(place.body, error);
    return undefined;
  }
  if (!place.isOpen) return undefined;
  const form = resourceForm({ kind, settings: {}, names: {}, isNew: true, onchange: () => {} });
  form.fill(filled);
  const save = h("button", { type: "submit", class: "primary" }, "Save and go on");
  const element = h("form", { class: "card", novalidate: true, onsubmit: submit }, h("h2", {}, step.title), h("p", { class: "quiet" }, lead),
    form.element, h("div", { class: "buttons" }, more({ check, refused }), save));
  place.body.replaceChildren(element);

  /** The settings; null if one that is needed is missing, which is said beside its key. */
  function check() {
    place.alert.replaceChildren();
    const settings = form.settings();
    const missing = kind.schema["x-required"].filter((key) => keys.includes(key) && isNothing(settings[key]));
    form.say(missing.map((key) => ({ field: key, message: "is missing" })));
    return missing.length ? null : settings;
  }

  async function submit(event) {
    event.preventDefault();
    if (save.getAttribute("aria-busy")) return;
    const settings = check();
    if (!settings) return;
    const name = plural === "routes" ? routeName(settings) : settings[kind.name_field];
    const wrong = wrongInPath(name);
    if (wrong) {
      form.say([{ field: kind.name_field, message: wrong }]);
      return;
    }
    save.setAttribute("aria-busy", "true");
    try {
      const done = await put(`${kind.path}/${segment(name)}`, settings, null);
      keep(step.path, name);
      saved(name, settings);
      toast(`${name} is saved as version ${done.version}.`, "good");
      if (place.isOpen) location.hash = addressOf(after(step));
    } catch (error) {
      if (error.status === 412 && place.isOpen) isTaken(name);
      else refused(error);
    } finally {
      save.removeAttribute("aria-busy");
    }
  }

  function refused(error) {
    // Who has gone to another page is told there.
    if (error.status === 401 || !place.isOpen) return failed(error);
    const problems = error.problem?.problems;
    const others = problems ? form.say(problems) : [{ field: "", message: error.message }];
    if (others.length) place.alert.replaceChildren(note("Not done", "bad", warnings(others)));
    return undefined;
  }

  function isTaken(name) {
    const use = h("button", { type: "button", class: "primary", onclick: () => {
      keep(step.path, name);
      location.hash = addressOf(after(step));
    } }, "Go on with it");
    place.alert.replaceChildren(note(`There is a ${wordsOf(plural).one} ${name} already`, "warn",
      h("p", {}, "Nothing was saved. Give it another name, or ", h("a", { href: pageOf(`${plural}/${name}`) }, "look at it"), "."),
      h("div", { class: "buttons" }, use)));
    use.focus();
  }
  return undefined;
}

/** A kind with some of its keys, below one title. */
function part(kind, keys, title) {
  const properties = Object.fromEntries(keys.map((key) => [key, kind.schema.properties[key]]));
  return { ...kind, groups: [{ title, fields: keys }], schema: { ...kind.schema, properties } };
}

function isNothing(value) {
  return value === undefined || value === null || value === "" || (Array.isArray(value) && value.length === 0);
}

function isThere(place, step, plural, another) {
  const name = made[step.path];
  const isTarget = name === NO_OPERATOR;
  const again = h("button", { type: "button", onclick: () => {
    keep(step.path, undefined);
    another();
  } }, isTarget ? "Add an operator" : "Make another");
  place.body.replaceChildren(h("section", { class: "card" }, h("h2", {}, step.title),
    isTarget ? h("p", {}, `There is no operator yet: messages go to ${name}, which delivers everything and sends nothing.`)
      : h("p", {}, `The ${wordsOf(plural).one} ${name} is there. `, h("a", { href: pageOf(`${plural}/${name}`) }, "Look at it")),
    h("div", { class: "buttons" }, next(step), again)));
}

/** A button that tries the connection to the operator that a form describes. */
function tester(place, { check, refused }) {
  const button = h("button", { type: "button", onclick: test }, "Test the connection");
  const result = h("div", { "aria-live": "polite" });
  async function test() {
    if (button.getAttribute("aria-busy")) return;
    const settings = check();
    if (!settings) return;
    button.setAttribute("aria-busy", "true");
    result.replaceChildren(h("p", { class: "quiet" }, "It is tried, for at most ten seconds …"));
    place.body.append(result);
    try {
      result.replaceChildren(testResult(await post(`/v1/operators/${segment(settings.id)}/test`, settings)));
    } catch (error) {
      result.replaceChildren();
      refused(error);
    } finally {
      button.removeAttribute("aria-busy");
    }
  }
  return button;
}

// === the test message ===

/** A field with room for what is wrong with it. */
function asked(label, input, hint) {
  const element = field(label, input, hint);
  const problem = h("p", { class: "problem", id: `${input.id}-problem` });
  element.append(problem);
  setAttribute(input, "aria-describedby", [input.getAttribute("aria-describedby"), problem.id].filter(Boolean).join(" "));
  return {
    element, input,
    say(text) {
      setText(problem, text);
      setAttribute(input, "aria-invalid", text ? "true" : null);
      if (text) input.focus();
    },
  };
}

function message(place, step) {
  const line = (name) => h("input", { type: "text", name, autocomplete: "off", spellcheck: "false" });
  const fields = {
    from: asked("From", line("from"), "A number, a short code, or up to 11 letters."),
    to: asked("To number", line("to"), "A handset of yours. By an operator it is a real message."),
    text: asked("Text", h("textarea", { name: "text", rows: "3" }), null),
  };
  fields.text.input.value = "This is a test.";
  const send = h("button", { type: "submit", class: "primary" }, "Send");
  const outcome = h("div", { class: "stack", "aria-live": "polite" });
  let look = null;
  /** The message that is followed, and what is shown of it. */
  let followed = null;
  let shown = null;
  place.close = () => clearTimeout(look);
  place.body.replaceChildren(h("form", { class: "card stack", novalidate: true, onsubmit: submit }, h("h2", {}, step.title),
    h("p", { class: "quiet" }, made.account ? `The account ${made.account} sends it and pays for it.` : "Make a customer first: a message needs a sender."),
    Object.values(fields).map((one) => one.element), h("div", { class: "buttons" }, send)), outcome);
  if (made.message) follow(made.message);

  async function submit(event) {
    event.preventDefault();
    if (send.getAttribute("aria-busy")) return;
    say(null, "");
    if (!made.account) return say(null, "There is no customer yet.");
    send.setAttribute("aria-busy", "true");
    try {
      const order = Object.fromEntries(Object.entries(fields).map(([name, one]) => [name, one.input.value.trim()]));
      const { messages: [sent] } = await post(`/v1/accounts/${segment(made.account)}/messages`, order);
      keep(step.path, sent.id);
      follow(sent.id);
    } catch (error) {
      if (error.status === 401) failed(error);
      else say(error.problem?.field, error.message);
    } finally {
      send.removeAttribute("aria-busy");
    }
    return undefined;
  }

  /** Says what is wrong beside the field that it is about, or above all. */
  function say(name, text) {
    place.alert.replaceChildren();
    for (const [own, one] of Object.entries(fields)) one.say(own === name ? text : "");
    if (text && !fields[name]) place.alert.replaceChildren(note("Not sent", "bad", h("p", {}, text)));
  }

  /** Shows what happens to the message until it is final. */
  async function follow(id) {
    clearTimeout(look);
    followed = id;
    let isFinal = false;
    try {
      const found = await get(`/v1/messages/${id}`);
      // Another one was sent meanwhile.
      if (!place.isOpen || followed !== id) return undefined;
      isFinal = Boolean(found.final);
      const now = JSON.stringify(found);
      // What is the same stays: it is read out once, and keeps the focus.
      if (now !== shown) outcome.replaceChildren(outcomeOf(id, found));
      shown = now;
    } catch (error) {
      if (error.status === 401) return failed(error);
      // It is of another store.
      if (error.status === 404) return keep(step.path, undefined);
    }
    if (place.isOpen && followed === id && !isFinal) look = setTimeout(() => follow(id), LOOK_EVERY_MS);
    return undefined;
  }

  function outcomeOf(id, found) {
    const isFinal = Boolean(found.final);
    const isDelivered = found.state === "DELIVERED";
    const title = isDelivered ? "It is delivered" : isFinal ? "It has failed" : "It is under way";
    return h("section", { class: `card note ${isFinal ? (isDelivered ? "good" : "bad") : ""}` },
      h("div", { class: "card-head" }, h("h2", {}, title), h("a", { class: "mono", href: `#/messages/${id}` }, id)), timeline(found),
      h("div", { class: "buttons" }, next(step)));
  }
}

// === the sheet ===

async function sheet(place, step) {
  if (!made.account) return noCustomer(place);
  const name = made.account;
  try {
    const { text, words } = await readSheet(name);
    if (!place.isOpen) return undefined;
    place.body.replaceChildren(h("section", { class: "card stack" }, h("h2", {}, step.title), h("p", { class: "quiet" }, `What the customer needs to connect. ${words}`),
      h("pre", { class: "secret sheet", role: "region", tabindex: "0", "aria-label": "The sheet" }, text),
      h("div", { class: "buttons" }, copyButton(text),
        h("button", { type: "button", class: "small", onclick: () => saveFile(new Blob([text], { type: "text/plain" }), `${name}.txt`) }, "Save as a file"),
        h("a", { class: "button small", href: "#/overview" }, "To the overview"))));
  } catch (error) {
    if (!place.isOpen) return undefined;
    // Somebody has removed it.
    if (error.status === 404) return noCustomer(place);
    failedPage(place.body, error);
  }
  return undefined;
}

function noCustomer(place) {
  place.body.replaceChildren(note("There is no customer yet", "warn", h("p", {}, "A sheet is for an account. ", h("a", { href: addressOf(stepOf("account")) }, "Make one first."))));
}
