// Numbers and states in words, the same on every screen.

export const STATES = {
  ready: "ready to train",
  waiting: "waiting for its turn",
  training: "training",
  stopped: "stopped",
  finished: "finished",
  failed: "failed",
};

/** What each check of the certificate asks. */
export const CHECKS = {
  reconstruction: "It is drawn where it is seen",
  places: "It was seen at two places or more",
  distinct: "No other object looks the same",
  heatmap: "Nothing else pulls at its position",
  steady: "It is drawn alike everywhere",
  equivariance: "When it moves, its position moves as much",
};

/** Why an object, or one frame of it, is refused. */
export const BECAUSE = {
  border: "it is cut off by the picture's border",
  reconstruction: "it is not drawn where it is seen",
  heatmap: "something else pulls at its position",
  distinct: "another object looks the same",
  places: "it was not seen at two places",
  steady: "it is drawn differently from place to place",
  equivariance: "its position does not move as it does",
  absent: "the frame does not show it",
  unused: "its heatmap follows nothing",
};

export const because = (reason) => BECAUSE[reason] ?? reason;

/** 3 frames, 1 frame. */
export const counted = (number, one, many = `${one}s`) => `${number} ${number === 1 ? one : many}`;

export const px = (value, digits = 1) => (value === null || value === undefined ? "–" : `${value.toFixed(digits)} px`);

/** Upwards, so that a bound is never said to be smaller than it is. */
export const boundText = (value, digits = 1) =>
  value === null || value === undefined ? "–" : `±${(Math.ceil(value * 10 ** digits - 1e-9) / 10 ** digits).toFixed(digits)} px`;

/** Rounded, but never up to all nor down to none. */
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

export function clipWords({ width, height, frames, seconds, pictures }) {
  const length = pictures ? counted(frames, "picture") : `${counted(frames, "frame")}, ${seconds < 90 ? `${Number(seconds.toFixed(1))} s` : duration(seconds)}`;
  return `${width} × ${height} px, ${length}`;
}

export function when(created) {
  const date = new Date(created);
  return Number.isNaN(date.getTime()) ? "" : date.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
}

/** A loss like 0.0031, short at every size. */
export const short = (value) =>
  value === null || value === undefined ? "–" : value !== 0 && Math.abs(value) < 0.001 ? value.toExponential(1) : String(Number(value.toPrecision(2)));
