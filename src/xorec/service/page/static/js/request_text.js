// Requests as text that runs: a line for the shell, a line of Python. Whatever stands in an id stays an id.

import { key } from "./api.js";

/** For the shell, a line a request. A key is named, never shown. */
export function asCurl(requests) {
  return requests.map(({ method, url, body }) => {
    const parts = ["curl"];
    if (method !== "GET") parts.push("-X", method);
    if (key.get()) parts.push('-H "X-API-Key: $XOREC_KEY"');
    if (body !== null) parts.push("-H 'Content-Type: application/json' --data-raw", inShell(json(body)));
    return [...parts, inShell(location.origin + url)].join(" ");
  }).join("\n");
}

function inShell(text) {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

// what `xorec.client` calls these; `item` and `items` share an address
const METHODS = {
  "/v1/recommend": "recommend", "/v1/next": "next", "/v1/similar": "similar", "/v1/similar-users": "similar_users",
  "/v1/explain": "explain", "/v1/popular": "popular", "/v1/latest": "latest", "/v1/trending": "trending",
  "/v1/users": "users", "/v1/categories": "categories", "/v1/codes": "codes", "/v1/models": "models",
  "/v1/histogram": "histogram", "/v1/stats": "stats", "/v1/items": "items",
};

/** For Python: by `xorec.client` where it has a method, by httpx else. */
export function asPython(requests) {
  const lines = requests.map((asked) => METHODS[asked.path] ? clientCall(asked) : plainCall(asked));
  return [
    ...(lines.some((line) => line.includes("httpx.")) ? ["import httpx", ""] : []),
    "from xorec.client import Client", "",
    ...(key.get() ? ["# the key: XOREC_KEY of the environment"] : []),
    `with Client(${python(location.origin)}) as client:`,
    ...lines.map((line) => `    ${line}`),
  ].join("\n");
}

function clientCall({ path, params, body, answer }) {
  const given = arguments_(path, body ?? params, answer);
  let method = METHODS[path], words = [];
  if (method === "items" && given.item !== undefined) {
    method = "item"; // by ids, one after the other
    words = [given.item].flat().map(python);
    delete given.item;
  }
  words.push(...Object.entries(given).map(([name, value]) => `${name}=${python(value)}`));
  return `${method === "next" ? "more" : method} = client.${method}(${words.join(", ")})`;
}

/** Keywords of the client's method, from what stands in a query string. */
function arguments_(path, params, answer) {
  const given = Object.fromEntries(Object.entries(params).filter(([, value]) => isGiven(value)));
  for (const name of ["items", "of", "category", "not_category"]) {
    if (given[name] !== undefined) given[name] = [given[name]].flat();
  }
  if (path !== "/v1/recommend") return given;
  // sent as a body there: ids in the type that the model has them, categories inside `where`
  const { category, not_category, ...rest } = given;
  if (rest.user !== undefined && typeof answer?.user === "number") rest.user = Number(rest.user);
  if (rest.items && typeof answer?.items[0]?.id === "number") rest.items = rest.items.map(Number);
  if (category || not_category) rest.where = { ...(category && { any: category }), ...(not_category && { none: not_category }) };
  return rest;
}

function isGiven(value) {
  return ![null, undefined, "", false].includes(value) && !(Array.isArray(value) && value.length === 0);
}

function plainCall({ method, url, body }) {
  const json = body === null ? "" : `, json=${python(body)}`;
  return `answer = httpx.${method.toLowerCase()}(${python(location.origin + url)}${json}).raise_for_status().json()`;
}

/** A value as Python writes it. */
function python(value) {
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (Array.isArray(value)) return `[${value.map(python).join(", ")}]`;
  if (typeof value === "object") return `{${Object.entries(value).map(([name, one]) => `${json(name)}: ${python(one)}`).join(", ")}}`;
  return json(value);
}

const UNSEEN = /[\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;

/** JSON with nothing hidden in it: its text is also a text of Python. */
function json(value) {
  return JSON.stringify(value).replace(UNSEEN, (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
