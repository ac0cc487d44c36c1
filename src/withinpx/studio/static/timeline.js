// Certified, refused and absent frames: one lane per object, and the current frame.

import { h, onResize, s } from "./dom.js";
import { byPerson, nameOf, numberOf } from "./overlay.js";
import { colourOf, swatch } from "./palette.js";
import { counted, reasonText, sentenceCase } from "./text.js";

const LANE = 14;
const GAP = 5;
const LISTED = 30; // refused stretches of an object in the list

/** The objects by their place in the tracks, without those that a person deleted or merged into others. */
export const indices = (tracks) => Array.from({ length: tracks.objects }, (_, index) => index).filter((index) => !tracks.gone?.has(index));

export function stateAt(tracks, index, row) {
  if (!tracks.present[index][row]) return "absent";
  if (byPerson(tracks, index, row)) return "person";
  return tracks.certified[index][row] ? "certified" : "refused";
}

/** Why objects are refused in a frame, one sentence without a full stop per object. */
export const refusals = (tracks, row) =>
  indices(tracks).filter((index) => stateAt(tracks, index, row) === "refused").map((index) => `Object ${numberOf(tracks, index)}: ${reasonText(tracks.reason[index][row])}`);

/** What a person changed in a frame, one sentence without a full stop per object. */
export const changesByPerson = (tracks, row) =>
  indices(tracks).flatMap((index) => [
    byPerson(tracks, index, row) && `Object ${numberOf(tracks, index)}: set by a person, not certified`,
    tracks.moved?.[index][row] && `Object ${numberOf(tracks, index)}: a person said which object this is`,
  ].filter(Boolean));

/** The time of a frame, empty for recordings without a clock. */
export const timeText = (tracks, row) => (tracks.times_s ? `${tracks.times_s[row].toFixed(2)} s` : "");

/** Stretches of equal state and reason: {state, reason, from, to} in rows, both included. */
export function stretches(tracks, index) {
  const found = [];
  tracks.frames.forEach((_, row) => {
    const state = stateAt(tracks, index, row);
    const reason = state === "refused" ? tracks.reason[index][row] : "";
    const last = found.at(-1);
    if (last && last.state === state && last.reason === reason) last.to = row;
    else found.push({ state, reason, from: row, to: row });
  });
  return found;
}

/** The first row of the next refused stretch, from the start again after the last one. */
export function nextRefused(tracks, row) {
  const starts = indices(tracks).flatMap((index) => stretches(tracks, index)).filter(({ state }) => state === "refused").map(({ from }) => from).sort((one, other) => one - other);
  return starts.find((start) => start > row) ?? starts[0] ?? null;
}

/** The objects whose link to the frame before is a guess. */
export const doubtful = (tracks, row) => indices(tracks).filter((index) => tracks.identity?.[index][row] === 0).map((index) => numberOf(tracks, index));

/** The next row in which an identity is a guess after one in which it was not, from the start again after the last one. */
export function nextDoubtful(tracks, row) {
  const starts = tracks.frames.map((_, at) => at).filter((at) => doubtful(tracks, at).some((number) => at === 0 || !doubtful(tracks, at - 1).includes(number)));
  return starts.find((start) => start > row) ?? starts[0] ?? null;
}

/** One path for each state: a long recording has thousands of stretches. */
function lanePaths(tracks, index, top, step) {
  const paths = {};
  for (const { state, from, to } of stretches(tracks, index)) {
    const inset = state === "absent" ? LANE - 4 : 0;
    const [left, width] = [from * step, Math.max(1, (to - from + 1) * step)];
    paths[state] = `${paths[state] ?? ""}M${left.toFixed(2)} ${top + inset / 2}h${width.toFixed(2)}v${LANE - inset}h${-width.toFixed(2)}z`;
  }
  return Object.entries(paths).map(([state, d]) => s("path", { class: `lane ${state}`, d, fill: state === "certified" || state === "person" ? colourOf(numberOf(tracks, index)) : null }));
}

export class Timeline {
  constructor(tracks, { signal, onSeek }) {
    this.tracks = tracks;
    this.lanes = h("div", { class: "lanes", "aria-hidden": "true" });
    this.slider = h("input", { type: "range", min: 0, max: tracks.frames.length - 1, step: 1, value: 0, class: "seek", "aria-label": "Frame", oninput: () => onSeek(Number(this.slider.value)) });
    this.element = h("div", { class: "timeline" },
      (this.names = h("div", { class: "lane-names", "aria-hidden": "true" })),
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
    const height = indices(tracks).length * (LANE + GAP) - GAP;
    this.names.replaceChildren(...indices(tracks).map((index) => h("span", {}, numberOf(tracks, index))));
    const step = width / tracks.frames.length;
    this.playhead = s("rect", { class: "playhead", y: -2, height: height + 4, width: 2, rx: 1 });
    this.lanes.replaceChildren(s("svg", { width, height, viewBox: `0 0 ${width} ${height}` },
      s("defs", {}, s("pattern", { id: "hatch", width: 5, height: 5, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
        s("rect", { width: 5, height: 5, class: "hatch-ground" }), s("line", { x1: 0, x2: 0, y1: 0, y2: 5, class: "hatch-line" }))),
      indices(tracks).map((index, lane) => lanePaths(tracks, index, lane * (LANE + GAP), step)),
      this.playhead));
    this.move(this.row ?? 0);
  }

  move(row) {
    this.row = row;
    const { tracks } = this;
    this.slider.value = row;
    const states = indices(tracks).map((index) => stateAt(tracks, index, row)).filter((state) => state !== "absent");
    const frame = [`frame ${tracks.frames[row]}`, timeText(tracks, row)].filter(Boolean).join(", ");
    this.slider.setAttribute("aria-valuetext", `${frame}: ${states.filter((state) => state === "certified").length} of ${states.length} certified`);
    this.playhead?.setAttribute("x", ((row + 0.5) / tracks.frames.length) * this.lanes.clientWidth - 1);
  }
}

/** The same as text, with a button for each refused stretch. */
export function stretchList(tracks, onSeek) {
  return h("ul", { class: "stretches" }, indices(tracks).map((index) => {
    const found = stretches(tracks, index);
    const count = (state) => found.filter((stretch) => stretch.state === state).reduce((sum, { from, to }) => sum + to - from + 1, 0);
    const refused = found.filter((stretch) => stretch.state === "refused");
    return h("li", {},
      swatch(numberOf(tracks, index)),
      `${sentenceCase(nameOf(tracks, index))}: ${count("certified")} of ${counted(tracks.frames.length, "frame")} certified${count("person") ? `, ${count("person")} set by a person` : ""}${count("absent") ? `, not visible in ${count("absent")}` : ""}.`,
      refused.length
        ? h("ul", {}, refused.slice(0, LISTED).map(({ from, to, reason }) =>
          h("li", {}, h("button", { type: "button", class: "link", onclick: () => onSeek(from) }, from === to ? `Frame ${tracks.frames[from]}` : `Frames ${tracks.frames[from]} to ${tracks.frames[to]}`), ` refused because ${reasonText(reason)}.`)),
          refused.length > LISTED && h("li", {}, `and ${counted(refused.length - LISTED, "more stretch", "more stretches")}`))
        : null);
  }));
}
