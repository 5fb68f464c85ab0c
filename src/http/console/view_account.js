// One account: how it does now, its binds, balance, usage, failures, messages and changes, and what can be done with it.

import { get, may, put, segment } from "./api.js";
import { balanceCard } from "./balance.js";
import { command, failed, readAgain } from "./dialog.js";
import { chip, h, heading, nothing, setChip, table } from "./dom.js";
import { number, rate, showAge, time } from "./format.js";
import { graph } from "./graph.js";
import { pageOf } from "./kinds.js";
import { serverNow } from "./live.js";
import { figures, finding, placeCards, showNoSuch } from "./place.js";
import { sheetLink, sheetPage } from "./sheet.js";
import { disconnectColumn } from "./view_bind.js";
import { bindColumns } from "./view_binds.js";
import { holdCommand } from "./view_queues.js";

/** Binds that are shown; the page of binds has all. */
const BINDS = 20;
/** How often its queue is read: the stream brings it only while something is bound. */
const LOOK_EVERY_MS = 5_000;
/** Its settings are read again after so many looks: somebody else may pause or remove it. */
const LOOKS = 12;
/** Seconds of the graph. */
const SECONDS = 300;
/** Binds of accounts, by their direction. */
const OWN = ["in", "callback", "local"];

/** Closes an account, or lets it bind again. */
function pauseCommand(name, isOn, after) {
  const path = `/v1/accounts/${segment(name)}`;
  return command({
    label: isOn ? "Pause" : "End the pause", describe: isOn ? `Pause ${name}` : `End the pause of ${name}`, needs: "admin", path, after, tone: isOn ? "risky" : "",
    ask: isOn && { title: `Pause ${name}?`, text: "It is disabled: its binds are closed, and it can neither bind nor send until the pause ends. Its messages stay.", action: "Pause" },
    async send() {
      const { settings, version } = await get(path);
      return put(path, { ...settings, enabled: !isOn }, version);
    },
    said: isOn ? `${name} is paused` : `${name} may bind again`,
  });
}

export default function account({ rest }) {
  const [name, part] = rest;
  return part === "sheet" ? sheetPage(name) : accountPage(name);
}

function accountPage(name) {
  const path = `/v1/accounts/${segment(name)}`;
  const queueName = `account:${name}`;
  const state = chip("…", "quiet");
  const buttons = h("div", { class: "buttons" });
  const facts = figures(["Binds", "From it per second", "To it per second", "Waiting for it", "Oldest", "Last login", "From"]);
  const chart = graph({ title: "Messages per second", series: [{ name: "accepted", label: "from it", fill: true }, { name: "sent", label: "to it" }], show: rate, height: 160 });
  const history = { at_ms: [], accepted: [], sent: [] };
  const binds = table({
    caption: "Binds",
    dense: true,
    key: (row) => row.session,
    columns: [
      bindColumns.id, bindColumns.kind, bindColumns.state, bindColumns.peer, bindColumns.window, bindColumns.received, bindColumns.sent, bindColumns.since,
      disconnectColumn(),
    ],
    empty: () => (isShared() ? nothing("No binds on this node", "Other nodes may have some.") : nothing("Nothing is bound", "Binds of this account are shown here as soon as there are any.")),
  });
  const allBinds = h("a", { href: `#/binds?${new URLSearchParams({ find: finding(name) })}` }, "On the page of binds");
  const cards = placeCards({ about: queueName, resource: `accounts/${name}`, by: "account", name });
  const body = h("div", { class: "stack" },
    h("section", { class: "card", "aria-label": "Now" }, facts.element),
    h("section", { class: "card" }, chart.element),
    h("section", { class: "card" }, h("div", { class: "card-head" }, h("h2", {}, "Binds"), allBinds), binds.element),
    ...cards.elements,
    balanceCard(name));
  let settings = null;
  let isOpen = true;
  let isGone = false;
  let looks = 0;
  let bound = 0;
  /** Stands before rates, which are those of the binds that are shown, where there are more. */
  let atLeast = "";
  /** As the last look has found it. */
  let looked = null;
  let shownButtons = null;

  /** Whether other nodes may have binds of it, too. */
  function isShared() {
    return (looked?.nodes?.length ?? 0) > 1;
  }

  /** Its settings, and the buttons that go by them. */
  async function load() {
    try {
      const found = await get(path);
      if (!isOpen || isGone) return;
      ({ settings } = found);
      showButtons();
      showState();
    } catch (error) {
      if (!isOpen || isGone) return;
      if (error.status === 404) leave();
      // What is shown stays while the server is away, which the banner says.
      else if (!settings || error.status === 401) failed(error);
    }
  }

  /** It is not there, or not any more. */
  function leave() {
    isGone = true;
    endLooks();
    state.hidden = true;
    buttons.replaceChildren();
    showNoSuch(body, "account", name, "#/accounts");
  }

  async function loadLogin() {
    const login = await get(`${path}/last-login`).catch(() => null);
    if (!isOpen || !login) return;
    facts.of("Last login").replaceChildren(login.at ? time(login.at) : "never");
    facts.set("From", login.address ?? "–");
  }

  function showButtons() {
    const isHeld = looked?.suspended ?? false;
    const wanted = `${isHeld} ${settings?.enabled !== false}`;
    if (!settings || isGone || shownButtons === wanted) return;
    const hadFocus = buttons.contains(document.activeElement);
    shownButtons = wanted;
    buttons.replaceChildren(
      pauseCommand(name, settings.enabled !== false, load),
      holdCommand({ name: queueName, suspended: isHeld }, look),
      may("operate") ? h("a", { class: "button small", href: `#/compose?${new URLSearchParams({ account: name })}` }, "Test message") : "",
      sheetLink(name),
      h("a", { class: "button small", href: pageOf(`accounts/${name}`) }, "Settings"));
    if (hadFocus) buttons.firstElementChild.focus();
  }

  function showState() {
    if (settings?.enabled === false) setChip(state, "paused", "warn");
    else setChip(state, bound ? "bound" : isShared() ? "not bound to this node" : "not bound", bound ? "good" : "quiet");
    facts.set("Binds", settings ? `${number(bound)} of ${number(settings.max_binds)}` : number(bound));
  }

  /** Its queue, also while nothing is bound. */
  async function look() {
    looks += 1;
    const found = await get(`/v1/queues/${segment(queueName)}`).catch((error) => {
      // It has none without its account.
      if (error.status === 404 && looks > 1) load();
      return null;
    });
    if (isOpen && found) showQueue(found);
    if (isOpen && looks % LOOKS === 0) load();
  }

  function showQueue(queue) {
    looked = queue;
    facts.set("Waiting for it", number(queue.waiting + queue.scheduled));
    showAge(facts.of("Oldest"), queue.oldest_at ?? null, serverNow());
    showButtons();
  }

  load();
  loadLogin();
  const endLooks = readAgain(look, failed, LOOK_EVERY_MS);
  return {
    title: name,
    elements: [h("p", { class: "crumb" }, h("a", { href: "#/accounts" }, "Accounts")), heading(name, state, buttons), body],
    stream: { kinds: ["binds"], list: "binds", direction: OWN.join(","), name, limit: BINDS },
    update(live) {
      if (!live.binds || !live.overview || isGone) return;
      cards.refresh();
      const own = live.binds.binds.filter((bind) => bind.name === name && OWN.includes(bind.direction));
      const sum = (key) => own.reduce((total, bind) => total + (bind[key] ?? 0), 0);
      const now = { at_ms: live.overview.at_ms, accepted: sum("received_per_second"), sent: sum("sent_per_second") };
      // The list may still be that of the page before.
      const more = own.length > 0 && own.length === live.binds.binds.length ? live.binds.omitted : 0;
      const isNew = own.length + more > bound;
      bound = own.length + more;
      atLeast = more ? "≥ " : "";
      binds.update(own);
      facts.set("From it per second", `${atLeast}${rate(now.accepted)}`);
      facts.set("To it per second", `${atLeast}${rate(now.sent)}`);
      showState();
      if (isNew) loadLogin();
      if (now.at_ms <= (history.at_ms.at(-1) ?? 0)) return;
      for (const [key, list] of Object.entries(history)) {
        list.push(now[key]);
        if (list.length > SECONDS) list.shift();
      }
      chart.update(history);
    },
    close() {
      isOpen = false;
      endLooks();
    },
  };
}
