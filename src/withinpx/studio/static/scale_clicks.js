// Two clicks on the frame at the ends of a known length, and the fields for it above the frame.

import { announce, errorBox, action, h } from "./dom.js";
import { strokeOutlined } from "./overlay.js";

const UNITS = ["mm", "cm", "m"];
const DRAGGED = 5; // screen px between press and release: no click
const ARM = 7; // screen px of a cross
const STEPS = ["Click one end of a known length in the frame.", "Now click its other end.", "How long is it?"];

export class ScaleClicks {
  /** `onSet` gets {points, length, unit, click_px}; what it throws is shown. */
  constructor(player, { signal, onSet }) {
    this.player = player;
    this.points = null; // while they are chosen
    this.errors = errorBox();
    this.step = h("p", { class: "scale-step" });
    this.length = h("input", { type: "text", inputmode: "decimal", size: 7, autocomplete: "off", "aria-label": "Known length" });
    this.unit = h("select", { "aria-label": "Unit of the known length" }, UNITS.map((unit) => h("option", { value: unit }, unit)));
    this.set = action("Set the scale", this.errors, () => this.confirm(onSet), { class: "primary", type: "submit" });
    this.fields = h("span", { class: "scale-fields" }, this.length, this.unit, this.set);
    this.bar = h("form", { class: "scale-bar card", "aria-label": "The scale by two clicks", novalidate: true, hidden: true, onsubmit: (event) => event.preventDefault(), onkeydown: (event) => this.key(event) },
      this.step, this.fields, h("button", { type: "button", class: "quiet", onclick: () => this.stop() }, "Cancel"), this.errors.element);
    this.listen(player.frameView, signal);
  }

  listen(view, signal) {
    const paint = view.paint;
    view.paint = (pen, own) => {
      paint?.(pen, own);
      if (this.points) this.draw(pen, own);
    };
    view.element.before(this.bar);
    view.element.addEventListener("pointerdown", ({ clientX, clientY }) => (this.pressed = [clientX, clientY]), { signal, capture: true });
    view.element.addEventListener("click", (event) => this.click(event), { signal, capture: true });
    view.element.addEventListener("pointermove", (event) => this.move(event), { signal });
  }

  /** `clicks` are those of the present scale. */
  start(clicks) {
    this.player.pause();
    this.length.value = clicks?.length ?? "";
    this.unit.value = clicks?.unit ?? "mm";
    this.clickPx = clicks?.click_px;
    this.bar.hidden = false;
    this.choose(clicks?.points ?? []);
    this.player.frameView.element.classList.add("picking");
    this.bar.scrollIntoView({ block: "start" });
  }

  stop() {
    this.choose(null);
    this.bar.hidden = true;
    this.player.frameView.element.classList.remove("picking");
    this.onStop?.();
  }

  choose(points) {
    this.points = points;
    this.pointer = null;
    this.errors.show(null);
    this.player.frameView.draw();
    if (!points) return;
    this.step.textContent = STEPS[points.length];
    this.fields.hidden = points.length < 2;
    announce(STEPS[points.length]);
  }

  click(event) {
    if (!this.points) return;
    event.stopPropagation();
    const [x, y] = this.pressed ?? [event.clientX, event.clientY];
    if (Math.hypot(event.clientX - x, event.clientY - y) > DRAGGED) return;
    const { frameView } = this.player;
    const own = Math.max(1, 1 / frameView.scale); // no better than a px of the screen
    this.clickPx = this.points.length === 1 ? Math.max(own, this.clickPx) : own;
    this.choose([...(this.points.length < 2 ? this.points : []), frameView.toRecording(event)]);
    if (this.points.length === 2) this.length.focus();
  }

  move(event) {
    if (this.points?.length !== 1) return;
    this.pointer = this.player.frameView.toRecording(event);
    this.player.frameView.draw();
  }

  key(event) {
    event.stopPropagation(); // the player's keys
    if (event.key === "Escape") this.stop();
  }

  async confirm(onSet) {
    await onSet({ points: this.points, length: this.length.value.trim(), unit: this.unit.value, click_px: this.clickPx });
    this.stop();
  }

  draw(pen, view) {
    const ends = [...this.points, ...(this.pointer ? [this.pointer] : [])].map(([x, y]) => view.toScreen(x, y));
    strokeOutlined(pen, "#ffffff", 1.6, () => {
      for (const [x, y] of ends) {
        for (const [across, down] of [[ARM, 0], [0, ARM]]) {
          pen.moveTo(x - across, y - down);
          pen.lineTo(x + across, y + down);
        }
      }
      if (ends.length === 2) {
        pen.moveTo(...ends[0]);
        pen.lineTo(...ends[1]);
      }
    });
  }
}
