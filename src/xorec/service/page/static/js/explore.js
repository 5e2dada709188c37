// Explore: what is recommended to somebody, how far each item is and why, and what would change it.

import { go, here } from "./address.js";
import { isOld } from "./api.js";
import { card, isByScore } from "./card.js";
import { h, printable, show } from "./dom.js";
import { kOf, load, loadStart } from "./explore/asking.js";
import { filtersBox } from "./explore/filters.js";
import { historyBox } from "./explore/history.js";
import { cardKeys } from "./explore/keys.js";
import { startView } from "./explore/start.js";
import { nameOf } from "./facts.js";
import { glide, movesOf, placesOf } from "./moves.js";
import { requestsBox } from "./requests.js";

/** The panel. */
export function mount(root, { announce }) {
  const history = historyBox(toggle), filters = filtersBox();
  const told = h("div", {}), list = h("ol", { class: "items", aria: { label: "The list" } }), after = h("div", {});
  const right = h("section", { class: "card lists", aria: { label: "The list as served" } }, filters.element, told, list, after);
  const columns = h("div", { class: "columns explore" }), wrong = h("div", {});
  show(root, h("h1", { class: "hidden" }, "Explore"), wrong, columns);
  let running = null, shown = null, start = null;

  async function update(state) {
    running?.abort();
    const { signal } = running = new AbortController();
    try {
      if (state.get("user") === null && !state.all("items").length) {
        start = await loadStart(state, signal);
        shown = null;
        show(columns, startView(state, start, toggle));
      } else {
        const view = await load(state, signal, shown);
        if (state.get("user") === null && start?.model !== state.get("model")) start = await loadStart(state, signal);
        draw(view, state.get("user") === null ? start.popular : []);
      }
      show(wrong);
    } catch (error) {
      if (isOld(error)) return;
      show(wrong, h("p", { class: "notice error", role: "alert" }, error.message));
    }
  }

  function draw(view, popular) {
    if (shown?.state.get("user") !== view.state.get("user")) scrollTo(0, 0);
    const { state, answer, items } = view;
    const focused = list.contains(document.activeElement) ? [...list.children].findIndex((one) => one.contains(document.activeElement)) : -1;
    const kept = list.children[focused]?.dataset.id, inside = document.activeElement?.className;
    if (!columns.contains(right)) show(columns, history.element, right);
    history.update(view, popular);
    filters.update(state);
    const before = placesOf(list), moves = movesOf(view.ids, view.compared);
    const owned = new Set(state.all("items")), scores = items.map((item) => item.score ?? 0), byScore = isByScore(answer.items);
    show(list, items.map((item, at) => card(item, {
      place: at + 1, state, scores, byScore, toggle, facts: view.facts.get(view.ids[at]), codes: view.codes,
      counted: answer.fallback !== null, owned: owned.has(view.ids[at]),
      moved: at < answer.items.length ? moves.get(view.ids[at]) : null,
    })));
    if (shown) glide(list, before);
    show(told, tell(view));
    show(after, more(view),
      h("p", { class: "legend quiet keys" }, "Keys: arrows go through the list, Enter opens an item, o takes it as if owned."),
      requestsBox(view.requests));
    keys.restore(focused, kept, inside);
    document.title = `${printable(state.get("user") ?? "Somebody new").slice(0, 60)} · xorec`;
    announce(`${items.length} items${items.length ? `, first ${items.slice(0, 3).map(nameOf).join(", ")}` : ""}`);
    shown = view;
  }

  function more({ state, items, pages, answer }) {
    const last = pages.at(-1) ?? answer;
    if (last.items.length < kOf(state)) return items.length > 0 && h("p", { class: "quiet" }, "That is all there is.");
    return h("button", { type: "button", onclick: () => go({ more: pages.length + 1 }, { replace: true }) }, `${kOf(state)} more`);
  }

  function toggle(id) {
    const items = here().all("items");
    go({ items: items.includes(id) ? items.filter((one) => one !== id) : [...items, id], more: null });
  }

  const keys = cardKeys(list, toggle);
  return { update, unmount: () => { running?.abort(); keys.stop(); } };
}

/** What kind of list this is, how long it took, and how to read it. */
function tell({ state, answer, compared, codes, items, isKnown, owned }) {
  const user = state.get("user");
  return [
    h("p", { class: "took" },
      h("strong", {}, answer.fallback ? "Popular items" : owned.length ? `The list, with ${owned.length} ${owned.length === 1 ? "item" : "items"} as if owned` : "The list, as served"),
      h("span", { class: "quiet number" }, ` ${(answer.took_us / 1000).toFixed(2)} ms in the service, ${answer.took.toFixed(0)} ms to here`)),
    answer.fallback && h("p", { class: "notice" }, user !== null && !isKnown
      ? `Nothing is known of ${user}: these are the items that most users have. Add an item as if owned, and the list becomes theirs.`
      : "The model knows none of these items: this is what most users have."),
    answer.unknown.length > 0 && h("p", { class: "notice" }, `The model does not know: ${answer.unknown.join(", ")}`),
    !items.length && h("p", { class: "notice" }, "No item may be listed: the filters leave none."),
    !answer.fallback && items.length > 0 && h("p", { class: "legend quiet" }, codes?.mine
      ? "Cells: the bits of the code. High: the same for item and user. Low: different. Their number is the distance."
      : "This model has no codes: bars show the score.",
    codes?.mine && isByScore(answer.items) && " This model finds items by their codes and ranks them by a finer score, so near ones may stand lower.",
    compared && (user !== null ? " ▲ ▼ new: against the list without what is as if owned." : " ▲ ▼ new: against the list without the last item.")),
  ];
}
