// Who the list is for: what they have, and what they have only as if.

import { idOf, itemLink } from "../card.js";
import { combobox } from "../combobox.js";
import { here } from "../address.js";
import { button, h, show } from "../dom.js";
import { factsOf, nameOf } from "../facts.js";
import { count, many } from "../figures.js";
import { ITEMS } from "../search.js";
import { SHOWN_HISTORY } from "./asking.js";
import { picks } from "./start.js";

/** The left side. toggle(id): as if they had an item, or not any more. toList(): goes to the list. */
export function historyBox(toggle, toList) {
  const box = combobox({
    id: "add", label: "What if they also had", placeholder: "Add an item …", kinds: [ITEMS], take: ({ id }) => toggle(id),
  });
  const title = h("h2"), about = h("p.quiet"), owned = h("ul.plain"), rest = h("div");
  const element = h("section.card.has", { aria: { label: "Who the list is for" } },
    button("Skip to the list", toList, { class: "skip" }),
    title, about, h("h3", "What if they also had …"), owned, box.element, rest);

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
    return h("li", h("span.line", itemLink(item, state), idOf(item)),
      button("×", () => toggle(String(item.id)), { class: "small", aria: { label: `Take away ${nameOf(item)}` } }));
  }

  return { element, update };
}

function words(user, history, isKnown) {
  if (user === null) return "A list for what is picked here, and nothing else.";
  if (!isKnown) return "The model does not know this user, and no event has named them.";
  return `Has ${many(history.count, "item")}. What is added below counts for this page only.`;
}

let open = innerWidth >= 800; // where there is little room the list comes first

function folding(title, ...children) {
  return h("details", { open, ontoggle: (event) => { open = event.target.open; } }, h("summary", h("h3", title)), children);
}

function past(history, facts, state) {
  const newest = history.history.map(String).reverse(), list = h("ol.plain"), after = h("div");
  function draw(until) {
    show(list, newest.slice(0, until).map((id) => {
      const item = facts.get(id) ?? { id };
      return h("li", h("span.line", itemLink(item, state), idOf(item)));
    }));
    const words = `and ${count(history.count - until)} before these`;
    show(after, newest.length > until ? button(words, all) : history.count > until && h("p.quiet", words));
  }
  async function all() {
    await factsOf(newest, here().get("model")).catch(() => {});
    draw(newest.length);
  }
  draw(SHOWN_HISTORY);
  return folding("History", list, after);
}
