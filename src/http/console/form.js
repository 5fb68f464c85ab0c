// A form for one resource, made from its schema: what is asked first is open, the rest is folded, a search finds a
// key. Errors of the server stand beside the keys that they are about.

import { h, prose, setAttribute, setText } from "./dom.js";
import { inputFor } from "./inputs.js";
import { isSet, labelOf, same, valueText } from "./schema.js";

/** Kinds with fewer keys show all of them at once. */
const FEW = 16;

/**
 * `names` gives the names of other resources by kind, `skip` the keys that are not shown. `onchange` is called when
 * somebody has changed something.
 */
export function resourceForm({ kind, settings, names, skip = [], isNew, onchange }) {
  const fields = new Map();
  const groups = kind.groups.map((group, at) => {
    const own = group.fields.filter((key) => !skip.includes(key)).map((key) => {
      const schema = kind.schema.properties[key];
      const one = field(key, schema, { isNew, names, isRequired: kind.schema["x-required"].includes(key) });
      one.write(settings[key]);
      fields.set(key, one);
      return one;
    });
    return own.length ? fold(group.title, own, at === 0 || fields.size <= FEW && total(kind) <= FEW) : null;
  }).filter(Boolean);
  const wanted = h("input", { type: "search", name: "find-key", autocomplete: "off", spellcheck: "false", placeholder: "rate, callback, tls …", "aria-label": "Find a key" });
  const onlySet = h("input", { type: "checkbox", name: "only-set" });
  const none = h("p", { class: "empty", hidden: true }, "No key fits.");
  const tools = h("div", { class: "form-tools" }, wanted, h("label", { class: "choice" }, onlySet, " Only what is set"));
  const element = h("div", { class: "resource-form" }, total(kind) > FEW ? tools : null, groups.map((one) => one.element), none);
  let base = values();

  function values() {
    return new Map([...fields].map(([key, one]) => [key, one.read()]));
  }

  function filter() {
    const words = wanted.value.toLowerCase().split(/\s+/).filter(Boolean);
    const isFiltered = words.length > 0 || onlySet.checked;
    let found = 0;
    for (const group of groups) {
      let here = 0;
      for (const one of group.fields) {
        const fits = words.every((word) => one.words.includes(word) || group.title.toLowerCase().includes(word)) && (!onlySet.checked || one.isSet());
        one.element.hidden = !fits;
        here += fits ? 1 : 0;
      }
      group.element.hidden = here === 0;
      if (isFiltered) group.open(here > 0);
      else group.open(group.isUsual || group.fields.some((one) => one.hasError()));
      found += here;
    }
    none.hidden = found > 0;
  }
  wanted.addEventListener("input", filter);
  onlySet.addEventListener("change", filter);
  element.addEventListener("input", (event) => {
    if ([wanted, onlySet].includes(event.target)) return;
    for (const group of groups) group.count();
    onchange();
  });
  element.addEventListener("change", () => {
    for (const group of groups) group.count();
    onchange();
  });
  for (const group of groups) group.count();

  return {
    element,
    /** Keys that somebody has changed. */
    changed: () => [...values()].filter(([key, value]) => !same(value, base.get(key))).map(([key]) => key),
    /** What the form says, as the API takes it. What nobody has changed stays as it is, to the octet: an input may not be able to say it. */
    settings() {
      const given = { ...settings };
      for (const [key, value] of values()) {
        if (same(value, base.get(key))) continue;
        if (value === undefined) delete given[key];
        else given[key] = value;
      }
      return given;
    },
    /** Takes another content as the basis; what was changed here stays changed. */
    rebase(now) {
      const own = new Map(this.changed().map((key) => [key, fields.get(key).read()]));
      settings = now;
      for (const [key, one] of fields) one.write(now[key]);
      base = values();
      for (const [key, value] of own) fields.get(key).write(value);
    },
    /** Sets keys from texts of the address, as if somebody had written them. */
    fill(given) {
      for (const [key, text] of given) {
        const schema = kind.schema.properties[key];
        if (fields.has(key)) fields.get(key).write(schema.type === "array" ? text.split(",") : text);
      }
    },
    /** Puts problems beside their keys; gives those that are about something else. */
    say(problems) {
      for (const one of fields.values()) one.say(null);
      const others = [];
      const first = [];
      for (const problem of problems) {
        const [key] = problem.field.split(/[.[]/);
        const one = fields.get(key);
        if (!one) {
          others.push(problem);
          continue;
        }
        const place = problem.field.slice(key.length).replace(/^\./, "");
        one.say(place ? `${place}: ${problem.message}` : problem.message);
        groups.find((group) => group.fields.includes(one)).open(true);
        one.element.hidden = false;
        first.push(one);
      }
      first[0]?.focus();
      return others;
    },
    replaceSecret(key) {
      const one = fields.get(key);
      groups.find((group) => group.fields.includes(one)).open(true);
      one.element.scrollIntoView({ block: "center" });
      one.input.replace?.();
    },
    focus: () => groups[0].fields[0].focus(),
  };
}

function total(kind) {
  return Object.keys(kind.schema.properties).length;
}

/** Keys below a title; it says how many of them are set. */
function fold(title, fields, isUsual) {
  const badge = h("span", { class: "quiet" });
  const element = h("details", { class: "fold", open: isUsual }, h("summary", {}, h("span", { class: "fold-title" }, title), " ", badge),
    h("div", { class: "fields" }, fields.map((one) => one.element)));
  return {
    element, fields, title, isUsual,
    open: (isOpen) => { element.open = isOpen; },
    count() {
      const set = fields.filter((one) => one.isSet()).length;
      setText(badge, set ? `${set} set` : "");
    },
  };
}

/**
 * One key: its label, its input, its sentence with its default, and what is wrong with it. The names of inputs begin
 * with `key.`: an input that is called `matches` would hide the method of its form.
 */
function field(key, schema, { isNew, names, isRequired }) {
  const suggestions = (schema["x-refers-to"] ?? []).flatMap((plural) => names[plural] ?? []);
  const input = isTable(schema) ? tableInput(key, schema, names) : schema.items?.properties ? tablesInput(key, schema, names) : inputFor(`key.${key}`, schema, { suggestions, isNew });
  const id = `key-${field.count += 1}`;
  const hint = h("p", { class: "hint", id: `${id}-hint` }, prose(schema.description ?? ""), input.note ? ` ${input.note}` : null,
    schema.default !== undefined && !isEmpty(schema.default) ? h("span", { class: "default" }, " Default: ", h("code", {}, valueText(schema.default)), ".") : null);
  const problem = h("p", { class: "problem", id: `${id}-problem` });
  const mark = isRequired ? h("span", { class: "quiet" }, " required") : null;
  const isBox = input.control?.type === "checkbox";
  let label;
  if (!input.control || input.isGroup) {
    label = h("p", { class: "label", id: `${id}-label` }, labelOf(key), mark, " ", h("code", { class: "key" }, key));
    setAttribute(input.element, "aria-labelledby", `${id}-label`);
    if (!input.element.hasAttribute("role")) setAttribute(input.element, "role", "group");
  } else {
    input.control.id = id;
    label = h("label", { for: id }, labelOf(key), mark, " ", h("code", { class: "key" }, key));
    setAttribute(input.control, "aria-describedby", `${id}-hint ${id}-problem`);
  }
  const element = h("div", { class: isBox ? "field key box" : "field key", "data-key": key }, isBox ? [input.element, label] : [label, input.element], hint, problem);
  return {
    key, element, input, words: `${key} ${labelOf(key)} ${schema.description ?? ""}`.toLowerCase(),
    read: () => input.read(),
    write: (value) => input.write(value),
    isSet: () => isSet(schema, input.read()) && !isEmpty(input.read()),
    hasError: () => problem.textContent !== "",
    say(text) {
      setText(problem, text ?? "");
      if (input.control && !input.isGroup) setAttribute(input.control, "aria-invalid", text ? "true" : null);
    },
    focus: () => (input.control ?? element.querySelector("input, select, textarea, button"))?.focus(),
  };
}
field.count = 0;

function isEmpty(value) {
  return value === null || value === "" || (typeof value === "object" && Object.keys(value).length === 0);
}

function isTable(schema) {
  return schema.type === "object" && Boolean(schema.properties);
}

/** The keys of a table, below one another. */
function tableFields(schema, names, values = {}) {
  return schema["x-order"].map((key) => {
    const one = field(key, schema.properties[key], { isNew: true, names, isRequired: schema["x-required"].includes(key) });
    one.write(values[key]);
    return one;
  });
}

function readFields(fields) {
  return Object.fromEntries(fields.map((one) => [one.key, one.read()]).filter(([, value]) => value !== null && value !== undefined));
}

/** A table that may be absent. */
function tableInput(name, schema, names) {
  const box = h("input", { type: "checkbox", name: `set.${name}` });
  const inside = h("div", { class: "fields inner", hidden: true });
  let fields = [];
  const show = (values) => {
    fields = values ? tableFields(schema, names, values) : [];
    inside.replaceChildren(...fields.map((one) => one.element));
    inside.hidden = !values;
    box.checked = Boolean(values);
  };
  box.addEventListener("change", () => show(box.checked ? {} : null));
  return {
    element: h("div", {}, h("label", { class: "choice" }, box, " Set its own"), inside),
    read: () => (box.checked ? readFields(fields) : null),
    write: (value) => show(value ? clean(value) : null),
  };
}

/** A list of tables, in order. */
function tablesInput(name, schema, names) {
  const list = h("div", { class: "stack" });
  let all = [];
  const told = (element) => element.dispatchEvent(new Event("input", { bubbles: true }));
  const add = h("button", { type: "button", class: "small", onclick: () => {
    all.push(tableFields(schema.items, names));
    draw();
    all.at(-1)[0].focus();
    told(list);
  } }, "Add one");
  function draw() {
    list.replaceChildren(...all.map((fields, at) => {
      const order = (label, by) => h("button", { type: "button", class: "small", disabled: !all[at + by], onclick: () => {
        [all[at], all[at + by]] = [all[at + by], all[at]];
        draw();
        told(list);
      } }, label);
      return h("fieldset", { class: "inner" }, h("legend", {}, `${labelOf(name)} ${at + 1}`), h("div", { class: "buttons" }, order("Up", -1), order("Down", 1),
        h("button", { type: "button", class: "small risky", onclick: () => {
          all.splice(at, 1);
          draw();
          told(list);
          add.focus();
        } }, "Remove")), h("div", { class: "fields" }, fields.map((one) => one.element)));
    }));
  }
  return {
    element: h("div", { class: "stack" }, list, h("div", { class: "buttons" }, add)),
    read: () => all.map(readFields),
    write(value) {
      all = (value ?? []).map((one) => tableFields(schema.items, names, clean(one)));
      draw();
    },
  };
}

function clean(value) {
  return Object.fromEntries(Object.entries(value).filter(([, one]) => one !== null));
}
