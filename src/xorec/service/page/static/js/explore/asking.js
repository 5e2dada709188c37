// What Explore asks: the list as served, the list before, the history, the codes.

import { ask, request } from "../api.js";
import { codesOf, factsOf } from "../facts.js";

export const DEFAULT_K = 10;
export const SHOWN_HISTORY = 40;

/** The request of the list that the address means. */
export function listRequest(state, changes = {}) {
  return request("/v1/recommend", {
    user: state.get("user"),
    items: state.all("items"),
    k: kOf(state),
    seen: state.get("seen") === "true",
    category: state.all("category"),
    not_category: state.all("not_category"),
    model: state.get("model"),
    explain: true,
    ...changes,
  });
}

/** How many items are asked for. */
export function kOf(state) {
  const k = Number(state.get("k"));
  return Number.isInteger(k) && k > 0 ? k : DEFAULT_K;
}

/** The list that moves are told against: a user's own, or somebody new's before the last item. */
function beforeRequest(state) {
  const user = state.get("user"), items = state.all("items");
  if (user !== null && items.length) return listRequest(state, { items: [] });
  if (user === null && items.length > 1) return listRequest(state, { items: items.slice(0, -1) });
  return null;
}

/** Everything that the address means, in two rounds of requests. old: what was shown before. */
export async function load(state, signal, old) {
  const model = state.get("model"), user = state.get("user");
  const seen = await lists(state, signal, old);
  const { answer, before } = seen;
  const unknown = new Set(answer.unknown.map(String));
  const owned = state.all("items").filter((id) => !unknown.has(id));
  const isKnown = user !== null && (before ?? answer).fallback === null;
  const items = [answer, ...seen.pages].flatMap((page) => page.items);
  const ids = items.map((item) => String(item.id));
  const historyRequest = isKnown ? request("/v1/users", { user, model }) : null;
  const [history, codes] = await Promise.all([
    historyRequest && ask(historyRequest, { signal }).then(({ users }) => users[0]),
    codesOf({ user, items: owned, model }, ids, signal),
    factsOf([...ids, ...owned], model, signal),
  ]);
  const recent = (history?.history ?? []).slice(-SHOWN_HISTORY).map(String);
  const facts = await factsOf(recent, model, signal);
  return {
    ...seen, state, items, ids, owned, facts, history, isKnown,
    codes: codes.bits === null ? null : codes,
    requests: [...seen.requests, ...(historyRequest ? [historyRequest] : []), ...codes.requests],
  };
}

/** The list, what goes on after it (`more` times), and the list before. */
async function lists(state, signal, old) {
  const asked = listRequest(state), more = Math.min(Number(state.get("more")) || 0, 100);
  if (old?.asked.url === asked.url && more === old.pages.length + 1) {
    const { answer, request: next } = await goOn(old.answer, kOf(state), signal);
    return { ...old, pages: [...old.pages, answer], requests: [asked, next] };
  }
  const plain = beforeRequest(state), began = performance.now();
  const [answer, before] = await Promise.all([
    ask(asked, { signal }).then((found) => ({ ...found, took: performance.now() - began })),
    plain && ask(plain, { signal }),
  ]);
  const pages = [], requests = [asked];
  while (pages.length < more && (pages.at(-1) ?? answer).items.length) {
    const next = await goOn(answer, kOf(state), signal);
    pages.push(next.answer);
    requests.splice(1, 1, next.request);
  }
  const compared = before?.fallback === null ? before.items.map((item) => String(item.id)) : null;
  return { asked, answer, before, compared, pages, requests };
}

async function goOn(answer, k, signal) {
  const next = request("/v1/next", { request_id: answer.request_id, k });
  return { request: next, answer: await ask(next, { signal }) };
}

/** Somewhere to start: popular items, and some users who have much or little. */
export async function loadStart(state, signal) {
  const model = state.get("model");
  const asked = request("/v1/popular", { k: 24, category: state.all("category"), not_category: state.all("not_category"), model });
  const popular = await ask(asked, { signal });
  if (!popular.items.length) return { model, popular: [], users: [], requests: [asked] };
  const whose = request("/v1/users", { item: String(popular.items[0].id), k: 60, model });
  const [{ users }] = await Promise.all([
    ask(whose, { signal }), factsOf(popular.items.map((item) => String(item.id)), model, signal),
  ]);
  const step = Math.max(1, Math.floor(users.length / 8));
  return {
    model, popular: popular.items, users: users.filter((_, at) => at % step === 0).slice(0, 8), requests: [asked, whose],
  };
}
