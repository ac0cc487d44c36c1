// Speed, distance and acceleration of one object over time: levels and lines in the band that is proved, grey gaps.

import { Chart } from "./chart.js";
import { h } from "./dom.js";

const QUANTITIES = [["speed", "Speed"], ["distance", "Distance since the last gap"], ["acceleration", "Acceleration"]];
const HEIGHT = 210;
const HEADROOM = 1.05; // above the highest limit

export class MotionCharts {
  constructor(signal) {
    this.row = 0;
    this.charts = QUANTITIES.map(([name, title]) => ({
      name,
      title,
      chart: new Chart({ height: HEIGHT, signal, data: () => this.data(name), label: "Chart over time" }),
      readout: h("output", { class: "soft small", "aria-live": "off" }),
    }));
    this.element = h("div", { class: "motion-charts" }, this.charts.map(({ title, chart, readout }) => h("figure", {}, h("figcaption", {}, h("b", {}, title), readout), chart.element)));
  }

  show(motion, index, name, colour) {
    Object.assign(this, { motion, index, objectName: name, colour });
    for (const { chart } of this.charts) chart.draw();
    this.atRow(this.row);
  }

  atRow(row) {
    this.row = row;
    if (!this.motion) return;
    for (const { name, chart, readout } of this.charts) {
      chart.movePlayhead(this.motion.times[row]);
      readout.textContent = this.valueText(name, row);
    }
  }

  /** Of the interval that ends in a row; of the two around it for an acceleration. */
  valueText(name, row) {
    const { motion, index } = this;
    const at = name === "acceleration" ? row + motion.over : row;
    const [value, low, high] = ["value", "low", "high"].map((limit) => motion[name][limit][index][at] ?? null);
    if (value !== null) return `${figure(value)} ${unitOf(motion, name)}, proved ${figure(low, Math.floor)} to ${figure(high, Math.ceil)}`;
    if (name !== "acceleration" && row < motion.over) return "no interval ends in this frame yet";
    if (name === "distance" && motion.speed.value[index][row] !== null) return `known after every ${motion.over} frames`;
    const ends = name === "acceleration" && (at >= motion.times.length || at < 2 * motion.over);
    return ends ? "no two intervals meet in this frame" : "nothing is proved here";
  }

  data(name) {
    const { motion, index } = this;
    const { times } = motion ?? { times: [0, 1] };
    const x = { label: motion?.per === "frame" ? "frame" : "time, s", range: [times[0], times.at(-1)] };
    if (!motion) return { x, y: { label: "", range: [0, 1] } };
    const own = Object.fromEntries(Object.entries(motion[name]).map(([limit, objects]) => [limit, objects[index]]));
    const range = [0, HEADROOM * own.high.reduce((most, value) => Math.max(most, value ?? 0), 0) || 1];
    const shape = name === "distance" ? polyline(motion, own) : levels(motion, own, name);
    const gap = gaps(motion, index, name, range);
    return {
      label: `Chart over time, in ${unitOf(motion, name)}, of ${this.objectName}, with the proved limits; the numbers are in motion.csv`,
      x,
      y: { label: unitOf(motion, name), range },
      bands: [{ ...gap, kind: "gap" }, { ...shape, colour: this.colour }],
      lines: [{ x: shape.x, y: shape.value, colour: this.colour }],
    };
  }
}

export const unitOf = ({ unit, per }, name) => ({ speed: `${unit}/${per}`, acceleration: `${unit}/${per}²`, distance: unit })[name];

/** Four significant digits; limits are rounded outwards. */
export function figure(value, round = Math.round) {
  if (value === 0) return "0";
  const step = 10 ** (Math.floor(Math.log10(Math.abs(value))) - 3);
  return String(Number((round(value / step + (round === Math.ceil ? -1e-6 : 1e-6)) * step).toPrecision(4)));
}

const twice = (values) => values.flatMap((value) => [value, value]);

/** Where the level of each row begins and ends. An acceleration is about the frame between its two intervals. */
function edges({ times, start, end, over }, name) {
  if (name !== "acceleration") return times.flatMap((_, row) => [start[row], end[row]]);
  return times.flatMap((time, row) => {
    const half = row ? (time - times[row - 1]) / 2 : 0;
    const middle = times[Math.max(0, row - over)];
    return [middle - half, middle + half];
  });
}

function levels(motion, { value, low, high }, name) {
  return { x: edges(motion, name), value: twice(value), low: twice(low), high: twice(high) };
}

/** Through every `over`-th row, interrupted at gaps. */
function polyline({ times, over }, own) {
  const found = { x: [], value: [], low: [], high: [] };
  let last = 0;
  times.forEach((time, row) => {
    if (own.value[row] === null) return;
    if (row - last > over || own.value[row] === 0) add(found, time, null);
    add(found, time, own, row);
    last = row;
  });
  return found;
}

function add(found, time, own, row) {
  found.x.push(time);
  for (const limit of ["value", "low", "high"]) found[limit].push(own ? own[limit][row] : null);
}

/** The rows that end an interval of which nothing is proved. */
function gaps(motion, index, name, [bottom, top]) {
  const of = name === "distance" ? "speed" : name;
  const first = of === "speed" ? motion.over : 2 * motion.over;
  const missing = motion[of].value[index].map((value, row) => value === null && row >= first);
  return { x: edges(motion, of), low: twice(missing.map((gap) => (gap ? bottom : null))), high: twice(missing.map((gap) => (gap ? top : null))) };
}
