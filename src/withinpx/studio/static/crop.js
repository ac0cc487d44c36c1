// The crop: dragged on the frame, or typed.

import { h, onDrag } from "./dom.js";

const MIN_SIDE = 16; // px, a side of a crop
const NAMES = ["Left", "Top", "Width", "Height"];

export class Crop {
  /** `onChange` gets [left, top, width, height], or null for the whole frame. */
  constructor(run, { onChange }) {
    this.clip = run.clip;
    this.crop = run.options.crop;
    this.onChange = onChange;
    this.fields = NAMES.map((name, at) =>
      h("input", { type: "number", min: at < 2 ? 0 : MIN_SIDE, max: at % 2 ? this.clip.height : this.clip.width, step: 1, inputmode: "numeric", "aria-label": `${name} of the crop, px`, onchange: () => this.typed() }));
    this.clear = h("button", { type: "button", class: "quiet small", onclick: () => this.set(null) }, "Whole frame");
    this.element = h("fieldset", { class: "crop-fields" },
      h("legend", {}, "Crop"),
      h("p", { class: "soft small" }, "Drag a rectangle on the frame, or type it (px)."),
      h("div", { class: "field-row" }, NAMES.map((name, at) => h("span", { class: "field" }, h("span", { class: "small soft", "aria-hidden": "true" }, name), this.fields[at]))),
      this.clear);
    this.fill();
  }

  get whole() {
    return [0, 0, this.clip.width, this.clip.height];
  }

  fill() {
    (this.crop ?? this.whole).forEach((value, at) => (this.fields[at].value = value));
    this.clear.hidden = this.crop === null;
  }

  typed() {
    const values = this.fields.map((field) => Math.round(Number(field.value)));
    this.set(values.every(Number.isFinite) ? values : this.crop);
  }

  set(crop) {
    const same = crop && this.whole.every((value, at) => value === crop[at]);
    this.crop = same ? null : crop;
    this.fill();
    this.frameView?.draw();
    this.onChange(this.crop);
  }

  /** Let a pointer drag a rectangle on the frame. */
  attach(frameView) {
    this.frameView = frameView;
    const { element } = frameView;
    element.classList.add("croppable");
    onDrag(element, (event) => {
      if (event.pointerType === "touch") return null; // a finger scrolls the page; the crop can be typed
      const from = frameView.toRecording(event);
      const move = (at) => {
        this.dragged = between(from, frameView.toRecording(at));
        frameView.draw();
      };
      const end = (released) => {
        const crop = this.dragged;
        this.dragged = null;
        if (released && crop && Math.min(crop[2], crop[3]) >= MIN_SIDE) this.set(crop);
        else frameView.draw();
      };
      return { move, end };
    });
  }

  /** Dims what is outside the crop. */
  paint(pen, frameView) {
    const crop = this.dragged ?? this.crop;
    if (!crop) return;
    const [left, top] = frameView.toScreen(crop[0], crop[1]);
    const [width, height] = [crop[2] * frameView.scale, crop[3] * frameView.scale];
    pen.save();
    pen.fillStyle = "rgba(10, 14, 18, .62)";
    pen.beginPath();
    pen.rect(0, 0, frameView.element.clientWidth, frameView.element.clientHeight);
    pen.rect(left, top, width, height);
    pen.fill("evenodd");
    pen.strokeStyle = "#fff";
    pen.lineWidth = 1.5;
    pen.setLineDash([6, 4]);
    pen.strokeRect(left, top, width, height);
    pen.restore();
  }
}

function between([x0, y0], [x1, y1]) {
  const [left, top] = [Math.floor(Math.min(x0, x1)), Math.floor(Math.min(y0, y1))];
  return [left, top, Math.ceil(Math.max(x0, x1)) - left, Math.ceil(Math.max(y0, y1)) - top];
}
