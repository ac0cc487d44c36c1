// The frames of a clip as bitmaps, fetched on demand and a little ahead.

import * as api from "./api.js";
import { cropOf, wholeOf } from "./frame_view.js";

const CACHED = 240; // frames
export const AHEAD = 8; // frames that are fetched before they are shown
const ALL_PIXELS = 4096; // px, the longest side that the server sends

export class FrameCache {
  constructor(run, signal, { crop = shownCrop(run) } = {}) {
    this.run = run;
    this.signal = signal;
    this.crop = crop;
    this.view = this.crop ?? wholeOf(run.clip); // the part of the recording that each bitmap shows
    this.bitmaps = new Map(); // number -> bitmap or a promise of it, oldest first
    signal.addEventListener("abort", () => this.bitmaps.clear());
  }

  /** The bitmap if it has been fetched. */
  ready(number) {
    const found = this.bitmaps.get(number);
    return found instanceof Promise ? null : (found ?? null);
  }

  async get(number) {
    if (!this.bitmaps.has(number)) {
      const pending = api.frame(this.run.id, number, this.crop, this.signal);
      this.bitmaps.set(number, pending);
      pending.then((bitmap) => this.bitmaps.set(number, bitmap), () => this.bitmaps.delete(number));
      while (this.bitmaps.size > CACHED) {
        const [oldest, bitmap] = this.bitmaps.entries().next().value;
        bitmap.close?.();
        this.bitmaps.delete(oldest);
      }
    }
    return this.bitmaps.get(number);
  }

  /** The frame in all of its pixels, or null if the one that `get` brings has them all. */
  async sharp(number) {
    const known = await this.get(number);
    return known.width < this.view[2] ? api.frame(this.run.id, number, this.crop, this.signal, ALL_PIXELS) : null;
  }

  prefetch(numbers) {
    for (const number of numbers.slice(0, AHEAD)) this.get(number).catch(() => {});
  }
}

/** The crop of the result, where the server still crops by it: it goes by the current options. */
function shownCrop(run) {
  const crop = cropOf(run);
  return crop && String(crop) === String(run.options.crop) ? crop : null;
}
