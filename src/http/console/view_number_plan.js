// Number plan: which numbers are our own, which those of others, and where they go.

import { get } from "./api.js";
import { failed } from "./dialog.js";
import { h, heading, nothing, table } from "./dom.js";
import { number } from "./format.js";

export default function numberPlan() {
  const list = table({
    caption: "Number plan",
    key: (row) => row.name,
    columns: [
      { title: "Range", text: (row) => row.name },
      { title: "Numbers are", text: (row) => row.settings.class.replace("_", " ") },
      { title: "Begin with", class: "mono", text: (row) => row.settings.prefixes.map((prefix) => prefix || "anything").join(", ") },
      { title: "Digits", text: (row) => digits(row.settings) },
      { title: "Exist", text: (row) => exist(row.settings.numbers) },
      { title: "Go to", text: (row) => goTo(row.settings.to) },
    ],
    empty: () => nothing("No number plan", "Every number is taken for one of the outside world, and [[route]] says where it goes. Ranges are added with [[number_range]] in the configuration, or by PUT /v1/number-ranges/NAME."),
  });

  async function load() {
    try {
      list.update((await get("/v1/number-ranges")).number_ranges);
    } catch (error) {
      failed(error);
    }
  }
  load();
  return {
    elements: [
      heading("Number plan"),
      h("p", { class: "lead" }, "A message to a number of a range that does not exist is refused at once. Routes explains what one number is, and where it goes."),
      h("section", { class: "card" }, list.element),
    ],
  };
}

function digits({ min_digits: min, max_digits: max }) {
  if (min === null && max === null) return "any";
  if (min === max) return String(min);
  if (min === null) return `at most ${max}`;
  return max === null ? `at least ${min}` : `${min} to ${max}`;
}

/** Few entries as they are, many by how many there are. */
function exist(numbers) {
  if (!numbers.length) return "all";
  return numbers.length > 4 ? `${number(numbers.length)} entries` : numbers.join(", ");
}

/** Targets in order; those that share by weight, with it. */
function goTo(steps) {
  if (!steps.length) return "by routes";
  const shares = (step) => Object.entries(step).map(([name, weight]) => `${name} ${weight}`).join(" and ");
  return steps.map((step) => (typeof step === "string" ? step : shares(step))).join(", then ");
}
