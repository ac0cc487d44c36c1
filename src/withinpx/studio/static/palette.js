// One colour per object: near its own where the server knows it, else the palette's (palette.py).

import { h } from "./dom.js";

const BASE = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00"];
const SHADES = [(value) => value, (value) => 255 - 0.5 * (255 - value), (value) => 0.55 * value];
export const REFUSED = "#9A9A9A";
let own = []; // of the run on the screen

/** Use these colours, #RRGGBB by object number, from now on. */
export function useColours(colours) {
  own = colours ?? [];
}

/** The object's own colour; or six base colours, then lighter and darker ones, then from the start. */
export function colourOf(number) {
  if (own[number]) return own[number];
  const shade = SHADES[Math.floor(number / BASE.length) % SHADES.length];
  return `#${channels(BASE[number % BASE.length]).map((value) => Math.round(shade(value)).toString(16).padStart(2, "0")).join("")}`;
}

/** A small square of an object's colour, before its number. */
export const swatch = (number) => h("i", { class: "swatch", "aria-hidden": "true", style: { background: colourOf(number) } });

/** The outline of a line of this colour, so that it is visible on any background. */
export function outlineOf(colour) {
  const [red, green, blue] = channels(colour);
  return 0.299 * red + 0.587 * green + 0.114 * blue > 127 ? "rgba(0, 0, 0, .75)" : "rgba(255, 255, 255, .8)";
}

function channels(colour) {
  return [1, 3, 5].map((start) => parseInt(colour.slice(start, start + 2), 16));
}
