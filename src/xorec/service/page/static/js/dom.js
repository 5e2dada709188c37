// Elements without HTML: what comes from data is only ever text.

/** h("a", {class: "x", href: "?", onclick: f, aria: {label: "y"}}, "text", child, [more]) */
export function h(tag, props, ...children) {
  return fill(document.createElement(tag), props, children);
}

/** The same for SVG. */
export function svg(tag, props, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), props, children);
}

/** Replace what stands in an element. */
export function show(element, ...children) {
  element.replaceChildren(...nodes(children));
  return element;
}

function fill(element, props, children) {
  for (const [name, value] of Object.entries(props ?? {})) {
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
