// The recording with its detections: play, step, seek, jump to refused frames.

import { announce, debounce, errorBox, h } from "./dom.js";
import { AHEAD, FrameCache } from "./frame_cache.js";
import { FrameView, viewOf } from "./frame_view.js";
import { drawOverlay, nameOf, numberOf } from "./overlay.js";
import { swatch } from "./palette.js";
import { playRows } from "./playback.js";
import { boundText, counted, reasonText } from "./text.js";
import { changesByPerson, doubtful, indices, nextDoubtful, nextRefused, refusals, stateAt, Timeline, timeText } from "./timeline.js";
import { Zoom } from "./zoom.js";

const SPEEDS = [0.1, 0.25, 0.5, 1, 2];
const LAYERS = [["trails", "Trails"], ["bounds", "Bounds"], ["raw", "Raw z"]];
const FPS = 25; // of recordings without a clock
const SHARP_AFTER_MS = 200;

export class Player {
  constructor(run, tracks, { signal, onRow }) {
    this.tracks = tracks;
    this.times = tracks.times_s ?? tracks.frames.map((_, row) => row / FPS);
    this.frames = new FrameCache(run, signal);
    this.row = 0;
    this.speed = 1;
    this.playing = false;
    this.layers = { trails: true, bounds: true, raw: false };
    this.onRow = onRow;
    this.errors = errorBox();
    this.frameView = new FrameView(viewOf(run), {
      label: `${run.name} with the detected objects`,
      describedBy: "frame-table",
      signal,
      paint: (pen, view) => drawOverlay(pen, view, tracks, this.row, this.layers),
    });
    this.zoom = new Zoom(this.frameView, signal, () => this.sharpen());
    this.sharpen = debounce(SHARP_AFTER_MS, () => this.showSharp());
    this.timeline = new Timeline(tracks, { signal, onSeek: (row) => this.seek(row) });
    this.playButton = h("button", { type: "button", class: "primary play", onclick: () => this.toggle() }, "Play");
    this.readout = h("output", { class: "readout", "aria-live": "off" });
    this.table = h("table", { class: "plain-table frame-table", id: "frame-table" });
    this.element = h("section", { class: "player", "aria-label": "The recording" },
      h("div", { class: "stage" }, this.frameView.element, this.zoom.buttons), this.controls(), this.timeline.element, this.errors.element);
    this.element.addEventListener("keydown", (event) => this.key(event));
    document.addEventListener("keydown", (event) => event.target === document.body || event.target.id === "main" ? this.key(event) : null, { signal });
    signal.addEventListener("abort", () => (this.playing = false));
    this.seek(0);
  }

  controls() {
    const step = (by, label, name) => h("button", { type: "button", class: "quiet step", "aria-label": name, title: name, onclick: () => this.pauseAt(this.row + by) }, label);
    const anyRefused = nextRefused(this.tracks, -1) !== null;
    return h("div", { class: "controls" },
      h("div", { class: "control-group" }, step(-1, "‹", "One frame back"), this.playButton, step(1, "›", "One frame on"), this.readout),
      h("div", { class: "control-group" },
        h("button", { type: "button", id: "next-refused", disabled: !anyRefused, onclick: () => this.toRefused() }, anyRefused ? "Next refused frame" : "No refused frame"),
        this.tracks.identity && h("button", { type: "button", id: "next-doubtful", disabled: nextDoubtful(this.tracks, -1) === null, onclick: () => this.toDoubtful() }, nextDoubtful(this.tracks, -1) === null ? "No doubtful identity" : "Next doubtful identity"),
        h("label", { class: "inline" }, h("span", {}, "Speed"),
          h("select", { "aria-label": "Speed", onchange: (event) => this.setSpeed(Number(event.target.value)) }, SPEEDS.map((speed) => h("option", { value: speed, selected: speed === 1 }, `${speed} ×`)))),
        h("fieldset", { class: "inline layers" }, h("legend", { class: "hidden" }, "Overlay"),
          LAYERS.map(([name, title]) => h("label", { class: "check" }, h("input", { type: "checkbox", checked: this.layers[name], onchange: (event) => this.setLayer(name, event.target.checked) }), h("span", {}, title))))));
  }

  setLayer(name, on) {
    this.layers[name] = on;
    this.frameView.draw();
  }

  setSpeed(speed) {
    this.speed = speed;
    if (this.playing) this.play();
  }

  key(event) {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const inField = event.target.matches("input, select");
    const keys = { ArrowLeft: () => this.pauseAt(this.row - 1), ArrowRight: () => this.pauseAt(this.row + 1), Home: () => this.pauseAt(0), End: () => this.pauseAt(Infinity) };
    if (keys[event.key] && !inField) keys[event.key]();
    else if (event.key === " " && !event.target.matches("button, input, select, a")) this.toggle();
    else if (!event.target.matches("input:not([type=range], [type=checkbox]), select") && this.zoom.key(event)) announce(`Zoom ${this.zoom.level.textContent}`);
    else if (event.key === "n" && !event.target.matches("select") && this.element.contains(event.target)) this.toRefused();
    else if (event.key === "i" && this.tracks.identity && !event.target.matches("select") && this.element.contains(event.target)) this.toDoubtful();
    else return;
    event.preventDefault();
  }

  toRefused() {
    const row = nextRefused(this.tracks, this.row);
    if (row === null) return announce("No frame is refused.");
    this.pauseAt(row);
    announce(`Frame ${this.tracks.frames[row]}, refused. ${refusals(this.tracks, row).join("; ")}.`);
  }

  toDoubtful() {
    const row = nextDoubtful(this.tracks, this.row);
    if (row === null) return announce("Every identity is proved.");
    this.pauseAt(row);
    announce(`Frame ${this.tracks.frames[row]}: the identity of object ${doubtful(this.tracks, row).join(", ")} is a guess.`);
  }

  toggle() {
    if (this.playing) this.pause();
    else this.play();
  }

  pause() {
    this.playing = false;
    this.playButton.textContent = "Play";
  }

  pauseAt(row) {
    this.pause();
    this.seek(row);
  }

  /** By the times of the recording. */
  play() {
    const { times, frames, tracks } = this;
    const last = times.length - 1;
    if (this.row >= last) this.seek(0);
    const playing = (this.playing = Symbol("playing"));
    this.playButton.textContent = "Pause";
    playRows(times, {
      last,
      speed: this.speed,
      row: () => this.row,
      active: () => this.playing === playing,
      ready: (row) => frames.ready(tracks.frames[row]),
      load: (row) => frames.get(tracks.frames[row]),
      seek: (row) => this.seek(row),
      pause: () => this.pause(),
    });
  }

  seek(row) {
    const { tracks, frames } = this;
    this.row = Math.min(Math.max(row, 0), tracks.frames.length - 1);
    const shown = this.row;
    const ready = frames.ready(tracks.frames[shown]);
    if (ready) this.frameView.show(ready, frames.view);
    else {
      frames.get(tracks.frames[shown]).then((image) => {
        this.errors.show(null);
        if (this.row === shown) this.frameView.show(image, frames.view);
      }, this.errors.show);
    }
    frames.prefetch(tracks.frames.slice(shown + 1, shown + 1 + AHEAD));
    this.sharpen();
    this.timeline.move(shown);
    this.readout.textContent = [`Frame ${tracks.frames[shown]}`, timeText(tracks, shown)].filter(Boolean).join(" · ");
    this.fillTable();
    this.onRow?.(shown);
  }

  /** Where the image is magnified, in all of the recording's pixels. */
  async showSharp() {
    const shown = this.row;
    if (this.playing || this.frameView.zoom === 1) return;
    const image = await this.frames.sharp(this.tracks.frames[shown]).catch(() => null);
    if (image && this.row === shown) this.frameView.show(image, this.frames.view);
  }

  fillTable() {
    const { tracks, row } = this;
    const note = [...refusals(tracks, row), ...changesByPerson(tracks, row)].map((refusal) => `${refusal}.`).join(" ");
    this.table.replaceChildren(
      h("caption", { class: "hidden" }, `Frame ${tracks.frames[row]}: ${counted(tracks.objects, "object")}`),
      h("thead", {}, h("tr", {}, ["Object", "x", "y", "Bound", ""].map((name) => h("th", { scope: "col" }, name || h("span", { class: "hidden" }, "Verdict"))))),
      h("tbody", {}, indices(tracks).map((index) => this.tableRow(index))),
      h("tfoot", {}, h("tr", {}, h("td", { colspan: 5, class: "small soft" }, note || "px of the recording; (0, 0) is its top-left corner."))));
  }

  /** After the tracks have changed. */
  refresh() {
    this.timeline.draw();
    this.frameView.draw();
    this.fillTable();
  }

  tableRow(index) {
    const { tracks, row } = this;
    const state = stateAt(tracks, index, row);
    const number = numberOf(tracks, index);
    const cell = (name) => h("td", {}, tracks[name][index][row] === null ? "–" : tracks[name][index][row].toFixed(1));
    return h("tr", { class: state }, h("th", { scope: "row" }, swatch(number), h("span", { class: "object-label", title: nameOf(tracks, index) }, nameOf(tracks, index) === `object ${number}` ? number : nameOf(tracks, index))), cell("x"), cell("y"),
      h("td", {}, state === "certified" ? boundText(tracks.bound_px[index][row]) : "none"),
      h("td", { class: "state" }, h("span", { class: `pill ${{ certified: "good", refused: "bad", absent: "plain", person: "mixed" }[state]}`, title: state === "person" ? "set by a person, not certified" : state === "refused" ? reasonText(tracks.reason[index][row]) : null }, state)));
  }
}
