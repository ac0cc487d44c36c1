// The queue "To check": step through what is in doubt, accept it or correct it.

import { announce, h } from "./dom.js";
import { numberOf } from "./overlay.js";
import { swatch } from "./palette.js";
import { boundText, counted, reasonText } from "./text.js";
import { itemsToCheck, keyOf } from "./to_check.js";

const SHOWN = 40; // items in the list at once
const BEFORE = 8; // of them, before the current one

export class CheckQueue {
  constructor(review, player) {
    Object.assign(this, { review, player, items: [], at: -1 });
    const button = (label, title, press) => h("button", { type: "button", class: "small", title, onclick: press }, label);
    this.buttons = {
      previous: button("Previous", "Previous to check (k)", () => this.go(this.at - 1)),
      next: button("Next", "Next to check (j)", () => this.go(this.at + 1)),
      accept: button("Accept", "Leave it as it is; its verdict stays (a)", () => this.accept()),
    };
    this.count = h("p", { class: "small soft check-count" });
    this.list = h("ol", { class: "check-list", "aria-label": "To check, worst first" });
    this.element = h("section", { class: "card check-queue", "aria-labelledby": "to-check" },
      h("h2", { id: "to-check" }, "To check"), this.count,
      h("div", { class: "buttons" }, Object.values(this.buttons)), this.list);
    for (const element of [this.element, player.element]) element.addEventListener("keydown", (event) => this.key(event));
    review.on("change", () => this.update());
    this.update();
  }

  key(event) {
    if (event.altKey || event.ctrlKey || event.metaKey || event.target.matches("select, input[type=text], input[type=number]")) return;
    const work = { j: () => this.go(this.at + 1), k: () => this.go(this.at - 1), a: () => this.accept() }[event.key];
    if (!work) return;
    event.preventDefault();
    work();
  }

  /** The items as the tracks are now; the current one stays, or the one after it takes its place. */
  update() {
    const current = this.items[this.at];
    this.items = itemsToCheck(this.review.tracks, this.review.objects);
    const found = current ? this.items.findIndex((item) => keyOf(item) === keyOf(current)) : -1;
    if (found >= 0) this.at = found;
    else this.at = Math.min(this.at, this.items.length - 1);
    this.draw();
  }

  get current() {
    return this.items[this.at] ?? null;
  }

  go(at) {
    if (!this.items.length) return announce("There is nothing to check.");
    this.at = Math.min(Math.max(at, 0), this.items.length - 1);
    const item = this.current;
    this.player.pauseAt(item.from);
    this.review.select(item.object);
    this.draw();
    announce(`${this.at + 1} of ${this.items.length}: ${this.title(item)}, ${this.span(item)}. ${this.why(item)}.`);
  }

  async accept() {
    const item = this.current;
    if (!item) return announce("Go to one with Next first.");
    const { frames } = this.review.tracks;
    const accepted = await this.review.change({ op: "accept", object: item.object, first: frames[item.from], last: frames[item.to] });
    if (accepted && this.items.length) this.go(this.at);
  }

  draw() {
    const { items, at, buttons } = this;
    const focused = this.list.contains(document.activeElement);
    this.count.textContent = items.length
      ? `${at < 0 ? "" : `${at + 1} of `}${counted(items.length, "stretch", "stretches")}, worst first: possible swaps, refused frames, wide bounds.`
      : "Nothing is left to check: every position is certified, set by a person, or accepted.";
    const possible = { previous: at > 0, next: at < items.length - 1, accept: at >= 0 };
    for (const [name, is] of Object.entries(possible)) buttons[name].setAttribute("aria-disabled", String(!is)); // it keeps the focus, and so the keys
    const start = Math.max(0, Math.min(at - BEFORE, items.length - SHOWN));
    const end = Math.min(items.length, start + SHOWN);
    this.list.replaceChildren(...items.slice(start, end).map((item, offset) => this.entry(item, start + offset)),
      ...(end < items.length ? [h("li", { class: "soft small" }, `and ${items.length - end} more`)] : []));
    this.list.start = start + 1;
    const shown = this.list.querySelector("[aria-current]");
    if (shown) this.list.scrollTop = shown.offsetTop - this.list.clientHeight / 3;
    if (focused) shown?.focus({ preventScroll: true });
  }

  entry(item, at) {
    const current = at === this.at;
    return h("li", {},
      h("button", { type: "button", class: "check-item", "aria-current": current ? "true" : null, onclick: () => this.go(at) },
        h("span", { class: "check-what" }, swatch(numberOf(this.review.tracks, item.object)), h("b", {}, this.title(item)), h("span", { class: "soft" }, this.span(item))),
        h("span", { class: "small soft" }, this.why(item))),
      current && item.kind === "swap" ? this.swapButton(item) : null);
  }

  swapButton({ object, other, from }) {
    const first = this.review.tracks.frames[from];
    return h("button", { type: "button", class: "small", onclick: () => this.review.change({ op: "swap", object, other, first }) }, `Swap them from frame ${first} on`);
  }

  title({ object, other }) {
    return other === undefined ? this.review.name(object) : `${this.review.name(object)} and ${this.review.name(other)}`;
  }

  span({ from, to }) {
    const { frames } = this.review.tracks;
    return from === to ? `frame ${frames[from]}` : `frames ${frames[from]} to ${frames[to]}`;
  }

  why({ kind, reasons, weight }) {
    if (kind === "swap") return "may be swapped: exchanged, they would move less";
    if (kind === "identity") return "its link to the frame before is a guess";
    if (kind === "wide") return `a wide bound, up to ${boundText(weight)}`;
    return `refused because ${reasons.map(reasonText).join("; ")}`;
  }
}
