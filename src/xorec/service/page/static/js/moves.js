// Cards that change their places glide there, so that the eye can follow; not where the system asks for calm.

/** Where the cards of a list stand now, by what they are of. */
export function placesOf(list) {
  return new Map([...list.children].map((card) => [card.dataset.id, card.getBoundingClientRect().top]));
}

/** Let the cards glide from where they stood before. */
export function glide(list, before) {
  if (!before.size || matchMedia("(prefers-reduced-motion: reduce)").matches) return;
  for (const card of list.children) {
    const old = before.get(card.dataset.id), now = card.getBoundingClientRect().top;
    const from = old === undefined ? { opacity: 0 } : { transform: `translateY(${old - now}px)` };
    if (old !== now) card.animate([from, {}], { duration: 260, easing: "ease-out" });
  }
}

/** What happened to each item: {up: 3}, {down: 2}, {fresh: true}, or nothing. Ids as text. */
export function movesOf(ids, before) {
  if (before === null) return new Map();
  const places = new Map(before.map((id, at) => [id, at]));
  return new Map(ids.map((id, at) => {
    const old = places.get(id);
    if (old === undefined) return [id, { fresh: true }];
    return [id, old === at ? {} : old > at ? { up: old - at } : { down: at - old }];
  }));
}
