// Detections painted over a frame as in overlay.mp4: a cross at the position, a square of the bound around it, a trail.
// A refused position is grey and dashed, with a question mark and without a square. One that a person set is a diamond.

import { colourOf, outlineOf, REFUSED } from "./palette.js";

const TRAIL = 20; // frames
const ARM = 9; // screen px
const OUTSIDE = 24; // screen px: labels of objects that are further away are left out

export function drawOverlay(pen, view, tracks, row, { trails = true, bounds = true, raw = false } = {}) {
  const unit = Math.max(0.7, Math.min(1, view.element.clientWidth / 520));
  pen.save();
  pen.lineJoin = "round";
  if (trails) for (let index = 0; index < tracks.objects; index++) drawTrail(pen, view, tracks, row, index, unit);
  for (let index = 0; index < tracks.objects; index++) {
    if (!tracks.present[index][row] || tracks.x[index][row] === null) continue;
    const certified = tracks.certified[index][row];
    const person = byPerson(tracks, index, row);
    const colour = certified || person ? colourOf(numberOf(tracks, index)) : REFUSED;
    if (bounds && certified) drawBound(pen, view, tracks, row, index, colour);
    if (raw && tracks.z_x[index][row] !== null) drawRaw(pen, view, tracks, row, index, colour);
    const [x, y] = view.toScreen(tracks.x[index][row], tracks.y[index][row]);
    if (person) drawDiamond(pen, x, y, colour, unit);
    else drawCross(pen, x, y, colour, certified, unit);
    const label = `${numberOf(tracks, index)}${certified || person ? "" : "?"}`;
    drawLabel(pen, label, x + 11 * unit, y - 10 * unit, colour, view);
  }
  pen.restore();
}

/** The number that an object has in the certificate. */
export const numberOf = (tracks, index) => tracks.numbers?.[index] ?? index;

/** Its name by a person, else its number. */
export const nameOf = (tracks, index) => {
  const name = tracks.names?.[index];
  return name && name !== `object ${index}` ? name : `object ${numberOf(tracks, index)}`;
};

/** Whether a person set the position: it is not certified. */
export const byPerson = (tracks, index, row) => tracks.reason?.[index][row] === "person";

function drawTrail(pen, view, tracks, row, index, unit) {
  pen.lineWidth = 2 * unit;
  pen.lineCap = "round";
  for (let at = Math.max(1, row - TRAIL + 1); at <= row; at++) {
    if (!tracks.present[index][at - 1] || !tracks.present[index][at]) continue;
    pen.strokeStyle = tracks.certified[index][at] || byPerson(tracks, index, at) ? colourOf(numberOf(tracks, index)) : REFUSED;
    pen.globalAlpha = 0.08 + 0.85 * (1 - (row - at) / TRAIL);
    pen.beginPath();
    pen.moveTo(...view.toScreen(tracks.x[index][at - 1], tracks.y[index][at - 1]));
    pen.lineTo(...view.toScreen(tracks.x[index][at], tracks.y[index][at]));
    pen.stroke();
  }
  pen.globalAlpha = 1;
}

/** A line with an outline. */
export function strokeOutlined(pen, colour, width, trace) {
  for (const [stroke, lineWidth] of [[outlineOf(colour), width + 1.8], [colour, width]]) {
    pen.strokeStyle = stroke;
    pen.lineWidth = lineWidth;
    pen.beginPath();
    trace();
    pen.stroke();
  }
}

function drawBound(pen, view, tracks, row, index, colour) {
  const bound = tracks.bound_px[index][row];
  if (bound === null) return;
  const [left, top] = view.toScreen(tracks.x[index][row] - bound, tracks.y[index][row] - bound);
  const side = 2 * bound * view.scale;
  strokeOutlined(pen, colour, 1.4, () => pen.rect(left, top, side, side));
}

function drawRaw(pen, view, tracks, row, index, colour) {
  const [x, y] = view.toScreen(tracks.z_x[index][row], tracks.z_y[index][row]);
  strokeOutlined(pen, colour, 1.4, () => pen.arc(x, y, 3, 0, 2 * Math.PI));
}

function drawCross(pen, x, y, colour, certified, unit) {
  pen.save();
  pen.lineCap = "butt";
  const arm = ARM * unit;
  const strokes = certified ? [[2 * unit, arm]] : [[2 * unit, 0.48 * arm], [0.72 * arm, arm]];
  strokeOutlined(pen, colour, 2.4 * unit, () => {
    for (const [start, end] of strokes) {
      for (const sign of [-1, 1]) {
        pen.moveTo(x + sign * start, y);
        pen.lineTo(x + sign * end, y);
        pen.moveTo(x, y + sign * start);
        pen.lineTo(x, y + sign * end);
      }
    }
  });
  pen.restore();
}

function drawDiamond(pen, x, y, colour, unit) {
  const reach = 0.85 * ARM * unit;
  strokeOutlined(pen, colour, 2.4 * unit, () => {
    pen.moveTo(x, y - reach);
    for (const [across, down] of [[reach, 0], [0, reach], [-reach, 0]]) pen.lineTo(x + across, y + down);
    pen.closePath();
  });
}

export function drawLabel(pen, label, x, y, colour, view) {
  const { clientWidth, clientHeight } = view.element;
  if (Math.min(x, y) < -OUTSIDE || x > clientWidth + OUTSIDE || y > clientHeight + OUTSIDE) return; // of a magnified frame
  pen.font = "600 13px system-ui, sans-serif";
  pen.textBaseline = "middle";
  const left = Math.min(x, clientWidth - pen.measureText(label).width - 3);
  pen.lineWidth = 3.5;
  pen.strokeStyle = outlineOf(colour);
  pen.strokeText(label, left, Math.max(y, 8));
  pen.fillStyle = colour;
  pen.fillText(label, left, Math.max(y, 8));
}
