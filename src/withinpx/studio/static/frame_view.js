// An image on a canvas with an overlay, in px of the recording at any size on the screen.

import { h, onResize } from "./dom.js";

const PIXELATED_FROM = 2.5; // times enlarged: from here on pixels stay sharp

export class FrameView {
  /** `view` is the part of the recording that is shown: left, top, width, height. */
  constructor(view, { label, describedBy, signal, paint }) {
    this.view = view;
    this.image = null;
    this.imageView = view; // the part of the recording that the image covers
    this.paint = paint;
    this.canvas = h("canvas", { role: "img", "aria-label": label, "aria-describedby": describedBy });
    this.element = h("div", { class: "frame-view" }, this.canvas);
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
    const density = devicePixelRatio || 1;
    const [canvasWidth, canvasHeight] = [Math.round(width * density), Math.round(height * density)];
    if (this.canvas.width !== canvasWidth || this.canvas.height !== canvasHeight) Object.assign(this.canvas, { width: canvasWidth, height: canvasHeight });
    const pen = this.canvas.getContext("2d");
    pen.setTransform(density, 0, 0, density, 0, 0);
    pen.clearRect(0, 0, width, height);
    if (this.image) {
      const [left, top] = this.toScreen(this.imageView[0], this.imageView[1]);
      const [shownWidth, shownHeight] = [this.imageView[2] * this.scale, this.imageView[3] * this.scale];
      pen.imageSmoothingEnabled = (shownWidth * density) / this.image.width < PIXELATED_FROM;
      pen.drawImage(this.image, left, top, shownWidth, shownHeight);
    }
    this.paint?.(pen, this);
  }

  toScreen(x, y) {
    return [(x - this.view[0]) * this.scale, (y - this.view[1]) * this.scale];
  }

  /** The position of a pointer in px of the recording, clamped to the view. */
  toRecording(event) {
    const box = this.element.getBoundingClientRect();
    const clamped = (value, size) => Math.min(Math.max(value, 0), size);
    return [
      this.view[0] + clamped(((event.clientX - box.left) / box.width) * this.view[2], this.view[2]),
      this.view[1] + clamped(((event.clientY - box.top) / box.height) * this.view[3], this.view[3]),
    ];
  }
}

export const wholeOf = ({ width, height }) => [0, 0, width, height];
/** The crop of the result; the options may have been changed since. */
export const cropOf = (run) => (run.trained ?? run.options).crop;
export const viewOf = (run) => cropOf(run) ?? wholeOf(run.clip);
