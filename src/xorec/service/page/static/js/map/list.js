// Items that were picked, as a real list: whoever does not see the map has the same.

import { h } from "../dom.js";

/** A card with a heading, how many there are, and the items with links. close: what its button does, if it has one. */
export function itemsCard(state, title, total, items, close = null) {
  return h("section", { class: "card picked", aria: { label: title } },
    h("h2", {}, title, " ", h("span", { class: "quiet number" }, total.toLocaleString("en")),
      close && h("button", { type: "button", class: "close", onclick: close, aria: { label: `Close: ${title}` } }, "×")),
    items.length < total && h("p", { class: "quiet" }, `The ${items.length} that most users have:`),
    items.length > 0 && h("ol", {}, items.map((item) => h("li", {},
      h("a", { href: state.with({ panel: "item", item: String(item.id) }) }, item.name ?? item.id),
      !item.available && h("span", { class: "quiet" }, " (not listed)"),
      h("span", { class: "number quiet" }, item.count.toLocaleString("en")),
      h("a", { class: "find", href: state.with({ item: String(item.id) }), aria: { label: `Show on the map: ${item.name ?? item.id}` } }, "show")))));
}
