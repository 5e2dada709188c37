// A field that finds things while one types: arrows choose, Enter takes, Escape closes.

import { h, show } from "./dom.js";

/**
 * kinds: [{title, find(q) -> Promise of [{id, name, count, meant}]}]; meant: not found, but it may be meant.
 * Groups: what begins with the letters, then what has them elsewhere; the kind of first() before the other.
 * take({kind, id, name}): what to do with the chosen one.
 */
export function combobox({ id, label, placeholder, kinds, take, first = () => kinds[0] }) {
  let options = [], chosen = -1, answers = new Map(), hasty = false;
  const list = h("div", { id: `${id}-found`, role: "listbox", class: "found", aria: { label }, hidden: true });
  const said = h("div.hidden", { role: "status" });
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
    const ordered = kinds.toSorted((a, b) => (b === first()) - (a === first()));
    const hits = wrong ? [] : ordered.flatMap((kind) => answers.get(kind).found.map((one) => ({ ...one, kind, how: howFound(one, query()) })));
    const found = hits.filter((one) => one.how < 2), shown = found.length ? found : hits;
    const groups = [0, 1, 2].map((how) => ordered.map((kind) => group(kind, how, shown.filter((one) => one.kind === kind && one.how === how))));
    chosen = found.length ? 0 : -1;
    const none = !wrong && !found.length && `Nothing contains “${query()}”.${hits.length ? " Did you mean:" : ""}`;
    show(list, wrong && h("div.none.bad", wrong.message), none && h("div.none.quiet", none), groups);
    show(said, wrong ? wrong.message : none || `${options.length} found`);
    list.hidden = false;
    field.setAttribute("aria-expanded", String(options.length > 0));
    mark();
    if (hasty && chosen >= 0) choose(options[chosen]);
    hasty = false;
  }

  function group(kind, how, found) {
    if (!found.length) return null;
    const label = how === 1 ? `${kind.title} that contain it` : kind.title;
    return h("div", { role: "group", aria: { label } },
      (kinds.length > 1 || how === 1) && h("div.kind", { aria: { hidden: "true" } }, label),
      found.map(row));
  }

  function row(option) {
    const at = options.push(option) - 1;
    const name = option.name && option.name !== option.id ? option.name : null;
    return option.row = h("div", {
      role: "option", id: `${id}-${at}`, class: "option",
      onmousedown: (event) => event.preventDefault(), // the field keeps focus
      onclick: () => choose(option),
    },
    h("span.what", marked(name ?? option.id, query()),
      name && h("span.id", marked(option.id, query()))),
    h("span.quiet.number", option.count));
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
    } else if (event.key === "Enter") {
      event.preventDefault();
      hasty = query() && answers.size < kinds.length;
      if (!hasty && chosen >= 0) choose(options[chosen]);
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
    element: h("div.search", field, list, said),
    focus: () => { field.focus(); field.select(); },
    blur: () => field.blur(),
  };
}

/** One request at a time, for the newest query; what is old is not told. */
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

/** The text with the found letters marked. */
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
  return [part(0, from), h("mark", part(from, to)), part(to)];
}

/** 0: it begins with the letters; 1: they are elsewhere; 2: it was not found by them. */
function howFound({ id, name, meant }, q) {
  if (meant) return 2;
  return [id, name ?? ""].some((text) => folded(text).startsWith(folded(q))) ? 0 : 1;
}

/** Without case and accents. */
function folded(text) {
  return text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
}
