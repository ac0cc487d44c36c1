// What was found, drawn over a frame as in overlay.mp4: a cross at the position, a square that holds all that is within
// the bound of z, a trail. Where nothing is promised the cross is grey and dashed and has a question mark.

import { casingOf, colourOf, REFUSED } from "./palette.js";

const TRAIL = 20; // frames
const ARM = 9; // screen px
const TURN = 2 * Math.PI;

export function drawMarks(pen, picture, tracks, row, { trails = true, bounds = true, raw = false } = {}) {
  const unit = Math.max(0.7, Math.min(1, picture.element.clientWidth / 520));
  pen.save();
  pen.lineJoin = "round";
  if (trails) for (let each = 0; each < tracks.objects; each++) drawTrail(pen, picture, tracks, row, each, unit);
  for (let each = 0; each < tracks.objects; each++) {
    if (!tracks.present[each][row] || tracks.x[each][row] === null) continue;
    const certified = tracks.certified[each][row];
    const colour = certified ? colourOf(numberOf(tracks, each)) : REFUSED;
    if (bounds && certified) drawBound(pen, picture, tracks, row, each, colour);
    if (raw) drawRaw(pen, picture, tracks, row, each, colour);
    const [x, y] = picture.toScreen(tracks.x[each][row], tracks.y[each][row]);
    drawCross(pen, x, y, colour, certified, unit);
    const name = `${numberOf(tracks, each)}${certified ? "" : "?"}`;
    drawName(pen, name, x + 11 * unit, y - 10 * unit, colour, picture);
  }
  pen.restore();
}

export const numberOf = (tracks, each) => tracks.numbers?.[each] ?? each;

function drawTrail(pen, picture, tracks, row, each, unit) {
  pen.lineWidth = 2 * unit;
  pen.lineCap = "round";
  for (let at = Math.max(1, row - TRAIL + 1); at <= row; at++) {
    if (!tracks.present[each][at - 1] || !tracks.present[each][at]) continue;
    pen.strokeStyle = tracks.certified[each][at] ? colourOf(numberOf(tracks, each)) : REFUSED;
    pen.globalAlpha = 0.08 + 0.85 * (1 - (row - at) / TRAIL);
    pen.beginPath();
    pen.moveTo(...picture.toScreen(tracks.x[each][at - 1], tracks.y[each][at - 1]));
    pen.lineTo(...picture.toScreen(tracks.x[each][at], tracks.y[each][at]));
    pen.stroke();
  }
  pen.globalAlpha = 1;
}

function cased(pen, colour, width, trace) {
  for (const [stroke, wide] of [[casingOf(colour), width + 1.8], [colour, width]]) {
    pen.strokeStyle = stroke;
    pen.lineWidth = wide;
    pen.beginPath();
    trace();
    pen.stroke();
  }
}

function drawBound(pen, picture, tracks, row, each, colour) {
  const reach = tracks.bound_px[each][row];
  if (reach === null) return;
  const [left, top] = picture.toScreen(tracks.z_x[each][row] - reach, tracks.z_y[each][row] - reach);
  const side = 2 * reach * picture.scale;
  cased(pen, colour, 1.4, () => pen.rect(left, top, side, side));
}

function drawRaw(pen, picture, tracks, row, each, colour) {
  const [x, y] = picture.toScreen(tracks.z_x[each][row], tracks.z_y[each][row]);
  cased(pen, colour, 1.4, () => pen.arc(x, y, 3, 0, TURN));
}

function drawCross(pen, x, y, colour, whole, unit) {
  pen.save();
  pen.lineCap = "butt";
  const arm = ARM * unit;
  const strokes = whole ? [[2 * unit, arm]] : [[2 * unit, 0.48 * arm], [0.72 * arm, arm]];
  cased(pen, colour, 2.4 * unit, () => {
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

export function drawName(pen, name, x, y, colour, picture) {
  pen.font = "600 13px system-ui, sans-serif";
  pen.textBaseline = "middle";
  const width = pen.measureText(name).width;
  const left = Math.min(x, picture.element.clientWidth - width - 3);
  pen.lineWidth = 3.5;
  pen.strokeStyle = casingOf(colour);
  pen.strokeText(name, left, Math.max(y, 8));
  pen.fillStyle = colour;
  pen.fillText(name, left, Math.max(y, 8));
}
