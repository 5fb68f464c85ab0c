// Inputs for single values of the configuration, one function for each form that JSON Schema can have.
// Each gives its element, `read()` (null: the default; undefined: leave it as it is) and `write(value)`.

import { h, prose, select, setText } from "./dom.js";
import { same, stepOf, stepText } from "./schema.js";

/** Letters of a generated password; those that are mistaken for one another are left out. */
const LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnpqrstuvwxyz23456789";
/** Stands for an empty text where an empty line would mean nothing at all. */
const NOTHING = '""';
/** SMPP allows eight octets. */
const PASSWORD_LENGTH = 8;

/** The input for a schema; `suggestions` are names of other resources that fit. */
export function inputFor(name, schema, { suggestions = [], isNew = false } = {}) {
  if (schema.writeOnly) return secret(name, isNew);
  if (schema.oneOf) return choice(name, schema);
  if (schema.type === "boolean") return yesNo(name, schema);
  if (schema.type === "array") return schema.items.oneOf ? several(name, schema) : lines(name, schema, suggestions);
  if (schema.additionalProperties) return pairs(name, schema);
  return schema["x-multiline"] ? longText(name) : line(name, schema, suggestions);
}

/** A number, or the text as it is, which the server refuses with its reason. */
function numberOf(text) {
  if (/^0x[0-9a-f]+$/i.test(text) || /^-?[0-9]+([.][0-9]+)?$/.test(text)) return Number(text);
  return text;
}

/** How one value of a schema is written in a line, and read from it. */
function codec(schema) {
  if (schema.format === "hex") return { text: (value) => `0x${value.toString(16).padStart(2, "0")}`, value: numberOf };
  if (schema.format === "step") return { text: stepText, value: stepOf };
  if (schema.type === "integer" || schema.type === "number") return { text: String, value: numberOf };
  if (schema.type === "array") return { text: (value) => value.join(", "), value: (text) => text.split(",").map((one) => one.trim()).filter(Boolean) };
  // An empty text in a list is written as two quotes: an empty line is nothing.
  return { text: (value) => (value === "" ? NOTHING : String(value)), value: (text) => (text === NOTHING ? "" : text) };
}

function line(name, schema, suggestions) {
  const { text, value } = codec(schema);
  const isNumber = schema.type === "integer" || schema.type === "number";
  const list = suggestions.length && h("datalist", { id: `names-${name}-${line.count += 1}` }, suggestions.map((one) => h("option", { value: one })));
  const input = h("input", {
    type: "text", name, autocomplete: "off", spellcheck: "false", inputmode: isNumber && schema.format !== "hex" ? "decimal" : null,
    placeholder: schema.default === undefined || schema.default === "" ? null : text(schema.default), list: list && list.id,
  });
  return {
    element: list ? h("div", {}, input, list) : input,
    control: input,
    read: () => (input.value.trim() ? value(input.value.trim()) : null),
    write(given) {
      input.value = given === null || given === undefined || same(given, schema.default) ? "" : text(given);
    },
  };
}
line.count = 0;

function yesNo(name, schema) {
  if (schema.default === undefined) {
    const list = select(name, [["", "not set"], ["true", "yes"], ["false", "no"]]);
    return {
      element: list, control: list,
      read: () => (list.value === "" ? null : list.value === "true"),
      write: (given) => { list.value = given === null || given === undefined ? "" : String(given); },
    };
  }
  const box = h("input", { type: "checkbox", name });
  return {
    element: box, control: box,
    read: () => box.checked,
    write: (given) => { box.checked = given ?? schema.default; },
  };
}

function choice(name, schema) {
  const words = schema.oneOf.map((one) => [one.const, one.const]);
  const list = select(name, schema.default === undefined ? [["", "not set"], ...words] : words);
  const meaning = h("p", { class: "hint meaning" });
  const say = () => meaning.replaceChildren(...prose(schema.oneOf.find((one) => one.const === list.value)?.description ?? ""));
  list.addEventListener("change", say);
  return {
    element: h("div", {}, list, meaning), control: list,
    read: () => list.value || null,
    write(given) {
      list.value = given ?? schema.default ?? "";
      say();
    },
  };
}

/** Some words of a list: a box for each. */
function several(name, schema) {
  const boxes = schema.items.oneOf.map((one) => h("input", { type: "checkbox", name, value: one.const }));
  const element = h("div", { class: "choices", role: "group" }, boxes.map((box, at) =>
    h("label", { class: "choice", title: schema.items.oneOf[at].description }, box, ` ${box.value}`)));
  return {
    element, control: element, isGroup: true,
    read: () => boxes.filter((box) => box.checked).map((box) => box.value),
    write(given) {
      for (const box of boxes) box.checked = (given ?? schema.default ?? []).includes(box.value);
    },
  };
}

function area(name, count, placeholder) {
  const input = h("textarea", { name, spellcheck: "false", autocomplete: "off", rows: "2", class: "lines", placeholder });
  const fit = () => { input.rows = Math.min(12, Math.max(2, input.value.split("\n").length + count)); };
  input.addEventListener("input", fit);
  return { input, fit };
}

/** A text of several lines, to the octet: a space at its end may be meant. */
function longText(name) {
  const { input, fit } = area(name, 0, null);
  return {
    element: input, control: input,
    read: () => input.value || null,
    write(given) {
      input.value = given ?? "";
      fit();
    },
  };
}

/** A list, one value a line; names that fit are added from a list. */
function lines(name, schema, suggestions) {
  const { text, value } = codec(schema.items);
  const usual = schema.default?.length ? schema.default.map(text).join("\n") : null;
  const { input, fit } = area(name, 0, usual);
  const add = suggestions.length && select(`${name}-add`, [["", "Add …"], ...suggestions.map((one) => [one, one])]);
  if (add) {
    add.setAttribute("aria-label", `Add to ${name.replace("key.", "")}`);
    add.addEventListener("change", () => {
      if (!add.value) return;
      input.value = [input.value.trimEnd(), add.value].filter(Boolean).join("\n");
      add.value = "";
      input.dispatchEvent(new Event("input", { bubbles: true }));
    });
  }
  return {
    element: add ? h("div", { class: "with-add" }, input, add) : input, control: input, note: schema.items.format === "step"
      ? "One step a line, in order of failover. Two that share: a 70 and b 30." : "One a line.",
    read() {
      const all = input.value.split("\n").map((one) => one.trim()).filter(Boolean).map(value);
      // An empty list is one only where that is the default; elsewhere it is nothing.
      return all.length || same(schema.default, []) ? all : null;
    },
    write(given) {
      input.value = !given || same(given, schema.default) ? "" : given.map(text).join("\n");
      fit();
    },
  };
}

/** A table whose keys people choose: `key = value`, one a line. */
function pairs(name, schema) {
  const { text, value } = codec(schema.additionalProperties);
  const { input, fit } = area(name, 0, null);
  return {
    element: input, control: input, note: "One a line: key = value.",
    read() {
      const all = input.value.split("\n").map((one) => one.trim()).filter(Boolean).map((one) => {
        // From the end for numbers, from the beginning for text: either side may have an equals sign.
        const at = schema.additionalProperties.type === "string" || schema.additionalProperties.type === "array" ? one.indexOf("=") : one.lastIndexOf("=");
        return at < 0 ? [one, ""] : [one.slice(0, at).trim(), value(one.slice(at + 1).trim())];
      });
      return Object.fromEntries(all);
    },
    write(given) {
      input.value = Object.entries(given ?? {}).map(([key, one]) => `${key} = ${text(one)}`).join("\n");
      fit();
    },
  };
}

/** A secret is never shown: it stays, or is replaced. */
function secret(name, isNew) {
  const input = h("input", { type: "password", name, autocomplete: "new-password", spellcheck: "false", disabled: !isNew, hidden: !isNew });
  const show = h("button", { type: "button", class: "small", hidden: !isNew, "aria-pressed": "false", onclick: () => {
    const isShown = input.type === "text";
    input.type = isShown ? "password" : "text";
    show.setAttribute("aria-pressed", String(!isShown));
    setText(show, isShown ? "Show" : "Hide");
  } }, "Show");
  const make = h("button", { type: "button", class: "small", hidden: !isNew, onclick: () => {
    input.value = password();
    if (input.type === "password") show.click();
    input.dispatchEvent(new Event("input", { bubbles: true }));
  } }, "Generate");
  const replace = h("button", { type: "button", class: "small", hidden: isNew, onclick: () => {
    open(true);
    input.focus();
  } }, "Replace");
  const keep = h("button", { type: "button", class: "small", hidden: true, onclick: () => {
    open(false);
    input.value = "";
    input.dispatchEvent(new Event("input", { bubbles: true }));
    replace.focus();
  } }, "Keep");
  const stays = h("span", { class: "quiet", hidden: isNew }, "Not shown. It stays as it is.");
  function open(isOpen) {
    for (const one of [input, show, make, keep]) one.hidden = !isOpen;
    for (const one of [replace, stays]) one.hidden = isOpen;
    input.disabled = !isOpen;
  }
  return {
    element: h("div", { class: "secret-field" }, input, stays, h("div", { class: "buttons" }, replace, show, make, keep)), control: input,
    // An empty one that was asked for removes the secret.
    read: () => (input.disabled || (isNew && !input.value) ? undefined : input.value),
    write() {},
    replace: () => replace.click(),
  };
}

/** A new password, as long as SMPP takes them. */
export function password() {
  const numbers = crypto.getRandomValues(new Uint32Array(PASSWORD_LENGTH));
  return Array.from(numbers, (one) => LETTERS[one % LETTERS.length]).join("");
}
