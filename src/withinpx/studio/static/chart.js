// A small SVG line chart with bands, points and a playhead, repainted when its size changes.

import { h, onResize, s } from "./dom.js";

const MARGIN = { left: 46, right: 14, top: 26, bottom: 34 };

export class Chart {
  /** `data()` gives {lines, bands, points, x: {label, range}, y: {label, range, log}, label}. */
  constructor({ height = 200, signal, data, label }) {
    this.height = height;
    this.data = data;
    this.element = h("div", { class: "chart" });
    this.label = label;
    onResize(this.element, signal, () => this.draw());
  }

  draw() {
    const width = this.element.clientWidth;
    if (!width) return;
    const data = this.data();
    const axes = new Axes(width, this.height, data);
    this.axes = axes;
    this.playhead = s("line", { class: "playhead", y1: axes.top, y2: axes.bottom, x1: -9, x2: -9 });
    const svg = s("svg", { viewBox: `0 0 ${width} ${this.height}`, width, height: this.height, role: "img", "aria-label": data.label ?? this.label },
      axes.grid(),
      (data.bands ?? []).map((band) => axes.band(band)),
      (data.lines ?? []).map((line) => axes.line(line)),
      (data.points ?? []).map((point) => axes.point(point)),
      this.playhead);
    this.element.replaceChildren(svg);
    if (this.playheadAt !== undefined) this.movePlayhead(this.playheadAt);
  }

  /** Also before the first `draw`; later ones keep it. */
  movePlayhead(x) {
    this.playheadAt = x;
    if (!this.playhead) return;
    const at = this.axes.x(x);
    this.playhead.setAttribute("x1", at);
    this.playhead.setAttribute("x2", at);
  }
}

class Axes {
  constructor(width, height, { x, y }) {
    this.left = MARGIN.left;
    this.right = width - MARGIN.right;
    this.top = MARGIN.top;
    this.bottom = height - MARGIN.bottom;
    this.xAxis = x;
    this.yAxis = y;
    this.x = scaleTo(x.range, this.left, this.right);
    this.y = y.log ? logTo(y.range, this.bottom, this.top) : scaleTo(y.range, this.bottom, this.top);
  }

  grid() {
    const across = (this.right - this.left) / 70;
    const down = this.yAxis.log ? decades(this.yAxis.range) : ticks(this.yAxis.range, Math.max(2, (this.bottom - this.top) / 36));
    return [
      down.map((value) => [
        s("line", { class: "grid", x1: this.left, x2: this.right, y1: this.y(value), y2: this.y(value) }),
        s("text", { x: this.left - 7, y: this.y(value) + 4, "text-anchor": "end" }, plain(value)),
      ]),
      ticks(this.xAxis.range, Math.max(2, across)).map((value) =>
        s("text", { x: this.x(value), y: this.bottom + 15, "text-anchor": "middle" }, plain(value))),
      s("line", { class: "axis", x1: this.left, x2: this.right, y1: this.bottom, y2: this.bottom }),
      s("text", { class: "axis-name", x: this.right, y: this.bottom + 30, "text-anchor": "end" }, this.xAxis.label),
      s("text", { class: "axis-name", x: 0, y: 11 }, this.yAxis.label ?? ""),
    ];
  }

  /** Interrupted where a value is missing. */
  line({ x, y, colour, kind = "" }) {
    let path = "";
    let connected = false;
    x.forEach((value, at) => {
      if (y[at] === null || y[at] === undefined) connected = false;
      else {
        path += `${connected ? "L" : "M"}${this.x(value).toFixed(1)} ${this.y(y[at]).toFixed(1)}`;
        connected = true;
      }
    });
    return s("path", { class: `line ${kind}`, d: path, stroke: colour });
  }

  band({ x, low, high, colour, kind = "" }) {
    let path = "";
    let run = [];
    const close = () => {
      if (run.length > 1) {
        const there = run.map((at) => `${this.x(x[at]).toFixed(1)} ${this.y(high[at]).toFixed(1)}`);
        const back = run.reverse().map((at) => `${this.x(x[at]).toFixed(1)} ${this.y(low[at]).toFixed(1)}`);
        path += `M${there.join("L")}L${back.join("L")}Z`;
      }
      run = [];
    };
    x.forEach((_, at) => (low[at] === null || high[at] === null ? close() : run.push(at)));
    close();
    return s("path", { class: `band ${kind}`, d: path, fill: colour });
  }

  point({ x, y, kind = "" }) {
    return [
      s("line", { class: `drop ${kind}`, x1: this.x(x), x2: this.x(x), y1: this.y(y), y2: this.bottom }),
      s("circle", { class: `point ${kind}`, cx: this.x(x), cy: this.y(y), r: 5 }),
    ];
  }
}

function scaleTo([low, high], from, to) {
  const span = high - low || 1;
  return (value) => from + ((value - low) / span) * (to - from);
}

function logTo([low, high], from, to) {
  const scale = scaleTo([Math.log10(low), Math.log10(high)], from, to);
  return (value) => scale(Math.log10(Math.max(value, low)));
}

export function ticks(range, count) {
  const [low, high] = [Math.min(...range), Math.max(...range)]; // an axis may point down
  const rough = (high - low || 1) / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough * 0.999);
  const found = [];
  for (let at = Math.ceil(low / step - 1e-9); at * step <= high + step * 1e-6; at++) found.push(Number((at * step).toPrecision(12)));
  return found;
}

function decades([low, high]) {
  const found = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++) {
    for (const digit of high / low < 12 ? [1, 2, 5] : [1]) {
      const value = digit * 10 ** power;
      if (value >= low * 0.999 && value <= high * 1.001) found.push(value);
    }
  }
  return found;
}

function plain(value) {
  return value !== 0 && Math.abs(value) < 1e-3 ? Number(value.toPrecision(6)).toExponential().replace("e-", "e−") : String(Number(value.toPrecision(6))).replace("-", "−");
}
