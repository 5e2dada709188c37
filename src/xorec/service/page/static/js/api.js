// The public API, and nothing else. Every error is one line that people can read.

const KEY = "xorec-key";

/** What went wrong, in the service's own words. status 0: there was no answer. */
export class ApiError extends Error {
  constructor(status, detail) {
    super(detail);
    this.status = status;
  }
}

/** The key of this tab, if the service asked for one; never in the address. */
export const key = {
  get: () => sessionStorage.getItem(KEY),
  set: (value) => (value ? sessionStorage.setItem(KEY, value) : sessionStorage.removeItem(KEY)),
};

/** A request as a value: what is asked can also be shown. params: lists repeat the name. */
export function request(path, params = {}, { method = "GET", body = null } = {}) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) {
    for (const one of [value].flat()) {
      if (one !== null && one !== undefined && one !== "" && one !== false) query.append(name, one);
    }
  }
  const text = query.toString();
  return { method, path, params, body, url: text ? `${path}?${text}` : path };
}

/** The answer to a request, as JSON; or its bytes. A service that is full is asked again, `tries` times in all. */
export async function ask(asked, { signal, bytes = false, tries = 3 } = {}) {
  const headers = { accept: bytes ? "application/octet-stream" : "application/json" };
  if (key.get()) headers["x-api-key"] = key.get();
  if (asked.body !== null) headers["content-type"] = "application/json";
  let reply;
  try {
    reply = await fetch(asked.url, {
      method: asked.method,
      headers,
      body: asked.body === null ? undefined : JSON.stringify(asked.body),
      signal,
      credentials: "omit",
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(0, "The service does not answer: is it running?");
  }
  if (reply.ok) {
    if (bytes) return reply;
    return asked.answer = await reply.json(); // a request that was asked knows its answer
  }
  const pause = reply.status === 503 && Number(reply.headers.get("retry-after"));
  if (pause && tries > 1) {
    await new Promise((resolve) => setTimeout(resolve, 1000 * Math.min(pause, 5)));
    signal?.throwIfAborted();
    return ask(asked, { signal, bytes, tries: tries - 1 });
  }
  const problem = await reply.json().catch(() => ({}));
  if (reply.status === 401 && headers["x-api-key"] == key.get()) document.dispatchEvent(new CustomEvent("xorec:key-needed"));
  throw new ApiError(reply.status, problem.detail ?? problem.title ?? `status ${reply.status}`);
}

/** Only the newest of several requests counts: asking again ends the one before. */
export class Latest {
  #controller = null;

  async ask(asked, options = {}) {
    this.#controller?.abort();
    this.#controller = new AbortController();
    return ask(asked, { ...options, signal: this.#controller.signal });
  }

  stop() {
    this.#controller?.abort();
  }
}

/** Whether an error only says that a newer request took over. */
export function isOld(error) {
  return error?.name === "AbortError";
}
