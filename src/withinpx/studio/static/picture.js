// A picture on a canvas with things drawn over it, in pixels of the recording whatever its size on the screen.

import { h, onResize } from "./dom.js";

const PIXELATED_FROM = 2.5; // times enlarged: then a person wants to see the pixels

export class Picture {
  /** `view` is the part of the recording that is shown: left, top, width, height. */
  constructor(view, { label, describedBy, signal, paint }) {
    this.view = view;
    this.image = null;
    this.imageView = view; // the part of the recording that the image shows
    this.paint = paint;
    this.canvas = h("canvas", { role: "img", "aria-label": label, "aria-describedby": describedBy });
    this.element = h("div", { class: "picture" }, this.canvas);
    this.element.style.aspectRatio = `${view[2]} / ${view[3]}`;
    this.element.style.setProperty("--shape", view[2] / view[3]);
    onResize(this.element, signal, () => this.draw());
    addEventListener("withinpx-theme", () => this.draw(), { signal });
  }

  /** Screen px (CSS) per px of the recording. */
  get scale() {
    return this.element.clientWidth / this.view[2];
  }

  show(image, view = this.view) {
    this.image = image;
    this.imageView = view;
    this.draw();
  }

  draw() {
    const { clientWidth: width, clientHeight: height } = this.element;
    if (!width || !height) return;
    const dense = devicePixelRatio || 1;
    const [wide, high] = [Math.round(width * dense), Math.round(height * dense)];
    if (this.canvas.width !== wide || this.canvas.height !== high) Object.assign(this.canvas, { width: wide, height: high });
    const pen = this.canvas.getContext("2d");
    pen.setTransform(dense, 0, 0, dense, 0, 0);
    pen.clearRect(0, 0, width, height);
    if (this.image) {
      const [left, top] = this.toScreen(this.imageView[0], this.imageView[1]);
      const [shownWidth, shownHeight] = [this.imageView[2] * this.scale, this.imageView[3] * this.scale];
      pen.imageSmoothingEnabled = (shownWidth * dense) / this.image.width < PIXELATED_FROM;
      pen.drawImage(this.image, left, top, shownWidth, shownHeight);
    }
    this.paint?.(pen, this);
  }

  toScreen(x, y) {
    return [(x - this.view[0]) * this.scale, (y - this.view[1]) * this.scale];
  }

  /** Where a pointer is, in px of the recording, kept inside the picture. */
  toRecording(event) {
    const box = this.element.getBoundingClientRect();
    const inside = (value, size) => Math.min(Math.max(value, 0), size);
    return [
      this.view[0] + inside(((event.clientX - box.left) / box.width) * this.view[2], this.view[2]),
      this.view[1] + inside(((event.clientY - box.top) / box.height) * this.view[3], this.view[3]),
    ];
  }
}

export const wholeOf = ({ width, height }) => [0, 0, width, height];
/** The part that the result is about; the options may have been changed since. */
export const cropOf = (run) => (run.trained ?? run.options).crop;
export const viewOf = (run) => cropOf(run) ?? wholeOf(run.clip);
