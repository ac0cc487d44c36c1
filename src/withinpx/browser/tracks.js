// What was found in the frames so far, in the columns of tracks.csv.

import { about } from "./runtime.js";

const PX = ["x", "y", "z_x", "z_y", "width", "height", "theorem_px", "residual_px", "bound_px"];
const UNIT = 10 ** about.decimals;
const rounded = (value) => Math.round(value * UNIT) / UNIT;
/** Rounding must not make a bound tighter. */
const roundedUp = (value) => Math.ceil(value * UNIT - 1e-6) / UNIT;

export class Tracks {
  constructor() {
    this.objects = about.objects.length;
    this.frames = [];
    this.times_s = null;
    for (const name of [...PX, "present", "certified", "reason"]) this[name] = about.objects.map(() => []);
  }

  get length() {
    return this.frames.length;
  }

  /** Append a frame's outputs of the graph. */
  add(found, time_s) {
    this.frames.push(this.length);
    if (time_s !== null) (this.times_s ??= []).push(time_s);
    about.objects.forEach(({ heatmap }, index) => {
      const values = valuesOf(found, heatmap);
      for (const [name, value] of Object.entries(values)) this[name][index].push(value);
    });
  }

  get counts() {
    const count = (flags) => flags.flat().filter(Boolean).length;
    return { present: count(this.present), certified: count(this.certified) };
  }

  csv() {
    const lines = [about.columns.join(",")];
    for (let row = 0; row < this.length; row++) {
      for (let index = 0; index < this.objects; index++) {
        const cells = this.cells(row, index);
        lines.push(about.columns.map((name) => cells[name] ?? "").join(","));
      }
    }
    return `${lines.join("\n")}\n`;
  }

  /** What is known for a line of the table; sets, guessed identities and angles are not. */
  cells(row, index) {
    const own = Object.fromEntries(PX.map((name) => [name, this[name][index][row]]));
    const [certified, present, linked] = [this.certified[index][row], this.present[index][row], row > 0 && !about.unordered];
    const before = linked && this.certified[index][row - 1];
    const sigma = about.objects[index].sigma_px;
    return {
      ...own,
      frame: this.frames[row],
      time_s: this.times_s && Math.round(this.times_s[row] * 1e6) / 1e6,
      object: index,
      motion_px: certified && before ? roundedUp(own.bound_px + this.bound_px[index][row - 1]) : null,
      sigma_px: certified && sigma !== null ? roundedUp(sigma) : null,
      present: Number(present),
      certified: Number(certified),
      reason: this.reason[index][row],
      identity_certified: linked && present ? Number(certified && before) : null,
    };
  }
}

/** Of one heatmap's object. The bound is around the rounded position: theorem_px reaches from z to the centre. */
function valuesOf(found, heatmap) {
  const present = Boolean(found.present[heatmap]);
  const certified = Boolean(found.certified[heatmap]);
  const pair = (name) => [0, 1].map((axis) => (present ? rounded(found[name][2 * heatmap + axis]) : null));
  const [[x, y], [z_x, z_y], [width, height]] = ["positions", "z", "sizes"].map(pair);
  const theorem_px = certified ? found.theorem_px[heatmap] : null;
  const distance = Math.max(Math.abs(x - z_x), Math.abs(y - z_y));
  return {
    ...{ present, certified, x, y, z_x, z_y, width, height },
    theorem_px: certified ? roundedUp(theorem_px) : null,
    bound_px: certified ? roundedUp(theorem_px + distance) : null,
    residual_px: present ? rounded(found.residual_px[heatmap]) : null,
    reason: about.reasons[found.reasons[heatmap]],
  };
}
