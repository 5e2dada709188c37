// Items that were picked, as a real list: whoever does not see the map has the same.

import { button, h } from "../dom.js";
import { count, many } from "../figures.js";

/** A card with a heading, how many there are, and the items with links; find(item) shows one. close: what its button does. */
export function itemsCard({ state, title, total, items, find, close }) {
  return h("section.card.picked", { aria: { label: title } },
    h("h2", title, " (", h("span.number", count(total)), ")",
      close && button("×", close, { class: "close", aria: { label: `Close: ${title}` } })),
    items.length < total && h("p.quiet", `The ${items.length} that most users have:`),
    items.length > 0 && h("ol", items.map((item) => h("li",
      h("a", { href: state.with({ panel: "item", item: item.id }) }, item.name ?? item.id),
      !item.available && h("span.quiet", " (not listed)"),
      h("span.number.quiet", many(item.count, "user")),
      h("a", {
        class: "find", href: state.with({ item: item.id }), aria: { label: `Show on the map: ${item.name ?? item.id}` },
        onclick: (event) => { event.preventDefault(); find(item); },
      }, "show")))));
}
