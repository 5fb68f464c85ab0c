// One resource of the configuration: its form, a look at the difference before it is saved, what to do when somebody
// else has changed it meanwhile, its history, and what people do next with it.

import { del, get, may, post, postIf, put, remove as discard, segment, wrongInPath } from "./api.js";
import { fields, historyOf, presentVersion, review, versionItems, warnings } from "./changes.js";
import { confirm, failed, failedAt, failedItems, failedPage, toast } from "./dialog.js";
import { field, h, heading, nothing, setText } from "./dom.js";
import { balanceCard } from "./balance.js";
import { resourceForm } from "./form.js";
import { time } from "./format.js";
import { listPage, newPage, nextSteps, pageOf, routeName, wordsOf } from "./kinds.js";
import { isSet, kinds, labelOf, valueText } from "./schema.js";
import { keepPassword } from "./sheet.js";

/** Names that are offered of each kind; others can be written. */
const NAMES = 50;

/** Names of the kinds that keys of this one refer to. */
async function referredNames(kind) {
  const wanted = [...new Set(Object.values(kind.schema.properties).flatMap((one) => one["x-refers-to"] ?? []))];
  const all = await kinds();
  const found = await Promise.all(wanted.map((plural) => get(`${all.get(plural).path}?limit=${NAMES}`).then((said) => said[plural].map((one) => one.name ?? one.id))));
  const names = Object.fromEntries(wanted.map((plural, at) => [plural, found[at]]));
  if (names.gsm) names.gsm = [...names.gsm.map((name) => `gsm:${name}`), "test:delivered", "test:accepted", "test:dropped", "test:failed", "test:unreachable"];
  return names;
}

/** What people have written about a resource, and room to write more. */
function notesCard(about) {
  const list = h("ol", { class: "versions" });
  const text = h("textarea", { name: "text", rows: 2, maxlength: 2000, required: true });
  const problem = h("p", { class: "problem", role: "alert" });
  const form = h("form", { class: "fields", hidden: !may("operate"), onsubmit: add }, field("Write a note", text),
    problem, h("div", { class: "buttons" }, h("button", { type: "submit" }, "Add note")));

  async function load() {
    const { notes, next_before: more } = await get(`/v1/notes?limit=50&about=${segment(about)}`);
    list.replaceChildren(...notes.map((one) => h("li", { class: "text" },
      h("blockquote", {}, one.text),
      h("div", { class: "version-head" }, h("span", { class: "quiet" }, one.by, ", ", time(one.at)),
        may("operate") && h("button", { type: "button", class: "small", "aria-label": `Remove the note: ${one.text}`, onclick: () => drop(one) }, "Remove")))));
    if (!notes.length) list.replaceChildren(h("li", { class: "quiet" }, "There are none."));
    if (more) list.append(h("li", { class: "quiet" }, "Older ones: smsc ", about.split("/")[0].replace(/s$/, ""), " notes"));
  }

  async function add(event) {
    event.preventDefault();
    setText(problem, "");
    try {
      await post("/v1/notes", { about, text: text.value });
      form.reset();
      await load();
    } catch (error) {
      failedAt(problem, error);
    }
  }

  async function drop(one) {
    if (!await confirm({ title: "Remove this note?", text: one.text, action: "Remove", danger: true })) return;
    try {
      await discard(`/v1/notes/${one.id}`);
      await load();
      text.focus();
    } catch (error) {
      failed(error);
    }
  }

  load().catch((error) => failedItems(list, error));
  return h("section", { class: "card" }, h("h2", {}, "Notes"), list, form);
}

export default function object({ kind, name, query, tabs }) {
  const words = wordsOf(kind.plural);
  const copied = query.get("copy");
  const isNew = name === null;
  const body = h("div", { class: "columns" });
  // There is one policy: its name says nothing.
  const title = isNew ? `New ${words.one}` : kind.name_field === null ? words.title : name;
  const top = h("div", { class: "page" }, h("p", { class: "crumb" }, h("a", { href: listPage(kind.plural) }, words.title)), heading(title));
  const alert = h("div", { role: "alert" });
  const path = (own) => `${kind.path}/${segment(own)}`;
  let isOpen = true;
  let form = null;
  /** The version that the form is about; null for a resource that is not there. */
  let version = null;

  async function load() {
    try {
      const from = isNew ? copied : name;
      const [names, found] = await Promise.all([referredNames(kind), from === null ? null : read(from)]);
      if (!isOpen) return;
      version = isNew ? null : found?.version ?? null;
      if (!isNew && !found && kind.name_field !== null) return gone();
      show(names, found?.settings ?? {});
    } catch (error) {
      failedPage(body, error);
    }
    return undefined;
  }

  /** A resource, or null for one that is not there. */
  async function read(own) {
    try {
      return await get(path(own));
    } catch (error) {
      if (error.status === 404) return null;
      throw error;
    }
  }

  function gone() {
    body.replaceChildren(h("section", { class: "card" }, h("div", { class: "empty" },
      nothing(`There is no ${words.one} ${name}`, "If it was removed, its history has what it was."))), h("div", { class: "stack last" }, history()));
  }

  function show(names, settings) {
    if (!may("admin")) {
      top.querySelector("header").append(...steps());
      body.replaceChildren(values(kind, settings), aside());
      return;
    }
    const count = h("span", { class: "quiet", role: "status" });
    const save = h("button", { type: "submit", class: "primary" }, "Review changes");
    const element = h("form", { class: "card", novalidate: true, onsubmit: (event) => {
      event.preventDefault();
      submit(save);
    } });
    const skip = isNew || kind.name_field === null ? [] : [kind.name_field];
    form = resourceForm({ kind, settings: isNew && copied ? { ...settings, [kind.name_field]: null } : settings, names, skip, isNew: version === null, onchange: tell });
    if (isNew) form.fill([...query].filter(([key]) => key in kind.schema.properties));
    function tell() {
      const changed = form.changed();
      setText(count, changed.length ? `${changed.length} changed: ${changed.join(", ")}` : "Nothing is changed");
    }
    tell();
    element.append(form.element, h("div", { class: "form-end" }, h("div", { class: "buttons" }, save,
      h("a", { class: "button", href: isNew ? listPage(kind.plural) : pageOf(`${kind.plural}/${name}`), onclick: () => { if (!isNew) restart(); } }, "Cancel")), count));
    top.querySelector("header").append(...steps(), h("div", { class: "buttons" }, ...commands()));
    body.replaceChildren(element, aside());
    if (isNew) form.focus();
  }

  function restart() {
    alert.replaceChildren();
    body.replaceChildren();
    top.replaceChildren(top.firstChild, heading(title));
    top.querySelector("h1").focus();
    load();
  }

  function steps() {
    return isNew ? [] : [h("span", { class: "steps" }, nextSteps(kind.plural, name).filter(([, , needs]) => may(needs ?? "read")).map(([text, href]) => h("a", { href }, text)))];
  }

  function commands() {
    if (version === null) return [];
    const button = (text, run, tone = "") => h("button", { type: "button", class: `small ${tone}`, onclick: run }, text);
    const hasPassword = Boolean(kind.schema.properties.password?.writeOnly);
    return [
      hasPassword && button("Change password", () => form.replaceSecret("password")),
      kind.name_field !== null && h("a", { class: "button small", href: newPage(kind.plural, { copy: name }) }, "Copy"),
      button("Remove", remove, "risky"),
    ].filter(Boolean);
  }

  /** A dry run, a look at the difference, and the change itself. */
  async function submit(button) {
    if (button.getAttribute("aria-busy")) return;
    const settings = form.settings();
    const own = ownName(settings);
    if (!own) {
      show422([{ field: kind.name_field, message: "is missing; give it a name" }]);
      return;
    }
    const wrong = wrongInPath(own);
    if (wrong) {
      show422([{ field: kind.name_field, message: wrong }]);
      return;
    }
    button.setAttribute("aria-busy", "true");
    alert.replaceChildren();
    form.say([]);
    // A route without a name is called by its conditions: with others it is another one.
    const isMoved = !isNew && own !== name;
    const before = isMoved ? null : version;
    try {
      const said = await put(`${path(own)}?dry_run=true`, settings, before);
      if (isMoved) said.changes.push(...(await del(`${path(name)}?dry_run=true`, version)).changes);
      if (!said.changes.length) {
        toast("Nothing is changed.", "warn");
        return;
      }
      if (!await review({ title: isNew ? `Add ${words.one} ${own}?` : `Change ${words.one} ${own}?`, said, action: "Save" })) {
        button.focus();
        return;
      }
      const done = await put(path(own), settings, before);
      // An empty one takes it away; none at all leaves it as it is.
      if (kind.plural === "accounts" && typeof settings.password === "string") keepPassword(own, settings.password);
      toast(`${own} is saved as version ${done.version}.`, "good");
      if (isMoved && !await removeOld(own)) return;
      saved(own, done);
    } catch (error) {
      if (isMoved && error.status === 412) taken(own);
      else refused(error, own);
    } finally {
      button.removeAttribute("aria-busy");
    }
  }

  /** Another resource has the name already: nothing of it belongs into this form. */
  async function taken(own) {
    if (!await read(own).catch(() => null)) return conflict(name);
    alert.replaceChildren(note(`There is a ${words.one} ${own} already`, "warn", h("p", {}, "Nothing was saved. ", h("a", { href: pageOf(`${kind.plural}/${own}`) }, `Look at ${own}`), " or choose other conditions.")));
    return undefined;
  }

  /** Removes what was called otherwise; false when that failed. */
  async function removeOld(own) {
    try {
      await del(path(name), version);
      return true;
    } catch (error) {
      alert.replaceChildren(note(`${own} is saved, and ${name} is not removed`, "bad", h("p", {}, error.message, " ", h("a", { href: pageOf(`${kind.plural}/${name}`) }, `Look at ${name}`))));
      return false;
    }
  }

  function saved(own, done) {
    // Whoever has gone elsewhere meanwhile stays there.
    if (!isOpen) return;
    const page = pageOf(`${kind.plural}/${own}`);
    if (location.hash === page || (kind.name_field === null && !isNew)) restart();
    else location.hash = page;
    if (done.warnings.length) alert.replaceChildren(note("Saved, with a warning", "warn", warnings(done.warnings)));
  }

  function ownName(settings) {
    return kind.plural === "routes" ? routeName(settings) : name ?? settings[kind.name_field];
  }

  function refused(error, own) {
    if (error.status === 422) show422(error.problem?.problems ?? [{ field: "", message: error.message }]);
    else if (error.status === 412) conflict(own);
    else if (error.status === 401) failed(error);
    else alert.replaceChildren(note("Not saved", "bad", h("p", {}, error.message)));
  }

  function show422(problems) {
    const others = form.say(problems);
    const text = problems.length === 1 ? "One key is not right" : `${problems.length} keys are not right`;
    if (others.length) alert.replaceChildren(note("Not saved", "bad", warnings(others)));
    else alert.replaceChildren(note(text, "bad", h("p", {}, "Nothing was saved. What is wrong stands below each key.")));
  }

  /** Somebody else was faster: what they changed, and how to go on. */
  async function conflict(own) {
    const now = await read(own).catch(() => null);
    const { versions } = await historyOf(`${kind.plural}/${own}`, 20).catch(() => ({ versions: [] }));
    const theirs = versions.filter((one) => one.version > (version ?? 0));
    const list = theirs.map((one) => h("li", {}, h("strong", {}, `Version ${one.version}`), ` by ${one.who}, `, time(one.at), one.changes.map(fields)));
    const keep = h("button", { type: "button", class: "primary", onclick: () => {
      version = now?.version ?? null;
      if (now) form.rebase(now.settings);
      alert.replaceChildren();
      toast(now ? "The form has their changes, and yours on top. Review it again." : "It will be made anew.", "good");
      form.focus();
    } }, now ? "Take theirs, keep my changes" : "Make it anew");
    const drop = h("button", { type: "button", onclick: () => {
      if (isNew) location.hash = pageOf(`${kind.plural}/${own}`);
      else restart();
    } }, isNew ? "Look at it" : "Drop my changes");
    const said = !now ? `${own} was removed meanwhile.` : isNew ? `There is a ${words.one} ${own} already.` : `Somebody else has changed ${own} meanwhile.`;
    alert.replaceChildren(note(said, "warn", h("p", {}, "Nothing was saved."), list.length ? h("ul", { class: "theirs" }, list) : null,
      h("div", { class: "buttons" }, isNew ? null : keep, drop)));
    (isNew ? drop : keep).focus();
  }

  async function remove() {
    try {
      const said = await del(`${path(name)}?dry_run=true`, version);
      if (!await review({ title: `Remove ${words.one} ${name}?`, text: words.gone, said, action: "Remove", danger: true })) return;
      await del(path(name), version);
      toast(`${name} is removed.`, "good");
      if (kind.name_field === null) restart();
      else location.hash = listPage(kind.plural);
    } catch (error) {
      if (error.status === 412) return conflict(name);
      if (error.status !== 422) return failed(error);
      alert.replaceChildren(note(`${name} cannot be removed`, "bad", h("p", {}, "Something else needs it. Change that first:"), warnings(error.problem.problems)));
    }
    return undefined;
  }

  function aside() {
    const cards = [];
    if (kind.plural === "accounts" && !isNew) cards.push(balanceCard(name));
    if (!isNew) cards.push(notesCard(`${kind.plural}/${name}`));
    if (!isNew) cards.push(history());
    return h("div", { class: "stack last" }, cards.length ? cards : h("section", { class: "card" }, h("h2", {}, `About ${words.title.toLowerCase()}`),
      h("p", { class: "quiet" }, words.lead, " Only what is required must be filled in; everything else has a default.")));
  }

  /** The versions of this resource, each of which can be restored. */
  function history() {
    const list = h("ol", { class: "versions" });
    historyOf(`${kind.plural}/${name}`).then(({ versions }) => {
      list.replaceChildren(...versionItems(versions, (one, at) => one.changes[0].action !== "removed" && (at > 0 || version === null) && may("admin")
        && h("button", { type: "button", class: "small", "aria-label": `Restore version ${one.version}`, onclick: () => restore(one.version) }, "Restore")));
    }, (error) => failedItems(list, error));
    return h("section", { class: "card" }, h("h2", {}, "History"), list);
  }

  async function restore(number) {
    const question = new URLSearchParams({ resource: `${kind.plural}/${name}` });
    const rollback = `/v1/config/rollback/${number}?${question}`;
    try {
      const said = await postIf(`${rollback}&dry_run=true`, await presentVersion());
      if (!said.changes.length) return toast(`It is what it was in version ${number}.`, "warn");
      if (!await review({ title: `Restore ${name} as of version ${number}?`, said, action: "Restore" })) return undefined;
      const done = await postIf(rollback, said.version);
      toast(`${name} is what it was in version ${number}.`, "good");
      restart();
      return done;
    } catch (error) {
      if (error.status === 422) alert.replaceChildren(note("Not restored", "bad", warnings(error.problem.problems)));
      else failed(error);
    }
    return undefined;
  }

  /** The browser asks before it drops what was written. */
  function keep(event) {
    if (form?.changed().length) event.preventDefault();
  }
  addEventListener("beforeunload", keep);
  load();
  return {
    elements: [top, tabs, alert, body], title,
    close() {
      isOpen = false;
      removeEventListener("beforeunload", keep);
    },
  };
}

/** A card that tells something: `bad`, `warn` or `good`. */
export function note(title, tone, ...inside) {
  return h("section", { class: `card note ${tone}` }, h("h2", {}, title), inside);
}

/** The keys of a resource for those who may only read. */
function values(kind, settings) {
  const all = h("input", { type: "checkbox", name: "all-keys", onchange: () => show() });
  const list = h("dl", { class: "facts wide" });
  const none = h("p", { class: "quiet" }, "Every key has its default.");
  function show() {
    const keys = kind.groups.flatMap((group) => group.fields).filter((key) => !kind.schema.properties[key].writeOnly && key !== kind.name_field);
    const shown = keys.filter((key) => all.checked || isSet(kind.schema.properties[key], settings[key]));
    list.replaceChildren(...shown.map((key) => h("div", {}, h("dt", { title: kind.schema.properties[key].description }, labelOf(key)), h("dd", {}, valueText(settings[key])))));
    none.hidden = shown.length > 0;
  }
  show();
  return h("section", { class: "card" }, h("div", { class: "card-head" }, h("h2", {}, "Settings"), h("label", { class: "choice" }, all, " Also defaults")), list, none);
}
