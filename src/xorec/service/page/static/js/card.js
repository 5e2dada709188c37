// One item of a list: its place, its name, how far it is and why it stands there.

import { distanceRow, scoreRow } from "./bits.js";
import { h } from "./dom.js";
import { nameOf } from "./facts.js";
import { many } from "./figures.js";

/** A link to an item: its name. */
export function itemLink(item, state) {
  return h("a.name", { href: state.with({ panel: "item", item: item.id }) }, nameOf(item));
}

/** Its id, where the name does not say it. */
export function idOf(item) {
  return item.name && item.name !== String(item.id) && h("span.id", String(item.id));
}

/** The categories of an item, each a filter; none: nothing. */
export function categoryLinks(categories, state) {
  return (categories ?? []).map((name) =>
    h("a.tag", { href: state.with({ category: name, panel: "explore", more: null }), title: "List only this category" }, name));
}

/** Whether a list is ordered by something else than the distances: codes found it, scores ranked it. */
export function isByScore(items) {
  return items.some((item, at) => item.distance === null || (at > 0 && item.distance < items[at - 1].distance));
}

/**
 * The card. item: of the answer; about: {place, state, facts, codes, scores, counted, byScore, moved, owned, toggle}.
 * codes: {bits, mine, of: Map} or null. counted: the score is how many users have it.
 */
export function card(item, about) {
  const id = String(item.id), name = nameOf(item);
  const because = (item.because ?? []).filter((one) => String(one.id) !== id);
  return h("li.item", { tabindex: "-1", data: { id }, aria: { label: `${about.place}: ${name}` } },
    h("div.place", h("span.number", about.place), moveSign(about.moved)),
    h("div.what",
      h("div.line", itemLink(item, about.state), idOf(item), categoryLinks(about.facts?.categories, about.state)),
      because.length > 0 && h("p.because.quiet", "because of ",
        because.map((one, at) => [at > 0 && ", ", itemLink(one, about.state)]))),
    howFar(item, about),
    about.toggle && h("button", {
      type: "button", class: "own", onclick: () => about.toggle(id),
      aria: { pressed: String(about.owned), label: `What if they also had ${name}` },
      title: about.owned ? "Take it away again (o)" : "List as if they had it (o)",
    }, about.owned ? "− what if" : "+ what if"));
}

function howFar(item, { codes, scores, counted, byScore }) {
  const its = codes?.of.get(String(item.id));
  if (counted) return scoreRow(item.score, scores, many(item.score, "user"));
  if (codes?.mine && its) return distanceRow(item.distance, codes.mine, its, codes.bits, byScore ? item.score : null);
  return typeof item.score === "number" && scoreRow(item.score, scores);
}

function moveSign(moved) {
  if (!moved) return null;
  if (moved.fresh) return h("span.moved.fresh", "new");
  if (moved.up) return h("span.moved", { aria: { label: `up ${moved.up}` }, role: "img" }, `▲${moved.up}`);
  return moved.down && h("span.moved", { aria: { label: `down ${moved.down}` }, role: "img" }, `▼${moved.down}`);
}
