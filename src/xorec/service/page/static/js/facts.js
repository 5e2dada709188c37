// What is known of items: names and categories, kept while the page is open, and codes.

import { ask, request } from "./api.js";

const AT_ONCE = 50, MOST_LETTERS = 20_000;
const kept = new Map();

/** What is known of these items, by id as text: {id, name, categories, count, rank, ...}. */
export async function factsOf(ids, model, signal) {
  const known = kept.get(model) ?? kept.set(model, new Map()).get(model);
  const missing = [...new Set(ids)].filter((id) => !known.has(id));
  await Promise.all(parts(missing).map(async (some) => {
    const { items } = await ask(request("/v1/items", { item: some, model }), { signal });
    for (const item of items) known.set(String(item.id), item);
  }));
  return known;
}

/** Codes of items, and of whoever is asked for: {bits, mine, of: Map by id as text, requests}; bits null: none. */
export async function codesOf(who, ids, signal) {
  const requests = parts(ids).map((of) => request("/v1/codes", { ...who, of }));
  const answers = await Promise.all(requests.map((one) => ask(one, { signal })));
  const of = new Map(answers.flatMap(({ items }) => items.map((one) => [String(one.id), one.code])));
  return { bits: answers[0]?.bits ?? null, mine: answers[0]?.user ?? null, of, requests };
}

/** The name of an item, or its id where it has none. */
export function nameOf(item) {
  return item.name || String(item.id);
}

/** Few enough ids for one address. */
function parts(ids) {
  const found = [];
  let letters = Infinity;
  for (const id of ids) {
    const more = encodeURIComponent(id).length;
    if (letters + more > MOST_LETTERS || found.at(-1).length === AT_ONCE) {
      found.push([]);
      letters = 0;
    }
    found.at(-1).push(id);
    letters += more;
  }
  return found;
}
