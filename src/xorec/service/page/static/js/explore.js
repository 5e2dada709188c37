// Explore: what is recommended to somebody, how far each item is and why, and what would change it.

import { go, here } from "./address.js";
import { isOld } from "./api.js";
import { legendOf } from "./bits.js";
import { card, isByScore } from "./card.js";
import { button, h, printable, problem, show } from "./dom.js";
import { kOf, load, loadStart } from "./explore/asking.js";
import { filtersBox } from "./explore/filters.js";
import { historyBox } from "./explore/history.js";
import { cardKeys } from "./explore/keys.js";
import { startView } from "./explore/start.js";
import { nameOf } from "./facts.js";
import { short } from "./figures.js";
import { glide, movesOf, placesOf } from "./moves.js";
import { requestsBox } from "./requests.js";

/** The panel. */
export function mount(root, { announce, models }) {
  const history = historyBox(toggle, () => keys.first()), filters = filtersBox();
  const told = h("div"), list = h("ol.items", { aria: { label: "The list" } }), after = h("div");
  const right = h("section.card.lists", { aria: { label: "The list as served" } }, filters.element, told, list, after);
  const columns = h("div.columns.explore"), wrong = h("div");
  show(root, h("h1.hidden", "Explore"), wrong, columns);
  let running = null, shown = null, start = null, picked = false;

  async function update(state) {
    running?.abort();
    const { signal } = running = new AbortController();
    try {
      if (state.get("user") === null && !state.all("items").length) {
        start = await loadStart(state, signal);
        shown = null;
        show(columns, startView(state, start, toggle, models));
      } else {
        const view = await load(state, signal, shown);
        if (state.get("user") === null && start?.model !== state.get("model")) start = await loadStart(state, signal);
        draw(view, state.get("user") === null ? start.popular : []);
      }
      show(wrong);
    } catch (error) {
      if (isOld(error)) return;
      show(wrong, problem(error.message));
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
      h("p.legend.quiet.keys", "Keys: arrows go through the list, Enter opens an item, o lists as if they had it."),
      requestsBox(view.requests));
    keys.restore(focused, kept, inside);
    if (picked && document.activeElement === document.body) root.focus({ preventScroll: true }); // what was picked is gone
    picked = false;
    document.title = `${printable(state.get("user") ?? "Somebody new").slice(0, 60)} · xorec`;
    announce(`${items.length} items${items.length ? `, first ${items.slice(0, 3).map(nameOf).join(", ")}` : ""}`);
    shown = view;
  }

  function more({ state, items, pages, answer }) {
    const last = pages.at(-1) ?? answer;
    if (last.items.length < kOf(state)) return items.length > 0 && h("p.quiet", "That is all there is.");
    return button(`${kOf(state)} more`, () => go({ more: pages.length + 1 }, { replace: true }));
  }

  function toggle(id) {
    picked = true;
    const items = here().all("items");
    go({ items: items.includes(id) ? items.filter((one) => one !== id) : [...items, id], more: null });
  }

  const keys = cardKeys(list, toggle);
  return { update, unmount: () => { running?.abort(); keys.stop(); } };
}

/** What kind of list this is, how long it took, and how to read it. */
function tell({ state, answer, compared, codes, items, isKnown, owned, facts }) {
  const user = state.get("user"), had = owned.map((id) => nameOf(facts.get(id) ?? { id })).join(", ");
  const whose = user === null ? `somebody who has ${had}` : had ? `${user}, if they also had ${had}` : user;
  return [
    h("p.took",
      h("strong", answer.fallback ? "Popular items" : `Recommended for ${whose}`),
      h("span.quiet.number", ` ${short(answer.took_us / 1000)} ms in the service, ${answer.took.toFixed(0)} ms until shown`)),
    answer.fallback && h("p.notice", user !== null && !isKnown
      ? `Nothing is known of ${user}: these are the items that most users have. Say what they have (“what if”), and the list becomes theirs.`
      : "The model knows none of these items: this is what most users have."),
    answer.unknown.length > 0 && h("p.notice", `The model does not know: ${answer.unknown.join(", ")}`),
    !items.length && h("p.notice", "No item may be listed: the filters leave none."),
    !answer.fallback && items.length > 0 && h("p.legend.quiet", codes?.mine
      ? legendOf(" and user", codes.bits, isByScore(answer.items))
      : "This model has no codes: bars show the score.",
    compared && ` ▲ ▼ new: against the list without ${user !== null ? had : "the last item"}.`),
  ];
}
