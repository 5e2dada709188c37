// What lies above the points: numbers of classes, marked items, the lasso. Shapes, not colours alone.

import { letterOf, theme } from "./colours.js";

const SIDE = 12, WIDE = 65536 / SIDE;

/** Where the letter of each class stands: amid its points in the square that is most its own. */
export function numberPlaces(xy, bytes, legend) {
  const sums = new Float64Array(256 * SIDE * SIDE * 3), all = new Float64Array(SIDE * SIDE).fill(1);
  for (let row = 0; row < bytes.length; row++) {
    const x = xy[2 * row] + 32768, y = xy[2 * row + 1] + 32768;
    const square = Math.floor(y / WIDE) * SIDE + Math.floor(x / WIDE), at = 3 * (bytes[row] * SIDE * SIDE + square);
    all[square]++;
    sums[at]++;
    sums[at + 1] += x;
    sums[at + 2] += y;
  }
  return legend.map((band, at) => {
    const score = (square) => sums[3 * (band.first * SIDE * SIDE + square)] ** 2 / all[square];
    let most = 0;
    for (let square = 1; square < SIDE * SIDE; square++) if (score(square) > score(most)) most = square;
    const best = 3 * (band.first * SIDE * SIDE + most);
    return { text: letterOf(at), x: sums[best + 1] / sums[best] - 32768, y: sums[best + 2] / sums[best] - 32768 };
  });
}

/** shown: xy, numbers, and rows of history, list, item, hover and inside (the lasso); lasso: places of the map. */
export function drawMarks(canvas, view, ratio, shown) {
  [canvas.width, canvas.height] = [view.width, view.height]; // which also clears it
  const c = canvas.getContext("2d"), [ink, around, own, listed] = theme().ink;
  c.scale(ratio, ratio);
  c.lineJoin = "round";
  [c.textAlign, c.textBaseline] = ["center", "middle"];

  const each = (rows, paint) => rows.forEach((row, at) => {
    const [x, y] = view.toPixel(shown.xy[2 * row], shown.xy[2 * row + 1]);
    if (x > -20 && y > -20 && x < view.width + 20 && y < view.height + 20) paint(x / ratio, y / ratio, at);
  });
  const line = (path, colour, width = 2) => {
    for (const [stroke, wide] of [[around, width + 2.5], [colour, width]]) {
      [c.strokeStyle, c.lineWidth] = [stroke, wide];
      c.beginPath();
      path();
      c.stroke();
    }
  };
  const text = (words, x, y, size) => {
    [c.font, c.lineWidth, c.strokeStyle, c.fillStyle] = [`600 ${size}px system-ui, sans-serif`, 4, around, ink];
    c.strokeText(words, x, y);
    c.fillText(words, x, y);
  };
  const labels = (wanted, size) => { // those that would lie on each other are one
    const placed = [];
    for (const [words, x, y] of wanted) {
      const near = placed.find((one) => Math.abs(one.x - x) < size * 1.2 && Math.abs(one.y - y) < size);
      if (near) near.words += `,${words}`;
      else placed.push({ words, x, y });
    }
    for (const { words, x, y } of placed) text(words, x, y, size);
  };

  labels(shown.numbers.map(({ text: words, x, y }) => [words, ...view.toPixel(x, y).map((at) => at / ratio)]), 14);
  each(shown.inside ?? [], (x, y) => line(() => c.arc(x, y, 4, 0, 7), ink, 1));
  each(shown.history, (x, y) => line(() => c.arc(x, y, 5, 0, 7), own));
  const places = [];
  each(shown.list, (x, y, at) => {
    line(() => c.rect(x - 5, y - 5, 10, 10), listed);
    places.push([at + 1, x, y - 13]);
  });
  labels(places, 11);
  each(shown.item, (x, y) => line(() => {
    c.arc(x, y, 9, 0, 7);
    for (const [dx, dy] of [[1, 0], [-1, 0], [0, 1], [0, -1]]) {
      c.moveTo(x + dx * 9, y + dy * 9);
      c.lineTo(x + dx * 18, y + dy * 18);
    }
  }, ink));
  each(shown.hover, (x, y) => line(() => c.arc(x, y, 6, 0, 7), ink));
  c.setLineDash([6, 4]);
  line(() => {
    for (const corner of shown.lasso) c.lineTo(...view.toPixel(...corner).map((at) => at / ratio));
    c.closePath();
  }, ink, 1.5);
}
