// Points by squares of the map: who is near, who is inside.

const SIDE = 256;

export class Grid {
  /** xy: x and y by row. A square s holds the rows order[starts[s]] to order[starts[s + 1] - 1]. */
  constructor(xy) {
    const n = xy.length / 2, square = (row) => ((xy[2 * row + 1] + 32768) >> 8) * SIDE + ((xy[2 * row] + 32768) >> 8);
    const starts = new Uint32Array(SIDE * SIDE + 1), order = new Uint32Array(n);
    for (let row = 0; row < n; row++) starts[square(row) + 1]++;
    for (let at = 0; at < SIDE * SIDE; at++) starts[at + 1] += starts[at];
    const next = starts.slice();
    for (let row = 0; row < n; row++) order[next[square(row)]++] = row;
    Object.assign(this, { xy, starts, order });
  }

  /** visit(first, end) for the rows of each line of squares that meet a box. */
  #lines({ left, right, bottom, top }, visit) {
    const clip = (value) => Math.min(SIDE - 1, Math.max(0, (Math.floor(value) + 32768) >> 8));
    for (let y = clip(bottom); y <= clip(top); y++) visit(this.starts[y * SIDE + clip(left)], this.starts[y * SIDE + clip(right) + 1]);
  }

  /** About how many points a box has. */
  count(box) {
    let total = 0;
    this.#lines(box, (first, end) => { total += end - first; });
    return total;
  }

  /** The rows in a box that `keep(row, x, y)`. */
  inBox(box, keep) {
    const found = [], { xy, order } = this;
    this.#lines(box, (first, end) => {
      for (let at = first; at < end; at++) {
        const row = order[at], x = xy[2 * row], y = xy[2 * row + 1];
        if (x >= box.left && x <= box.right && y >= box.bottom && y <= box.top && keep(row, x, y)) found.push(row);
      }
    });
    return found;
  }

  /** The nearest row to a place within a distance, or -1. */
  nearest(x, y, reach, keep) {
    let best = -1, least = reach * reach;
    this.inBox({ left: x - reach, right: x + reach, bottom: y - reach, top: y + reach }, (row, itsX, itsY) => {
      const away = (itsX - x) ** 2 + (itsY - y) ** 2;
      if (away <= least && keep(row)) [best, least] = [row, away];
    });
    return best;
  }

  /** The rows inside a polygon [[x, y], ...]: a line from each to the left crosses its edge an odd number of times. */
  inPolygon(corners, keep) {
    const xs = corners.map(([x]) => x), ys = corners.map(([, y]) => y);
    const box = { left: Math.min(...xs), right: Math.max(...xs), bottom: Math.min(...ys), top: Math.max(...ys) };
    return this.inBox(box, (row, x, y) => {
      let inside = false;
      for (let at = 0, last = xs.length - 1; at < xs.length; last = at++) {
        const crosses = ys[at] > y !== ys[last] > y;
        if (crosses && x < ((xs[last] - xs[at]) * (y - ys[at])) / (ys[last] - ys[at]) + xs[at]) inside = !inside;
      }
      return inside && keep(row);
    });
  }
}
