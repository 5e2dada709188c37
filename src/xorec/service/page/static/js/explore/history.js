// Who the list is for: what they have, and what they have only as if.

import { idOf, itemLink } from "../card.js";
import { combobox } from "../combobox.js";
import { h, show } from "../dom.js";
import { nameOf } from "../facts.js";
import { findItems } from "../search.js";
import { SHOWN_HISTORY } from "./asking.js";
import { picks } from "./start.js";

/** The left side. toggle(id): take an item as if owned, or take it away again. */
export function historyBox(toggle) {
  const box = combobox({
    id: "add", label: "Add an item as if owned", placeholder: "Add an item …",
    kinds: [{ title: "items", find: findItems }], take: ({ id }) => toggle(id),
  });
  const title = h("h2", {}), about = h("p", { class: "quiet" }), owned = h("ul", { class: "plain" }), rest = h("div", {});
  const element = h("section", { class: "card has", aria: { label: "Who the list is for" } },
    title, about, h("h3", {}, "As if owned"), owned, box.element, rest);

  function update(view, popular) {
    const { state, facts, history, isKnown } = view, user = state.get("user");
    show(title, user ?? "Somebody new");
    show(about, words(user, history, isKnown));
    show(owned, view.owned.map((id) => asIf(facts.get(id) ?? { id }, state)));
    const left = popular.filter((item) => !state.all("items").includes(String(item.id)));
    show(rest, history && past(history, facts, state),
      left.length > 0 && folding("What most users have", picks(left, toggle)));
  }

  function asIf(item, state) {
    return h("li", {}, h("span", { class: "line" }, itemLink(item, state), idOf(item)),
      h("button", { type: "button", class: "small", onclick: () => toggle(String(item.id)), aria: { label: `Take away ${nameOf(item)}` } }, "×"));
  }

  return { element, update };
}

function words(user, history, isKnown) {
  if (user === null) return "A list for what is picked here, and nothing else.";
  if (!isKnown) return "The model does not know this user, and no event has named them.";
  return `${history.count.toLocaleString("en")} ${history.count === 1 ? "item" : "items"}. What is added below counts for this page only.`;
}

let open = innerWidth >= 800; // where there is little room the list comes first

function folding(title, ...children) {
  return h("details", { open, ontoggle: (event) => { open = event.target.open; } }, h("summary", {}, h("h3", {}, title)), children);
}

function past(history, facts, state) {
  const newest = history.history.map(String).reverse(), shown = newest.slice(0, SHOWN_HISTORY);
  return folding("History",
    h("ol", { class: "plain" }, shown.map((id) => {
      const item = facts.get(id) ?? { id };
      return h("li", {}, h("span", { class: "line" }, itemLink(item, state), idOf(item)));
    })),
    history.count > shown.length && h("p", { class: "quiet" }, `and ${(history.count - shown.length).toLocaleString("en")} before these`));
}
