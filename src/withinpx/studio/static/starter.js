// The start of a training: when it is possible, and why not; and options that wait until the server has taken them.

import * as api from "./api.js";
import { action, errorBox, h } from "./dom.js";
import { counted } from "./text.js";

const INVALID = 422; // the status of an answer that says what is wrong with the clip or an option
const ADVICE = "What helps: choose frames in which something moves, a larger crop or the whole frame, or another clip, with more light or contrast. If the camera moves, choose Background: moving camera.";

/** A person's choices. One that the server refuses stays on the page and is sent again with the next. */
export class SavedOptions {
  constructor(run, { onSaved, onChange }) {
    Object.assign(this, { id: run.id, onSaved, onChange });
    this.waiting = {}; // chosen, and not saved yet
    this.errors = errorBox();
    this.refused = false;
    this.done = Promise.resolve();
  }

  get saved() {
    return !Object.keys(this.waiting).length;
  }

  change(options) {
    Object.assign(this.waiting, options);
    this.onChange();
    this.done = this.done.then(() => this.save()); // one after the other, so that the last choice stays
    return this.done;
  }

  async save() {
    const sent = { ...this.waiting };
    if (this.saved) return;
    try {
      const run = await api.setOptions(this.id, sent);
      for (const name of Object.keys(sent)) if (this.waiting[name] === sent[name]) delete this.waiting[name];
      this.errors.show(null);
      this.refused = false;
      this.onSaved(run);
    } catch (error) {
      this.errors.show(error);
      this.refused = true;
    }
    this.onChange();
  }
}

/** The button, and below it, so that it stays where it is, what can be said about it. */
export class Starter {
  constructor({ options, start, label }) {
    this.options = options;
    this.errors = errorBox();
    this.state = "searching"; // then found or refused
    this.note = h("p", { class: "start-note small", id: "start-note" });
    this.again = h("button", { type: "button", class: "small", hidden: true }, "Search again");
    this.button = action(label, this.errors, async () => {
      await options.done;
      if (options.saved) await start();
    }, { class: "primary", id: "start", "aria-describedby": "start-note" });
    this.element = h("section", { class: "card start-card", "aria-label": "Start" }, h("div", { class: "buttons first" }, this.button, this.again), this.note, this.errors.element);
    this.searching();
  }

  searching() {
    this.show("searching", "Searching for moving objects. Start is possible when the search has ended.");
  }

  found({ objects }) {
    this.show("found", `${counted(objects.length, "moving object")} found. Start learns what they look like, and finds them in every frame.`);
  }

  /** `search` looks again, where trying again may help. */
  refused(error, search) {
    const final = error.status === INVALID;
    this.show("refused", `This cannot be started. ${error.message} ${final ? ADVICE : ""}`);
    this.again.hidden = final;
    this.again.onclick = search;
  }

  show(state, note) {
    Object.assign(this, { state, text: note });
    this.again.hidden = true;
    this.update();
  }

  update() {
    this.button.disabled = this.state !== "found" || !this.options.saved;
    this.note.textContent = this.options.refused ? "An option was not accepted, for the reason given there: change it first." : this.text;
    this.note.classList.toggle("refused", this.options.refused || this.state === "refused");
  }
}
