// The requests behind a panel, to be taken away: as curl, and as Python.

import { button, h, show } from "./dom.js";
import { asCurl, asPython } from "./request_text.js";

const LANGUAGES = { curl: asCurl, Python: asPython };
let language = "curl", open = false; // as somebody left it, in every panel

/** What was asked, as text that runs. requests: of api.js; what was asked already knows its answer. */
export function requestsBox(requests) {
  const text = h("code"), copied = h("span.quiet", { role: "status" });
  const buttons = Object.keys(LANGUAGES).map((name) =>
    button(name, () => { language = name; draw(); }));

  function draw() {
    for (const button of buttons) button.setAttribute("aria-pressed", String(button.textContent === language));
    show(text, LANGUAGES[language](requests));
    show(copied);
  }

  async function copy() {
    try {
      await navigator.clipboard.writeText(LANGUAGES[language](requests));
      show(copied, "copied");
    } catch { // not allowed here: let them copy what is selected
      getSelection().selectAllChildren(text);
      show(copied, "selected: copy it by the keyboard");
    }
  }

  draw();
  return h("details.requests", { open, ontoggle: (event) => { open = event.target.open; } },
    h("summary", requests.length === 1 ? "The request" : `The ${requests.length} requests`, " as curl or Python"),
    h("div.row", h("div.choice", { role: "group", aria: { label: "Language" } }, buttons),
      button("Copy", copy), copied, h("a", { href: "/openapi.json" }, "All requests (OpenAPI)")),
    h("pre", { tabindex: "0", aria: { label: "Requests" } }, text));
}
