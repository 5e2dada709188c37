// What part of the map is seen: a centre in map units and a zoom; 0 shows all, each step doubles.

export const REACH = 32768;
const clip = (value, low, high) => Math.min(high, Math.max(low, Number(value) || 0));

export class View {
  zoom = 0;
  x = 0;
  y = 0;
  width = 1;
  height = 1;

  /** Pixels for one unit of the map. */
  get scale() {
    return (0.48 * Math.min(this.width, this.height) / REACH) * 2 ** this.zoom;
  }

  /** The pixel of a place: y goes up on the map, down on the screen. */
  toPixel(x, y) {
    return [this.width / 2 + (x - this.x) * this.scale, this.height / 2 - (y - this.y) * this.scale];
  }

  toMap(px, py) {
    return [this.x + (px - this.width / 2) / this.scale, this.y - (py - this.height / 2) / this.scale];
  }

  /** What is seen, in map units. */
  box() {
    const [left, top] = this.toMap(0, 0), [right, bottom] = this.toMap(this.width, this.height);
    return { left, right, bottom, top };
  }

  has(x, y) {
    const { left, right, bottom, top } = this.box();
    return x > left && x < right && y > bottom && y < top;
  }

  go(zoom, x, y) {
    [this.zoom, this.x, this.y] = [clip(zoom, 0, 9), clip(x, -REACH, REACH), clip(y, -REACH, REACH)];
  }

  pan(dx, dy) {
    this.go(this.zoom, this.x - dx / this.scale, this.y + dy / this.scale);
  }

  /** What is under the pixel stays there. */
  zoomBy(steps, px, py) {
    const [x, y] = this.toMap(px, py);
    this.zoom = clip(this.zoom + steps, 0, 9);
    const [nowX, nowY] = this.toMap(px, py);
    this.go(this.zoom, this.x + x - nowX, this.y + y - nowY);
  }

  /** As the address has it; nothing where all is seen. */
  toState() {
    const all = !this.zoom && !this.x && !this.y;
    return { zoom: all ? null : this.zoom.toFixed(2), x: all ? null : `${Math.round(this.x)}`, y: all ? null : `${Math.round(this.y)}` };
  }
}
