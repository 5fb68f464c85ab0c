// The frame around every view: sign in, navigation, and how the node and the connection are.

import { askOffer, askTabs, askWho, comeBack, goElsewhere, may, onSignOut, session, signIn, signOut, whoIs } from "./api.js";
import { chip, field, h, heading, nothing, setAttribute, setChip, setText } from "./dom.js";
import { findBox } from "./find_box.js";
import { timeOfDay } from "./format.js";
import * as stream from "./live.js";
import { savedViews } from "./saved_views.js";
import account from "./view_account.js";
import audit from "./view_audit.js";
import bind from "./view_bind.js";
import binds from "./view_binds.js";
import callbacks from "./view_callbacks.js";
import compose from "./view_compose.js";
import config from "./view_config.js";
import damaged from "./view_damaged.js";
import deadLetters from "./view_dead_letters.js";
import eventSinks from "./view_event_sinks.js";
import failures from "./view_failures.js";
import firstSteps from "./view_first_steps.js";
import gsm from "./view_gsm.js";
import held from "./view_held.js";
import history from "./view_history.js";
import incidents from "./view_incidents.js";
import keys from "./view_keys.js";
import message from "./view_message.js";
import messages from "./view_messages.js";
import moRules from "./view_mo_rules.js";
import natsSources from "./view_nats_sources.js";
import nodes from "./view_nodes.js";
import numberPlan from "./view_number_plan.js";
import operator from "./view_operator.js";
import operators from "./view_operators.js";
import overview from "./view_overview.js";
import queues from "./view_queues.js";
import receipts from "./view_receipts.js";
import routes from "./view_routes.js";
import subscribers from "./view_subscribers.js";
import tokens from "./view_tokens.js";
import trace from "./view_trace.js";
import usage from "./view_usage.js";
import versions from "./view_versions.js";

/**
 * Path after the #, title, the view, and the part of the list that it stands in. `needs` is the role without which a
 * page has nothing to show.
 */
const VIEWS = [
  { path: "overview", title: "Overview", view: overview, part: "Work" },
  { path: "incidents", title: "Incidents", view: incidents, part: "Work" },
  { path: "queues", title: "Queues", view: queues, part: "Work" },
  { path: "accounts", title: "Accounts", view: ({ query }) => config({ rest: ["accounts"], query, isLive: true }), part: "Work" },
  { path: "operators", title: "Operators", view: operators, part: "Work" },
  { path: "gsm", title: "GSM networks", view: gsm, part: "Work" },
  { path: "binds", title: "Binds", view: binds, part: "Work" },
  { path: "callbacks", title: "Callbacks", view: callbacks, part: "Work" },
  { path: "messages", title: "Messages", view: messages, part: "Work" },
  { path: "compose", title: "Compose", view: compose, part: "Work", needs: "operate" },
  { path: "failures", title: "Failures", view: failures, part: "Work" },
  { path: "dead-letters", title: "Dead letters", view: deadLetters, part: "Work" },
  { path: "receipts", title: "Unmatched receipts", view: receipts, part: "Work" },
  { path: "damaged", title: "Damaged rows", view: damaged, part: "Work" },
  { path: "held", title: "Held messages", view: held, part: "Work" },
  { path: "trace", title: "Trace", view: trace, part: "Work", needs: "operate" },
  { path: "subscribers", title: "Subscribers", view: subscribers, part: "Work" },
  { path: "history", title: "Traffic history", view: history, part: "Work" },
  { path: "usage", title: "Usage", view: usage, part: "Work" },
  { path: "nodes", title: "Nodes", view: nodes, part: "Work" },
  { path: "first-steps", title: "First steps", view: firstSteps, part: "Set up", needs: "admin" },
  { path: "config", title: "Configuration", view: config, part: "Set up" },
  { path: "routes", title: "Routes", view: routes, part: "Set up" },
  { path: "mo-rules", title: "MO rules", view: moRules, part: "Set up" },
  { path: "number-plan", title: "Number plan", view: numberPlan, part: "Set up" },
  { path: "event-sinks", title: "Event sinks", view: eventSinks, part: "Set up" },
  { path: "nats-sources", title: "NATS sources", view: natsSources, part: "Set up" },
  { path: "versions", title: "History", view: versions, part: "Set up" },
  { path: "tokens", title: "Tokens", view: tokens, part: "Access", needs: "admin" },
  { path: "keys", title: "API keys", view: keys, part: "Access", needs: "admin" },
  { path: "audit", title: "Audit log", view: audit, part: "Access", needs: "admin" },
];

/** What a path shows that names one thing. */
const OF_ONE = { accounts: account, messages: message, binds: bind, operators: operator };

const app = document.getElementById("app");
let leave = () => {};
let frame = null;

// === sign in ===

/** `offered` is what stands on the button of OpenID Connect, once that is known. */
function showDoor(reason = null, offered = askOffer()) {
  leave();
  leave = () => {};
  frame?.close();
  frame = null;
  stream.stop();
  // A question of who has left is not for who comes next.
  for (const dialog of document.querySelectorAll("dialog")) dialog.remove();
  document.title = "Sign in · smsc";
  const input = h("input", { type: "password", name: "token", autocomplete: "current-password", required: true, spellcheck: "false" });
  const problem = h("p", { class: "problem", role: "alert" }, reason ?? "");
  const button = h("button", { type: "submit", class: "primary" }, "Sign in");
  const form = h("form", {
    class: "door",
    onsubmit: async (event) => {
      event.preventDefault();
      const token = input.value.trim();
      if (!token) return;
      button.setAttribute("aria-busy", "true");
      setText(problem, "");
      try {
        await signIn(token);
        showFrame(true);
      } catch (error) {
        setText(problem, error.status === 401 ? "This token is not accepted. Check for a missing character, or take a new one from the file." : error.message);
        setAttribute(input, "aria-invalid", "true");
        input.focus();
        input.select();
      } finally {
        button.removeAttribute("aria-busy");
      }
    },
  },
  h("img", { src: new URL("icon.svg", import.meta.url).pathname, alt: "", width: "40", height: "40" }),
  h("h1", {}, "smsc"),
  h("p", { class: "quiet" }, "Sign in with a token of the admin API."),
  field("Token", input, "It is http.admin_token of the configuration, or the file admin-token in the data folder."),
  problem, button);
  offered.then((label) => {
    // The form grows downwards: the field with the token stays where it is.
    if (label) form.append(h("p", { class: "or" }, h("a", { href: "/oidc/sign-in", onclick: goElsewhere }, `Sign in with ${label}`)));
  });
  app.replaceChildren(h("main", { id: "main", tabindex: "-1", class: "door-page" }, form));
  input.focus();
}

// === the frame ===

function showFrame(moveFocus = false) {
  const main = h("main", { id: "main", tabindex: "-1" });
  const links = new Map(VIEWS.filter(({ needs }) => !needs || may(needs)).map(({ path, title }) => [path, h("a", { href: `#/${path}` }, title)]));
  const nav = h("nav", { "aria-label": "Views" }, parts(links), h("a", { href: "/docs/" }, "Manual"), savedViews());
  const box = findBox(VIEWS.filter(({ path }) => links.has(path)));
  const health = chip("…", "quiet");
  const connection = h("span", { class: "connection" }, h("i", { "aria-hidden": "true" }), h("span", {}, "Connecting"));
  const node = h("span", { class: "quiet node" });
  const banner = h("div", { class: "banner", role: "status", hidden: true });
  const since = h("span", {});
  const who = h("span", { class: "quiet who" }, session.name ? `${whoIs()} · ${session.role}` : "");
  const top = h("header", { class: "top" },
    h("a", { class: "brand", href: "#/overview", "aria-label": "smsc, to the overview" },
      h("img", { src: new URL("icon.svg", import.meta.url).pathname, alt: "", width: "24", height: "24" }), h("span", {}, "smsc")),
    node, health, connection,
    h("div", { class: "tools" }, box.button, who, themeButton(), h("button", { type: "button", class: "small", onclick: () => signOut() }, "Sign out")));
  app.replaceChildren(top, nav, h("div", { class: "content" }, banner, main));

  function update(live) {
    setText(node, live.hello ? `node ${live.hello.node} · ${live.hello.version}` : "");
    const { text, tone } = healthOf(live.overview);
    setChip(health, text, tone);
    setAttribute(connection, "data-status", live.status);
    setText(connection.lastChild, { live: "Live", connecting: "Connecting", offline: "Offline" }[live.status]);
    const isOff = live.status === "offline";
    if (isOff && banner.hidden) {
      banner.replaceChildren(h("strong", {}, "No connection to this SMSC. "), h("span", {}), " ", since,
        " It is tried again every few seconds. ",
        h("button", { type: "button", class: "small", onclick: () => stream.tryNow() }, "Try now"));
    }
    if (isOff) {
      setText(banner.children[1], live.reason);
      setText(since, live.heard ? `What you see is from ${timeOfDay(live.heard)}.` : "");
    }
    banner.hidden = !isOff;
    document.body.classList.toggle("stale", isOff);
  }
  const unsubscribe = stream.subscribe(update);
  update(stream.live);
  const onHash = () => show(main, links);
  const onKey = (event) => {
    if ((event.ctrlKey || event.metaKey) && !event.shiftKey && !event.altKey && event.key?.toLowerCase() === "k") {
      event.preventDefault();
      box.open();
      return;
    }
    const isTyping = event.target.closest("input, textarea, select, dialog");
    if (event.key !== "/" || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    if (location.hash.startsWith("#/messages?") || location.hash === "#/messages") main.querySelector("input")?.focus();
    else location.hash = "#/messages";
  };
  addEventListener("hashchange", onHash);
  addEventListener("keydown", onKey);
  frame = {
    close() {
      unsubscribe();
      box.close();
      removeEventListener("hashchange", onHash);
      removeEventListener("keydown", onKey);
      document.body.classList.remove("stale");
    },
  };
  // First it is known what to ask for.
  show(main, links, moveFocus);
  stream.start();
}

/** The links by part, each below its name. */
function parts(links) {
  const names = [...new Set(VIEWS.map((view) => view.part))];
  return names.flatMap((name) => {
    const own = VIEWS.filter((view) => view.part === name && links.has(view.path)).map((view) => links.get(view.path));
    return own.length ? [h("p", { class: "nav-part" }, name), ...own] : [];
  });
}

function healthOf(overview) {
  if (!overview) return { text: "…", tone: "quiet" };
  if (overview.draining) return { text: "Draining", tone: "warn" };
  if (overview.not_ready.length) return { text: "Not ready", tone: "bad" };
  if (overview.degraded.length) return { text: "Degraded", tone: "warn" };
  return { text: "Ready", tone: "good" };
}

/** What an address after # names: the view, what follows it, and the question. */
function addressed(hash) {
  const [path, query = ""] = hash.replace(/^#\/?/, "").split("?");
  let names = [];
  try {
    names = path.split("/").map(decodeURIComponent);
  } catch {
    // A percent sign that begins no octet: there is no such page.
    names = [path];
  }
  const [name, ...rest] = names;
  const view = name === "" ? VIEWS[0] : VIEWS.find((one) => one.path === name);
  return { name: path, view, rest: rest.filter(Boolean), query: new URLSearchParams(query) };
}

/** An address that leads nowhere, or to a page that is not for this token. */
function noPage({ name, view }) {
  const [title, text] = view
    ? ["Not for this token", `${view.title} needs the role ${view.needs}; this token has the role ${session.role}.`]
    : [`There is no page “${name}”`, "The address may be misspelt, or of another release."];
  return {
    title: view?.title ?? "No such page",
    elements: [heading(view?.title ?? "No such page"), h("section", { class: "card" }, h("div", { class: "empty" },
      nothing(title, text, " ", h("a", { href: "#/overview" }, "Go to the overview."))))],
  };
}

/** Shows the view of the address; the heading gets the focus, so that it is read out. */
function show(main, links, moveFocus = true) {
  const address = addressed(location.hash);
  const { view: found, rest, query } = address;
  leave();
  for (const [at, link] of links) setAttribute(link, "aria-current", at === found?.path ? "page" : null);
  const view = (rest.length && OF_ONE[found?.path]) || found?.view;
  const shown = links.has(found?.path) ? view({ rest, query, live: stream.live }) : noPage(address);
  stream.watch(shown.stream, true);
  main.replaceChildren(...shown.elements);
  document.title = `${shown.title ?? found.title} · smsc`;
  const unsubscribe = shown.update ? stream.subscribe(shown.update) : () => {};
  shown.update?.(stream.live);
  leave = () => {
    unsubscribe();
    shown.close?.();
  };
  links.get(found?.path)?.scrollIntoView({ block: "nearest", inline: "nearest" });
  if (moveFocus) (main.querySelector("[data-focus]") ?? main.querySelector("h1"))?.focus({ preventScroll: false });
}

function themeButton() {
  const button = h("button", { type: "button", class: "small", onclick: flip });
  const dark = () => (document.documentElement.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const say = () => {
    setText(button, dark() ? "Light" : "Dark");
    setAttribute(button, "aria-label", dark() ? "Use light colours" : "Use dark colours");
  };
  function flip() {
    const next = dark() ? "light" : "dark";
    document.documentElement.dataset.theme = next;
    localStorage.setItem("smsc.theme", next);
    say();
  }
  say();
  return button;
}

/** Signs in who needs no token: one with a session of one's own, else with the token of another tab. */
async function comeIn(offered) {
  // The session first: it has the rights of the person, and the token may have more.
  if (await offered) {
    const isKnown = await askWho(null).then(() => true, () => false);
    if (frame) return;
    if (isKnown) {
      comeBack();
      showFrame();
      return;
    }
  }
  // A link that was opened in a new tab needs no second sign-in.
  const token = await askTabs();
  if (!token || frame) return;
  await signIn(token);
  if (!frame) showFrame();
}

onSignOut(showDoor);
// The address after # is the router's, so the skip link moves the focus itself.
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  document.getElementById("main")?.focus();
});
if (session.token) {
  // The frame does not wait for the answer: a server that is away is told inside it.
  askWho().then(() => showFrame(), (error) => {
    // Somebody may have signed out in another tab meanwhile.
    if (!session.token) return;
    if (error.status === 401) signOut("The token is not accepted any more. Sign in again.");
    else showFrame();
  });
} else {
  const offered = askOffer();
  // Whoever has a token does not wait for what is known of others.
  showDoor(null, offered);
  comeIn(offered).catch(() => {});
}
