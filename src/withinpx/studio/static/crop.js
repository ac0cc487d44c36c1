// Which part of the picture is wanted: dragged on the picture, or typed. Both do the same.

import { h } from "./dom.js";

const SMALLEST = 16; // px, a side of a crop
const NAMES = ["Left", "Top", "Width", "Height"];

export class Crop {
  /** `onChange` gets [left, top, width, height], or null for the whole picture. */
  constructor(run, { onChange }) {
    this.clip = run.clip;
    this.crop = run.options.crop;
    this.onChange = onChange;
    this.fields = NAMES.map((name, at) =>
      h("input", { type: "number", min: at < 2 ? 0 : SMALLEST, max: at % 2 ? this.clip.height : this.clip.width, step: 1, inputmode: "numeric", "aria-label": `${name} of the crop, px`, onchange: () => this.typed() }));
    this.clear = h("button", { type: "button", class: "quiet small", onclick: () => this.set(null) }, "Whole picture");
    this.element = h("fieldset", { class: "crop-fields" },
      h("legend", {}, "Crop"),
      h("p", { class: "soft small" }, "Drag a rectangle on the picture, or type it (px)."),
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
    this.picture?.draw();
    this.onChange(this.crop);
  }

  /** Let a pointer drag a rectangle on the picture. */
  attach(picture) {
    this.picture = picture;
    const { element } = picture;
    element.classList.add("croppable");
    element.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      event.preventDefault();
      element.setPointerCapture(event.pointerId);
      const from = picture.toRecording(event);
      let wanted = null;
      const move = (at) => {
        wanted = between(from, picture.toRecording(at));
        this.dragged = wanted;
        picture.draw();
      };
      const end = (at) => {
        element.removeEventListener("pointermove", move);
        element.removeEventListener("pointerup", end);
        element.removeEventListener("pointercancel", end);
        this.dragged = null;
        if (at.type === "pointerup" && wanted && wanted[2] >= SMALLEST && wanted[3] >= SMALLEST) this.set(wanted);
        else picture.draw();
      };
      element.addEventListener("pointermove", move);
      element.addEventListener("pointerup", end);
      element.addEventListener("pointercancel", end);
    });
  }

  /** What is left out is dimmed. */
  paint(pen, picture) {
    const crop = this.dragged ?? this.crop;
    if (!crop) return;
    const { clientWidth: width, clientHeight: height } = picture.element;
    const [left, top] = picture.toScreen(crop[0], crop[1]);
    const [wide, high] = [crop[2] * picture.scale, crop[3] * picture.scale];
    pen.save();
    pen.fillStyle = "rgba(10, 14, 18, .62)";
    pen.beginPath();
    pen.rect(0, 0, width, height);
    pen.rect(left, top, wide, high);
    pen.fill("evenodd");
    pen.strokeStyle = "#fff";
    pen.lineWidth = 1.5;
    pen.setLineDash([6, 4]);
    pen.strokeRect(left, top, wide, high);
    pen.restore();
  }
}

function between([x0, y0], [x1, y1]) {
  const [left, top] = [Math.floor(Math.min(x0, x1)), Math.floor(Math.min(y0, y1))];
  return [left, top, Math.ceil(Math.max(x0, x1)) - left, Math.ceil(Math.max(y0, y1)) - top];
}
