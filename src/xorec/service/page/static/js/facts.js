// What is known of items (names, categories), asked for together and kept while the page is open.

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
