// Points as pixels of one image: without a graphics card that is much faster than WebGL.

export const NOT_LISTED = 255;
const BUDGET = 14; // milliseconds for points while the map moves
const FEW = 2000; // points that may be drawn larger
const LARGEST = 9, MANY = 500_000; // the side of a point in pixels; from so many on it may be one

export class Painter {
  #image;
  #pixels;
  #cost = 1e-5; // milliseconds a point, as measured
  #disc = {};

  constructor(canvas) {
    Object.assign(this, { canvas, x: [], y: [], byte: [], palette: [] });
    this.context = canvas.getContext("2d", { alpha: false });
  }

  resize(width, height) {
    if (this.#image?.width === width && this.#image.height === height) return;
    [this.canvas.width, this.canvas.height] = [width, height];
    this.#image = this.context.createImageData(width, height);
    this.#pixels = new Uint32Array(this.#image.data.buffer);
  }

  /** Points in the order in which they are drawn, by level[byte]; those that are not listed stay out. Few that have at
      least the level `large` are drawn larger. */
  setPoints(xy, bytes, level, large = 256) {
    const starts = new Uint32Array(257), n = bytes.length;
    for (let row = 0; row < n; row++) if (bytes[row] !== NOT_LISTED) starts[level[bytes[row]] + 1]++;
    for (let at = 0; at < 256; at++) starts[at + 1] += starts[at];
    const count = starts[256], first = large > 255 ? count : starts[large];
    this.large = count - first > FEW ? count : first;
    const x = new Int16Array(count), y = new Int16Array(count), byte = new Uint8Array(count);
    for (let row = 0; row < n; row++) {
      if (bytes[row] === NOT_LISTED) continue;
      const at = starts[level[bytes[row]]]++;
      [x[at], y[at], byte[at]] = [xy[2 * row], xy[2 * row + 1], bytes[row]];
    }
    Object.assign(this, { x, y, byte });
  }

  /** seen: about how many are; few are drawn large. moving: only as many points as there is time for. */
  draw(view, seen, ground, moving) {
    const began = performance.now(), n = this.x.length;
    const { width, height } = this.#image, pixels = this.#pixels;
    const room = Math.sqrt((width * height) / Math.max(1, seen));
    const size = Math.round(Math.min(LARGEST * devicePixelRatio, Math.max(seen > MANY ? 1 : 2, 0.33 * room)));
    const step = moving ? Math.max(1, Math.ceil((n * this.#cost) / BUDGET)) : 1;
    pixels.fill(ground);
    this.#paint(view, 0, step, size);
    if (this.large < n) this.#paint(view, this.large, 1, size + 4);
    this.context.putImageData(this.#image, 0, 0);
    if (n / step > 1000) this.#cost += 0.3 * ((performance.now() - began) / (n / step) - this.#cost);
  }

  #paint(view, first, step, size) {
    const { x, y, byte, palette } = this, { width, height } = this.#image, pixels = this.#pixels, n = x.length;
    const disc = this.#discOf(size, width), parts = disc.length, half = size >> 1, right = width - size, bottom = height - size;
    const scale = view.scale, left = width / 2 - view.x * scale - half, top = height / 2 + view.y * scale - half;
    for (let at = first; at < n; at += step) {
      const px = left + x[at] * scale, py = top - y[at] * scale;
      if (px < 0 || py < 0 || px >= right || py >= bottom) continue;
      const place = (py | 0) * width + (px | 0), colour = palette[byte[at]];
      for (let part = 0; part < parts; part++) pixels[place + disc[part]] = colour;
    }
  }

  /** Offsets of the pixels of a point from its upper left corner: a square up to 2, then a disc. */
  #discOf(size, width) {
    if (this.#disc.size !== size || this.#disc.width !== width) {
      const offsets = [], middle = (size - 1) / 2, reach = (size / 2) ** 2 + 0.25;
      for (let y = 0; y < size; y++) {
        for (let x = 0; x < size; x++) {
          if (size < 3 || (x - middle) ** 2 + (y - middle) ** 2 <= reach) offsets.push(y * width + x);
        }
      }
      this.#disc = { size, width, offsets: Int32Array.from(offsets) };
    }
    return this.#disc.offsets;
  }
}
