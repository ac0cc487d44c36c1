// One colour per object, the same as in every picture withinpx draws (palette.py).

import { h } from "./dom.js";

const BASE = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00"];
const CHANGES = [(value) => value, (value) => 255 - 0.5 * (255 - value), (value) => 0.55 * value];
export const REFUSED = "#9A9A9A";

/** Six clear colours, then lighter, then darker ones, then from the start. */
export function colourOf(each) {
  const change = CHANGES[Math.floor(each / BASE.length) % CHANGES.length];
  return `#${channels(BASE[each % BASE.length]).map((value) => Math.round(change(value)).toString(16).padStart(2, "0")).join("")}`;
}

/** A small square of an object's colour, before its number. */
export const swatch = (each) => h("i", { class: "swatch", "aria-hidden": "true", style: { background: colourOf(each) } });

/** What a line of this colour is cased with, so that it shows on any picture. */
export function casingOf(colour) {
  const [red, green, blue] = channels(colour);
  return 0.299 * red + 0.587 * green + 0.114 * blue > 127 ? "rgba(0, 0, 0, .75)" : "rgba(255, 255, 255, .8)";
}

function channels(colour) {
  return [1, 3, 5].map((start) => parseInt(colour.slice(start, start + 2), 16));
}
