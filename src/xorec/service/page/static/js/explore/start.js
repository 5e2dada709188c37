// Explore without anybody: whom to look at, and items to begin with.

import { h } from "../dom.js";
import { nameOf } from "../facts.js";
import { requestsBox } from "../requests.js";

/** Two ways in. */
export function startView(state, { users, popular, requests }, toggle) {
  return [
    h("section", { class: "card", aria: { labelledby: "look" } },
      h("h2", { id: "look" }, "Look at a user"),
      h("p", {}, "Type some letters of a user or an item into the field at the top: ", h("kbd", {}, "/"), " goes there."),
      users.length > 0 && h("p", { class: "quiet" }, "Or try one of these:"),
      h("ul", { class: "plain" }, users.map((user) => h("li", {},
        h("a", { class: "name", href: state.with({ user: String(user.id) }) }, String(user.id)),
        h("span", { class: "quiet number" }, items(user.count)))))),
    h("section", { class: "card", aria: { labelledby: "pick" } },
      h("h2", { id: "pick" }, "Or be somebody new: pick items you like"),
      h("p", { class: "quiet" }, "Nothing is stored: the list is worked out for what you pick, each time anew. These are what most users have", among(state), "."),
      picks(popular, toggle),
      requestsBox(requests)),
  ];
}

/** Which categories, and the way out of them. */
function among(state) {
  const any = state.all("category"), none = state.all("not_category");
  if (!any.length && !none.length) return null;
  return [any.length > 0 && ` of ${any.join(" or ")}`, none.length > 0 && ` without ${none.join(" or ")}`, " (",
    h("a", { href: state.with({ panel: "explore", category: null, not_category: null }) }, "all categories"), ")"];
}

/** Items to pick. */
export function picks(popular, toggle) {
  return h("div", { class: "picks" }, popular.map((item) =>
    h("button", { type: "button", onclick: () => toggle(String(item.id)), title: "List as if you had it" },
      h("span", { class: "name" }, nameOf(item)), h("span", { class: "quiet" }, users(item.score)))));
}

function items(count) {
  return count === 1 ? "1 item" : `${count.toLocaleString("en")} items`;
}

function users(count) {
  return count === 1 ? "1 user" : `${count.toLocaleString("en")} users`;
}
