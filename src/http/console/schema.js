// What resources of the configuration may contain, as the server describes it; and how their values look.

import { get } from "./api.js";

let asked = null;

/** Every kind by its plural (`accounts`, `mo_rules`, …), read once. */
export function kinds() {
  asked ??= get("/v1/config/schema").then(
    (said) => new Map(said.kinds.map((kind) => [kind.plural, kind])),
    (error) => {
      asked = null;
      throw error;
    },
  );
  return asked;
}

/** Whether a value is the same as another one, as JSON. */
export function same(one, other) {
  return JSON.stringify(one ?? null) === JSON.stringify(other ?? null);
}

/** Whether a key has another value than its default. */
export function isSet(schema, value) {
  return value !== null && value !== undefined && !same(value, schema.default);
}

/** One step of `to`: a target, or those that share, with their weights. */
export function stepText(step) {
  return typeof step === "string" ? step : Object.entries(step).map(([name, weight]) => `${name} ${weight}`).join(" and ");
}

/** The same from what was written. */
export function stepOf(text) {
  const shares = text.split(/\s+and\s+/).map((one) => /^(\S+)\s+([0-9]+)$/.exec(one));
  return shares.every(Boolean) ? Object.fromEntries(shares.map(([, name, weight]) => [name, Number(weight)])) : text;
}

/** A value as people read it. */
export function valueText(value) {
  if (value === null || value === undefined || value === "") return "not set";
  if (value === "(secret)") return "a secret";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (Array.isArray(value)) return value.length ? value.map((one) => (isSteps(one) ? stepText(one) : flat(one))).join(", ") : "none";
  return flat(value);
}

/** A table of weights, as a route has them. */
function isSteps(one) {
  return typeof one === "object" && one !== null && Object.values(one).length > 0 && Object.values(one).every((weight) => typeof weight === "number");
}

function flat(value) {
  if (typeof value !== "object" || value === null) return String(value);
  const inside = Object.entries(value).filter(([, one]) => one !== null);
  return inside.length ? inside.map(([key, one]) => `${key} = ${Array.isArray(one) ? one.map(flat).join(", ") : flat(one)}`).join("; ") : "none";
}

/** `max_binds` as a label: Max binds. */
export function labelOf(key) {
  const words = key.replaceAll("_", " ").replace(/\bid\b/g, "id").replace(/\b(tls|url|smsc|ca|imsi|ipa|gbk|ton|npi|mt)\b/g, (word) => word.toUpperCase());
  return words[0].toUpperCase() + words.slice(1);
}
