// Explore without anybody: whom to look at, and items to begin with.

import { h } from "../dom.js";
import { nameOf } from "../facts.js";
import { many } from "../figures.js";
import { requestsBox } from "../requests.js";

/** Two ways in. */
export function startView(state, { users, popular, requests }, toggle, models) {
  return [
    models.length > 0 && h("p.intro", inShort(models)),
    h("section.card", { aria: { labelledby: "look" } },
      h("h2", { id: "look" }, "Look at a user"),
      h("p", "Type some letters of a user or an item into the field at the top: ", h("kbd", "/"), " goes there."),
      users.length > 0 && h("p.quiet", "Or try one of these:"),
      h("ul.plain", users.map((user) => h("li",
        h("a.name", { href: state.with({ user: user.id }) }, user.id),
        h("span.quiet.number", many(user.count, "item")))))),
    h("section.card", { aria: { labelledby: "pick" } },
      h("h2", { id: "pick" }, "Or be somebody new: pick items you like"),
      h("p.quiet", "Nothing is stored: the list is worked out for what you pick, each time anew. These are what most users have", among(state), "."),
      picks(popular, toggle),
      requestsBox(requests)),
  ];
}

// what the commonest kinds of models are, in a few words
const KINDS = {
  blend: "several models together", dsiml: "binary codes, the least difference first", slim: "weights between items", ease: "weights between items",
  bpr: "learned vectors", als: "learned vectors", popularity: "the same for all",
};

/** What this is, and of how much. */
function inShort(models) {
  const { users, items } = models[0].generations.find((one) => one.active) ?? {};
  const kinds = models.map(({ name, kind }) => `${name} (${kind}${KINDS[kind] ? `: ${KINDS[kind]}` : ""})`);
  return [`xorec recommends items to users. This service knows ${many(users ?? 0, "user")} and ${many(items ?? 0, "item")}. `,
    `${kinds.length > 1 ? "Its models" : "Its model"}: ${kinds.join(", ")}.`];
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
  return h("div.picks", popular.map((item) =>
    h("button", { type: "button", onclick: () => toggle(String(item.id)), title: "List as if you had it" },
      h("span.name", nameOf(item)), h("span.quiet", many(item.score, "user")))));
}
