// Requests as text that runs: a line for the shell, a line of Python. Whatever stands in an id stays an id.

import { key } from "./api.js";

/** For the shell, a line a request, and what it is for. A key is named, never shown. */
export function asCurl(requests) {
  return requests.map((asked) => {
    const { method, url, body } = asked, parts = ["curl"];
    if (method !== "GET") parts.push("-X", method);
    if (key.get()) parts.push('-H "X-API-Key: $XOREC_KEY"');
    if (body !== null) parts.push("-H 'Content-Type: application/json' --data-raw", inShell(json(body)));
    if (method === "GET" && asked.params.format === "binary") parts.push("-o map.bin");
    return `${purpose(asked)}${[...parts, inShell(location.origin + url)].join(" ")}`;
  }).join("\n");
}

function inShell(text) {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

// what `xorec.client` calls these, and what they are for; `item` and `items` share an address
const METHODS = {
  "/v1/recommend": ["recommend", "the list"], "/v1/next": ["next", "what goes on after the list"],
  "/v1/similar": ["similar", "what is like the item"], "/v1/popular": ["popular", "what most users have"],
  "/v1/users": ["users", "the user with their history, or who has an item"], "/v1/items": ["items", "what is known of the item"],
  "/v1/codes": ["codes", "the bits of codes"], "/v1/histogram": ["histogram", "how many items are how far"],
  "/v1/stats": ["stats", "what the service is doing, once"], "/v1/live": ["live", "the same, every second until you stop"],
  "/v1/compare": ["compare", "two models: figures, and users whose lists differ"],
  "/v1/map": ["map", "where all items lie (binary: x and y as int16, by row)"], "/v1/map/colours": ["map_colours", "one byte an item, in base64, and what it means"],
};

function purpose({ path, params }) {
  const [, words] = METHODS[path] ?? [];
  return words ? `# ${words}${params.model && params.model !== "default" ? ` (model ${json(params.model)})` : ""}\n` : "";
}

/** For Python: by `xorec.client` where it has a method, by httpx else. */
export function asPython(requests) {
  const names = requests.map(({ path, params }) => {
    const [method = "answer"] = METHODS[path] ?? [];
    return method === "items" && params.item ? "item" : { map: "places", next: "more" }[method] ?? method;
  });
  const lines = requests.map((asked, at) => {
    const same = names.filter((name) => name === names[at]).length > 1;
    const name = same ? `${names[at]}_${"abcdefgh"[names.slice(0, at).filter((one) => one === names[at]).length]}` : names[at];
    return purpose(asked) + (METHODS[asked.path] ? clientCall(asked, name) : plainCall(asked, name));
  });
  return [
    "# pip install 'xorec[client]'",
    ...(lines.some((line) => line.includes("httpx.")) ? ["import httpx", ""] : []),
    "from xorec.client import Client", "",
    ...(key.get() ? ["# the key: XOREC_KEY of the environment"] : []),
    `with Client(${python(location.origin)}) as client:`,
    ...lines.map((line) => line.replace(/^/gm, "    ")),
  ].join("\n");
}

function clientCall({ path, params, body, answer }, name) {
  const given = arguments_(path, body ?? params, answer);
  let [method] = METHODS[path], words = [];
  delete given.format;
  if (method === "items" && given.item !== undefined) {
    method = "item"; // by ids, one after the other
    words = [given.item].flat().map(python);
    delete given.item;
  }
  words.push(...Object.entries(given).map(([name, value]) => `${name}=${python(value)}`));
  if (method === "live") return 'for live in client.live():\n    print(live.data["recent"])';
  return `${name} = client.${method}(${words.join(", ")})`;
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

function plainCall({ method, url, body }, name) {
  const json = body === null ? "" : `, json=${python(body)}`;
  return `${name} = httpx.${method.toLowerCase()}(${python(location.origin + url)}${json}).raise_for_status().json()`;
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
