// What the map asks of the service: places, colours, items.

import { ask, request } from "../api.js";

const AT_ONCE = 400; // rows in one request

/** What colours go by: popularity unless the address names something else, and what that needs. */
export function colourOf(state) {
  const said = state.get("colour");
  const known = ["category", "bit"].includes(said) || (["user", "item"].includes(said) && isThere(state, said));
  return known ? said : "popularity";
}

/** Whether the address has somebody, or an item: to be near to. */
export const isThere = (state, who) => state.get(who) !== null || (who === "user" && state.all("items").length > 0);

export const bitOf = (state) => String(Math.max(0, Math.trunc(Number(state.get("bit"))) || 0));

export const placesRequest = (model) => request("/v1/map", { format: "binary", model });

export function coloursRequest(state) {
  const colour = colourOf(state), model = state.get("model"), items = colour === "user" ? state.all("items") : [];
  const from = ["user", "item"].includes(colour) ? { by: "distance", [colour]: state.get(colour), items } : { by: colour };
  return request("/v1/map/colours", { ...from, bit: colour === "bit" ? bitOf(state) : null, model });
}

/** x and y of all items by row. While the service makes them, waiting(words) says so. */
export async function askPlaces(model, signal, waiting) {
  for (;;) {
    try {
      const reply = await ask(placesRequest(model), { bytes: true, signal, tries: 1 });
      const said = (name) => reply.headers.get(`x-xorec-${name}`);
      return { xy: new Int16Array(await reply.arrayBuffer()), generation: Number(said("generation")), layout: said("layout") };
    } catch (error) {
      if (error.status !== 503) throw error;
      waiting(error.message);
      await new Promise((resolve) => setTimeout(resolve, 1000));
      signal.throwIfAborted();
    }
  }
}

export async function askColours(asked, signal) {
  const answer = await ask(asked, { signal }), text = atob(answer.colours), bytes = new Uint8Array(text.length);
  for (let at = 0; at < text.length; at++) bytes[at] = text.charCodeAt(at);
  return { ...answer, bytes };
}

/** Items by row, each asked for once. */
export class Items {
  known = new Map();

  constructor(model) {
    this.model = model;
  }

  async of(rows) {
    const missing = rows.filter((row) => !this.known.has(row));
    for (let at = 0; at < missing.length; at += AT_ONCE) await this.find({ rows: missing.slice(at, at + AT_ONCE) });
    return rows.map((row) => this.known.get(row)).filter(Boolean);
  }

  /** By {rows}, {items: ids}, or {user}: all that they have. */
  async find(wanted, signal) {
    const { items } = await ask(request("/v1/map/items", { ...wanted, model: this.model }), { signal });
    for (const item of items) this.known.set(item.row, item);
    return items;
  }
}
