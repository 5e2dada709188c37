// The frame: head, tabs, keys of the keyboard; the panels stand in files of their own.

import { go, here, onChange } from "./address.js";
import { ask, isOld, key, request } from "./api.js";
import { h, problem, show } from "./dom.js";
import { searchBox } from "./search.js";
import { themeButton } from "./theme.js";

const PANELS = [
  { id: "explore", title: "Explore", hint: "What is recommended to somebody, and why" },
  { id: "item", title: "Item", hint: "What is like an item, and who has it" },
  { id: "map", title: "Map", hint: "All items in the plane" },
  { id: "compare", title: "Compare", hint: "Two models, one user" },
  { id: "live", title: "Live", hint: "What the service is doing" },
];

const head = document.getElementById("head");
const main = document.getElementById("main");
let mounted = null;
let models = [];
let search = null;

/** Say something to who does not see the page. */
export function announce(text) {
  show(document.getElementById("said"), text);
}

function drawHead(state) {
  const tabs = PANELS.map((panel, at) =>
    h("a", {
      href: state.with({ panel: panel.id }),
      title: `${panel.hint} (Alt+${at + 1})`,
      aria: { current: panel.id === state.panel ? "page" : null },
    }, panel.title));
  search ??= searchBox();
  const focused = [...head.querySelectorAll("a, input, select, button")].indexOf(document.activeElement);
  show(head,
    h("a.brand", { href: "?panel=explore", title: "xorec: recommendations at the speed of XOR" }, "xorec"),
    h("nav", { aria: { label: "Panels" } }, tabs),
    search.element,
    models.length > 1 && modelPicker(state),
    themeButton());
  head.querySelectorAll("a, input, select, button")[focused]?.focus(); // drawn anew, not left
}

function modelPicker(state) {
  const chosen = state.get("model") ?? "default";
  const options = models.map((model) =>
    h("option", { value: model.name, selected: model.name === chosen }, model.name));
  return h("label.picker", "Model ",
    h("select", {
      disabled: state.panel === "compare", title: state.panel === "compare" && "Choose below",
      onchange: (event) => go({ model: event.target.value }),
      onkeydown: (event) => event.key.length === 1 && event.key !== " " && event.preventDefault(), // a letter is no choice
    }, options));
}

function panelOf(state) {
  return PANELS.find((one) => one.id === state.panel) ?? PANELS[0];
}

async function show_panel(state) {
  const panel = panelOf(state);
  document.title = `${panel.title} · xorec`;
  drawHead(state);
  const model = state.get("model");
  if (model !== null && models.length && !models.some((one) => one.name === model)) {
    mounted?.unmount?.();
    mounted = null;
    show(main, h("h1.hidden", panel.title), problem(`There is no model “${model}” here. `,
      h("a", { href: state.with({ model: null }) || "?" }, "Use default")));
    return;
  }
  if (mounted?.id !== panel.id) {
    mounted?.unmount?.();
    mounted = null;
    const module = await import(`./${panel.id}.js`);
    if (here().panel !== state.panel) return;
    show(main);
    mounted = { id: panel.id, ...module.mount(main, { announce, models }) };
  }
  mounted.update(here());
}

function askForKey() {
  if (document.getElementById("key-form")) return;
  const field = h("input", { type: "password", id: "key-field", autocomplete: "off", required: true });
  const form = h("form", {
    id: "key-form",
    class: "notice",
    onsubmit: (event) => {
      event.preventDefault();
      key.set(field.value.trim());
      form.remove();
      mounted?.unmount?.();
      mounted = null;
      start();
    },
  }, h("label", { for: "key-field" }, "This service asks for a key (a read key is enough): "), field,
  h("button", { type: "submit" }, "Go on"));
  main.before(form);
  field.focus();
}

document.addEventListener("xorec:key-needed", askForKey);

document.addEventListener("keydown", (event) => {
  const typing = event.target.closest?.("input, textarea, [contenteditable]");
  if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
    event.preventDefault();
    search?.focus();
  } else if (event.altKey && event.key >= "1" && event.key <= String(PANELS.length)) {
    event.preventDefault();
    go({ panel: PANELS[Number(event.key) - 1].id });
  }
});

async function start() {
  import(`./${panelOf(here()).id}.js`).catch(() => {}); // comes while the models are asked for
  try {
    models = (await ask(request("/v1/models"))).models;
  } catch (error) {
    if (isOld(error)) return;
    models = []; // an admin's key may be needed for that; all else goes on
  }
  await show_panel(here());
}

onChange(show_panel);
start();
