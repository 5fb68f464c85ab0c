// The kinds of resources in words: titles, what a list of them shows, and where their live state is.

import { segment } from "./api.js";
import { h, setAttribute, setText } from "./dom.js";

/** By plural. `columns` are the keys that a list shows. */
const WORDS = {
  accounts: {
    title: "Accounts", one: "account", columns: ["enabled", "max_binds", "rate", "prepaid", "deliver_by"],
    lead: "ESMEs that may bind, and programs that send over HTTP.",
    gone: "Its binds are closed and it may not bind again. Its messages stay.",
  },
  operators: {
    title: "Operators", one: "operator", columns: ["enabled", "address", "system_id", "binds", "rate"],
    lead: "Upstreams that this SMSC binds to.",
    gone: "Its binds are closed. Messages that wait for it wait until it is back, or expire.",
  },
  routes: {
    title: "Routes", one: "route", columns: ["prefix", "account", "to", "share"],
    lead: "Which messages go where. The longest prefix wins.",
    gone: "New messages to its destinations go by the routes that are left.",
  },
  lists: {
    title: "Lists", one: "list", columns: ["entries", "file"],
    lead: "Named addresses, written as list:NAME where senders or destinations are allowed or blocked.",
    gone: "Whatever names it as list:NAME must be changed first.",
  },
  limits: {
    title: "Limits", one: "limit", columns: ["rate", "burst", "per", "account", "sender_prefix", "destination_prefix"],
    lead: "Rate limits by sender and destination.",
    gone: "Messages that it slowed down are accepted as fast as the other limits allow.",
  },
  policies: {
    title: "Policy", one: "policy", columns: ["currency", "prices", "blocked_senders", "blocked_destinations"],
    lead: "What holds for every account: prices, block lists, opt-out words.",
    gone: "All its keys get their defaults.",
  },
  mo_rules: {
    title: "MO rules", one: "MO rule", columns: ["order", "to", "keywords", "deliver_to", "reply"],
    lead: "What becomes of messages that operators bring.", live: "#/mo-rules",
    gone: "Messages that it took go by the rules after it, or as if there were none.",
  },
  gsm: {
    title: "GSM networks", one: "GSM network", columns: ["enabled", "protocol", "address", "smsc_address", "account"],
    lead: "GSM networks whose handsets this SMSC serves.", live: "#/gsm",
    gone: "The connections to it are closed, and messages for its handsets wait.",
  },
  number_ranges: {
    title: "Number ranges", one: "number range", columns: ["class", "prefixes", "to"],
    lead: "The number plan: which numbers are our own.", live: "#/number-plan",
    gone: "Its numbers are those of another range, or of the outside world.",
  },
  event_sinks: {
    title: "Event sinks", one: "event sink", columns: ["enabled", "kind", "servers", "events"],
    lead: "Brokers that get events.", live: "#/event-sinks",
    gone: "Events that wait for it are not published any more.",
  },
  nats_sources: {
    title: "NATS sources", one: "NATS source", columns: ["enabled", "stream", "subject", "account"],
    lead: "Streams whose commands become messages.", live: "#/nats-sources",
    gone: "Its commands stay in the stream.",
  },
};

/** The words of a kind; of one that this console does not know, its name. */
export function wordsOf(plural) {
  return WORDS[plural] ?? { title: plural.replaceAll("_", " "), one: plural.replace(/s$/, "").replaceAll("_", " "), columns: [], lead: "", gone: "" };
}

/** The page with all of a kind. */
export function listPage(plural) {
  return `#/config/${plural}`;
}

/** The page of a resource such as `routes/44`. */
export function pageOf(resource) {
  const at = resource.indexOf("/");
  return `#/config/${resource.slice(0, at)}/${segment(resource.slice(at + 1))}`;
}

/** The page of an account or an operator (`accounts`, `operators`): how it does, and what can be done with it. */
export function placeOf(plural, name) {
  return `#/${plural}/${segment(name)}`;
}

/** Whether each of a kind has such a page. */
export function hasPlace(plural) {
  return Object.values(OWNERS).includes(plural);
}

/** The page of the sheet of an account. */
export function sheetOf(name) {
  return `${placeOf("accounts", name)}/sheet`;
}

/** The page of a bind. */
export function bindPage({ node, session }) {
  return `#/binds/${node}/${session}`;
}

/** Queues, senders and incidents are named by these: `operator:up`. */
const OWNERS = { account: "accounts", operator: "operators" };

/** The page that a name such as `operator:up` leads to; null for others. */
function ownerPage(text) {
  const at = text.indexOf(":");
  const plural = OWNERS[text.slice(0, at)];
  return plural ? placeOf(plural, text.slice(at + 1)) : null;
}

/** A name such as `operator:up`, as a link where it leads somewhere. */
export function named(text) {
  const href = ownerPage(text);
  return href ? h("a", { href }, text) : text;
}

/** A link kept in a cell. */
export function showLink(cell, href, text) {
  if (!cell.firstElementChild) cell.replaceChildren(h("a", {}));
  setAttribute(cell.firstElementChild, "href", href);
  setText(cell.firstElementChild, text);
}

/** A name such as `operator:up`, kept in a cell. */
export function showNamed(cell, text, shown = text) {
  const href = ownerPage(text);
  if (href) showLink(cell, href, shown);
  else setText(cell, shown);
}

/** The name of an account or an operator, kept in a cell; other targets, such as `test:delivered`, have no page. */
export function showOwner(cell, plural, name) {
  if (name && !name.includes(":")) showLink(cell, placeOf(plural, name), name);
  else setText(cell, name || "none");
}

/** The page that makes a new one, with some keys filled in. */
export function newPage(plural, keys = {}) {
  return `#/config/${plural}?${new URLSearchParams({ new: 1, ...keys })}`;
}

/** What people usually do next with a resource: link texts, addresses, and the role that it needs. */
export function nextSteps(plural, name) {
  const encoded = encodeURIComponent(name);
  const steps = {
    accounts: [["How it does", placeOf("accounts", name)], ["Send a test message", `#/compose?account=${encoded}`, "operate"], ["Sheet for the customer", sheetOf(name)], ["API keys", `#/keys?account=${encoded}`, "admin"], ["Its messages", `#/messages?account=${encoded}`]],
    operators: [["How it does", placeOf("operators", name)], ["Add a route to it", newPage("routes", { to: name }), "admin"], ["Its failures", `#/dead-letters?operator=${encoded}`]],
    routes: [["Where a number goes", "#/routes"]],
  };
  const live = WORDS[plural]?.live;
  return steps[plural] ?? (live ? [["How it is now", live]] : []);
}

/** What a route without a name is called: its conditions, as the server names it. */
export function routeName(settings) {
  if (settings.name) return settings.name;
  const plain = (text) => (text ?? "").replace(/^\+/, "");
  const parts = [plain(settings.prefix) || "default"];
  if (settings.source_prefix) parts.push(`from=${plain(settings.source_prefix)}`);
  if (settings.account) parts.push(`account=${settings.account}`);
  if (settings.network) parts.push(`network=${settings.network}`);
  if (settings.mobile_originated) parts.push("mobile_originated");
  return parts.join(":");
}
