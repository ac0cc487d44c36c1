// An image on a canvas with an overlay, in px of the recording at any size on the screen, whole or magnified.

import { h, onResize } from "./dom.js";

const PIXELATED_FROM = 2.5; // times enlarged: from here on pixels stay sharp
const MAX_ZOOM = 40; // times

export class FrameView {
  /** `view` is the part of the recording that can be shown: left, top, width, height. Zoom and pan: zoom.js. */
  constructor(view, { label, describedBy, signal, paint }) {
    this.view = view;
    this.image = null;
    this.imageView = view; // the part of the recording that the image covers
    this.paint = paint;
    this.zoom = 1; // 1: all of the view fits into the element
    this.centre = middleOf(view); // what is in the middle of the element, px of the recording
    this.onZoom = null; // called after a change of zoom or centre
    this.canvas = h("canvas", { role: "img", "aria-label": label, "aria-describedby": describedBy });
    this.element = h("div", { class: "frame-view" }, this.canvas);
    this.element.style.aspectRatio = `${view[2]} / ${view[3]}`;
    this.element.style.setProperty("--shape", view[2] / view[3]);
    onResize(this.element, signal, () => this.zoomTo(this.zoom, this.centre));
    addEventListener("withinpx-theme", () => this.draw(), { signal });
  }

  /** Screen px (CSS) per px of the recording. */
  get scale() {
    const { clientWidth, clientHeight } = this.element;
    return this.zoom * Math.min(clientWidth / this.view[2], clientHeight / this.view[3]);
  }

  show(image, view = this.view) {
    this.image = image;
    this.imageView = view;
    this.draw();
  }

  /** Magnify, with this position in the middle; what is outside the view stays outside the element where it can. */
  zoomTo(zoom, centre) {
    const [left, top, width, height] = this.view;
    const { clientWidth, clientHeight } = this.element;
    if (!clientWidth || !clientHeight) return;
    this.zoom = Math.min(Math.max(zoom, 1), MAX_ZOOM);
    const along = (value, start, size, shown) => (shown >= size ? start + size / 2 : Math.min(Math.max(value, start + shown / 2), start + size - shown / 2));
    this.centre = [along(centre[0], left, width, clientWidth / this.scale), along(centre[1], top, height, clientHeight / this.scale)];
    this.draw();
    this.onZoom?.();
  }

  /** Zoom by a factor so that what is under the pointer stays under it; without a pointer, the middle. */
  zoomBy(factor, event = null) {
    const held = event ? this.toRecording(event) : this.centre;
    const before = event ? this.toScreen(...held) : null;
    const zoom = Math.min(Math.max(this.zoom * factor, 1), MAX_ZOOM);
    const scale = (this.scale / this.zoom) * zoom;
    const { clientWidth, clientHeight } = this.element;
    const middle = before ? [held[0] - (before[0] - clientWidth / 2) / scale, held[1] - (before[1] - clientHeight / 2) / scale] : held;
    this.zoomTo(zoom, middle);
  }

  /** Move the image by this many screen px. */
  panBy(x, y) {
    this.zoomTo(this.zoom, [this.centre[0] - x / this.scale, this.centre[1] - y / this.scale]);
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

  /** Screen px (CSS) from the element's top-left corner. */
  toScreen(x, y) {
    const { clientWidth, clientHeight } = this.element;
    return [(x - this.centre[0]) * this.scale + clientWidth / 2, (y - this.centre[1]) * this.scale + clientHeight / 2];
  }

  /** The position of a pointer in px of the recording, clamped to the view. */
  toRecording(event) {
    const box = this.element.getBoundingClientRect();
    const clamped = (value, start, size) => Math.min(Math.max(value, start), start + size);
    const [left, top, width, height] = this.view;
    return [
      clamped(this.centre[0] + (event.clientX - box.left - box.width / 2) / this.scale, left, width),
      clamped(this.centre[1] + (event.clientY - box.top - box.height / 2) / this.scale, top, height),
    ];
  }
}

const middleOf = ([left, top, width, height]) => [left + width / 2, top + height / 2];
export const wholeOf = ({ width, height }) => [0, 0, width, height];
/** The crop of the result; the options may have been changed since. */
export const cropOf = (run) => (run.trained ?? run.options).crop;
export const viewOf = (run) => cropOf(run) ?? wholeOf(run.clip);
