// A video's frames in their order. Browsers seek by time and do not count frames, so each is found from the one before.

const FIRST_STEP_S = 1 / 2000; // frames that come faster than this may be missed
const PATIENCE_MS = 3000; // for the frame after a seek

export class VideoReader {
  static async open(file) {
    const video = document.createElement("video");
    if (!video.requestVideoFrameCallback) {
      throw new Error("This browser does not say which frame of a video it shows: use a newer one, or give the frames as PNG images.");
    }
    Object.assign(video, { muted: true, playsInline: true, preload: "auto", src: URL.createObjectURL(file) });
    try {
      await event(video, "loadeddata");
    } catch {
      throw new Error(`${file.name} is no image, and no video that this browser can read: convert it to MP4 (H.264) or WebM, or give its frames as PNG images.`);
    }
    if (!video.videoWidth) throw new Error(`${file.name} has no frames: choose a video.`);
    if (!Number.isFinite(video.duration)) throw new Error(`${file.name} does not say how long it is: convert it to MP4.`);
    return new VideoReader(video, file.name);
  }

  constructor(video, name) {
    Object.assign(this, { video, name, interval_s: null, sought: null, time_s: null });
  }

  /** How many frames there are, by the shortest interval so far; null before there is one. */
  get total() {
    return this.interval_s && Math.max(1, Math.round(this.video.duration / this.interval_s));
  }

  async *frames() {
    let time_s = await this.seek(0);
    for (;;) {
      yield { image: this.video, time_s };
      const next = await this.after(time_s);
      if (next === null) return;
      this.interval_s = Math.min(this.interval_s ?? Infinity, next - time_s);
      time_s = next;
    }
  }

  /** The time of the frame after the one at `time_s`, null if there is none; the video shows it then. */
  async after(time_s) {
    const { duration } = this.video;
    let ahead = this.interval_s ? 1.5 * this.interval_s : FIRST_STEP_S;
    for (;;) {
      const target = Math.min(time_s + ahead, duration);
      const found = await this.seek(target);
      if (found > time_s) return found;
      if (target === duration) return null;
      ahead = this.interval_s ? ahead + this.interval_s / 2 : 1.5 * ahead; // never two frames on
    }
  }

  /** The video, with the frame that begins at `time_s`. */
  async shownAt(time_s) {
    await this.seek(time_s + Math.min(0.002, (this.interval_s ?? 1) / 4));
    return this.video;
  }

  /** Show the frame at a time; returns when it begins. Where it is sought already, browsers show nothing anew. Hidden pages are shown no frames: there it waits. */
  async seek(target) {
    const { video } = this;
    if (target === this.sought) return this.time_s;
    if (document.hidden) await event(document, "visibilitychange");
    const shown = new Promise((resolve) => video.requestVideoFrameCallback((_, { mediaTime }) => resolve(mediaTime)));
    const seeked = event(video, "seeked");
    video.currentTime = target;
    const time_s = await Promise.race([seeked.then(() => shown), later(PATIENCE_MS)]).catch(() => undefined);
    if (time_s !== undefined) {
      Object.assign(this, { sought: target, time_s });
      return time_s;
    }
    if (document.hidden) return this.seek(target);
    throw new Error(`This browser cannot read ${this.name} at ${target.toFixed(2)} s: convert it, or give its frames as PNG images.`);
  }

  close() {
    URL.revokeObjectURL(this.video.src);
    this.video.removeAttribute("src");
    this.video.load();
  }
}

const later = (wait_ms) => new Promise((resolve) => setTimeout(resolve, wait_ms));

function event(target, name) {
  return new Promise((resolve, reject) => {
    target.addEventListener(name, resolve, { once: true });
    target.addEventListener("error", () => reject(target.error), { once: true });
  });
}
