// The recording with what was found drawn over it: play, step, scrub, jump to what is refused.

import { announce, errorPlace, h } from "./dom.js";
import { Frames } from "./frames.js";
import { drawMarks, numberOf } from "./marks.js";
import { swatch } from "./palette.js";
import { Picture, viewOf } from "./picture.js";
import { nextRefused, stateAt, Timeline } from "./timeline.js";
import { because, boundText, counted } from "./words.js";

const SPEEDS = [0.1, 0.25, 0.5, 1, 2];
const LAYERS = [["trails", "Trails"], ["bounds", "Bounds"], ["raw", "Raw z"]];

export class Player {
  constructor(run, tracks, { signal, onRow }) {
    this.tracks = tracks;
    this.frames = new Frames(run, signal);
    this.row = 0;
    this.speed = 1;
    this.playing = false;
    this.layers = { trails: true, bounds: true, raw: false };
    this.onRow = onRow;
    this.errors = errorPlace();
    this.picture = new Picture(viewOf(run), {
      label: `${run.name} with the objects found in it`,
      describedBy: "frame-table",
      signal,
      paint: (pen, where) => drawMarks(pen, where, tracks, this.row, this.layers),
    });
    this.timeline = new Timeline(tracks, { signal, onSeek: (row) => this.seek(row) });
    this.playButton = h("button", { type: "button", class: "primary play", onclick: () => this.toggle() }, "Play");
    this.readout = h("output", { class: "readout", "aria-live": "off" });
    this.table = h("table", { class: "plain-table frame-table", id: "frame-table" });
    this.element = h("section", { class: "player", "aria-label": "The recording" },
      this.picture.element, this.controls(), this.timeline.element, this.errors.element);
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
        h("label", { class: "inline" }, h("span", {}, "Speed"),
          h("select", { "aria-label": "Speed", onchange: (event) => this.setSpeed(Number(event.target.value)) }, SPEEDS.map((each) => h("option", { value: each, selected: each === 1 }, `${each} ×`)))),
        h("fieldset", { class: "inline layers" }, h("legend", { class: "hidden" }, "What is drawn"),
          LAYERS.map(([name, title]) => h("label", { class: "check" }, h("input", { type: "checkbox", checked: this.layers[name], onchange: (event) => this.setLayer(name, event.target.checked) }), h("span", {}, title))))));
  }

  setLayer(name, on) {
    this.layers[name] = on;
    this.picture.draw();
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
    else if (event.key === "n" && !event.target.matches("select") && this.element.contains(event.target)) this.toRefused();
    else return;
    event.preventDefault();
  }

  toRefused() {
    const row = nextRefused(this.tracks, this.row);
    if (row === null) {
      announce("No frame is refused.");
      return;
    }
    this.pauseAt(row);
    const why = [];
    for (let each = 0; each < this.tracks.objects; each++) {
      if (stateAt(this.tracks, each, row) === "refused") why.push(`object ${numberOf(this.tracks, each)} is refused because ${because(this.tracks.reason[each][row])}`);
    }
    announce(`Frame ${this.tracks.frames[row]}: ${why.join("; ")}.`);
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

  /** By the recording's own clock; a frame that is late holds the clock. */
  play() {
    const times = this.tracks.times_s;
    const last = times.length - 1;
    if (this.row >= last) this.seek(0);
    const mine = (this.playing = Symbol("play"));
    this.playButton.textContent = "Pause";
    let [began, from] = [performance.now(), times[this.row]];
    const tick = (now) => {
      if (this.playing !== mine) return;
      let next = this.row;
      while (next < last && times[next + 1] <= from + ((now - began) / 1000) * this.speed) next++;
      if (next !== this.row) {
        if (this.frames.ready(this.tracks.frames[next])) this.seek(next);
        else {
          const wanted = this.row + 1;
          this.frames.get(this.tracks.frames[wanted]).then(() => this.playing === mine && this.seek(wanted), () => this.pause());
          [began, from] = [now, times[this.row]];
        }
      }
      if (this.row >= last) this.pause();
      else requestAnimationFrame(tick);
    };
    requestAnimationFrame(tick);
  }

  seek(row) {
    const { tracks, frames } = this;
    this.row = Math.min(Math.max(row, 0), tracks.frames.length - 1);
    const shown = this.row;
    const ready = frames.ready(tracks.frames[shown]);
    if (ready) this.picture.show(ready, frames.view);
    else {
      frames.get(tracks.frames[shown]).then((image) => {
        this.errors.show(null);
        if (this.row === shown) this.picture.show(image, frames.view);
      }, this.errors.show);
    }
    frames.prepare(tracks.frames.slice(shown + 1));
    this.timeline.move(shown);
    this.readout.textContent = `Frame ${tracks.frames[shown]} · ${tracks.times_s[shown].toFixed(2)} s`;
    this.fillTable();
    this.onRow?.(shown);
  }

  fillTable() {
    const { tracks, row } = this;
    this.table.replaceChildren(
      h("caption", { class: "hidden" }, `Frame ${tracks.frames[row]}: ${counted(tracks.objects, "object")}`),
      h("thead", {}, h("tr", {}, ["Object", "x", "y", "Bound", ""].map((name) => h("th", { scope: "col" }, name || h("span", { class: "hidden" }, "Verdict"))))),
      h("tbody", {}, Array.from({ length: tracks.objects }, (_, each) => {
        const state = stateAt(tracks, each, row);
        const number = numberOf(tracks, each);
        const cell = (name) => (tracks[name][each][row] === null ? "–" : tracks[name][each][row].toFixed(1));
        return h("tr", { class: state },
          h("th", { scope: "row" }, swatch(number), number),
          h("td", {}, cell("x")), h("td", {}, cell("y")),
          h("td", {}, state === "certified" ? boundText(tracks.bound_px[each][row]) : "none"),
          h("td", { class: "said" }, h("span", { class: `pill ${{ certified: "good", refused: "bad", absent: "plain" }[state]}` }, state)));
      })),
      h("tfoot", {}, h("tr", {}, h("td", { colspan: 5, class: "small soft" }, this.why()))));
  }

  why() {
    const { tracks, row } = this;
    const said = [];
    for (let each = 0; each < tracks.objects; each++) {
      if (stateAt(tracks, each, row) === "refused") said.push(`Object ${numberOf(tracks, each)}: ${because(tracks.reason[each][row])}.`);
    }
    return said.join(" ") || "px of the recording; (0, 0) is its top-left corner.";
  }
}
