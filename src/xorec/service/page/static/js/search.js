// Search as you type: users and items by id or name, from anywhere on the page.

import { go, here } from "./address.js";
import { ask, request } from "./api.js";
import { combobox } from "./combobox.js";
import { many } from "./figures.js";

const MOST = 8;

/** What has some letters in its id or name; else what may be meant by them. */
const finding = (kind, what) => async (q) => {
  const answer = await ask(request(`/v1/${kind}`, { q, k: MOST, model: here().get("model") })), meant = !answer[kind].length;
  return (meant ? answer.meant : answer[kind]).map(({ id, name, count }) => ({ id: String(id), name, meant, count: many(count, what) }));
};

export const ITEMS = { title: "items", find: finding("items", "user") };
const USERS = { title: "users", find: finding("users", "item") };

/** The field in the head: a user opens Explore, an item opens Item; Compare and Map stay open for whom they show. */
export function searchBox() {
  const box = combobox({
    id: "search",
    label: "Find a user or an item",
    placeholder: innerWidth < 500 ? "User or item" : "Find a user or an item ( / )",
    kinds: [ITEMS, USERS],
    first: () => (["item", "map"].includes(here().panel) ? ITEMS : USERS),
    take({ kind, id }) {
      box.blur();
      const stays = (...panels) => (panels.includes(here().panel) ? here().panel : null);
      if (kind === "items") go({ panel: stays("map") ?? "item", item: id });
      else go({ panel: stays("compare", "map") ?? "explore", user: id, items: null, more: null });
      document.getElementById("main").focus();
    },
  });
  box.element.setAttribute("role", "search");
  return box;
}
