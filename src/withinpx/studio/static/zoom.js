// Zoom and pan of a FrameView: wheel, keys, buttons, dragging, and two fingers.

import { h } from "./dom.js";

const STEP = 1.4; // of a key or a button, times
const WHEEL_STEP = 1.0015; // per px of the wheel
const LINE = 16; // px, of wheels that count lines
const TOUCHPAD = 8; // times: two fingers on a touchpad come as a slow wheel with Control
const STILL = 4; // screen px: a press that moves less is a click
const KEYS = { "+": STEP, "=": STEP, "-": 1 / STEP, _: 1 / STEP };

/**
 * What a FrameView shows can be magnified and moved. A press whose `pointerdown` another listener has prevented is that
 * listener's own: it does not move the image. After a move no `click` comes.
 */
export class Zoom {
  constructor(frameView, signal, onChange = () => {}) {
    this.frameView = frameView;
    this.onChange = onChange;
    this.fingers = new Map(); // of the pointers that are down, their latest events
    this.down = null; // the first of them
    this.moved = false;
    this.level = h("output", { class: "zoom-level", "aria-live": "off" });
    const button = (label, title, press) => h("button", { type: "button", class: "zoom-button", "aria-label": title, title, onclick: press }, label);
    this.reset = button("Fit", "Show the whole frame (0)", () => this.fit());
    this.buttons = h("div", { class: "zoom-buttons", role: "group", "aria-label": "Zoom" },
      button("−", "Zoom out (-)", () => frameView.zoomBy(1 / STEP)), this.level, button("+", "Zoom in (+)", () => frameView.zoomBy(STEP)), this.reset);
    const listen = (name, work, options = {}) => frameView.element.addEventListener(name, work, { signal, ...options });
    listen("wheel", (event) => this.wheel(event), { passive: false });
    listen("pointerdown", (event) => this.press(event));
    listen("pointermove", (event) => this.move(event));
    for (const name of ["pointerup", "pointercancel"]) listen(name, (event) => this.release(event));
    listen("click", (event) => this.moved && event.stopImmediatePropagation(), { capture: true });
    listen("touchmove", (event) => event.touches.length > 1 && event.preventDefault(), { passive: false }); // two fingers do not scroll
    frameView.element.classList.add("zoomable");
    frameView.onZoom = () => this.show();
    this.show();
  }

  fit() {
    this.frameView.zoomTo(1, this.frameView.centre);
  }

  show() {
    const { zoom, element } = this.frameView;
    this.level.textContent = `${zoom.toFixed(zoom < 10 ? 1 : 0)} ×`;
    this.reset.disabled = zoom === 1;
    element.classList.toggle("zoomed", zoom > 1);
    if (zoom > 1) this.onChange();
  }

  /** Zooms for +, - and 0; tells whether the key was one of them. */
  key({ key }) {
    if (key === "0") this.fit();
    else if (KEYS[key]) this.frameView.zoomBy(KEYS[key]);
    else return false;
    return true;
  }

  wheel(event) {
    const distance = event.deltaY * (event.deltaMode === WheelEvent.DOM_DELTA_LINE ? LINE : 1) * (event.ctrlKey ? TOUCHPAD : 1);
    if (!distance || (distance > 0 && this.frameView.zoom === 1)) return; // the page scrolls
    event.preventDefault();
    this.frameView.zoomBy(WHEEL_STEP ** -distance, event);
  }

  press(event) {
    if (event.pointerType === "mouse" && event.button > 1) return;
    this.fingers.set(event.pointerId, event);
    if (this.fingers.size > 1) return;
    this.down = event;
    this.moved = false;
  }

  move(event) {
    const before = this.fingers.get(event.pointerId);
    if (!before || this.down.defaultPrevented) return;
    if (this.fingers.size === 2) this.pinch(before, event);
    else if (this.frameView.zoom > 1) this.drag(before, event);
    else this.fingers.set(event.pointerId, event);
  }

  drag(before, event) {
    if (!this.moved && Math.hypot(event.clientX - this.down.clientX, event.clientY - this.down.clientY) < STILL) return;
    if (!this.moved) this.frameView.element.setPointerCapture(event.pointerId);
    this.moved = true;
    this.frameView.panBy(event.clientX - before.clientX, event.clientY - before.clientY);
    this.fingers.set(event.pointerId, event);
  }

  pinch(before, event) {
    const other = [...this.fingers].find(([id]) => id !== event.pointerId)[1];
    const apart = (one) => Math.max(1, Math.hypot(one.clientX - other.clientX, one.clientY - other.clientY));
    const middle = (one) => ({ clientX: (one.clientX + other.clientX) / 2, clientY: (one.clientY + other.clientY) / 2 });
    const [from, to] = [middle(before), middle(event)];
    this.moved = true;
    this.frameView.zoomBy(apart(event) / apart(before), from);
    this.frameView.panBy(to.clientX - from.clientX, to.clientY - from.clientY);
    this.fingers.set(event.pointerId, event);
  }

  release(event) {
    this.fingers.delete(event.pointerId);
    if (!this.fingers.size) this.down = null;
  }
}
