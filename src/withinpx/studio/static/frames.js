// The frames of a clip as pictures, fetched when wanted and a little before.

import * as api from "./api.js";
import { cropOf, wholeOf } from "./picture.js";

const KEPT = 240; // pictures
const AHEAD = 8;

export class Frames {
  constructor(run, signal) {
    this.run = run;
    this.signal = signal;
    const crop = cropOf(run);
    this.crop = crop && String(crop) === String(run.options.crop) ? crop : null; // else only the whole picture can be had
    this.view = this.crop ?? wholeOf(run.clip); // what each picture shows
    this.kept = new Map(); // number -> picture or the promise of one, the oldest first
    signal.addEventListener("abort", () => this.kept.clear());
  }

  /** The picture if it is here already. */
  ready(number) {
    const found = this.kept.get(number);
    return found instanceof Promise ? null : (found ?? null);
  }

  async get(number) {
    if (!this.kept.has(number)) {
      const coming = api.frame(this.run.id, number, this.crop, this.signal);
      this.kept.set(number, coming);
      coming.then((picture) => this.kept.set(number, picture), () => this.kept.delete(number));
      while (this.kept.size > KEPT) {
        const [oldest, picture] = this.kept.entries().next().value;
        picture.close?.();
        this.kept.delete(oldest);
      }
    }
    return this.kept.get(number);
  }

  /** Ask for what will be wanted next. */
  prepare(numbers) {
    for (const number of numbers.slice(0, AHEAD)) this.get(number).catch(() => {});
  }
}
