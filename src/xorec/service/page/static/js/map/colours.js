// What the bytes look like in both themes, and a legend that needs no colour.

import { h } from "../dom.js";
import { many } from "../figures.js";

const LOOKS = { // ink: of marks, around them, of the history, of the list
  light: {
    ground: "#ffffff", ink: ["#1c211f", "#ffffff", "#8a5a00", "#a8261c"], rest: ["#b4bab7", "#d3d7d4"], ramp: ["#c3ccd1", "#86b6c4", "#2f8fa3", "#27558c", "#35104f"],
    classes: ["#0072b2", "#d55e00", "#009070", "#c2569a", "#927000", "#3aa0dd", "#7b3294", "#a6561d", "#d7191c", "#5b6b2f"],
  },
  dark: {
    ground: "#1b201f", ink: ["#e7ece9", "#1b201f", "#e8b95a", "#ff9a8f"], rest: ["#5a6662", "#3c4643"], ramp: ["#3a4a52", "#2a6c86", "#33a58d", "#a9d162", "#fff7b8"],
    classes: ["#4aa8e8", "#ff8a4c", "#3ccf9e", "#ee94c8", "#e6c84d", "#a5dcff", "#c796ea", "#d6a15c", "#ff6b6b", "#b6cf7a"],
  },
};
const REST = ["other categories", "no category"];

/** The looks of the theme that is shown. */
export function theme() {
  const said = document.documentElement.dataset.theme;
  return LOOKS[said ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")];
}

const parts = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));

/** A colour as a pixel of an image: red is the lowest byte. */
export function pixel(hex) {
  const [red, green, blue] = parts(hex);
  return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
}

function between(ramp, share) {
  const at = share * (ramp.length - 1), low = Math.min(ramp.length - 2, Math.floor(at)), next = parts(ramp[low + 1]);
  const mixed = parts(ramp[low]).map((value, k) => Math.round(value + (next[k] - value) * (at - low)));
  return `#${mixed.map((value) => value.toString(16).padStart(2, "0")).join("")}`;
}

/** {colour, level} of all 256 bytes; what has a higher level is drawn above. only: the first byte of the band that
    alone is in colour, or null. */
export function looksOf({ legend, shown, by }, only) {
  const { ramp, classes, rest } = theme(), first = legend[0]?.first, wide = legend.at(-1)?.last - first || 1;
  const looks = Array.from({ length: 256 }, () => ({ colour: rest[1], level: 0 }));
  legend.forEach((band, at) => {
    if (only !== null && only !== band.first) return;
    const others = by === "bit" && !band.first ? 0 : REST.indexOf(band.label);
    for (let byte = band.first; byte <= band.last; byte++) {
      const strength = shown === "high" ? (byte - first) / wide : 1 - (byte - first) / wide;
      if (shown) looks[byte] = { colour: between(ramp, strength), level: 1 + Math.round(254 * strength) };
      else if (others >= 0) looks[byte] = { colour: rest[others], level: 1 };
      else looks[byte] = { colour: classes[at % classes.length], level: 2 + at };
    }
  });
  return looks;
}

/** The letter by which a class is named on the map. */
export const letterOf = (at) => String.fromCharCode(65 + (at % 26));

/** Letter of a class, swatch, name and items of each band; a button shows it alone in colour. */
export function legendList({ legend, by }, looks, only, choose) {
  return h("ol.legend", legend.map((band, at) => {
    const swatch = h("span.swatch");
    swatch.style.background = `linear-gradient(90deg, ${looks[band.first].colour}, ${looks[band.last].colour})`;
    return h("li", h("button", {
      type: "button",
      title: "Show these alone in colour, or all again",
      aria: { pressed: String(only === band.first) },
      onclick: () => choose(only === band.first ? null : band.first),
    }, by === "category" && h("span.mono", letterOf(at)), swatch, h("span.what", band.label),
    h("span.number.quiet", many(band.count, "item"))));
  }));
}
