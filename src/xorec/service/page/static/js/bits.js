// Codes drawn as bits: one cell a bit, in the order of the code. What is said by colour is said by
// height, too: a full cell is a bit that is the same (or set), a low one a bit that differs.

import { h, svg } from "./dom.js";
import { scored } from "./figures.js";

const ROW = 64, CELL = 4, BYTE_GAP = 2, HIGH = 13, BAR = 240;

/** The bits of a code in hex: bit 0 is the lowest bit of the first byte. */
export function bitsOf(hex, bits) {
  const found = new Uint8Array(bits);
  for (let at = 0; at < bits; at++) {
    const byte = parseInt(hex.slice(2 * (at >> 3), 2 * (at >> 3) + 2), 16);
    found[at] = (byte >> (at & 7)) & 1;
  }
  return found;
}

/** Where two codes are the same: 1; where they differ: 0. */
export function sameBits(one, other, bits) {
  const a = bitsOf(one, bits), b = bitsOf(other, bits);
  return a.map((bit, at) => Number(bit === b[at]));
}

/** A picture of cells that are full (1) or low (0), at most 64 in a row. */
export function drawBits(cells, label) {
  const rows = Math.ceil(cells.length / ROW), high = Math.max(3, Math.min(HIGH, Math.floor(48 / rows)));
  const full = [], low = [];
  cells.forEach((bit, at) => {
    const place = at % ROW, x = place * CELL + (place >> 3) * BYTE_GAP, y = Math.floor(at / ROW) * (high + 2);
    if (bit) full.push(`M${x} ${y}h${CELL - 1}v${high}h${1 - CELL}z`);
    else low.push(`M${x} ${y + high - 2}h${CELL - 1}v2h${1 - CELL}z`);
  });
  const last = Math.min(cells.length, ROW) - 1, wide = last * CELL + (last >> 3) * BYTE_GAP + CELL;
  const tall = rows * (high + 2) - 2;
  return svg("svg", {
    class: "bits", viewBox: `0 0 ${wide} ${tall}`, width: wide, height: tall, role: "img", aria: { label },
  }, svg("path.low", { d: low.join("") }), svg("path.full", { d: full.join("") }));
}

/** How to read them: who has a code besides the items, how many bits, whether they only found what scores have ranked. */
export const legendOf = (who, bits, byScore) => [
  `Each item${who} has a code of ${bits} bits. High bar: the bit agrees; low: it differs. Distance: the number of low bars.`,
  byScore && " They are only the first step: codes find items, a finer score ranks them.",
];

/** How far an item is: cells that are the same and cells that differ, and their number; score: where it orders the list. */
export function distanceRow(distance, mine, its, bits, score = null) {
  const cells = sameBits(mine, its, bits), differ = cells.reduce((sum, bit) => sum + 1 - bit, 0);
  const far = distance ?? differ;
  return h("div.far",
    drawBits(cells, `${differ} of ${bits} bits differ`),
    h("span.number", { title: differ === far ? null : `${differ} bits differ; the model counts ${far} of them` },
      score !== null && `score ${scored(score)}, `, "distance ", h("strong", far), ` of ${bits}`));
}

/** Where there are no codes: the score as a bar, against the scores of the list. */
export function scoreRow(score, scores, words = `score ${scored(score)}`) {
  const least = Math.min(0, ...scores), most = Math.max(...scores), span = most - least || 1;
  const share = least < 0 ? 0.1 + 0.9 * (score - least) / span : score / span;
  return h("div.far",
    svg("svg.bits", { viewBox: `0 0 ${BAR} ${HIGH}`, width: BAR, height: HIGH, role: "img", aria: { label: words } },
      svg("rect.low", { width: BAR, height: 2, y: HIGH - 2 }),
      svg("rect.full", { width: Math.round(BAR * share), height: HIGH })),
    h("span.number", words));
}
