// Search as you type: users and items by id or name, from anywhere on the page.

import { go, here } from "./address.js";
import { ask, request } from "./api.js";
import { combobox } from "./combobox.js";

const MOST = 8;

/** Items that have some letters in their id or name. */
export async function findItems(q) {
  const { items } = await ask(request("/v1/items", { q, k: MOST, model: here().get("model") }));
  return items.map((item) => ({ id: String(item.id), name: item.name, count: words(item.count, "user") }));
}

/** Users that have some letters in their id. */
export async function findUsers(q) {
  const { users } = await ask(request("/v1/users", { q, k: MOST, model: here().get("model") }));
  return users.map((user) => ({ id: String(user.id), name: null, count: words(user.count, "item") }));
}

function words(count, what) {
  return `${count.toLocaleString("en")} ${what}${count === 1 ? "" : "s"}`;
}

/** The field in the head: a user opens Explore, an item opens Item; Compare and Map stay open for whom they show. */
export function searchBox() {
  const box = combobox({
    id: "search",
    label: "Find a user or an item",
    placeholder: "Find a user or an item ( / )",
    kinds: [{ title: "items", find: findItems }, { title: "users", find: findUsers }],
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
