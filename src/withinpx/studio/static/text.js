// Numbers, states and reasons as text, the same on every screen.

export const STATES = {
  ready: "ready to train",
  waiting: "waiting for its turn",
  training: "training",
  stopped: "stopped",
  finished: "finished",
  failed: "failed",
};

/** The checks of the certificate. */
export const CHECKS = {
  reconstruction: "It is reconstructed where it is seen",
  displacement: "It was seen at two or more distant positions",
  distinct: "No other object has the same appearance",
  heatmap: "Nothing else influences its position",
  drift: "It is reconstructed alike everywhere",
  equivariance: "When it moves, its position moves as much",
  mismatch: "Planted at known positions, it is found within its bound",
};

/** Why an object, or its position in one frame, is refused. */
export const REASONS = {
  absent: "it is not in the frame",
  border: "it is cut off by the border of the frame",
  reconstruction: "it is not reconstructed where it is seen",
  mismatch: "its reconstruction matches the frame at no position",
  touching: "it touches another object, or may hide one",
  edge: "one of its edges is not visible against the background",
  heatmap: "something else influences its position",
  distinct: "another object has the same appearance",
  displacement: "it was not seen at two distant positions",
  drift: "it is reconstructed differently from position to position",
  equivariance: "its position does not move as it does",
  person: "a person set it",
  deleted: "a person deleted it",
  unused: "its heatmap follows nothing",
};

/** With a capital. */
export const sentenceCase = (text) => text.charAt(0).toUpperCase() + text.slice(1);

export const reasonText = (reason) => REASONS[reason] ?? reason;

/** 3 frames, 1 frame. */
export const counted = (number, one, many = `${one}s`) => `${number} ${number === 1 ? one : many}`;

export const px = (value, digits = 1) => (value === null || value === undefined ? "–" : `${value.toFixed(digits)} px`);

/** Rounded up: a bound must not look smaller than it is. */
export const boundText = (value, digits = 1) =>
  value === null || value === undefined ? "–" : `±${(Math.ceil(value * 10 ** digits - 1e-9) / 10 ** digits).toFixed(digits)} px`;

/** Rounded, but 0 % and 100 % only if exact. */
export function percent(share) {
  const rounded = Math.min(Math.max(Math.round(100 * share), share > 0 ? 1 : 0), share >= 1 ? 100 : 99);
  return `${rounded} %`;
}

export function duration(seconds) {
  if (seconds === null || seconds === undefined) return "";
  if (seconds < 1) return "less than a second";
  if (seconds < 90) return counted(Math.round(seconds), "second");
  if (seconds < 5400) return counted(Math.round(seconds / 60), "minute");
  return `${(seconds / 3600).toFixed(1)} hours`;
}

export function bytes(count) {
  for (const [unit, size] of [["GB", 1e9], ["MB", 1e6], ["kB", 1e3]]) {
    if (count >= size) return `${Number((count / size).toPrecision(3))} ${unit}`;
  }
  return `${count} bytes`;
}

export function clipText({ width, height, frames, seconds, images }) {
  const length = images ? counted(frames, "image") : `${counted(frames, "frame")}, ${seconds < 90 ? `${Number(seconds.toFixed(1))} s` : duration(seconds)}`;
  return `${width} × ${height} px, ${length}`;
}

export function dateText(created) {
  const date = new Date(created);
  return Number.isNaN(date.getTime()) ? "" : date.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
}

/** Two significant digits, like 0.0031. */
export const short = (value) =>
  value === null || value === undefined ? "–" : value !== 0 && Math.abs(value) < 0.001 ? value.toExponential(1) : String(Number(value.toPrecision(2)));
