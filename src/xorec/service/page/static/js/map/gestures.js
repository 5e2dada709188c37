// Mouse, touch, wheel and keyboard: they pan, zoom, point, pick and draw a lasso.

const CLICK = 5; // pixels that a hand may shake
const ARROWS = { ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] };

/** heard: pan(dx, dy), zoom(steps, x, y), point(x, y), away(), pick(x, y), lasso(way, done), isLasso(), and by key
    all(), list(), clear(). Places are pixels of the screen from the corner of the element. */
export function listen(element, heard) {
  const fingers = new Map();
  let way = null, spread = 0, moved = 0;
  const at = (event) => {
    const box = element.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  const far = ([ax, ay], [bx, by]) => Math.hypot(ax - bx, ay - by);

  function down(event) {
    if (event.button) return;
    element.setPointerCapture(event.pointerId);
    fingers.set(event.pointerId, at(event));
    const [first, second] = fingers.values();
    [moved, spread] = second ? [CLICK + 1, far(first, second)] : [0, 0];
    way = !second && (event.shiftKey || heard.isLasso()) ? [first] : null;
  }

  function move(event) {
    const here = at(event), before = fingers.get(event.pointerId);
    if (!before) return heard.point(...here);
    const [dx, dy] = [here[0] - before[0], here[1] - before[1]];
    fingers.set(event.pointerId, here);
    moved += Math.hypot(dx, dy);
    const [first, second] = fingers.values();
    if (second) {
      const wide = far(first, second);
      heard.pan(dx / 2, dy / 2);
      heard.zoom(Math.log2(wide / spread) || 0, (first[0] + second[0]) / 2, (first[1] + second[1]) / 2);
      spread = wide;
    } else if (way) {
      if (far(here, way.at(-1)) > 3) way.push(here);
      heard.lasso(way, false);
    } else if (moved > CLICK) heard.pan(dx, dy);
  }

  function up(event) {
    if (!fingers.delete(event.pointerId) || fingers.size) return;
    const whole = event.type === "pointerup";
    if (whole && moved <= CLICK) heard.pick(...at(event));
    else if (way) heard.lasso(way, whole);
    way = null;
  }

  function wheel(event) {
    event.preventDefault();
    const pixels = event.deltaY * (event.deltaMode ? 16 : 1);
    heard.zoom(Math.min(1, Math.max(-1, -pixels / 240)), ...at(event));
  }

  function press(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const keys = { "+": () => heard.zoom(0.5), "=": () => heard.zoom(0.5), "-": () => heard.zoom(-0.5), 0: heard.all, l: heard.list, Escape: heard.clear };
    const act = ARROWS[event.key] ? () => heard.pan(...ARROWS[event.key]) : keys[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  }

  const on = { pointerdown: down, pointermove: move, pointerup: up, pointercancel: up, pointerleave: heard.away, wheel, keydown: press };
  for (const [name, listener] of Object.entries(on)) element.addEventListener(name, listener, { passive: false });
}
