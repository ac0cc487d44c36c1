// The frames with what was found in them: step, seek, play; the frame's table; the tracks as a file.

import { errorBox, h, latestWins, saveFile } from "../studio/static/dom.js";
import { FrameView, wholeOf } from "../studio/static/frame_view.js";
import { drawOverlay } from "../studio/static/overlay.js";
import { swatch } from "../studio/static/palette.js";
import { boundText, counted, reasonText } from "../studio/static/text.js";
import { indices, stateAt, Timeline, timeText } from "../studio/static/timeline.js";
import { about } from "./runtime.js";

const INTERVAL_MS = 40; // between frames that are played, if they can be read so fast

/** A view of frames with their overlay; `row` is the one that is painted. */
export function frameView(tracks, name, signal) {
  const view = new FrameView(wholeOf(about.recording), {
    label: `${name} with the objects that were found`,
    signal,
    paint: (pen) => view.row !== undefined && drawOverlay(pen, view, tracks, view.row),
  });
  return view;
}

export class Result {
  constructor(clip, tracks, signal) {
    Object.assign(this, { clip, tracks, row: 0, playing: false });
    this.errors = errorBox();
    this.view = frameView(tracks, clip.name, signal);
    this.timeline = new Timeline(tracks, { signal, onSeek: (row) => this.pauseAt(row) });
    this.readout = h("output", { class: "readout" });
    this.table = h("table", { class: "plain-table frame-table" });
    this.playButton = h("button", { type: "button", class: "primary play", onclick: () => this.toggle() }, "Play");
    this.show = latestWins((row) => this.showRow(row));
    this.element = this.layout();
    this.element.addEventListener("keydown", (event) => this.key(event));
    signal.addEventListener("abort", () => (this.playing = false));
    this.pauseAt(0);
  }

  layout() {
    const step = (by, label, title) => h("button", { type: "button", class: "quiet step", title, "aria-label": title, onclick: () => this.pauseAt(this.row + by) }, label);
    const controls = h("div", { class: "controls" },
      h("div", { class: "control-group" }, step(-1, "‹", "One frame back"), this.playButton, step(1, "›", "One frame on"), this.readout));
    return h("div", { class: "split" },
      h("section", { class: "player", "aria-label": "The clip" }, this.view.element, controls, this.timeline.element, this.errors.element),
      h("div", { class: "split-side" },
        h("section", { class: "card" }, h("h2", {}, "In this frame"), h("div", { class: "wide" }, this.table),
          h("p", { class: "soft small legend" }, "Cross: the position. Square: the theorem’s bound, the centre of the object lies inside it. Grey and dashed, with a question mark: refused, without a bound.")),
        h("section", { class: "card" }, h("h2", {}, "In all frames"), h("div", { class: "wide" }, this.summary()),
          h("div", { class: "buttons" }, h("button", { type: "button", class: "primary", id: "save", onclick: () => this.save() }, "Save the tracks (CSV)")))));
  }

  summary() {
    const { tracks } = this;
    const frames = (index, state) => tracks.frames.filter((_, row) => stateAt(tracks, index, row) === state).length;
    const largest = (index) => boundOf(tracks.bound_px[index].reduce((most, bound) => (bound === null ? most : Math.max(most ?? 0, bound)), null), 1);
    return h("table", { class: "plain-table", id: "summary" },
      h("thead", {}, h("tr", {}, ["object", "certified", "refused", "absent", "widest, px"].map((title) => h("th", { scope: "col" }, title)))),
      h("tbody", {}, indices(tracks).map((index) => h("tr", {}, h("th", { scope: "row" }, swatch(index), index),
        ["certified", "refused", "absent"].map((state) => h("td", {}, frames(index, state))), h("td", {}, largest(index))))));
  }

  /** Its cells hold what the file holds, bounds rounded up. */
  fill(row) {
    const { tracks } = this;
    const line = (index) => {
      const state = stateAt(tracks, index, row);
      const verdict = h("span", { class: `pill ${{ certified: "good", refused: "bad", absent: "plain" }[state]}` }, state);
      const digits = (name) => tracks[name][index][row]?.toFixed(2) ?? "–";
      const cells = [digits("x"), digits("y"), boundOf(tracks.bound_px[index][row], 2), verdict];
      const why = state === "refused" && h("tr", { class: "why" }, h("td", { colspan: 5 }, `Object ${index}: ${reasonText(tracks.reason[index][row])}.`));
      return [h("tr", {}, h("th", { scope: "row" }, swatch(index), index), cells.map((cell) => h("td", {}, cell))), why];
    };
    this.table.replaceChildren(
      h("thead", {}, h("tr", {}, ["object", "x, px", "y, px", "bound, px", "verdict"].map((title) => h("th", { scope: "col" }, title)))),
      h("tbody", {}, indices(tracks).map(line)));
  }

  async showRow(row) {
    try {
      const image = await this.clip.show(row);
      this.view.row = row;
      this.view.show(image);
      this.element.dataset.shown = row;
      this.errors.show(null);
    } catch (error) {
      this.playing = false;
      this.errors.show(error);
    }
  }

  seek(row) {
    this.row = Math.min(Math.max(row, 0), this.tracks.length - 1);
    this.timeline.move(this.row);
    this.readout.textContent = [`Frame ${this.row}`, timeText(this.tracks, this.row)].filter(Boolean).join(" · ");
    this.fill(this.row);
    return this.show(this.row);
  }

  pauseAt(row) {
    this.playing = false;
    this.playButton.textContent = "Play";
    this.seek(row);
  }

  async toggle() {
    if (this.playing) return this.pauseAt(this.row);
    this.playing = true;
    this.playButton.textContent = "Pause";
    if (this.row === this.tracks.length - 1) await this.seek(0);
    while (this.playing && this.row < this.tracks.length - 1) {
      await Promise.all([this.seek(this.row + 1), new Promise((resolve) => setTimeout(resolve, INTERVAL_MS))]);
    }
    if (this.playing) this.pauseAt(this.row);
  }

  key(event) {
    const steps = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity };
    if (!(event.key in steps) || event.target.matches("input") || event.altKey || event.ctrlKey || event.metaKey) return;
    this.pauseAt(this.row + steps[event.key]);
    event.preventDefault();
  }

  save() {
    saveFile(new Blob([this.tracks.csv()], { type: "text/csv" }), `${this.clip.stem}_tracks.csv`);
  }
}

/** Without the unit, which the column's title has. */
const boundOf = (bound, digits) => boundText(bound, digits).replace(" px", "");

/** How much of a clip is certified, as a sentence. */
export function verdictSentence(tracks) {
  const { present, certified } = tracks.counts;
  return `${certified} of ${counted(present, "position")} certified in ${counted(tracks.length, "frame")}.`;
}
