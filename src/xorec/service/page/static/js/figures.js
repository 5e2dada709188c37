// Numbers as people read them, and two small drawings of them.

import { svg } from "./dom.js";

/** A number with as many digits as say something. */
export function short(value, unit = "") {
  if (value === null || value === undefined) return "–";
  const digits = Math.abs(value) >= 100 || Number.isInteger(value) ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return `${value.toLocaleString("en", { maximumFractionDigits: digits })}${unit && ` ${unit}`}`;
}

/** A whole number; so many of something. */
export const count = (value) => value.toLocaleString("en");
export const many = (value, what) => `${count(value)} ${what}${value === 1 ? "" : "s"}`;

/** A score: the same digits in every row of a list. */
export const scored = (value) => (Number.isInteger(value) ? count(value) : value.toFixed(Math.abs(value) < 100 ? 3 : 1));

/** A measure of lists: four decimals. */
export function measure(value) {
  return value === null || value === undefined ? "not known" : value.toFixed(4);
}

/** A share as a percentage. */
export function percent(share) {
  return share === null || share === undefined ? "–" : `${(100 * share).toFixed(share && share < 0.1 ? 1 : 0)} %`;
}

/** How long ago, in words. */
export function ago(moment, now = Date.now()) {
  const seconds = Math.max(0, (now - new Date(moment).getTime()) / 1000);
  if (seconds < 90) return `${Math.round(seconds)} s ago`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min ago`;
  if (seconds < 129600) return `${Math.round(seconds / 3600)} h ago`;
  return `${Math.round(seconds / 86400)} days ago`;
}

/** A line through values, the last at the right edge; nulls are gaps. label: for who does not see it. */
export function sparkline(values, label, width = 120) {
  const high = Math.max(...values.map((value) => value ?? 0), 1e-9);
  const parts = [];
  let pen = "M";
  values.forEach((value, at) => {
    if (value === null) {
      pen = "M";
      return;
    }
    const x = width - values.length + at + 1, y = 31 - (30 * value) / high;
    parts.push(`${pen}${x.toFixed(0)} ${y.toFixed(1)}`);
    if (pen === "M") parts.push(`h0.6`); // a lone value is a dot
    pen = "L";
  });
  return svg("svg.spark", { viewBox: `0 0 ${width} 32`, preserveAspectRatio: "none", role: "img", aria: { label } },
    svg("line", { x1: 0, y1: 31.5, x2: width, y2: 31.5, class: "ground" }),
    svg("path", { d: parts.join(""), fill: "none" }));
}

/** A value as a dot on its interval, on a scale from 0 to `most`. */
export function intervalBar(measured, most) {
  const x = (value) => (100 * value) / most;
  const { value, low, high } = measured;
  return svg("svg.interval", { viewBox: "0 0 100 10", preserveAspectRatio: "none", aria: { hidden: "true" } },
    svg("line", { x1: 0, y1: 5, x2: 100, y2: 5, class: "ground" }),
    low !== null && svg("line", { x1: x(low), y1: 5, x2: x(high), y2: 5, class: "range" }),
    svg("line", { x1: x(value), y1: 0.5, x2: x(value), y2: 9.5, class: "value" }));
}
