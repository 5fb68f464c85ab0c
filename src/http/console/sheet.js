// The sheet of an account, to hand to its customer: the server writes it, and the password is put in where this browser has
// just made it.

import { get, may, onSignOut, put, segment } from "./api.js";
import { command, copyButton, failedCard } from "./dialog.js";
import { h, heading, nothing, setText } from "./dom.js";
import { password } from "./inputs.js";
import { placeOf, sheetOf } from "./kinds.js";

/** Passwords that were made here, by account: in memory only, until the page is left or somebody signs out. */
const made = new Map();
onSignOut(() => made.clear());

/** Has the sheet of an account say its password, which was just made; without one it was taken away. */
export function keepPassword(account, secret) {
  if (secret) made.set(account, secret);
  else made.delete(account);
}

/** The sheet as the server writes it, with the password if that was made here; `words` say what is missing on it. */
export async function readSheet(name) {
  const sheet = await get(`/v1/accounts/${segment(name)}/sheet`);
  const secret = made.get(name);
  const host = sheet.entrances.some((one) => one.host === null) ? " The host is not known: set smpp.public_host to the name that customers connect to." : "";
  return {
    text: secret ? sheet.text.replace(sheet.password_words, () => secret) : sheet.text,
    words: (secret ? "The password stands on it: hand it over where nobody else reads." : "The password is not on it: the SMSC does not show passwords.") + host,
  };
}

/** The page of the sheet. */
export function sheetPage(name) {
  const path = `/v1/accounts/${segment(name)}`;
  const body = h("pre", { class: "sheet" });
  const said = h("p", { class: "quiet screen-only", role: "status" });
  const card = h("section", { class: "card", "aria-label": "The sheet" }, body);
  const tools = h("div", { class: "buttons screen-only" });
  const renew = command({
    label: "Make a new password", needs: "admin", path, tone: "risky",
    ask: { title: `Make a new password for ${name}?`, text: "The present one is refused from now on. Binds that are there stay until they end. The new one stands on the sheet until you reload the page.", action: "Make it" },
    async send() {
      const { settings, version } = await get(path);
      const secret = password();
      await put(path, { ...settings, password: secret }, version);
      keepPassword(name, secret);
    },
    said: "The sheet has the new password", after: () => load(),
  });
  let isOpen = true;

  async function load() {
    try {
      const { text, words } = await readSheet(name);
      if (!isOpen) return;
      setText(body, text);
      tools.replaceChildren(copyButton(text), h("button", { type: "button", class: "small", onclick: () => print() }, "Print"), renew);
      setText(said, words);
    } catch (error) {
      if (!isOpen) return;
      if (error.status === 404) card.replaceChildren(h("div", { class: "empty" }, nothing("There is no sheet", error.message)));
      else failedCard(card, error);
    }
  }
  load();
  return {
    title: `Sheet of ${name}`,
    elements: [
      h("p", { class: "crumb screen-only" }, h("a", { href: "#/accounts" }, "Accounts"), " · ", h("a", { href: placeOf("accounts", name) }, name)),
      heading(`Sheet of ${name}`, tools), said, card,
    ],
    close() {
      isOpen = false;
    },
  };
}

/** A link to it, for the page of the account. */
export function sheetLink(name) {
  return h("a", { class: "button small", href: sheetOf(name) }, may("admin") ? "Sheet for the customer" : "Sheet");
}
