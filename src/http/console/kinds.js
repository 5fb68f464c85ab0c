// The kinds of resources in words: titles, what a list of them shows, and where their live state is.

import { segment } from "./api.js";

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

/** The page that makes a new one, with some keys filled in. */
export function newPage(plural, keys = {}) {
  return `#/config/${plural}?${new URLSearchParams({ new: 1, ...keys })}`;
}

/** What people usually do next with a resource: link texts, addresses, and the role that it needs. */
export function nextSteps(plural, name) {
  const encoded = encodeURIComponent(name);
  const steps = {
    accounts: [["Send a test message", `#/compose?account=${encoded}`, "operate"], ["API keys", `#/keys?account=${encoded}`, "admin"], ["Its messages", `#/messages?account=${encoded}`]],
    operators: [["Live figures", "#/operators"], ["Add a route to it", newPage("routes", { to: name }), "admin"], ["Its failures", `#/dead-letters?operator=${encoded}`]],
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
