// The page of one file: everything it shows stands in it. The state is behind the "#" of the address.

import { card, idOf, itemLink } from "../static/js/card.js";
import { h, show } from "../static/js/dom.js";
import { legendList, looksOf, pixel, theme } from "../static/js/map/colours.js";
import { Painter } from "../static/js/map/draw.js";
import { listen } from "../static/js/map/gestures.js";
import { Grid } from "../static/js/map/grid.js";
import { drawMarks } from "../static/js/map/marks.js";
import { View } from "../static/js/map/view.js";

const data = JSON.parse(document.getElementById("data").textContent);
const { facts, bits, items } = data;
const SHOWN = 60;
const placeOf = new Map(items.ids.map((id, at) => [String(id), at]));
const codes = items.codes && bytes(items.codes);
const wide = codes && codes.length / items.ids.length;

// -- the state

/** What stands behind the "#": a user, an item. */
class State {
  constructor(text = location.hash.slice(1)) {
    this.params = new URLSearchParams(text);
  }

  get(name) {
    return this.params.get(name);
  }

  /** The address with a user or an item; of a panel there is only one. */
  with({ user = null, item = null }) {
    const params = new URLSearchParams();
    if (item !== null) params.set("item", item);
    else if (user !== null) params.set("user", user);
    return `#${params}`;
  }
}

// -- items

function bytes(text) {
  return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
}

function itemAt(place) {
  return { id: items.ids[place], name: items.names?.[place] || null, count: items.counts[place] };
}

function codeOf(place) {
  return codes && Array.from(codes.subarray(place * wide, (place + 1) * wide), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Cards of a list: rows of [place, score, distance]; mine: the code that they are near to. */
function cards(rows, state, mine, because = null) {
  const of = new Map(codes ? rows.map(([place]) => [String(items.ids[place]), codeOf(place)]) : []);
  const scores = rows.map((row) => row[1]);
  return h("ol", { class: "items" }, rows.map(([place, score, distance], at) =>
    card({ ...itemAt(place), score, distance, because: because?.[at].map(itemAt) },
      { place: at + 1, state, scores, codes: mine && codes ? { bits, mine, of } : null })));
}

// -- parts of the page

const chosen = h("div", { class: "stack" });
const users = h("section", { class: "card", aria: { label: "Users" } });
const map = mapCard();

function drawUsers(state) {
  const now = state.get("user");
  show(users,
    h("h2", {}, "Users"),
    data.users.length
      ? [h("p", { class: "quiet" }, `${count(data.users.length)} of ${count(facts.users)}, spread over all.`),
        h("ul", { class: "plain pick" }, data.users.map((user) => h("li", {},
          h("a", { class: "name", href: state.with({ user: String(user.id) }), aria: { current: String(user.id) === now ? "true" : null } }, String(user.id)),
          h("span", { class: "number quiet" }, `${count(user.count)} items`))))]
      : h("p", { class: "quiet" }, "This file has no users: it shows items alone."));
}

function userCards(user, state) {
  const more = user.count - Math.min(user.history.length, SHOWN);
  map.mark({ history: user.history, list: user.list.map(([place]) => place) });
  return [
    h("section", { class: "card", aria: { label: "List" } },
      h("h2", {}, "Recommended to ", h("span", { class: "name" }, String(user.id))),
      h("p", { class: "quiet" }, `The score is ${facts.score}.`),
      cards(user.list, state, user.code, user.because)),
    h("section", { class: "card", aria: { label: "History" } },
      h("h2", {}, `Has ${count(user.count)} items`),
      h("ul", { class: "plain own-items" }, user.history.slice(0, SHOWN).map((place) => h("li", {}, line(place, state)))),
      more > 0 && h("p", { class: "quiet" }, `and ${count(more)} more`)),
  ];
}

function itemCards(place, state) {
  const item = itemAt(place), near = data.similar[place];
  map.mark({ item: [place], list: near?.map(([other]) => other) ?? [] });
  return [h("section", { class: "card", aria: { label: "Item" } },
    h("h2", {}, h("span", { class: "name" }, item.name ?? String(item.id)), " ", idOf(item)),
    h("p", { class: "quiet" }, `${count(item.count)} users have it.`),
    near
      ? [h("h3", {}, "Similar items"), cards(near, state, codeOf(place))]
      : h("p", { class: "quiet" }, "What is like it is not in this file: it has that of the items in the lists of its users."))];
}

function line(place, state) {
  const item = itemAt(place);
  return [h("span", { class: "line" }, itemLink(item, state), idOf(item)), h("span", { class: "number quiet" }, count(item.count))];
}

function nothing(words) {
  map.mark({});
  return h("section", { class: "card" }, h("p", {}, words));
}

function count(value) {
  return value.toLocaleString("en");
}

function aboutCard() {
  const rows = [
    ["Model", facts.model], ["Users", count(facts.users)], ["Items", count(facts.items)], ["Pairs", count(facts.pairs)],
    bits && ["Bits of a code", bits], ["Bytes learned", count(facts.bytes)], ["The score is", facts.score],
    facts.validation && [`${facts.validation.metric} on validation`, validation(facts.validation)],
    facts.race && ["Chosen by a race", facts.race.why], facts.updates && ["Updates since the fit", facts.updates],
    ["Digest", facts.digest], ["Made by", `xorec ${facts.xorec}`],
  ].filter(Boolean);
  return h("section", { class: "card", aria: { label: "About the model" } },
    h("h2", {}, "About the model"),
    h("table", {}, h("tbody", {}, rows.map(([name, value]) => h("tr", {}, h("th", { scope: "row" }, name), h("td", {}, String(value ?? "not known")))))),
    h("details", {}, h("summary", {}, "Settings"), h("pre", { tabindex: "0" }, JSON.stringify(facts.config ?? {}, null, 2))));
}

function validation({ value, interval, users: of, judged_on }) {
  const around = interval.length ? ` (95 % interval ${interval.map((end) => end.toFixed(4)).join(" to ")})` : "";
  return `${value.toFixed(4)}${around}, ${count(of)} users, ${judged_on}`;
}

function pictureCard() {
  const picture = document.getElementById("frontier");
  if (!picture) return null;
  picture.alt = "Quality of lists against bytes and time, by model";
  return h("section", { class: "card", aria: { label: "Frontier" } }, h("h2", {}, "Frontier"), picture);
}

// -- the map

function mapCard() {
  const raw = bytes(data.map.places), view = new View();
  const words = new DataView(raw.buffer), xy = Int16Array.from({ length: raw.length / 2 }, (_, at) => words.getInt16(2 * at, true));
  const colours = { by: "popularity", shown: "high", legend: data.map.legend, bytes: bytes(data.map.colours) };
  const shown = { xy, numbers: [], history: [], list: [], item: [], hover: [], lasso: [] };
  const grid = new Grid(xy), anything = () => true;
  const canvas = h("canvas", { tabindex: "0", role: "application", class: "points", aria: { roledescription: "map", label: "Map of items. Arrows move, plus and minus zoom, 0 shows all." } });
  const above = h("canvas", { class: "marks", aria: { hidden: "true" } });
  const tip = h("div", { class: "tip", hidden: true }), legend = h("div");
  const stage = h("div", { class: "stage" }, canvas, above, tip);
  const painter = new Painter(canvas);
  let frame = 0, ratio = 1, only = null;

  const redraw = () => { frame ||= requestAnimationFrame(paint); };

  function paint() {
    frame = 0;
    if (view.width <= 1) return; // not on the page yet
    painter.draw(view, grid.count(view.box()), pixel(theme().ground), false);
    drawMarks(above, view, ratio, shown);
  }

  function resize() {
    ratio = devicePixelRatio || 1;
    [view.width, view.height] = [stage.clientWidth, stage.clientHeight].map((size) => Math.max(1, Math.round(size * ratio)));
    painter.resize(view.width, view.height);
    redraw();
  }

  function recolour() {
    const looks = looksOf(colours, only);
    painter.palette = Uint32Array.from(looks, (look) => pixel(look.colour));
    painter.setPoints(xy, colours.bytes, looks.map((look) => look.level));
    show(legend, legendList(colours, looks, only, (first) => { only = first; recolour(); }));
    redraw();
  }

  const near = (x, y) => grid.nearest(...view.toMap(x * ratio, y * ratio), (10 * ratio) / view.scale, anything);

  function zoom(steps, x = stage.clientWidth / 2, y = stage.clientHeight / 2) {
    view.zoomBy(steps, x * ratio, y * ratio);
    redraw();
  }

  function point(x, y) {
    const at = near(x, y);
    shown.hover = at < 0 ? [] : [at];
    tip.hidden = at < 0;
    if (at >= 0) {
      [tip.style.left, tip.style.top] = [`${Math.min(x, stage.clientWidth - 180)}px`, `${y}px`];
      const item = at < items.ids.length ? itemAt(at) : null;
      show(tip, item ? [h("b", {}, item.name ?? String(item.id)), ` ${count(item.count)} users`] : "an item that this file does not name");
    }
    redraw();
  }

  function away() {
    [tip.hidden, shown.hover] = [true, []];
    redraw();
  }

  listen(canvas, {
    zoom, point, away,
    pan: (x, y) => { view.pan(x * ratio, y * ratio); redraw(); },
    all: () => { view.go(0, 0, 0); redraw(); },
    pick: (x, y) => {
      const at = near(x, y);
      if (at >= 0 && at < items.ids.length) location.hash = new State().with({ item: String(items.ids[at]) });
    },
    lasso() {}, list() {}, clear: away, isLasso: () => false,
  });
  new ResizeObserver(resize).observe(stage);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", recolour);
  recolour();
  const { points, items: all, layout } = data.map;
  const button = (label, text, onclick) => h("button", { type: "button", title: label, aria: { label }, onclick }, text);
  return {
    element: h("section", { class: "card", aria: { label: "Map" } },
      h("h2", {}, "Map"),
      h("p", { class: "quiet" },
        `${points < all ? `${count(points)} of ` : ""}${count(all)} items, laid out by ${layout === "neighbours" ? "nearest neighbours" : "principal components"}, coloured by how many users have them. Squares: the list, by place; circles: the history; a cross: the item.`),
      h("div", { class: "tools" }, button("Zoom in", "+", () => zoom(1)), button("Zoom out", "−", () => zoom(-1)), button("Show all", "All", () => { view.go(0, 0, 0); redraw(); })),
      stage, legend),
    mark(marked) {
      Object.assign(shown, { history: [], list: [], item: [], ...marked });
      redraw();
    },
  };
}

// -- all of it

function update() {
  const state = new State(), item = state.get("item");
  const id = state.get("user") ?? (data.users.length ? String(data.users[0].id) : null);
  const user = data.users.find((one) => String(one.id) === id);
  drawUsers(state);
  if (item !== null) show(chosen, placeOf.has(item) ? itemCards(placeOf.get(item), state) : nothing("This file does not name that item."));
  else if (user) show(chosen, userCards(user, state));
  else show(chosen, nothing(data.users.length ? "This file does not have that user." : "Point at the map, and pick an item."));
}

show(document.getElementById("head"), h("b", { class: "brand" }, data.title),
  h("span", { class: "quiet" }, `${facts.model}, ${count(facts.users)} users, ${count(facts.items)} items`));
show(document.getElementById("main"), h("div", { class: "single" },
  users, chosen, map.element, pictureCard(), aboutCard()));
addEventListener("hashchange", () => {
  update();
  if (matchMedia("(max-width: 800px)").matches) chosen.scrollIntoView();
});
update();
