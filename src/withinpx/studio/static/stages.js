// The stages of a training in plain words, how far it is, and the time left.

import { duration } from "./text.js";

export const STAGES = {
  reading: { step: "Read", now: "Reading the clip", unit: "frame" },
  inspecting: { step: "Find motion", now: "Finding what moves" },
  "warm start": { step: "First guess", now: "Making a first guess of where each object is", unit: "step" },
  training: { step: "Learn", now: "Learning what each object looks like", unit: "round" },
  certifying: { step: "Check", now: "Measuring how far off a position can be" },
  detecting: { step: "Track", now: "Finding the objects in every frame", unit: "frame" },
  writing: { step: "Save", now: "Saving the tracks and the certificate" },
};
const LEARNING = ["warm start", "training"]; // their time left is that of both

/** Round 12 of 80 */
export function positionText({ stage, done, total }) {
  const { unit, step } = STAGES[stage];
  return unit && done ? `${unit[0].toUpperCase()}${unit.slice(1)} ${done} of ${total}` : step;
}

/** What is happening, which attempt it is, and how long it takes. */
export function progressText(progress, firstSeed) {
  const { stage, seed, seconds_left: left, done, total } = progress;
  const attempt = LEARNING.includes(stage) && seed > firstSeed ? ` (attempt ${seed - firstSeed + 1}: the one before was not good enough)` : "";
  const during = LEARNING.includes(stage) ? " until they are learned; then every frame is measured" : " for this step";
  const unknown = STAGES[stage].unit && done < total ? "the time left is not known yet" : "";
  const time = left && done < total ? `about ${duration(left)} left${during}` : unknown;
  return { now: `${STAGES[stage].now}${attempt}`, left: [STAGES[stage].unit && done ? positionText(progress) : "", time].filter(Boolean).join(", ") };
}

/** Round 12 of 80: 93.1 % of the pixels are rendered right. */
export function roundText({ epoch, total, accuracy }, loss) {
  const right = accuracy === null ? "" : `; ${(Math.floor(1000 * accuracy) / 10).toFixed(1)} % of the pixels are rendered right`;
  return `Round ${epoch} of ${total}: difference ${loss}${right}.`;
}
