// Item: what it is, what is like it, who has it, and how far everything else is.

import { ask, isOld, request } from "./api.js";
import { bitsOf, drawBits, legendOf } from "./bits.js";
import { card, categoryLinks, idOf, isByScore, itemLink } from "./card.js";
import { button, h, printable, problem, show } from "./dom.js";
import { kOf } from "./explore/asking.js";
import { cardKeys } from "./explore/keys.js";
import { codesOf, factsOf, nameOf } from "./facts.js";
import { count, many } from "./figures.js";
import { histogram } from "./histogram.js";
import { requestsBox } from "./requests.js";

const OWNERS = 30, MOST_OWNERS = 1000;

/** The panel. */
export function mount(root, { announce }) {
  const list = h("ol.items", { aria: { label: "Similar items" } });
  const keys = cardKeys(list, () => {});
  let running = null, shown = null;

  async function update(state) {
    running?.abort();
    const { signal } = running = new AbortController();
    try {
      if (state.get("item") === null) return show(root, await start(state, signal));
      const view = await load(state, signal);
      if (shown !== state.get("item")) scrollTo(0, 0);
      shown = state.get("item");
      show(list, cards(view));
      show(root, page(view, list));
      keys.restore(-1);
      document.title = `${printable(nameOf(view.item)).slice(0, 60)} · xorec`;
      announce(`${nameOf(view.item)}: ${view.similar.items.length} similar items`);
    } catch (error) {
      if (isOld(error)) return;
      show(root, h("h1.hidden", "Item"), problem(error.message),
        h("p.notice", "Find another one by the field at the top: ", h("kbd", "/"), " goes there."));
    }
  }

  return { update, unmount: () => { running?.abort(); keys.stop(); } };
}

/** Everything about the item, in two rounds. */
async function load(state, signal) {
  const id = state.get("item"), model = state.get("model"), k = kOf(state);
  const fact = request("/v1/items", { item: id, model });
  const item = (await ask(fact, { signal })).items[0];
  const owners = request("/v1/users", { item: id, k: OWNERS, model });
  if (!item.known) { // by events or by what was said of it: the model has no place for it yet
    const { users } = await ask(owners, { signal });
    return { state, item, users, similar: { items: [] }, requests: [fact, owners] };
  }
  const like = request("/v1/similar", { item: id, k, model });
  const [similar, { users }] = await Promise.all([ask(like, { signal }), ask(owners, { signal })]);
  const ids = similar.items.map((one) => String(one.id));
  const [codes, facts] = await Promise.all([codesOf({ model }, [id, ...ids], signal), factsOf(ids, model, signal)]);
  const requests = [fact, like, owners, ...codes.requests];
  let counts = null;
  if (codes.bits !== null) {
    const far = request("/v1/histogram", { item: id, k, model });
    ({ counts } = await ask(far, { signal }));
    counts[0] -= 1; // the item itself
    requests.push(far);
  }
  return {
    state, item, users, similar, facts, counts, requests,
    codes: codes.bits === null ? null : { ...codes, mine: codes.of.get(String(item.id)) },
  };
}

function cards({ state, similar, facts, codes }) {
  const scores = similar.items.map((one) => one.score ?? 0), byScore = isByScore(similar.items);
  return similar.items.map((one, at) => card(one, { place: at + 1, state, scores, byScore, codes, facts: facts.get(String(one.id)) }));
}

function page(view, list) {
  const { state, item, users, similar } = view;
  return h("div.columns.item-panel",
    h("section.card", { aria: { labelledby: "item-name" } },
      h("h1", { id: "item-name", class: "name", tabindex: nameOf(item).length > 300 ? "0" : null }, nameOf(item)),
      factTable(item, state, view.counts),
      h("p", h("a.button", { href: state.with({ panel: "explore", user: null, items: item.id }) }, "List for somebody who has it")),
      h("details", { open: innerWidth >= 800 }, h("summary", h("h2", "Who has it")), owners(item, users, state))),
    h("div.stack",
      h("section.card", { aria: { labelledby: "like" } },
        h("h2", { id: "like" }, "Similar items"),
        similar.items.length > 0 && view.codes && h("p.legend.quiet", legendOf("", view.codes.bits, isByScore(similar.items))),
        similar.items.length ? list : h("p.quiet", item.known ? "Nothing is like it." : "The model does not have it yet: it comes with the next update."),
        requestsBox(view.requests)),
      item.known && h("section.card", { aria: { labelledby: "bits" } }, codeView(view))));
}

function factTable(item, state, counts) {
  const all = counts ? ` of ${count(counts.reduce((sum, some) => sum + some, 1))}` : "";
  const rows = [
    ["id", h("span.id", String(item.id))],
    ["categories", item.categories.length ? h("span.tags", categoryLinks(item.categories, state)) : "none"],
    ["users", `${count(item.count)} ${item.count === 1 ? "has" : "have"} it`],
    ["popularity", item.rank ? `place ${count(item.rank)}${all}` : "no place yet"],
    ["available", item.available ? "yes" : item.hidden ? "no: hidden, so it is never listed" : "no: not at this time"],
    ...(item.from ? [["from", item.from]] : []), ...(item.until ? [["until", item.until]] : []),
    ...Object.entries(item.attributes).map(([name, value]) => [name, String(value)]),
  ];
  return h("table.facts", h("tbody", rows.map(([name, value]) => h("tr", h("th", { scope: "row" }, name), h("td", value)))));
}

function owners(item, users, state) {
  if (!users.length) return h("p.quiet", "Nobody yet.");
  const list = h("ul.plain"), after = h("div");
  function draw(some, asked) {
    show(list, some.map((user) => h("li",
      h("a.name", { href: state.with({ panel: "explore", user: user.id, items: null, more: null }) }, user.id),
      h("span.quiet.number", many(user.count, "item")))));
    show(after, some.length === asked && (asked < MOST_OWNERS ? button("Show all", all) : h("p.quiet", `The first ${count(asked)}.`)));
  }
  async function all() {
    const asked = request("/v1/users", { item: String(item.id), k: MOST_OWNERS, model: state.get("model") });
    await ask(asked).then((answer) => draw(answer.users, MOST_OWNERS), (error) => show(after, error.message));
  }
  draw(users, OWNERS);
  return [list, after];
}

function codeView({ codes, counts, similar }) {
  if (!codes) return [h("h2", { id: "bits" }, "No code"), h("p.quiet", "This model has no codes, so there are no distances to count: the bars above show its scores.")];
  const far = similar.items.map((one) => one.distance), cut = isByScore(similar.items) ? null : far.at(-1) ?? null;
  const cells = bitsOf(codes.mine, codes.bits), set = cells.reduce((sum, bit) => sum + bit, 0);
  return [
    h("h2", { id: "bits" }, "How far the other items are"),
    histogram(counts, cut, far.filter((one) => one === cut).length),
    h("h2", "Its code"),
    h("div.far.own-code", drawBits(cells, `${set} of ${codes.bits} bits are set`),
      h("span.quiet", `${set} of ${codes.bits} bits are set (high cells)`)),
  ];
}

/** Without an item: some to look at. */
async function start(state, signal) {
  const model = state.get("model"), asked = request("/v1/popular", { k: 24, model });
  const { items } = await ask(asked, { signal });
  return h("section.card",
    h("h1", "Look at an item"),
    h("p", "Type some letters of its name or id into the field at the top: ", h("kbd", "/"), " goes there. Or take one that most users have:"),
    h("ul.plain.wide", items.map((item) => h("li", h("span.line", itemLink(item, state), idOf(item)),
      h("span.quiet.number", many(item.score, "user"))))),
    requestsBox([asked]));
}
