// Compare: two models, one user. Which lists differ, how much, and which model is better, if known.

import { go } from "./address.js";
import { ask, isOld, Latest, request } from "./api.js";
import { h, problem, show, svg, table } from "./dom.js";
import { factsOf, nameOf } from "./facts.js";
import { intervalBar, many, measure, percent, scored, short } from "./figures.js";
import { requestsBox } from "./requests.js";

const KS = [10, 20, 50];
const SURE = 0.05;

export function mount(root, { announce, models }) {
  const figures = new Latest(), first = new Latest(), second = new Latest();
  const head = h("div.compare-head"), trouble = h("div"), box = h("div");
  const part = (name, label) => h(`section.card.${name}`, { hidden: true, aria: { label } });
  const better = part("better", "Which is better"), lists = part("lists", "Lists side by side"), users = part("differ", "Users whose lists differ most");
  const names = models.map((model) => model.name);
  let compared = null; // the last comparison and what it was asked for

  if (names.length < 2) {
    show(root, h("h1.hidden", "Compare"), h("div.compare", names.length ? alone(names[0]) : problem("The service did not say which models there are (/v1/models).")));
    return { update() {}, unmount() {} };
  }
  show(root, h("h1.hidden", "Compare"), h("div.compare", head, trouble, better, lists, users, box));

  async function update(state) {
    const chosen = pick(state, names);
    show(head, toolbar(state, chosen, names));
    try {
      await compare(state, chosen);
      show(trouble);
    } catch (error) {
      if (!isOld(error)) show(trouble, problem(error.message));
    }
  }

  async function compare(state, { a, b, k }) {
    const asked = request("/v1/compare", { a, b, k });
    if (compared?.url !== asked.url) {
      const found = await figures.ask(asked);
      if (!found.metrics.length) found.models = (await ask(request("/v1/stats")).catch(() => null))?.stats.models;
      compared = { url: asked.url, ...found };
      drawBetter(better, compared);
      better.hidden = false;
    }
    drawUsers(users, compared, state);
    users.hidden = false;
    const items = state.all("items"), user = state.get("user") ?? (items.length ? null : compared.differ[0]?.user);
    if (user === undefined) return show(box, requestsBox([asked]));
    const both = [a, b].map((model) => request("/v1/recommend", { user, items, k, model }));
    const names = items.length ? await factsOf(items, a).catch(() => new Map()) : null;
    const had = items.map((id) => nameOf(names.get(id) ?? { id })).join(", ");
    const [left, right] = await Promise.all([first.ask(both[0]), second.ask(both[1])]);
    show(box, requestsBox([asked, ...both]));
    const shared = drawLists(lists, { state, user, had, left, right, a, b });
    lists.hidden = false;
    announce(`${a} and ${b} have ${many(shared, "item")} in common for ${user === null ? "somebody new" : `user ${user}`}`);
  }

  return { update, unmount: () => [figures, first, second].forEach((one) => one.stop()) };
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
    h("label", `${label} `, h("select", {
      onchange: (event) => go({ [name]: event.target.value, ...(event.target.value === other?.value ? other.swap : {}) }),
    }, values.map((value) => h("option", { value, selected: String(value) === String(chosen) }, value))));
  return [
    choice("Model a", "a", a, names, { value: b, swap: { b: a } }),
    choice("Model b", "b", b, names, { value: a, swap: { a: b } }),
    choice("Items", "k", k, KS),
    h("a", { href: state.with({ a: b, b: a }) }, "Change sides"),
  ];
}

function drawBetter(root, found) {
  const { a, b } = found;
  show(root,
    h("h2", `${a.name} and ${b.name}`),
    h("p.verdict", verdict(found)),
    h("div.metrics", found.metrics.map((row) => metric(row, a, b))),
    !found.metrics.length && h("p", `On their own validation: ${[a, b].map(({ name }) => raced(name, found.models?.[name])).join("; ")}.`),
    !found.metrics.some((row) => row.difference) && h("p", "To find out, send what users take to ", h("code", "/v1/events"), " and come back here."),
    [...new Set(found.metrics.map((row) => row.how))].map((how) => h("p.quiet", `Measured on ${how}.`)),
    h("p",
      found.users
        ? `The lists of ${short(found.users)} users, spread over all, have ${percent(found.overlap)} of their items in common (95 % interval: ${percent(found.overlap_low)} to ${percent(found.overlap_high)}).`
        : "The two models have no user in common."),
    h("p.quiet",
      `a: ${a.name}, ${a.kind}, generation ${a.generation}. b: ${b.name}, ${b.kind}, generation ${b.generation}. As of event ${short(found.seq)} of the log.`));
}

/** What a race has measured of the model that it chose. */
function raced(name, model) {
  const rows = (model?.race?.rows ?? []).filter((row) => row.model === model.kind && !row.note);
  const column = Object.keys(rows[0] ?? {}).find((one) => one.startsWith("validation_"));
  return `${name}: ${column ? `${column.slice(11)} ${measure(Math.max(...rows.map((row) => row[column])))}` : "not measured"}`;
}

function metric(row, a, b) {
  const most = 1.05 * Math.max(...[row.a, row.b].map((one) => one?.high ?? one?.value ?? 0), 1e-9);
  const line = (letter, model, found) =>
    h("tr",
      h("th", { scope: "row" }, `${letter} ${model.name}`),
      h("td.bar", found && intervalBar(found, most)),
      h("td.number", measure(found?.value)),
      h("td.quiet", found && (found.low === null ? "interval not known" : `${measure(found.low)} to ${measure(found.high)}`)));
  return h("div.metric",
    h("table",
      h("caption", h("b", row.metric), ` on ${row.measured_on === "validation" ? "validation" : "the newest events"}`),
      h("tbody", line("a", a, row.a), line("b", b, row.b))),
    row.difference && h("p", inNumbers(row.difference)));
}

function inNumbers({ value, low, high, p_value }) {
  return `a − b: ${signed(value)} (${signed(low)} to ${signed(high)}), p ${p_value < 0.001 ? "< 0.001" : `= ${p_value.toFixed(3)}`}.`;
}

const signed = (value) => `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(4)}`;

/** What the figures say, and no more than that. */
export function verdict({ a, b, metrics, not_measured }) {
  const [row] = metrics;
  if (row?.difference) {
    const { value, p_value } = row.difference;
    if (p_value >= SURE) return `Between the two there is no difference that could not be chance: ${row.metric} of ${row.a.users} users.`;
    const [best, other] = value > 0 ? [a, b] : [b, a];
    return `${best.name} ranks what users took last better than ${other.name} does: ${row.metric} ${measure(Math.max(row.a.value, row.b.value))} against ${measure(Math.min(row.a.value, row.b.value))}, and that is hardly chance.`;
  }
  const why = `The newest events cannot tell: ${not_measured}.`, open = "Which of the two is better is not known";
  if (!row?.a || !row?.b) return `${open}. ${why}`;
  if (!row.comparable) return `${open}: their figures are of different pairs. ${why}`;
  const isApart = row.a.low > row.b.high || row.b.low > row.a.high;
  const sure = row.a.low === null || row.b.low === null ? "; how sure that is, is not known"
    : isApart ? " by more than chance: the intervals do not overlap" : ", but the intervals overlap: it may be chance";
  return `On validation ${row.a.value >= row.b.value ? a.name : b.name} was ahead${sure}. ${why}`;
}

function drawLists(root, { state, user, had, left, right, a, b }) {
  const [inA, inB] = [left, right].map((answer) => new Map(answer.items.map((item, at) => [item.id, at])));
  const shared = [...inA.keys()].filter((id) => inB.has(id));
  const lines = shared.map((id) => [inA.get(id), inB.get(id)]);
  const rows = Math.max(left.items.length, right.items.length, 1);
  show(root,
    h("h2", "For ", h("a", { href: state.with({ panel: "explore", user }) }, user === null ? "somebody new" : `user ${user}`),
      had && ` ${user === null ? "who has" : "if they also had"} ${had} `, had && h("a.small", { href: state.with({ items: null }) }, "without")),
    h("p",
      `${shared.length} of ${rows} items are in both lists. `,
      state.get("user") === null && !had && h("span.quiet", "Their lists differ most; find another user above (press /), or in the table.")),
    h("div.sides",
      side(state, left, inB, { own: a, other: b, letter: "b", tint: shared.length > 0 }),
      between(lines, rows),
      side(state, right, inA, { own: b, other: a, letter: "a", tint: shared.length > 0 })));
  return shared.length;
}

/** tint: those that are only here; where all are, it would say nothing. */
function side(state, answer, elsewhere, { own, other, letter, tint }) {
  const bits = answer.items.some((item) => item.distance != null);
  return h("div.side",
    h("h3", `${letter === "b" ? "a" : "b"}: ${own}`, answer.fallback && h("span.quiet", ` (${answer.fallback}: nothing is known of this user)`)),
    h("ol", answer.items.map((item, at) => {
      const place = elsewhere.get(item.id);
      const only = place === undefined;
      return h("li", { class: only && tint ? "only" : "both" },
        h("span.rank.number", at + 1),
        h("span.what", h("a", { href: state.with({ panel: "item", item: item.id, model: own }), title: String(item.id) }, item.name ?? String(item.id))),
        h("span.quiet.number", { title: bits ? "bits that differ" : "score" }, bits ? `${item.distance} bits` : scored(item.score)),
        h("span.where", { title: only ? `Not in the list of ${other}` : `Place ${place + 1} in the list of ${other}` }, only ? `not in ${letter}` : `${letter}: ${place + 1}`));
    })));
}

/** Lines between the places of the same items. */
function between(lines, rows) {
  return svg("svg.lines", { viewBox: `0 0 100 ${rows * 10}`, preserveAspectRatio: "none", aria: { hidden: "true" } },
    lines.map(([from, to]) => svg("line", { x1: 0, y1: from * 10 + 5, x2: 100, y2: to * 10 + 5, class: from === to ? "level" : "" })));
}

function drawUsers(root, found, state) {
  const now = state.get("user");
  show(root,
    h("h2", found.users ? `Of these ${short(found.users)}, the users whose lists differ most` : "Users whose lists differ most"),
    found.differ.length
      ? table(["User", "In both", "Overlap"], found.differ.map((one) => [
        h("a", { href: state.with({ user: one.user, items: null }), aria: { current: String(one.user) === now ? "true" : null } }, one.user),
        `${one.shared} of ${found.k}`, percent(one.overlap)]))
      : h("p.quiet", "No user is known to both models."));
}

function alone(name) {
  return h("section.card",
    h("h2", "One model is served"),
    h("p", `There is only "${name}". To compare, serve a second one beside it, fitted on data with the same ids:`),
    h("pre", 'xorec fit ratings.csv --model bpr -o other.xorec\n\n# serve.toml\n[models]\nb = "other.xorec"\n\nxorec serve shop.xorec --config serve.toml'),
    h("p.quiet", "Lists that name no model are of the first; /v1/experiments can split users between the two."));
}
