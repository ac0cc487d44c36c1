// Correct mode: the position of an object in the frame is set by pointer or keys.

import { announce, h } from "./dom.js";
import { sentenceCase } from "./text.js";

const GRAB = 16; // screen px around a position within which a press takes hold of it
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
const COARSE = 1; // px of an arrow key
const FINE = 0.1; // px, with shift
const STEPS = { ",": -1, ".": 1 }; // frames
const KEYS_REST_MS = 600; // after the last arrow key, before the position is saved
const SHOWN = ["x", "y", "present", "certified", "reason", "bound_px", "checked"];

export class CorrectMode {
  constructor(review, player, signal) {
    Object.assign(this, { review, player, on: false, pending: null, timer: 0 });
    this.hold = null; // while the pointer is down
    this.button = h("button", { type: "button", id: "correct", "aria-pressed": "false", onclick: () => this.toggle() }, "Correct");
    this.help = h("p", { class: "small correct-help", role: "status" });
    const listen = (name, work) => player.frameView.element.addEventListener(name, work, { signal, capture: true });
    listen("pointerdown", (event) => this.press(event));
    listen("pointermove", (event) => this.drag(event));
    for (const name of ["pointerup", "pointercancel"]) listen(name, (event) => this.release(event));
    document.addEventListener("keydown", (event) => this.key(event), { signal, capture: true });
    review.on("select", () => this.show());
    review.on("change", () => this.keep());
    review.on("row", () => {
      this.save();
      this.show();
    });
    signal.addEventListener("abort", () => this.save());
    this.show();
  }

  toggle() {
    if (this.on) this.leave();
    else this.enter();
  }

  enter() {
    this.on = true;
    this.player.pause();
    this.show();
  }

  leave() {
    this.save();
    this.on = false;
    this.show();
    announce("Correct mode is off.");
  }

  show() {
    const { review } = this;
    this.player.frameView.element.classList.toggle("correcting", this.on);
    this.button.setAttribute("aria-pressed", String(this.on));
    this.button.textContent = this.on ? "Stop correcting" : "Correct";
    this.help.textContent = this.on
      ? `${sentenceCase(review.name(review.selected))}, frame ${review.frame}: drag it, or click where its centre is. Arrow keys: ${COARSE} px, with shift ${FINE} px. Comma, full stop: other frames. Esc: stop.`
      : "";
  }

  /** Takes hold of the object under the pointer, or sets the chosen one there; a click on another one chooses it. */
  press(event) {
    if (!this.on || event.button !== 0 || this.player.frameView.element.classList.contains("picking")) return; // a click of the scale
    take(event);
    this.save();
    const [x, y] = this.player.frameView.toRecording(event);
    const held = this.objectAt(event, x, y);
    const other = held !== null && held !== this.review.selected;
    if (other) this.review.select(held);
    const index = this.review.selected;
    const { tracks } = this.review;
    const offset = held === null ? [0, 0] : [tracks.x[index][this.review.row] - x, tracks.y[index][this.review.row] - y];
    this.hold = { offset, moved: held === null, from: [x, y], other };
    this.player.frameView.element.setPointerCapture?.(event.pointerId);
    if (held === null) this.put(x, y);
  }

  drag(event) {
    if (!this.hold) return;
    take(event);
    const [x, y] = this.player.frameView.toRecording(event);
    if (x === this.hold.from[0] && y === this.hold.from[1] && !this.hold.moved) return;
    this.hold.moved = true;
    this.put(x + this.hold.offset[0], y + this.hold.offset[1]);
  }

  release(event) {
    if (!this.hold) return;
    take(event);
    const { moved, from, other } = this.hold;
    this.hold = null;
    if (!moved && !other && event.type === "pointerup") this.put(...from); // a click beside the position of the chosen object
    if (event.type === "pointercancel") this.discard();
    else this.save();
  }

  /** The nearest object to a press, null if none is near on the screen. */
  objectAt(event, x, y) {
    const { tracks, row, objects } = this.review;
    const { frameView } = this.player;
    const [nextX] = frameView.toRecording({ clientX: event.clientX + 1, clientY: event.clientY });
    const [lastX] = frameView.toRecording({ clientX: event.clientX - 1, clientY: event.clientY });
    const reach = (GRAB * (nextX - lastX)) / 2;
    const near = objects
      .filter((index) => tracks.present[index][row])
      .map((index) => ({ index, distance: Math.hypot(tracks.x[index][row] - x, tracks.y[index][row] - y) }))
      .filter(({ distance }) => distance <= reach)
      .sort((one, other) => one.distance - other.distance);
    return near.length ? near[0].index : null;
  }

  key(event) {
    if (!this.on || event.altKey || event.ctrlKey || event.metaKey || event.target.matches?.("input:not([type=radio], [type=checkbox], [type=range]), select, textarea")) return;
    if (event.key === "Escape") {
      if (this.hold) this.cancel();
      else this.leave();
    } else if (ARROWS[event.key]) this.nudge(ARROWS[event.key], event.shiftKey ? FINE : COARSE);
    else if (STEPS[event.key]) this.player.pauseAt(this.review.row + STEPS[event.key]);
    else return;
    take(event);
  }

  nudge([across, down], length) {
    const { tracks, row, selected } = this.review;
    if (!tracks.present[selected]?.[row]) return announce(`${this.review.name(selected)} has no position in this frame: click where it is.`);
    this.put(tracks.x[selected][row] + across * length, tracks.y[selected][row] + down * length);
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.save(), KEYS_REST_MS);
    announce(`x ${tracks.x[selected][row].toFixed(1)}, y ${tracks.y[selected][row].toFixed(1)}`);
  }

  /** Shows the object there at once; it is saved when the pointer or the keys rest. */
  put(x, y) {
    const { tracks, row, selected } = this.review;
    this.pending ??= { index: selected, row, before: SHOWN.map((name) => tracks[name][selected][row]) };
    const [left, top, width, height] = this.player.frameView.view;
    const within = (value, low, size) => Math.round(Math.min(Math.max(value, low), low + size) * 100) / 100;
    this.pending.now = [within(x, left, width), within(y, top, height), true, false, "person", null, false];
    write(tracks, this.pending, this.pending.now);
    this.showFrame();
  }

  /** An answer to an earlier change does not undo what the pointer or the keys do meanwhile. */
  keep() {
    if (this.pending) write(this.review.tracks, this.pending, this.pending.now);
    this.show();
  }

  showFrame() {
    this.player.frameView.draw();
    this.player.fillTable();
  }

  discard() {
    if (!this.pending) return;
    write(this.review.tracks, this.pending, this.pending.before);
    this.pending = null;
    this.showFrame();
  }

  cancel() {
    this.hold = null;
    this.discard();
  }

  async save() {
    clearTimeout(this.timer);
    const { pending, review } = this;
    if (!pending) return;
    this.pending = null;
    const [x, y] = pending.now;
    const frame = review.tracks.frames[pending.row];
    if (await review.change({ op: "correct", frame, object: pending.index, x, y })) return;
    if (review.tracks.x[pending.index]?.[pending.row] !== x || this.pending) return; // loaded again, or moved since
    write(review.tracks, pending, pending.before);
    this.showFrame();
  }
}

function take(event) {
  event.preventDefault();
  event.stopImmediatePropagation();
}

function write(tracks, { index, row }, values) {
  SHOWN.forEach((name, at) => (tracks[name][index][row] = values[at]));
}
