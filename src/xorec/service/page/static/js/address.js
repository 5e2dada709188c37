// The state of the page is its query string: a link shows a colleague the same thing.

/** What the address says: get(name), all(name), and the panel. */
export class State {
  constructor(text) {
    this.params = new URLSearchParams(text);
  }

  get panel() {
    return this.get("panel") ?? "explore";
  }

  get(name) {
    return this.params.get(name);
  }

  all(name) {
    return this.params.getAll(name);
  }

  /** The address with some names changed: a string, a list, or null to take it out. */
  with(changes) {
    const params = new URLSearchParams(this.params);
    for (const [name, value] of Object.entries(changes)) {
      params.delete(name);
      for (const one of [value].flat()) {
        if (one !== null && one !== undefined && one !== "") params.append(name, one);
      }
    }
    const text = params.toString();
    return text ? `?${text}` : location.pathname;
  }
}

/** The state now. */
export function here() {
  return new State(location.search);
}

const listeners = new Set();

/** Call when the address has changed, by us or by the browser's buttons. */
export function onChange(listener) {
  listeners.add(listener);
}

/** Go to the same address with some names changed. replace: no step in the history. */
export function go(changes, { replace = false } = {}) {
  const address = here().with(changes);
  history[replace ? "replaceState" : "pushState"](null, "", address);
  tell();
}

function tell() {
  const state = here();
  for (const listener of listeners) listener(state);
}

addEventListener("popstate", tell);

// links inside the page change the state without loading the page again
document.addEventListener("click", (event) => {
  const link = event.target.closest?.("a[href]");
  if (!link || event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey) return;
  const url = new URL(link.href, location.href);
  if (url.origin !== location.origin || url.pathname !== location.pathname || !url.search || url.hash) return;
  event.preventDefault();
  history.pushState(null, "", url.search);
  tell();
});
