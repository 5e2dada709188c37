// Compare: two models, one user. Which lists differ, how much, and which model is better, if known.

import { go } from "./address.js";
import { isOld, Latest, request } from "./api.js";
import { h, show, svg } from "./dom.js";
import { intervalBar, measure, percent, short } from "./figures.js";
import { requestsBox } from "./requests.js";

export const title = "Compare";
export const key = "compare";
const KS = [10, 20, 50];
const SURE = 0.05;

export function mount(root, { announce, models }) {
  const figures = new Latest(), first = new Latest(), second = new Latest();
  const head = h("div", { class: "compare-head" });
  const trouble = h("div", {});
  const better = h("section", { class: "card better", aria: { label: "Which is better" } });
  const lists = h("section", { class: "card lists", aria: { label: "Lists side by side" } });
  const users = h("section", { class: "card differ", aria: { label: "Users whose lists differ most" } });
  const box = h("div", { class: "asked" });
  const names = models.map((model) => model.name);
  let compared = null; // the last comparison and what it was asked for

  if (names.length < 2) {
    show(root, h("h1", { class: "hidden" }, "Compare"), h("div", { class: "compare" }, names.length ? alone(names[0]) : unknown()));
    return { update() {}, unmount() {} };
  }
  for (const part of [better, lists, users]) part.hidden = true;
  show(root, h("h1", { class: "hidden" }, "Compare"), h("div", { class: "compare" }, head, trouble, better, lists, users, box));

  async function update(state) {
    const chosen = pick(state, names);
    show(head, toolbar(state, chosen, names));
    try {
      await compare(state, chosen);
      show(trouble);
    } catch (error) {
      if (!isOld(error)) show(trouble, h("p", { class: "notice error", role: "alert" }, error.message));
    }
  }

  async function compare(state, { a, b, k }) {
    const asked = request("/v1/compare", { a, b, k });
    if (compared?.url !== asked.url) {
      compared = { url: asked.url, ...(await figures.ask(asked)) };
      drawBetter(better, compared);
      better.hidden = false;
    }
    drawUsers(users, compared, state);
    users.hidden = false;
    const user = state.get("user") ?? compared.differ[0]?.user;
    if (user === undefined) return show(box, requestsBox([asked]));
    const both = [a, b].map((model) => request("/v1/recommend", { user, k, model }));
    const [left, right] = await Promise.all([first.ask(both[0]), second.ask(both[1])]);
    show(box, requestsBox([asked, ...both]));
    const shared = drawLists(lists, { state, user, left, right, a, b });
    lists.hidden = false;
    announce(`${a} and ${b} have ${shared} items in common for user ${user}`);
  }

  return {
    update,
    unmount() {
      for (const one of [figures, first, second]) one.stop();
    },
  };
}

function pick(state, names) {
  const a = names.includes(state.get("a")) ? state.get("a") : names[0];
  const others = names.filter((name) => name !== a);
  const b = others.includes(state.get("b")) ? state.get("b") : others[0];
  const k = KS.includes(Number(state.get("k"))) ? Number(state.get("k")) : KS[0];
  return { a, b, k };
}

function toolbar(state, { a, b, k }, names) {
  const choice = (label, name, chosen, values, other) =>
    h("label", {}, `${label} `, h("select", {
      onchange: (event) => go({ [name]: event.target.value, ...(event.target.value === other?.value ? other.swap : {}) }),
    }, values.map((value) => h("option", { value, selected: String(value) === String(chosen) }, value))));
  return [
    choice("Model a", "a", a, names, { value: b, swap: { b: a } }),
    choice("Model b", "b", b, names, { value: a, swap: { a: b } }),
    choice("Items", "k", k, KS),
    h("a", { href: state.with({ a: b, b: a }) }, "Change sides"),
  ];
}

// -- which is better

function drawBetter(root, found) {
  const { a, b } = found;
  show(root,
    h("h2", {}, `${a.name} and ${b.name}`),
    h("p", { class: "verdict" }, verdict(found)),
    h("div", { class: "metrics" }, found.metrics.map((row) => metric(row, a, b))),
    [...new Set(found.metrics.map((row) => row.how))].map((how) => h("p", { class: "quiet" }, `Measured on ${how}.`)),
    h("p", {},
      found.users
        ? `Lists of ${short(found.users)} users have ${percent(found.overlap)} of their items in common (95 % interval: ${percent(found.overlap_low)} to ${percent(found.overlap_high)}).`
        : "The two models have no user in common."),
    h("p", { class: "quiet" },
      `a: ${a.name}, ${a.kind}, generation ${a.generation}. b: ${b.name}, ${b.kind}, generation ${b.generation}. As of event ${short(found.seq)} of the log.`));
}

function metric(row, a, b) {
  const most = 1.05 * Math.max(...[row.a, row.b].map((one) => one?.high ?? one?.value ?? 0), 1e-9);
  const line = (letter, model, found) =>
    h("tr", {},
      h("th", { scope: "row" }, `${letter} ${model.name}`),
      h("td", { class: "bar" }, found && intervalBar(found, most)),
      h("td", { class: "number" }, measure(found?.value)),
      h("td", { class: "quiet" }, found && (found.low === null ? "interval not known" : `${measure(found.low)} to ${measure(found.high)}`)));
  return h("div", { class: "metric" },
    h("table", {},
      h("caption", {}, h("b", {}, row.metric), ` on ${row.measured_on === "validation" ? "validation" : "the newest events"}`),
      h("tbody", {}, line("a", a, row.a), line("b", b, row.b))),
    row.difference && h("p", {}, inNumbers(row.difference)));
}

function inNumbers(difference) {
  const { value, low, high, p_value } = difference;
  return `a − b: ${signed(value)} (${signed(low)} to ${signed(high)}), p ${p_value < 0.001 ? "< 0.001" : `= ${p_value.toFixed(3)}`}.`;
}

function signed(value) {
  return `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(4)}`;
}

/** What the figures say, and no more than that. */
export function verdict({ a, b, metrics, not_measured }) {
  const [row] = metrics;
  if (row?.difference) {
    const { value, p_value } = row.difference;
    if (p_value >= SURE) return `Between the two there is no difference that could not be chance: ${row.metric} of ${row.a.users} users.`;
    const [best, other] = value > 0 ? [a, b] : [b, a];
    return `${best.name} ranks what users took last better than ${other.name} does: ${row.metric} ${measure(Math.max(row.a.value, row.b.value))} against ${measure(Math.min(row.a.value, row.b.value))}, and that is hardly chance.`;
  }
  const why = `The newest events cannot tell: ${not_measured}.`;
  if (!row?.a || !row?.b) return `Which of the two is better is not known. ${why}`;
  if (!row.comparable) return `Which of the two is better is not known: their figures are of different pairs. ${why}`;
  if (row.a.low === null || row.b.low === null) return `On validation ${row.a.value >= row.b.value ? a.name : b.name} was ahead; how sure that is, is not known. ${why}`;
  const apart = row.a.low > row.b.high || row.b.low > row.a.high;
  const ahead = row.a.value >= row.b.value ? a.name : b.name;
  return apart
    ? `On validation ${ahead} was ahead by more than chance: the intervals do not overlap. ${why}`
    : `On validation ${ahead} was ahead, but the intervals overlap: it may be chance. ${why}`;
}

// -- lists side by side

function drawLists(root, { state, user, left, right, a, b }) {
  const [inA, inB] = [left, right].map((answer) => new Map(answer.items.map((item, at) => [item.id, at])));
  const shared = [...inA.keys()].filter((id) => inB.has(id));
  const lines = shared.map((id) => [inA.get(id), inB.get(id)]);
  const rows = Math.max(left.items.length, right.items.length, 1);
  show(root,
    h("h2", {}, "For ", h("a", { href: state.with({ panel: "explore", user }) }, `user ${user}`)),
    h("p", {},
      `${shared.length} of ${rows} items are in both lists. `,
      state.get("user") === null && h("span", { class: "quiet" }, "This is the user whose lists differ most; find another above (press /), or in the table below.")),
    h("div", { class: "sides" },
      side(state, left, inB, { own: a, other: b, letter: "b" }),
      between(lines, rows),
      side(state, right, inA, { own: b, other: a, letter: "a" })));
  return shared.length;
}

function side(state, answer, elsewhere, { own, other, letter }) {
  const bits = answer.items.some((item) => item.distance !== null && item.distance !== undefined);
  return h("div", { class: "side" },
    h("h3", {}, `${letter === "b" ? "a" : "b"}: ${own}`, answer.fallback && h("span", { class: "quiet" }, ` (${answer.fallback}: nothing is known of this user)`)),
    h("ol", {}, answer.items.map((item, at) => {
      const place = elsewhere.get(item.id);
      const only = place === undefined;
      return h("li", { class: only ? "only" : "both" },
        h("span", { class: "rank number" }, at + 1),
        h("span", { class: "what" }, h("a", { href: state.with({ panel: "item", item: String(item.id), model: own }), title: String(item.id) }, item.name ?? String(item.id))),
        h("span", { class: "quiet number", title: bits ? "bits that differ" : "score" }, bits ? `${item.distance} bits` : short(item.score)),
        h("span", { class: "where", title: only ? `Not in the list of ${other}` : `Place ${place + 1} in the list of ${other}` }, only ? `not in ${letter}` : `${letter}: ${place + 1}`));
    })));
}

/** Lines between the places of the same items. */
function between(lines, rows) {
  return svg("svg", { class: "lines", viewBox: `0 0 100 ${rows * 10}`, preserveAspectRatio: "none", aria: { hidden: "true" } },
    lines.map(([from, to]) => svg("line", { x1: 0, y1: from * 10 + 5, x2: 100, y2: to * 10 + 5, class: from === to ? "level" : "" })));
}

// -- users

function drawUsers(root, found, state) {
  const now = state.get("user");
  show(root,
    h("h2", {}, "Users whose lists differ most"),
    found.differ.length
      ? h("div", { class: "scroll" }, h("table", {},
        h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "User"), h("th", { scope: "col", class: "number" }, "In both"), h("th", { scope: "col", class: "number" }, "Overlap"))),
        h("tbody", {}, found.differ.map((one) => h("tr", {},
          h("td", {}, h("a", { href: state.with({ user: String(one.user) }), aria: { current: String(one.user) === now ? "true" : null } }, String(one.user))),
          h("td", { class: "number" }, `${one.shared} of ${found.k}`),
          h("td", { class: "number" }, percent(one.overlap)))))))
      : h("p", { class: "quiet" }, "No user is known to both models."));
}

// -- nothing to compare

function alone(name) {
  return h("section", { class: "card" },
    h("h2", {}, "One model is served"),
    h("p", {}, `There is only "${name}". To compare, serve a second one beside it, fitted on data with the same ids:`),
    h("pre", {}, 'xorec fit ratings.csv --model bpr -o other.xorec\n\n# serve.toml\n[models]\nb = "other.xorec"\n\nxorec serve shop.xorec --config serve.toml'),
    h("p", { class: "quiet" }, "Both answer from then on; lists that name no model are of the first. The same two can share users in an experiment (/v1/experiments)."));
}

function unknown() {
  return h("p", { class: "notice error", role: "alert" }, "The service did not say which models there are (/v1/models).");
}
