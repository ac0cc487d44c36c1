// Measuring: the scale of the recording, charts of the motion with proved limits, and the files that `withinpx measure` writes.

import * as api from "./api.js";
import { action, announce, errorBox, h, latestWins } from "./dom.js";
import { figure, MotionCharts, unitOf } from "./motion_charts.js";
import { numberOf } from "./overlay.js";
import { colourOf, swatch } from "./palette.js";
import { ScaleClicks } from "./scale_clicks.js";
import { counted } from "./text.js";
import { indices } from "./timeline.js";

const FILES = [
  ["motion.csv", "Motion", "speed, acceleration and distance with their limits (CSV)"],
  ["motion.png", "Plot", "speed over time, a panel for each object"],
  ["tracks_mm.csv", "Tracks in mm", "the tracks with columns in mm beside those in px (CSV)"],
];
const NOT_PROVED = "The scale is taken as exact: how far it is off is no part of the proved bounds, and everything in mm is off by the same share.";

/** The section of a result; `player` shows its frames. */
export function measureSection(run, tracks, player, signal) {
  const motion = new MotionPart(run, tracks, signal);
  const scale = new ScalePart(run, player, { signal, onChange: (found) => motion.useScale(found.mm_per_px) });
  const { onRow } = player;
  player.onRow = (row) => {
    onRow?.(row);
    motion.charts.atRow(row);
  };
  return h("section", { "aria-labelledby": "measure" }, h("h2", { id: "measure" }, "Measure"), h("div", { class: "motion" }, scale.element, motion.element));
}

class ScalePart {
  /** `onChange` gets the scale whenever it is known anew. */
  constructor(run, player, { signal, onChange }) {
    this.run = run;
    this.onChange = onChange;
    this.errors = errorBox();
    this.clicks = new ScaleClicks(player, { signal, onSet: async (order) => this.show(await api.setScale(run.id, order)) });
    this.clicks.onStop = () => this.element.scrollIntoView({ block: "start" });
    this.text = h("p", { class: "scale-now", role: "status" });
    this.note = h("p", { class: "soft small" });
    this.typed = h("input", { type: "text", inputmode: "decimal", size: 8, autocomplete: "off", id: "mm-per-px" });
    this.remove = action("Remove the scale", this.errors, async () => {
      await api.removeScale(run.id);
      this.show(await api.scale(run.id));
    }, { class: "quiet" });
    const set = action("Set", this.errors, async () => this.show(await api.setScale(run.id, { mm_per_px: this.typed.value.trim() })), { type: "submit" });
    this.element = h("div", { class: "card scale" }, h("h3", {}, "Scale"), this.text, this.note,
      h("div", { class: "buttons" },
        h("button", { type: "button", onclick: () => this.clicks.start(this.found?.clicks) }, "Click a known length"),
        h("form", { class: "inline", novalidate: true, onsubmit: (event) => event.preventDefault() }, h("label", { for: "mm-per-px" }, "or mm per px"), this.typed, set), this.remove),
      this.errors.element);
    this.load(signal);
  }

  async load(signal) {
    try {
      this.show(await api.scale(this.run.id, signal));
    } catch (error) {
      this.show({ mm_per_px: null, clicks: null, interval: null });
      this.remove.hidden = false; // also what cannot be used
      this.errors.show(error);
    }
  }

  show(found) {
    this.found = found;
    this.errors.show(null);
    this.remove.hidden = found.mm_per_px === null;
    this.typed.value = found.mm_per_px === null ? "" : Number(found.mm_per_px.toPrecision(6));
    this.text.textContent = found.mm_per_px === null ? "No scale: values are in px." : `1 px is ${figure(found.mm_per_px)} mm`;
    this.note.textContent = [sourceText(found), NOT_PROVED].join(" ");
    this.onChange(found);
  }
}

/** Where a scale comes from, and how right it is. */
function sourceText({ mm_per_px: scale, clicks, interval }) {
  if (scale === null) return "Click the two ends of a known length in the frame, or type how many mm a px is.";
  if (!clicks) return "It was typed: how far it is off is not known here.";
  const share = 100 * Math.max(interval[1] / scale - 1, 1 - interval[0] / scale);
  const ends = `between ${figure(interval[0], Math.floor)} and ${figure(interval[1], Math.ceil)}`;
  return `Two clicks ${figure(clicks.pixels)} px apart on ${figure(clicks.length)} ${clicks.unit}. A click is good to about ${counted(Number(clicks.click_px.toPrecision(2)), "px", "px")}, so that it lies ${ends} mm per px: up to ${Number(share.toPrecision(2))}\u00a0% off.`;
}

class MotionPart {
  constructor(run, tracks, signal) {
    Object.assign(this, { run, tracks, signal, unit: "px", over: 1, index: 0 });
    this.errors = errorBox();
    this.charts = new MotionCharts(signal);
    this.table = h("table", { class: "plain-table motion-table" });
    this.files = h("ul", { class: "files" });
    this.body = h("div", { hidden: true }, this.charts.element, key(), h("div", { class: "wide", tabindex: 0, role: "region", "aria-label": "Motion of each object" }, this.table), this.files);
    this.element = h("div", { class: "card" }, h("h3", {}, "Speed, distance and acceleration"), this.controls(), this.errors.element, this.body);
    this.load = latestWins(() => this.loadNow());
  }

  controls() {
    this.units = h("select", { "aria-label": "Unit", onchange: () => this.change({ unit: this.units.value }) }, ["px", "mm"].map((unit) => h("option", { value: unit }, unit)));
    const objects = h("select", { "aria-label": "Object to measure", onchange: () => this.choose(Number(objects.value)) }, indices(this.tracks).map((index) => h("option", { value: index }, numberOf(this.tracks, index))));
    const over = h("input", { type: "number", "aria-label": "Mean over so many frames", min: 1, max: Math.max(1, this.tracks.frames.length - 1), step: 1, value: 1, onchange: () => this.change({ over: Number(over.value) }) });
    return h("div", { class: "motion-controls" },
      h("label", { class: "inline" }, h("span", {}, "Object"), objects),
      h("label", { class: "inline" }, h("span", {}, "Unit"), this.units),
      h("label", { class: "inline", title: "Over more frames the limits are tighter, of a mean over a longer time" }, h("span", {}, "Mean over"), over, h("span", {}, "frames")));
  }

  useScale(scale) {
    this.hasScale = scale !== null;
    this.units.lastChild.disabled = !this.hasScale;
    this.units.value = this.hasScale ? "mm" : "px";
    this.change({ unit: this.units.value });
  }

  change(chosen) {
    Object.assign(this, chosen);
    this.load();
  }

  async loadNow() {
    try {
      this.motion = await api.motion(this.run.id, { unit: this.unit, over: this.over }, this.signal);
    } catch (error) {
      this.body.hidden = true;
      this.errors.show(error);
      return;
    }
    this.errors.show(null);
    this.body.hidden = false;
    this.fillTable();
    this.fillFiles();
    this.choose(this.index);
    announce(`Speed, distance and acceleration in ${this.unit}, over ${counted(this.over, "frame")}.`);
  }

  choose(index) {
    this.index = index;
    const number = numberOf(this.tracks, index);
    this.charts.show(this.motion, index, `object ${number}`, colourOf(number));
  }

  fillTable() {
    const names = ["Object", "Intervals measured", `Median speed, ${unitOf(this.motion, "speed")}`, "Median limits", `Longest distance, ${this.unit}`, "Proved between"];
    const pair = (found) => [h("td", {}, found ? shown(found[0]) : "–"), h("td", {}, found ? `${shown(found[1])} to ${shown(found[2])}` : "–")];
    this.table.replaceChildren(
      h("thead", {}, h("tr", {}, names.map((name) => h("th", { scope: "col" }, name)))),
      h("tbody", {}, this.motion.summary.map(({ object, measured, possible, speed, distance }) => {
        const number = numberOf(this.tracks, object);
        return h("tr", {}, h("th", { scope: "row" }, swatch(number), number), h("td", {}, `${measured} of ${possible}`), pair(speed), pair(distance));
      })));
  }

  fillFiles() {
    const offered = FILES.filter(([name]) => this.hasScale || name !== "tracks_mm.csv");
    this.files.replaceChildren(...offered.map(([name, title, description]) =>
      h("li", {}, h("a", { href: api.motionUrl(this.run.id, name, this.over), download: name }, title), h("span", { class: "soft small" }, ` ${description}`))));
  }
}

/** As `withinpx measure` prints it. */
const shown = (value) => String(Number(value.toPrecision(4)));

function key() {
  return h("p", { class: "key" },
    h("span", {}, h("i", { class: "swatch band-key", "aria-hidden": "true" }), "proved to be within"),
    h("span", {}, h("i", { class: "swatch gap-key", "aria-hidden": "true" }), "nothing is proved: refused, absent, or perhaps another object"),
    h("span", {}, "A level is a mean between two frames, not the speed at an instant."));
}
