// A clip before training: play, step and scrub through all of its frames.

import { errorBox, h, latestWins } from "./dom.js";
import { AHEAD, FrameCache } from "./frame_cache.js";
import { playRows } from "./playback.js";

const FPS = 25; // of images

export class ClipPlayer {
  /** `onShow` gets the number of a frame that is shown; `trim` is null where the part cannot be changed. */
  constructor(run, frameView, { signal, trim, onShow }) {
    Object.assign(this, { clip: run.clip, frameView, trim, onShow });
    this.frames = new FrameCache(run, signal, { crop: null });
    this.number = 0;
    this.touched = false; // has the person chosen a frame?
    this.playing = false;
    this.errors = errorBox();
    this.times = Float64Array.from({ length: run.clip.frames }, (_, number) => this.time(number));
    this.playButton = h("button", { type: "button", class: "primary play", onclick: () => this.toggle() }, "Play");
    this.readout = h("output", { class: "readout", "aria-live": "off" });
    this.slider = h("input", { type: "range", class: "seek", min: 0, max: run.clip.frames - 1, step: 1, value: 0, "aria-label": "Frame", oninput: () => this.choose(Number(this.slider.value)) });
    this.load = latestWins(() => this.showNow()); // a long drag of the slider does not queue up requests
    this.element = h("section", { class: "player clip-player", "aria-label": "The clip" },
      h("div", { class: "stage" }, frameView.element),
      h("div", { class: "controls" }, h("div", { class: "control-group" }, this.step(-1, "‹", "One frame back"), this.playButton, this.step(1, "›", "One frame on"), this.readout), trim?.element),
      h("div", { class: "scrub" }, trim?.bar, this.slider), this.errors.element);
    this.element.addEventListener("keydown", (event) => this.key(event));
    document.addEventListener("keydown", (event) => (event.target === document.body || event.target.id === "main" ? this.key(event) : null), { signal });
    signal.addEventListener("abort", () => (this.playing = false));
    trim?.attach(() => this.number);
    this.seek(0);
  }

  /** By the mean rate, s: the clip has not been read yet. */
  time(number) {
    return this.clip.images ? number / FPS : (number * this.clip.seconds) / this.clip.frames;
  }

  step(by, label, title) {
    return h("button", { type: "button", class: "quiet step", "aria-label": title, title, onclick: () => this.choose(this.number + by) }, label);
  }

  key(event) {
    if (event.altKey || event.ctrlKey || event.metaKey || event.target.matches("input, select")) return;
    const last = this.clip.frames - 1;
    const keys = { ArrowLeft: this.number - 1, ArrowRight: this.number + 1, Home: 0, End: last };
    if (event.key in keys) this.choose(keys[event.key]);
    else if (event.key === " " && !event.target.matches("button, a")) this.toggle();
    else return;
    event.preventDefault();
  }

  /** A frame that the person asks for. */
  choose(number) {
    this.touched = true;
    this.pause();
    this.seek(number);
  }

  toggle() {
    this.touched = true;
    if (this.playing) this.pause();
    else this.play();
  }

  pause() {
    this.playing = false;
    this.playButton.textContent = "Play";
  }

  /** Plays the part that is used. */
  play() {
    const [first, last] = this.trim?.span ?? [0, this.clip.frames - 1];
    if (this.number >= last || this.number < first) this.seek(first);
    const playing = (this.playing = Symbol("playing"));
    this.playButton.textContent = "Pause";
    playRows(this.times, {
      last,
      speed: 1,
      row: () => this.number,
      active: () => this.playing === playing,
      ready: (number) => this.frames.ready(number),
      load: (number) => this.frames.get(number),
      seek: (number) => this.seek(number),
      pause: () => this.pause(),
    });
  }

  seek(number) {
    this.number = Math.min(Math.max(number, 0), this.clip.frames - 1);
    this.slider.value = this.number;
    const time = this.clip.images ? "" : ` · ≈ ${this.time(this.number).toFixed(2)} s`;
    this.readout.textContent = `Frame ${this.number}${time}`;
    this.slider.setAttribute("aria-valuetext", `frame ${this.number} of ${this.clip.frames}`);
    this.load();
  }

  async showNow() {
    const { number } = this;
    try {
      const image = this.frames.ready(number) ?? (await this.frames.get(number));
      this.errors.show(null);
      this.frameView.show(image);
      this.onShow?.(number);
      if (this.playing) this.frames.prefetch(Array.from({ length: AHEAD }, (_, ahead) => number + 1 + ahead).filter((next) => next < this.clip.frames));
    } catch (error) {
      this.errors.show(error);
    }
  }
}
