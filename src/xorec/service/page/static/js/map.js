// Map: all items as points; zoom, point, pick, a lasso to a list. The address has colour, view, user and item.

import { go, here } from "./address.js";
import { ask, isOld, request } from "./api.js";
import { h, show } from "./dom.js";
import { legendList, looksOf, pixel, theme } from "./map/colours.js";
import { askColours, askPlaces, bitOf, colourOf, coloursRequest, Items, placesRequest } from "./map/data.js";
import { NOT_LISTED, Painter } from "./map/draw.js";
import { listen } from "./map/gestures.js";
import { Grid } from "./map/grid.js";
import { itemsCard } from "./map/list.js";
import { drawMarks, numberPlaces } from "./map/marks.js";
import { View } from "./map/view.js";
import { requestsBox } from "./requests.js";

const COLOURS = { popularity: "Popularity", category: "Category", bit: "One bit", user: "Distance from the user", item: "Distance from the item" };
const LAYOUTS = { neighbours: "nearest neighbours", pca: "principal components" };
const HELP = "Map of items. Arrows move, plus and minus zoom, 0 shows all, L lists the items in view.";
const LISTED = 200, STILL = 160; // items of a list; milliseconds after which a map is at rest

export function mount(root, { announce }) {
  const view = new View(), shown = { xy: [], numbers: [], history: [], list: [], item: [], hover: [], lasso: [] };
  const asked = {}, aborts = {};
  let state = here(), items = null, grid = null, places = null, colours = null, popular = null;
  let frame = 0, moved = 0, rest = 0, ratio = 1;

  // -- what stands on the page

  const canvas = h("canvas", { tabindex: "0", role: "application", class: "points", aria: { roledescription: "map", describedby: "map-says", label: HELP } });
  const above = h("canvas", { class: "marks", aria: { hidden: "true" } }), tip = h("div", { class: "tip", hidden: true });
  const stage = h("div", { class: "stage" }, canvas, above, tip), says = h("p", { class: "quiet", id: "map-says" }, "Loading …");
  const trouble = h("div", { class: "notice error", role: "alert", hidden: true });
  const choice = h("select", { onchange: () => go({ colour: choice.value, only: null }) },
    Object.entries(COLOURS).map(([value, name]) => h("option", { value }, name)));
  const bit = h("input", { type: "number", min: "0", onchange: () => go({ bit: bit.value, only: null }) });
  const bitLabel = h("label", {}, "Bit ", bit);
  const button = (label, words, onclick) => h("button", { type: "button", title: label, aria: { label }, onclick }, words);
  const lassoButton = button("Lasso: draw around items, or drag with Shift", "Lasso", () => lassoButton.setAttribute("aria-pressed", String(!isLasso())));
  const isLasso = () => lassoButton.getAttribute("aria-pressed") === "true";
  const [legend, marked, picked, requests] = Array.from({ length: 4 }, () => h("div", { class: "cards" }));
  show(root, h("h1", { class: "hidden" }, "Map"), h("div", { class: "map" },
    h("div", { class: "card" },
      h("div", { class: "tools" }, h("label", {}, "Colour ", choice), bitLabel,
        button("Zoom in", "+", () => zoom(1)), button("Zoom out", "−", () => zoom(-1)), button("Show all", "All", all),
        lassoButton, button("List view: the items in view", "List view", listView)),
      trouble, stage, says),
    h("aside", { class: "cards" }, h("section", { class: "card", aria: { label: "Legend" } }, h("h2", {}, "Legend"), legend), picked, marked, requests)));

  // -- drawing

  function redraw(moves = false) {
    if (moves) moved = performance.now();
    frame ||= requestAnimationFrame(paint);
  }

  function paint() {
    frame = 0;
    if (!places) return;
    const moving = performance.now() - moved < STILL;
    painter.draw(view, grid.count(view.box()), pixel(theme().ground), moving);
    drawMarks(above, view, ratio, shown);
    canvas.frames = (canvas.frames ?? 0) + 1; // to be measured
    clearTimeout(rest);
    if (moving) rest = setTimeout(() => { redraw(); go(view.toState(), { replace: true }); }, STILL);
  }

  function resize() {
    ratio = devicePixelRatio || 1;
    [view.width, view.height] = [stage.clientWidth, stage.clientHeight].map((size) => Math.max(1, Math.round(size * ratio)));
    painter.resize(view.width, view.height);
    redraw();
  }

  function recolour() {
    if (!places || !colours) return;
    const only = colours.legend.find((band) => String(band.first) === state.get("only"))?.first ?? null;
    const looks = looksOf(colours, only);
    painter.palette = Uint32Array.from(looks, (look) => pixel(look.colour));
    painter.setPoints(places.xy, colours.bytes, looks.map((look) => look.level));
    shown.numbers = colours.by === "category" ? numberPlaces(places.xy, colours.bytes, colours.legend) : [];
    show(legend, legendList(colours, looks, only, (first) => go({ only: first })));
    show(says, `${painter.x.length.toLocaleString("en")} items by ${LAYOUTS[places.layout] ?? places.layout}. `,
      "Drag to move, turn the wheel to zoom, click an item to mark it.");
    redraw();
  }

  // -- what is asked

  /** Ask under a name unless that was just asked; a newer one ends the older. */
  async function once(name, key, work) {
    if (asked[name] === key) return;
    asked[name] = key;
    aborts[name]?.abort();
    const { signal } = (aborts[name] = new AbortController());
    try {
      await work(signal);
      trouble.hidden = true;
    } catch (error) {
      if (isOld(error) || signal.aborted) return;
      delete asked[name];
      show(trouble, error.message).hidden = false;
    }
  }

  const needPlaces = (model) => once("places", String(model), async (signal) => {
    places = await askPlaces(model, signal, (words) => show(says, words));
    [grid, items, popular, asked.marks, asked.colours] = [new Grid(places.xy), new Items(model), null, null, null];
    Object.assign(shown, { xy: places.xy, history: [], list: [], item: [], hover: [] });
    show(picked);
  });

  const needColours = (wanted) => once("colours", wanted.url, async (signal) => {
    const found = await askColours(wanted, signal);
    if (found.model.generation === places.generation) colours = found;
    else asked.places = null; // the model was replaced meanwhile
  });

  const needMarks = (user, item, model) => once("marks", JSON.stringify([user, item]), async (signal) => {
    const cards = [], rows = (some) => some.map((one) => one.row);
    const close = (name) => () => go({ [name]: null, ...(colourOf(state) === name && { colour: null }) });
    Object.assign(shown, { history: [], list: [], item: [] });
    if (item !== null) {
      const found = await items.find({ items: [item] }, signal);
      shown.item = rows(found);
      cards.push(itemsCard(state, found.length ? "Marked item" : `Not on this map: ${item}`, found.length, found, close("item")));
      const at = found.length ? [places.xy[2 * found[0].row], places.xy[2 * found[0].row + 1]] : [0, 0];
      if (found.length && !view.has(...at)) view.go(view.zoom, ...at);
    }
    if (user !== null) {
      const [own, best] = await Promise.all([items.find({ user }, signal), ask(request("/v1/recommend", { user, k: 20, model }), { signal })]);
      const list = await items.find({ items: best.items.map((one) => String(one.id)) }, signal);
      [shown.history, shown.list] = [rows(own), rows(list)];
      cards.push(itemsCard(state, `List for ${user}: squares by place`, list.length, list, close("user")),
        itemsCard(state, `History of ${user}: circles`, own.length, own.sort((a, b) => b.count - a.count).slice(0, LISTED)));
    }
    show(marked, cards);
    redraw();
  });

  async function update(now) {
    state = now;
    const model = state.get("model"), colour = colourOf(state), wanted = coloursRequest(state), seen = view.toState();
    choice.value = colour;
    for (const option of choice.options) option.disabled = ["user", "item"].includes(option.value) && !state.get(option.value);
    [bitLabel.hidden, bit.value] = [colour !== "bit", bitOf(state)];
    if (performance.now() - moved > STILL && Object.keys(seen).some((name) => seen[name] !== state.get(name))) {
      view.go(...["zoom", "x", "y"].map((name) => state.get(name)));
      redraw();
    }
    await needPlaces(model);
    if (!places || state !== now) return;
    resize();
    await Promise.all([needColours(wanted), needMarks(state.get("user"), state.get("item"), model)]);
    if (asked.places === null) return update(here());
    if (state === now) recolour();
    show(requests, requestsBox([placesRequest(model), wanted]));
  }

  // -- what people do

  const isListed = (row) => colours?.bytes[row] !== NOT_LISTED;
  const near = (x, y) => grid?.nearest(...view.toMap(x * ratio, y * ratio), (10 * ratio) / view.scale, isListed) ?? -1;

  function zoom(steps, x = stage.clientWidth / 2, y = stage.clientHeight / 2) {
    view.zoomBy(steps, x * ratio, y * ratio);
    redraw(true);
  }

  function all() {
    view.go(0, 0, 0);
    redraw(true);
  }

  async function point(x, y) {
    const row = near(x, y);
    if (row < 0) return away();
    [tip.style.left, tip.style.top] = [`${Math.min(x, stage.clientWidth - 180)}px`, `${y}px`];
    if (shown.hover[0] === row) return;
    shown.hover = [row];
    redraw();
    if (!items.known.has(row)) await new Promise((resolve) => setTimeout(resolve, 60)); // who goes on asks nothing
    const [item] = shown.hover[0] === row ? await items.of([row]).catch(() => []) : [];
    if (!item || shown.hover[0] !== row) return;
    const band = colours?.legend.find(({ first, last }) => colours.bytes[row] >= first && colours.bytes[row] <= last);
    show(tip, h("b", {}, item.name ?? item.id), ` ${item.count.toLocaleString("en")} users`, band && ` · ${band.label}`).hidden = false;
  }

  function away() {
    tip.hidden = true;
    shown.hover = [];
    redraw();
  }

  async function pick(x, y) {
    const row = near(x, y), [item] = row < 0 ? [] : await items.of([row]).catch(() => []);
    if (item) go({ item: String(item.id) });
  }

  function lasso(way, done) {
    shown.lasso = done ? [] : way;
    redraw();
    if (done) list("In the lasso", grid.inPolygon(way.map(([x, y]) => view.toMap(x * ratio, y * ratio)), isListed));
  }

  function listView() {
    list("In view", grid.inBox(view.box(), isListed));
  }

  /** The rows as a list, those that most users have first. */
  async function list(title, rows) {
    try {
      popular ??= (await askColours(request("/v1/map/colours", { model: items.model }))).bytes;
      const found = await items.of(rows.sort((a, b) => popular[b] - popular[a] || a - b).slice(0, LISTED));
      show(picked, itemsCard(state, title, rows.length, found.sort((a, b) => b.count - a.count), clear));
      announce(`${title}: ${rows.length} items`);
    } catch (error) {
      show(trouble, error.message).hidden = false;
    }
  }

  function clear() {
    shown.lasso = [];
    show(picked);
    away();
  }

  const painter = new Painter(canvas), sizes = new ResizeObserver(resize), dark = matchMedia("(prefers-color-scheme: dark)");
  sizes.observe(stage);
  dark.addEventListener("change", recolour);
  document.addEventListener("xorec:theme", recolour);
  const pan = (x, y) => { view.pan(x * ratio, y * ratio); redraw(true); };
  listen(canvas, { pan, zoom, all, point, away, pick, lasso, isLasso, clear, list: listView });

  function unmount() {
    for (const one of Object.values(aborts)) one.abort();
    cancelAnimationFrame(frame);
    clearTimeout(rest);
    sizes.disconnect();
    dark.removeEventListener("change", recolour);
    document.removeEventListener("xorec:theme", recolour);
  }

  return { update, unmount };
}
