// Search as you type: users and items by id or name, from anywhere on the page.

import { go, here } from "./address.js";
import { isOld, Latest, request } from "./api.js";
import { h, show } from "./dom.js";

const MOST = 8;

/** A combobox: arrows choose, Enter opens, Escape closes. */
export function searchBox() {
  const users = new Latest(), items = new Latest();
  let options = [], chosen = -1;

  const list = h("ul", { id: "found", role: "listbox", class: "found", aria: { label: "Found" }, hidden: true });
  const field = h("input", {
    type: "search",
    id: "search",
    placeholder: "Find a user or an item ( / )",
    autocomplete: "off",
    spellcheck: "false",
    role: "combobox",
    aria: { label: "Find a user or an item", controls: "found", expanded: "false", autocomplete: "list" },
    oninput: look,
    onkeydown: press,
    onfocus: () => field.value && look(),
    onblur: () => setTimeout(close, 150),
  });

  async function look() {
    const q = field.value.trim();
    if (!q) return close();
    const params = { q, k: MOST, model: here().get("model") };
    try {
      const [some, other] = await Promise.all([
        users.ask(request("/v1/users", params)),
        items.ask(request("/v1/items", params)),
      ]);
      draw(other.items, some.users);
    } catch (error) {
      if (!isOld(error)) show(open(), h("li", { class: "bad", role: "presentation" }, error.message));
    }
  }

  function open() {
    list.hidden = false;
    field.setAttribute("aria-expanded", "true");
    return list;
  }

  function close() {
    list.hidden = true;
    chosen = -1;
    field.setAttribute("aria-expanded", "false");
    field.removeAttribute("aria-activedescendant");
  }

  function draw(items, users) {
    options = [
      ...items.map((item) => ({ kind: "item", id: String(item.id), name: item.name, count: item.count })),
      ...users.map((user) => ({ kind: "user", id: String(user.id), name: null, count: user.count })),
    ];
    chosen = options.length ? 0 : -1;
    show(open(), options.length ? options.map(row) : h("li", { class: "quiet", role: "presentation" }, "Nothing found"));
    mark();
  }

  function row(option, at) {
    return h("li", {
      role: "option",
      id: `found-${at}`,
      onmousedown: (event) => event.preventDefault(),
      onclick: () => take(option),
    },
    h("span", { class: "kind" }, option.kind),
    h("span", { class: "what" }, option.name ?? option.id, option.name && option.name !== option.id && h("span", { class: "quiet mono" }, ` ${option.id}`)),
    h("span", { class: "quiet number" }, option.count?.toLocaleString("en") ?? ""));
  }

  function mark() {
    [...list.children].forEach((line, at) => line.setAttribute("aria-selected", String(at === chosen)));
    if (chosen >= 0) {
      field.setAttribute("aria-activedescendant", `found-${chosen}`);
      list.children[chosen].scrollIntoView({ block: "nearest" });
    }
  }

  function press(event) {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      if (!options.length) return;
      chosen = (chosen + (event.key === "ArrowDown" ? 1 : -1) + options.length) % options.length;
      mark();
    } else if (event.key === "Enter" && chosen >= 0) {
      event.preventDefault();
      take(options[chosen]);
    } else if (event.key === "Escape") {
      field.value = "";
      close();
      field.blur();
    }
  }

  function take(option) {
    field.value = "";
    close();
    field.blur();
    if (option.kind === "user") go({ panel: here().panel === "compare" ? "compare" : "explore", user: option.id, items: null });
    else go({ panel: "item", item: option.id });
    document.getElementById("main").focus();
  }

  return {
    element: h("div", { class: "search", role: "search" }, field, list),
    focus: () => { field.focus(); field.select(); },
  };
}
