// The objects of the tracks: what each looks like, its name, and what a person can do to it.

import { h } from "./dom.js";
import { FrameCache } from "./frame_cache.js";
import { byPerson, numberOf } from "./overlay.js";
import { swatch } from "./palette.js";

const THUMBNAIL = 44; // px on the screen
const AROUND = 1.7; // times the object's size
const SMALLEST = 12; // px of the recording
const MAX_NAME = 40; // characters

export class ObjectsPanel {
  constructor(review, run, signal) {
    Object.assign(this, { review, rows: new Map() });
    this.frames = new FrameCache(run, signal);
    this.list = h("ul", { class: "review-objects" });
    this.operations = new ObjectOperations(review);
    this.element = h("section", { class: "card", "aria-labelledby": "review-objects" },
      h("h2", { id: "review-objects" }, "Objects"), this.list, this.operations.element);
    review.on("change", () => this.update());
    review.on("select", () => this.mark());
    this.update();
  }

  update() {
    const { review, rows } = this;
    const shown = review.objects;
    if (String([...rows.keys()]) !== String(shown)) {
      rows.clear();
      for (const index of shown) rows.set(index, this.entry(index));
      this.list.replaceChildren(...[...rows.values()].map(({ element }) => element));
    }
    for (const [index, row] of rows) this.fill(index, row);
    this.mark();
  }

  entry(index) {
    const { review } = this;
    const number = numberOf(review.tracks, index);
    const radio = h("input", { type: "radio", name: "review-object", "aria-label": `Choose object ${number}`, onchange: () => review.select(index) });
    const thumbnail = h("canvas", { class: "object-thumbnail", width: 2 * THUMBNAIL, height: 2 * THUMBNAIL, "aria-hidden": "true" });
    const name = h("input", { type: "text", class: "object-name", maxlength: MAX_NAME, "aria-label": `Name of object ${number}`, autocomplete: "off", spellcheck: "false", onchange: () => this.rename(index, name) });
    const counts = h("span", { class: "small soft" });
    const element = h("li", { "data-object": number },
      h("label", { class: "object-choice" }, radio, thumbnail, swatch(number)), h("div", { class: "object-about" }, name, counts));
    element.addEventListener("click", (event) => event.target.closest("input, label") || review.select(index));
    return { element, radio, thumbnail, name, counts, shownRow: null };
  }

  fill(index, row) {
    const { tracks } = this.review;
    if (document.activeElement !== row.name) row.name.value = this.review.name(index);
    const certified = tracks.certified[index].filter(Boolean).length;
    const person = tracks.reason[index].filter((_, at) => byPerson(tracks, index, at)).length;
    const moved = tracks.moved?.[index]?.filter(Boolean).length ?? 0;
    row.counts.textContent = [`${certified} of ${tracks.frames.length} frames certified`, person && `${person} set by a person`, moved && `${moved} put here by a person`].filter(Boolean).join(", ");
    this.drawThumbnail(index, row);
  }

  mark() {
    for (const [index, { element, radio }] of this.rows) {
      radio.checked = index === this.review.selected;
      element.classList.toggle("selected", radio.checked);
    }
  }

  async rename(index, field) {
    const name = field.value.trim();
    const before = this.review.name(index);
    if (!name || name === before || !(await this.review.change({ op: "rename", object: index, name }))) field.value = this.review.name(index);
  }

  /** From the frame in which the object's bound is the narrowest; where none is certified, from any that shows it. */
  async drawThumbnail(index, row) {
    const { tracks, sizes } = this.review;
    const at = bestRow(tracks, index);
    if (at === null || at === row.shownRow) return;
    row.shownRow = at;
    const side = Math.max(AROUND * (sizes[index] ?? 0), SMALLEST);
    const [x, y] = [tracks.x[index][at], tracks.y[index][at]];
    const image = await this.frames.get(tracks.frames[at]).catch(() => null);
    if (!image) return;
    const [left, top, width] = this.frames.view;
    const scale = image.width / width;
    const pen = row.thumbnail.getContext("2d");
    pen.clearRect(0, 0, 2 * THUMBNAIL, 2 * THUMBNAIL);
    pen.imageSmoothingEnabled = side * scale > THUMBNAIL;
    pen.drawImage(image, (x - side / 2 - left) * scale, (y - side / 2 - top) * scale, side * scale, side * scale, 0, 0, 2 * THUMBNAIL, 2 * THUMBNAIL);
  }
}

function bestRow(tracks, index) {
  let best = null;
  for (let row = 0; row < tracks.frames.length; row++) {
    if (tracks.certified[index][row] && (best === null || tracks.bound_px[index][row] < tracks.bound_px[index][best])) best = row;
  }
  if (best !== null) return best;
  const present = tracks.present[index].indexOf(true);
  return present < 0 ? null : present;
}

/** Swap, merge, split and delete for the chosen object; each button says in which frames. */
class ObjectOperations {
  constructor(review) {
    this.review = review;
    this.title = h("h3", { class: "operations-title" });
    this.span = h("select", { "aria-label": "Frames to change", onchange: () => this.update() });
    this.first = h("input", { type: "number", "aria-label": "First frame", step: 1, onchange: () => this.update() });
    this.last = h("input", { type: "number", "aria-label": "Last frame", step: 1, onchange: () => this.update() });
    this.range = h("span", { class: "operations-range" }, this.first, "to", this.last);
    this.other = h("select", { "aria-label": "The other object", onchange: () => this.update() });
    const button = (id, operation) => h("button", { type: "button", id, class: "small", onclick: () => review.change({ object: review.selected, ...operation() }) });
    this.buttons = {
      swap: button("review-swap", () => ({ op: "swap", other: this.chosenOther, ...this.frames })),
      delete: button("review-delete", () => ({ op: "delete", ...this.frames })),
      merge: button("review-merge", () => ({ op: "merge", other: this.chosenOther })),
      split: button("review-split", () => ({ op: "split", first: review.frame })),
    };
    this.element = h("div", { class: "operations" }, this.title,
      h("div", { class: "operations-fields" }, h("label", {}, h("span", { class: "small soft" }, "Frames"), this.span), this.range),
      h("div", { class: "operations-buttons" }, this.buttons.delete, this.buttons.split),
      this.pair = h("div", { class: "operations-pair" }, h("label", {}, h("span", { class: "small soft" }, "With"), this.other),
        h("div", { class: "operations-buttons" }, this.buttons.swap, this.buttons.merge)));
    this.span.append(...["from", "only", "range", "all"].map((value) => h("option", { value })));
    [this.first.value, this.last.value] = [review.tracks.frames[0], review.tracks.frames.at(-1)];
    for (const name of ["change", "row", "select"]) review.on(name, () => this.update());
    this.update();
  }

  get chosenOther() {
    return Number(this.other.value);
  }

  /** The frames of an operation; null is the first or last of all. */
  get frames() {
    const { frame } = this.review;
    if (this.span.value === "only") return { first: frame, last: frame };
    if (this.span.value === "range") return { first: this.first.valueAsNumber || 0, last: this.last.valueAsNumber || 0 };
    return { first: this.span.value === "from" ? frame : null, last: null };
  }

  get framesText() {
    const { first, last } = this.frames;
    if (first === null) return "in all frames";
    if (last === null) return `from frame ${first} on`;
    return first === last ? `in frame ${first}` : `in frames ${first} to ${last}`;
  }

  update() {
    const { review, buttons } = this;
    const { frame, selected } = review;
    const others = review.objects.filter((index) => index !== selected);
    this.element.hidden = !review.objects.length;
    setText(this.title, `Change ${review.name(selected)}`);
    const texts = { from: `from frame ${frame} on`, only: `frame ${frame} only`, range: "a range", all: "all frames" };
    for (const option of this.span.options) setText(option, texts[option.value]);
    this.range.hidden = this.span.value !== "range";
    this.fillOthers(others);
    this.pair.hidden = !others.length;
    const pair = others.length ? `${review.name(selected)} and ${review.name(this.chosenOther)}` : "";
    setText(buttons.delete, `Delete ${review.name(selected)} ${this.framesText}`);
    setText(buttons.split, `Split: a new object from frame ${frame} on`);
    setText(buttons.swap, `Swap ${pair} ${this.framesText}`);
    setText(buttons.merge, others.length ? `Merge ${review.name(this.chosenOther)} into ${review.name(selected)}` : "");
  }

  fillOthers(others) {
    const wanted = others.map((index) => `${index} ${this.review.name(index)}`).join("\n");
    if (wanted === this.filled) return;
    this.filled = wanted;
    const chosen = this.other.value;
    this.other.replaceChildren(...others.map((index) => h("option", { value: index }, this.review.name(index))));
    if (others.includes(Number(chosen)) && chosen !== "") this.other.value = chosen;
  }
}

function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}
