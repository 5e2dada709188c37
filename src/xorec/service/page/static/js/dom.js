// Elements without HTML: what comes from data is only ever text.

/** h("a.quiet.small", {href: "?", onclick: f, aria: {label: "y"}}, "text", child, [more]); attributes may be left out. */
export const h = maker((tag) => document.createElement(tag));

/** The same for SVG. */
export const svg = maker((tag) => document.createElementNS("http://www.w3.org/2000/svg", tag));

function maker(create) {
  return (name, ...rest) => {
    const [tag, ...classes] = name.split("."), element = create(tag);
    if (classes.length) element.setAttribute("class", classes.join(" "));
    return fill(element, rest[0]?.constructor === Object ? rest.shift() : {}, rest);
  };
}

/** A button; what went wrong. */
export const button = (words, onclick, props) => h("button", { type: "button", onclick, ...props }, words);
export const problem = (...words) => h("p.notice.error", { role: "alert" }, words);

/** A table: heads of columns, rows of cells; all but the first are numbers. */
export function table(heads, rows) {
  const line = (tag, cells) => h("tr", cells.map((cell, at) => h(tag, { scope: tag === "th" && "col", class: at > 0 && "number" }, cell)));
  return h("div.scroll", h("table", h("thead", line("th", heads)), h("tbody", rows.map((cells) => line("td", cells)))));
}

/** Replace what stands in an element. */
export function show(element, ...children) {
  element.replaceChildren(...nodes(children));
  return element;
}

function fill(element, props, children) {
  for (const [name, value] of Object.entries(props)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "aria" || name === "data") {
      for (const [part, said] of Object.entries(value)) {
        if (said !== null && said !== undefined) element.setAttribute(`${name}-${part}`, said);
      }
    } else if (name === "value" || name === "checked" || name === "disabled") element[name] = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...nodes(children));
  return element;
}

function nodes(children) {
  return children
    .flat(Infinity)
    .filter((child) => child !== null && child !== undefined && child !== false)
    .map((child) => (child instanceof Node ? child : document.createTextNode(printable(String(child)))));
}

// letters that would turn a line round or hide in it are shown by their number
const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;

/** Text in which nothing is hidden. */
export function printable(text) {
  return text.replace(UNSEEN, (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
