// Which frames are certified, which are refused, which show nothing: a lane per object, and the frame that is shown.

import { h, onResize, s } from "./dom.js";
import { numberOf } from "./marks.js";
import { colourOf, swatch } from "./palette.js";
import { because, counted } from "./words.js";

const LANE = 14;
const GAP = 5;

export function stateAt(tracks, each, row) {
  if (!tracks.present[each][row]) return "absent";
  return tracks.certified[each][row] ? "certified" : "refused";
}

/** Runs of equal state and reason: {state, reason, from, to} in rows, both included. */
export function stretches(tracks, each) {
  const found = [];
  tracks.frames.forEach((_, row) => {
    const state = stateAt(tracks, each, row);
    const reason = state === "refused" ? tracks.reason[each][row] : "";
    const last = found.at(-1);
    if (last && last.state === state && last.reason === reason) last.to = row;
    else found.push({ state, reason, from: row, to: row });
  });
  return found;
}

/** The next row after this one in which an object is refused, past the stretch that is being looked at; round the end. */
export function nextRefused(tracks, row) {
  const starts = new Set();
  for (let each = 0; each < tracks.objects; each++) {
    for (const stretch of stretches(tracks, each)) if (stretch.state === "refused") starts.add(stretch.from);
  }
  const sorted = [...starts].sort((one, other) => one - other);
  return sorted.find((start) => start > row) ?? sorted[0] ?? null;
}

export class Timeline {
  constructor(tracks, { signal, onSeek }) {
    this.tracks = tracks;
    this.lanes = h("div", { class: "lanes", "aria-hidden": "true" });
    this.slider = h("input", { type: "range", min: 0, max: tracks.frames.length - 1, step: 1, value: 0, class: "seek", "aria-label": "Frame", oninput: () => onSeek(Number(this.slider.value)) });
    this.element = h("div", { class: "timeline" },
      h("div", { class: "lane-names", "aria-hidden": "true" }, Array.from({ length: tracks.objects }, (_, each) => h("span", {}, numberOf(tracks, each)))),
      h("div", { class: "lane-box" }, this.lanes, this.slider));
    onResize(this.lanes, signal, () => this.draw());
    this.lanes.addEventListener("pointerdown", (event) => {
      const box = this.lanes.getBoundingClientRect();
      onSeek(Math.min(tracks.frames.length - 1, Math.max(0, Math.floor(((event.clientX - box.left) / box.width) * tracks.frames.length))));
    });
  }

  draw() {
    const width = this.lanes.clientWidth;
    if (!width) return;
    const { tracks } = this;
    const height = tracks.objects * (LANE + GAP) - GAP;
    const step = width / tracks.frames.length;
    this.head = s("rect", { class: "playhead", y: -2, height: height + 4, width: 2, rx: 1 });
    this.lanes.replaceChildren(s("svg", { width, height, viewBox: `0 0 ${width} ${height}` },
      s("defs", {}, s("pattern", { id: "hatch", width: 5, height: 5, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
        s("rect", { width: 5, height: 5, class: "hatch-ground" }), s("line", { x1: 0, x2: 0, y1: 0, y2: 5, class: "hatch-line" }))),
      Array.from({ length: tracks.objects }, (_, each) => stretches(tracks, each).map(({ state, from, to }) => {
        const slim = state === "absent" ? LANE - 4 : 0;
        return s("rect", { class: `lane ${state}`, x: from * step, width: Math.max(1, (to - from + 1) * step), y: each * (LANE + GAP) + slim / 2, height: LANE - slim, fill: state === "certified" ? colourOf(numberOf(tracks, each)) : null });
      })),
      this.head));
    this.move(this.row ?? 0);
  }

  move(row) {
    this.row = row;
    const { frames, times_s: times } = this.tracks;
    this.slider.value = row;
    const sure = Array.from({ length: this.tracks.objects }, (_, each) => stateAt(this.tracks, each, row));
    const of = sure.filter((state) => state !== "absent").length;
    this.slider.setAttribute("aria-valuetext", `frame ${frames[row]}, ${times[row].toFixed(2)} s: ${sure.filter((state) => state === "certified").length} of ${of} certified`);
    this.head?.setAttribute("x", ((row + 0.5) / frames.length) * this.lanes.clientWidth - 1);
  }
}

/** The same in words, each refused stretch a button that goes there. */
export function stretchList(tracks, onSeek) {
  return h("ul", { class: "stretches" }, Array.from({ length: tracks.objects }, (_, each) => {
    const found = stretches(tracks, each);
    const count = (state) => found.filter((one) => one.state === state).reduce((sum, { from, to }) => sum + to - from + 1, 0);
    const refused = found.filter((one) => one.state === "refused");
    return h("li", {},
      swatch(numberOf(tracks, each)),
      `Object ${numberOf(tracks, each)}: ${count("certified")} of ${counted(tracks.frames.length, "frame")} certified${count("absent") ? `, ${count("absent")} do not show it` : ""}.`,
      refused.length
        ? h("ul", {}, refused.map(({ from, to, reason }) =>
          h("li", {}, h("button", { type: "button", class: "link", onclick: () => onSeek(from) }, from === to ? `Frame ${tracks.frames[from]}` : `Frames ${tracks.frames[from]} to ${tracks.frames[to]}`), ` refused because ${because(reason)}.`)))
        : null);
  }));
}
