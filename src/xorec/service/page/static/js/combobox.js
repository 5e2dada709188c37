// A field that finds things while one types: arrows choose, Enter takes, Escape closes.

import { h, show } from "./dom.js";

/**
 * kinds: [{title, find(q) -> Promise of [{id, name, count}]}], shown as groups in this order.
 * take({kind, id, name}): what to do with the chosen one.
 */
export function combobox({ id, label, placeholder, kinds, take }) {
  let options = [], chosen = -1, answers = new Map();
  const list = h("div", { id: `${id}-found`, role: "listbox", class: "found", aria: { label }, hidden: true });
  const said = h("div", { class: "hidden", role: "status" });
  const field = h("input", {
    type: "search", id, placeholder, autocomplete: "off", spellcheck: "false", role: "combobox",
    aria: { label, controls: list.id, expanded: "false", autocomplete: "list" },
    oninput: look, onkeydown: press, onfocus: () => query() && look(), onblur: close,
  });
  const finders = kinds.map((kind) => newestOnly(kind.find, (q, answer) => {
    if (q !== query()) return;
    answers.set(kind, answer);
    if (answers.size === kinds.length) draw();
  }));

  function query() {
    return field.value.trim();
  }

  function look() {
    answers = new Map();
    if (!query()) return close();
    for (const find of finders) find(query());
  }

  function draw() {
    const wrong = [...answers.values()].find((answer) => answer.error)?.error;
    options = [];
    const groups = wrong ? [] : kinds.map(group);
    chosen = options.length ? 0 : -1;
    show(list, wrong && h("div", { class: "none bad" }, wrong.message),
      groups, !wrong && !options.length && h("div", { class: "none quiet" }, "Nothing found"));
    show(said, wrong ? wrong.message : `${options.length} found`);
    list.hidden = false;
    field.setAttribute("aria-expanded", String(options.length > 0));
    mark();
  }

  function group(kind) {
    const found = answers.get(kind).found;
    if (!found.length) return null;
    return h("div", { role: "group", aria: { label: kind.title } },
      kinds.length > 1 && h("div", { class: "kind", aria: { hidden: "true" } }, kind.title),
      found.map((one) => row({ ...one, kind })));
  }

  function row(option) {
    const at = options.push(option) - 1;
    const name = option.name && option.name !== option.id ? option.name : null;
    return option.row = h("div", {
      role: "option", id: `${id}-${at}`, class: "option",
      onmousedown: (event) => event.preventDefault(), // the field keeps the focus
      onclick: () => choose(option),
    },
    h("span", { class: "what" }, marked(name ?? option.id, query()),
      name && h("span", { class: "id" }, marked(option.id, query()))),
    h("span", { class: "quiet number" }, option.count));
  }

  function mark() {
    options.forEach(({ row }, at) => row.setAttribute("aria-selected", String(at === chosen)));
    if (chosen < 0) return field.removeAttribute("aria-activedescendant");
    field.setAttribute("aria-activedescendant", options[chosen].row.id);
    options[chosen].row.scrollIntoView({ block: "nearest" });
  }

  function press(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) {
      event.preventDefault();
      if (list.hidden) return look();
      if (options.length) chosen = (chosen + step + options.length) % options.length;
      mark();
    } else if (event.key === "Enter" && !list.hidden && chosen >= 0) {
      event.preventDefault();
      choose(options[chosen]);
    } else if (event.key === "Escape") {
      if (!field.value) field.blur();
      field.value = "";
      close();
    }
  }

  function choose({ kind, id, name }) {
    field.value = "";
    close();
    take({ kind: kind.title, id, name });
  }

  function close() {
    list.hidden = true;
    options = [];
    chosen = -1;
    field.setAttribute("aria-expanded", "false");
    field.removeAttribute("aria-activedescendant");
  }

  return {
    element: h("div", { class: "search" }, field, list, said),
    focus: () => { field.focus(); field.select(); },
    blur: () => field.blur(),
  };
}

/** One request at a time, always for the newest query; what is old is never told. */
function newestOnly(find, tell) {
  let wanted = null, busy = false;
  return async (q) => {
    wanted = q;
    if (busy) return;
    busy = true;
    while (wanted !== null) {
      const asked = wanted;
      wanted = null;
      const answer = await find(asked).then((found) => ({ found }), (error) => ({ error }));
      if (wanted === null) tell(asked, answer);
    }
    busy = false;
  };
}

/** The text with the found letters marked; case and accents do not matter. */
export function marked(text, q) {
  const letters = [...text], wanted = folded(q), starts = [];
  let flat = "";
  for (const letter of letters) {
    starts.push(flat.length);
    flat += folded(letter);
  }
  const at = wanted ? flat.indexOf(wanted) : -1;
  if (at < 0) return text;
  const from = starts.findLastIndex((start) => start <= at);
  const behind = starts.findIndex((start) => start >= at + wanted.length);
  const to = behind < 0 ? letters.length : behind;
  const part = (a, b) => letters.slice(a, b).join("");
  return [part(0, from), h("mark", {}, part(from, to)), part(to)];
}

function folded(text) {
  return text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
}
