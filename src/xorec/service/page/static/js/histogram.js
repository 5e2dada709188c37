// How many items stand at each distance, with the place where a list ends.

import { h, svg } from "./dom.js";
import { count as inDigits, many } from "./figures.js";

const HIGH = 150, LEFT = 34, RIGHT = 8, BELOW = 28;

/** counts[d]: items at distance d (without the item itself); cut: of the last item of the list, or null. */
export function histogram(counts, cut, listed) {
  const wide = innerWidth < 700 ? 340 : 640, step = stepOf(counts.length, wide / 40);
  const most = Math.max(...counts, 1), bar = (wide - LEFT - RIGHT) / counts.length;
  const top = Math.log10(most + 1);
  const y = (count) => HIGH - (HIGH - 8) * Math.log10(count + 1) / top;
  const lines = [1, 10, 100, 1000, 10_000, 100_000, 1_000_000].filter((count) => count <= most);
  const words = tieWords(counts, cut, listed);
  return h("figure.histogram",
    svg("svg", { viewBox: `0 0 ${wide} ${HIGH + BELOW}`, role: "img", aria: { label: `Items at each distance. ${words}` } },
      lines.map((count) => [
        svg("line.grid", { x1: LEFT, x2: wide, y1: y(count), y2: y(count) }),
        svg("text", { x: LEFT - 4, y: y(count) + 4, "text-anchor": "end" }, short(count)),
      ]),
      counts.map((count, distance) => count > 0 && svg("rect", {
        class: distance > (cut ?? -1) ? "out" : distance === cut && listed < count ? "tie" : "in",
        x: LEFT + distance * bar + 0.5, width: Math.max(0.5, bar - 1), y: y(count), height: HIGH - y(count),
      }, svg("title", `distance ${distance}: ${many(count, "item")}`))),
      svg("line.grid", { x1: LEFT, x2: wide, y1: HIGH, y2: HIGH }),
      counts.map((_, distance) => distance % step === 0
        && svg("text", { x: LEFT + (distance + 0.5) * bar, y: HIGH + 13, "text-anchor": "middle" }, distance)),
      cut !== null && svg("path.cut", { d: `M${LEFT + (cut + 1) * bar} 0v${HIGH + 2}` }),
      svg("text", { x: wide, y: HIGH + 26, "text-anchor": "end" }, "distance")),
    h("figcaption", words, h("span.quiet", ` Heights are logarithmic.${cut === null ? "" : " Filled: in the list; pale: in part; empty: not."}`)));
}

/** The size of the tie where the list ends. */
function tieWords(counts, cut, listed) {
  if (cut === null) return "This model ranks by score, not by distance, so no bar is filled.";
  const all = inDigits(counts[cut]), there = counts[cut] === 1 ? "there is 1 item" : `there are ${all} items`;
  const part = listed >= counts[cut] ? (counts[cut] === 1 ? "it is in the list" : "all of them are in the list")
    : `${listed} of them ${listed === 1 ? "is" : "are"} in the list`;
  return `The list ends at distance ${cut}: ${there} there, ${part}. Among those the more popular come first.`;
}

function stepOf(count, labels) {
  return [1, 2, 4, 8, 16, 32, 64].find((one) => count / one <= labels) ?? 128;
}

function short(count) {
  return count < 1000 ? count : count < 1e6 ? `${count / 1000}k` : `${count / 1e6}M`;
}
