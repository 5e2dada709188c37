// What may be listed: how many items, of which categories, also what they have.

import { go } from "../address.js";
import { ask, isOld, request } from "../api.js";
import { h, show } from "../dom.js";
import { count as inDigits } from "../figures.js";
import { kOf } from "./asking.js";

const COUNTS = [5, 10, 20, 50, 100], MOST_CATEGORIES = 1000, MOST_SHOWN = 60;

/** The row of filters above a list. */
export function filtersBox() {
  const count = h("select", { id: "k", onchange: () => go({ k: count.value, more: null }) });
  const seen = h("input", { type: "checkbox", id: "seen", onchange: () => go({ seen: seen.checked ? "true" : null, more: null }) });
  const categories = categoryBox();
  const element = h("div.filters",
    h("label", "Items ", count),
    h("label", seen, " include items they already have"),
    categories.element,
    h("span.quiet", "Items marked unavailable are left out."));

  function update(state) {
    const k = kOf(state);
    show(count, [...new Set([...COUNTS, k])].sort((a, b) => a - b).map((one) => h("option", { value: one, selected: one === k }, one)));
    seen.checked = state.get("seen") === "true";
    categories.update(state);
  }

  return { element, update };
}

/** Categories to list only, or not to list. */
function categoryBox() {
  let state = null, known = null, of = null;
  const summary = h("summary"), list = h("ul.plain");
  const field = h("input", { type: "search", placeholder: "Find a category", aria: { label: "Find a category" }, oninput: draw });
  const element = h("details.categories", { ontoggle: () => element.open && fill(),
    onkeydown: (event) => { if (event.key === "Escape") { element.open = false; summary.focus(); } } },
  summary, h("div.pop", field, list));
  document.addEventListener("click", (event) => { if (!element.contains(event.target)) element.open = false; });

  async function fill() {
    const model = state.get("model");
    if (of === (model ?? "")) return draw();
    try {
      known = (await ask(request("/v1/categories", { k: MOST_CATEGORIES, model }))).categories;
      of = model ?? "";
      draw();
    } catch (error) {
      if (!isOld(error)) show(list, h("li.bad", error.message));
    }
  }

  function draw() {
    if (known === null) return;
    const letters = field.value.trim().toLowerCase();
    const found = known.filter(({ name }) => name.toLowerCase().includes(letters));
    show(list, found.slice(0, MOST_SHOWN).map(row),
      found.length > MOST_SHOWN && h("li.quiet", `${inDigits(found.length - MOST_SHOWN)} more: type some letters`),
      !found.length && h("li.quiet", known.length ? "Nothing found" : "No item of this model has a category."));
  }

  function row({ name, count }) {
    return h("li", h("span.line", name, h("span.quiet.number", inDigits(count))),
      choice("only", "category", "not_category", name), choice("not", "not_category", "category", name));
  }

  /** A button that puts a category on one list, off the other, or off both. */
  function choice(word, mine, other, name) {
    const chosen = state.all(mine).includes(name);
    return h("button", {
      type: "button", class: "small", aria: { pressed: String(chosen), label: `${word} ${name}` },
      onclick: (event) => {
        event.stopPropagation();
        const left = state.all(mine).filter((one) => one !== name);
        go({ [mine]: chosen ? left : [...left, name], [other]: state.all(other).filter((one) => one !== name), more: null });
        [...list.querySelectorAll("button")].find((one) => one.getAttribute("aria-label") === `${word} ${name}`)?.focus();
      },
    }, word);
  }

  function update(now) {
    state = now;
    const any = state.all("category"), none = state.all("not_category");
    const words = [any.length && `only ${any.join(" or ")}`, none.length && `not ${none.join(", ")}`].filter(Boolean);
    show(summary, words.length ? `Categories: ${words.join("; ")}` : "All categories");
    if (element.open) fill();
  }

  return { element, update };
}
