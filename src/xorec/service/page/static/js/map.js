// Map: all items as points; zoom, point, pick, a lasso to a list. The address has colour, view, user and item.

import { go, here } from "./address.js";
import { ask, isOld, request } from "./api.js";
import { button, h, show } from "./dom.js";
import { nameOf } from "./facts.js";
import { many } from "./figures.js";
import { legendList, looksOf, pixel, theme } from "./map/colours.js";
import { askColours, askPlaces, bitOf, colourOf, coloursRequest, isThere, Items, placesRequest } from "./map/data.js";
import { NOT_LISTED, Painter } from "./map/draw.js";
import { listen } from "./map/gestures.js";
import { Grid } from "./map/grid.js";
import { itemsCard } from "./map/list.js";
import { drawMarks, numberPlaces } from "./map/marks.js";
import { View } from "./map/view.js";
import { requestsBox } from "./requests.js";

const COLOURS = { popularity: "Popularity", category: "Category", bit: "One bit", user: "Distance from the user", item: "Distance from the item" };
const LAYOUTS = { neighbours: "each beside those most like it", pca: "the more alike the nearer, roughly (principal components)" };
const HELP = "Map of items. Arrows move, plus and minus zoom, 0 shows all, L lists the items in view.";
const LISTED = 200, RINGS = 2000, STILL = 160; // rings around what is in the lasso; items of a list; milliseconds after which a map is at rest

export function mount(root, { announce }) {
  const view = new View(), shown = { xy: [], numbers: [], history: [], list: [], item: [], hover: [], lasso: [], inside: [] };
  const asked = {}, aborts = {};
  let state = here(), items = null, grid = null, places = null, colours = null, popular = null;
  let frame = 0, moved = 0, rest = 0, ratio = 1, inView = false; // inView: the list of what is in view is shown

  const canvas = h("canvas", { tabindex: "0", role: "application", class: "points", aria: { roledescription: "map", describedby: "map-says", label: HELP } });
  const above = h("canvas.marks", { aria: { hidden: "true" } }), tip = h("div.tip", { hidden: true });
  const stage = h("div.stage", canvas, above, tip), says = h("p.quiet", { id: "map-says" }, "Loading …");
  const trouble = h("div.notice.error", { role: "alert", hidden: true });
  const choice = h("select", { onchange: () => go({ colour: choice.value, only: null }) },
    Object.entries(COLOURS).map(([value, name]) => h("option", { value }, name)));
  const bit = h("input", { type: "number", min: "0", onchange: () => go({ bit: bit.value, only: null }) });
  const bitLabel = h("label", "Bit ", bit);
  const tool = (label, words, onclick) => button(words, onclick, { title: label, aria: { label } });
  const lassoButton = tool("Lasso: draw around items, or drag with Shift", "Lasso", () => lassoButton.setAttribute("aria-pressed", String(!isLasso())));
  const isLasso = () => lassoButton.getAttribute("aria-pressed") === "true";
  const [legend, marked, picked, requests] = Array.from({ length: 4 }, () => h("div.cards"));
  show(root, h("h1.hidden", "Map"), h("div.map",
    h("div.card",
      h("div.tools", h("label", "Colour ", choice), bitLabel,
        tool("Zoom in", "+", () => zoom(1)), tool("Zoom out", "−", () => zoom(-1)), tool("Show all", "All", all),
        lassoButton, button("List what is in view", listView)),
      trouble, stage, says),
    h("aside.cards", h("section.card", { aria: { label: "Legend" } }, h("h2", "Legend"), legend), picked, marked, requests)));

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
    if (moving) rest = setTimeout(() => { redraw(); go(view.toState(), { replace: true }); if (inView) listView(); }, STILL);
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
    const nearest = colours.by === "distance" && only === null ? looks[colours.legend[0]?.last]?.level : undefined;
    painter.setPoints(places.xy, colours.bytes, looks.map((look) => look.level), nearest);
    shown.numbers = colours.by === "category" ? numberPlaces(places.xy, colours.bytes, colours.legend) : [];
    show(legend, legendList(colours, looks, only, (first) => go({ only: first })));
    const [zooms, click, shift] = matchMedia("(hover: none)").matches ? ["pinch", "tap", ""] : ["turn the wheel", "click", " (or drag with Shift)"];
    show(says, `${many(painter.x.length, "item")}, ${LAYOUTS[places.layout] ?? places.layout}. `,
      `Drag to move, ${zooms} to zoom, ${click} an item to mark it; draw a lasso${shift} to list what is inside.`);
    redraw();
  }

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

  const needMarks = (user, item, owned, model) => once("marks", JSON.stringify([user, item, owned]), async (signal) => {
    const cards = [], rows = (some) => some.map((one) => one.row);
    const card = (title, total, some, close) => cards.push(itemsCard({ state, title, total, items: some, find, close }));
    const close = (name) => () => go({ [name]: null, ...(colourOf(state) === name && { colour: null }) });
    Object.assign(shown, { history: [], list: [], item: [] });
    if (item !== null) {
      const found = await items.find({ items: [item] }, signal);
      shown.item = rows(found);
      card(found.length ? "Marked item" : `Not on this map: ${item}`, found.length, found, close("item"));
      const at = found.length ? [places.xy[2 * found[0].row], places.xy[2 * found[0].row + 1]] : [0, 0];
      if (found.length && !view.has(...at)) view.go(view.zoom, ...at);
    }
    if (user !== null || owned.length) {
      const best = ask(request("/v1/recommend", { user, items: owned, k: 20, model }), { signal });
      const [more, own] = await Promise.all([items.find({ items: owned }, signal), user === null ? [] : items.find({ user }, signal), best]);
      const list = await items.find({ items: (await best).items.map((one) => String(one.id)) }, signal), who = user ?? "somebody new";
      [shown.history, shown.list] = [rows([...own, ...more]), rows(list)];
      card(`Recommended to ${who}${more.length ? ` ${user === null ? "who has" : "if they also had"} ${more.map(nameOf).join(", ")}` : ""}: numbered squares`, list.length, list, user === null ? null : close("user"));
      if (more.length) card(user === null ? "What they have: circles" : "What if they also had: circles", more.length, more, () => go({ items: null }));
      if (user !== null) card(`History of ${user}: circles`, own.length, own.sort((a, b) => b.count - a.count).slice(0, LISTED));
    }
    show(marked, cards);
    redraw();
  });

  async function update(now) {
    state = now;
    const model = state.get("model"), colour = colourOf(state), wanted = coloursRequest(state), seen = view.toState();
    choice.value = colour;
    for (const option of choice.options) option.disabled = ["user", "item"].includes(option.value) && !isThere(state, option.value);
    [bitLabel.hidden, bit.value] = [colour !== "bit", bitOf(state)];
    if (performance.now() - moved > STILL && Object.keys(seen).some((name) => seen[name] !== state.get(name))) {
      view.go(...["zoom", "x", "y"].map((name) => state.get(name)));
      redraw();
    }
    await needPlaces(model);
    if (!places || state !== now) return;
    resize();
    await Promise.all([needColours(wanted), needMarks(state.get("user"), state.get("item"), state.all("items"), model)]);
    if (asked.places === null) return update(here());
    if (state === now) recolour();
    show(requests, requestsBox([placesRequest(model), wanted]));
  }

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
    show(tip, h("b", item.name ?? item.id), ` ${many(item.count, "user")}`, band && ` · ${band.label}`).hidden = false;
  }

  function away() {
    tip.hidden = true;
    shown.hover = [];
    redraw();
  }

  async function pick(x, y) {
    const row = near(x, y), [item] = row < 0 ? [] : await items.of([row]).catch(() => []);
    if (item) go({ item: item.id });
  }

  /** The outline stays, with a ring around what is inside, until the list is closed. */
  function lasso(way, done) {
    [shown.lasso, shown.inside, inView] = [way.map(([x, y]) => view.toMap(x * ratio, y * ratio)), [], false];
    if (done) list("In the lasso", shown.inside = grid.inPolygon(shown.lasso, isListed));
    shown.inside = shown.inside.slice(0, RINGS);
    redraw();
  }

  function listView() {
    [shown.lasso, shown.inside, inView] = [[], [], true];
    list("In view", grid.inBox(view.box(), isListed));
  }

  /** In the middle, as near as one was. */
  function find(item) {
    view.go(view.zoom, places.xy[2 * item.row], places.xy[2 * item.row + 1]);
    redraw(true);
    go({ item: item.id, ...view.toState() });
  }

  /** The rows as a list, those that most users have first. */
  async function list(title, rows) {
    try {
      popular ??= (await askColours(request("/v1/map/colours", { model: items.model }))).bytes;
      const found = await items.of(rows.sort((a, b) => popular[b] - popular[a] || a - b).slice(0, LISTED));
      show(picked, itemsCard({ state, title, total: rows.length, items: found.sort((a, b) => b.count - a.count), find, close: clear }));
      announce(`${title}: ${rows.length} items`);
    } catch (error) {
      show(trouble, error.message).hidden = false;
    }
  }

  function clear() {
    [shown.lasso, shown.inside, inView] = [[], [], false];
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
