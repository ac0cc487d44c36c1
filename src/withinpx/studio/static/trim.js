// The part of a clip that is used: from one frame to another, chosen in its player or typed.

import { h } from "./dom.js";

const LEAST = 2; // frames

export class Trim {
  /** `onChange` gets [first, last], or null for the whole clip. */
  constructor(run, { onChange }) {
    this.last = run.clip.frames - 1;
    this.onChange = onChange;
    const field = (name, at) => h("input", { type: "number", min: 0, max: this.last, step: 1, inputmode: "numeric", "aria-label": `${name} frame that is used`, onchange: () => this.typed(at) });
    const button = (label, title, press) => h("button", { type: "button", class: "small", title, onclick: press }, label);
    this.fields = [field("First", 0), field("Last", 1)];
    this.clear = button("Whole clip", "Use all frames", () => this.set(null));
    this.kept = h("span", { class: "trim-kept" });
    this.bar = h("div", { class: "trim-bar", "aria-hidden": "true" }, this.kept);
    this.element = h("fieldset", { class: "control-group trim" }, h("legend", { class: "hidden" }, "Trim"),
      button("From here", "Leave out what is before the frame that is shown", () => this.cut(0)), this.fields[0], h("span", {}, "to"), this.fields[1],
      button("To here", "Leave out what is after the frame that is shown", () => this.cut(1)), this.clear);
    this.frames = run.options.frames;
    this.fill();
  }

  /** `shown` tells which frame the player shows. */
  attach(shown) {
    this.shown = shown;
  }

  get span() {
    return this.frames ?? [0, this.last];
  }

  typed(at) {
    const number = Math.round(Number(this.fields[at].value));
    if (this.fields[at].value !== "" && Number.isFinite(number)) this.cut(at, number);
    else this.fill();
  }

  /** Set the first or the last frame; the other end moves only if it must. */
  cut(at, number = this.shown()) {
    const limited = Math.min(Math.max(number, at ? LEAST - 1 : 0), this.last - (at ? 0 : LEAST - 1));
    const [first, last] = this.span;
    if (at === 0) this.set([limited, last > limited ? last : this.last]);
    else this.set([first < limited ? first : 0, limited]);
  }

  set(frames) {
    const all = frames && frames[0] === 0 && frames[1] === this.last;
    this.frames = all ? null : frames;
    this.fill();
    this.onChange(this.frames);
  }

  fill() {
    const [first, last] = this.span;
    this.fields[0].value = first;
    this.fields[1].value = last;
    this.clear.disabled = this.frames === null;
    this.kept.style.left = `${(100 * first) / (this.last + 1)}%`;
    this.kept.style.width = `${(100 * (last - first + 1)) / (this.last + 1)}%`;
  }
}
