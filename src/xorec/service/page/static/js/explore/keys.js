// The keyboard on a list of cards: arrows go through them, Enter opens the item, o lists as if they had it.

/** Keys for the cards of a list, until stop(). */
export function cardKeys(list, toggle) {
  function at(index) {
    const cards = [...list.children], card = cards[Math.max(0, Math.min(index, cards.length - 1))];
    for (const one of cards) one.tabIndex = one === card ? 0 : -1;
    return card;
  }

  function press(event) {
    const { target, key } = event;
    if (event.ctrlKey || event.metaKey || event.altKey || !list.isConnected) return;
    const card = target.closest?.(".items > li"), index = [...list.children].indexOf(card);
    const isFree = target === document.body || target.id === "main";
    const step = { ArrowDown: 1, ArrowUp: -1 }[key];
    if (step && (index >= 0 || (isFree && step > 0))) at(index + step)?.focus();
    else if (index < 0) return;
    else if (key === "Home" || key === "End") at(key === "Home" ? 0 : Infinity).focus();
    else if (key === "o") toggle(card.dataset.id);
    else if (key === "Enter" && target === card) card.querySelector("a.name").click();
    else return;
    event.preventDefault();
  }

  document.addEventListener("keydown", press);
  return {
    first: () => at(0)?.focus(),
    /** After the cards were drawn anew: the focus is where it was. */
    restore(index, id, inside) {
      const cards = [...list.children];
      const same = cards.findIndex((card) => card.dataset.id === id);
      const card = at(index < 0 ? 0 : same < 0 ? index : same);
      if (index < 0 || !card) return;
      ((same >= 0 && inside && card.querySelector(`button.${inside}`)) || card).focus({ preventScroll: true });
    },
    stop: () => document.removeEventListener("keydown", press),
  };
}
