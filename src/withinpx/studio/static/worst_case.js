// The paper's figure 2: the largest distance between a position and its object, for the encoder and the decoder.

import { h, onResize, s } from "./dom.js";

const MAX_HEIGHT = 320; // screen px
const ABOVE = 24; // for labels
const BELOW = 52;

export class WorstCase {
  constructor(signal) {
    this.element = h("div", { class: "worst" });
    this.cells = ["encoder", "decoder"].map((part) => ({ part, figure: h("figure", { class: "worst-cell" }), drawing: h("div", { class: "worst-drawing" }), caption: h("figcaption", {}) }));
    for (const cell of this.cells) {
      cell.figure.append(cell.drawing, cell.caption);
      this.element.append(cell.figure);
    }
    onResize(this.element, signal, () => this.settings && this.draw(this.settings));
  }

  /** {encoderRf, decoderRf, size, reach, sigma, bound} */
  draw(settings) {
    this.settings = settings;
    const { encoderRf, decoderRf, size, reach, bound } = settings;
    const width = this.cells[0].drawing.clientWidth;
    if (!width) return;
    // one scale for both, so that they can be compared
    const across = Math.max(encoderRf + size - 1, decoderRf / 2 + reach + Math.max(decoderRf / 2, reach, 3)) + 2;
    const down = Math.max(encoderRf, decoderRf, size) + 2;
    const scale = Math.min((width - 16) / across, (MAX_HEIGHT - ABOVE - BELOW) / down);
    const stacked = this.cells[0].figure.offsetTop !== this.cells[1].figure.offsetTop;
    const tall = (px) => Math.round(ABOVE + (px + 2) * scale + BELOW);
    for (const { part, figure, drawing, caption } of this.cells) {
      const limits = bound.limiting === part || bound.limiting === "both";
      const height = tall(stacked ? Math.max(part === "encoder" ? encoderRf : decoderRf, size) : down - 2); // level with each other
      const term = part === "encoder" ? bound.encoder_term : bound.decoder_term;
      figure.classList.toggle("limits", limits);
      drawing.replaceChildren(new Scene(width, height, scale, part, settings, term).drawing);
      caption.replaceChildren(h("b", {}, `${part === "encoder" ? "Encoder" : "Decoder"}: ${plain(term)} px`), h("span", { class: "pill busy", hidden: !limits }, "limits"),
        h("span", { class: "soft small" }, part === "encoder"
          ? `Its receptive field of ${encoderRf} px must contain at least one pixel of the object: ${encoderRf}/2 + ${plain(size)}/2 − 1.`
          : `It renders at most ${decoderRf}/2 px from the Gaussian, and the whole object must fit: ${decoderRf}/2 − ${plain(size)}/2${reach ? ` + ${plain(reach)}, the reach of the Gaussian` : ""}.`));
    }
  }
}

class Scene {
  constructor(width, height, scale, part, { encoderRf, decoderRf, size, reach, sigma }, term) {
    this.scale = scale;
    this.width = width;
    const window = part === "encoder" ? encoderRf : decoderRf;
    // along x, px: z at 0, the object to its right; y is 0 for all
    const centre = part === "encoder" ? 0 : reach; // of the window
    const left = Math.min(centre - window / 2, term - size / 2, -3);
    const right = Math.max(centre + window / 2, term + size / 2);
    this.x = (value) => width / 2 + (value - (left + right) / 2) * scale;
    this.middle = ABOVE + (height - ABOVE - BELOW) / 2;
    this.y = (value) => this.middle + value * scale;
    const high = Math.max(window, size);
    this.drawing = s("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${part}: the centre of the object is ${plain(term)} px from the position z` },
      this.square("object-box", term, size),
      this.grid(term, size),
      this.square("window", centre, window),
      part === "encoder" ? this.touch(term, size, window) : this.gaussian(sigma, reach),
      this.dot(0, "z-dot"),
      this.dot(term, "object-dot"),
      s("text", { class: "window-name", x: this.x(centre - window / 2), y: this.y(-window / 2) - 7 }, part === "encoder" ? `it sees ${window} px` : `it renders ${window} px`),
      this.measure(0, term, high));
  }

  square(kind, centre, side) {
    return s("rect", { class: kind, x: this.x(centre - side / 2), y: this.y(-side / 2), width: side * this.scale, height: side * this.scale });
  }

  /** Its pixels, if they are large enough to be seen. */
  grid(centre, side) {
    if (this.scale < 5) return [];
    const lines = [];
    for (let at = 1; at < side; at++) {
      const value = -side / 2 + at;
      lines.push(s("line", { class: "pixel", x1: this.x(centre + value), x2: this.x(centre + value), y1: this.y(-side / 2), y2: this.y(side / 2) }));
      lines.push(s("line", { class: "pixel", x1: this.x(centre - side / 2), x2: this.x(centre + side / 2), y1: this.y(value), y2: this.y(value) }));
    }
    return lines;
  }

  /** The column of pixels that the object and the receptive field share. */
  touch(term, size, window) {
    const shared = Math.min(size, window);
    return s("rect", { class: "touch", x: this.x(term - size / 2), width: this.scale, y: this.y(-shared / 2), height: shared * this.scale });
  }

  gaussian(sigma, reach) {
    const rings = [3, 2, 1].map((n) => s("circle", { class: "gauss", cx: this.x(0), cy: this.y(0), r: Math.max(0.5, n * Math.max(sigma, 0.2) * this.scale) }));
    return [...rings, reach ? s("circle", { class: "reach", cx: this.x(0), cy: this.y(0), r: reach * this.scale }) : null];
  }

  dot(at, kind) {
    return s("circle", { class: kind, cx: this.x(at), cy: this.y(0), r: 4 });
  }

  measure(from, to, high) {
    const y = this.y(high / 2) + 18;
    const [x0, x1] = [this.x(from), this.x(to)];
    return [
      s("line", { class: "plumb", x1: x0, x2: x0, y1: this.y(0), y2: y + 5 }),
      s("line", { class: "plumb", x1, x2: x1, y1: this.y(0), y2: y + 5 }),
      s("path", { class: "measure", d: `M${x0} ${y - 5}v10M${x1} ${y - 5}v10M${x0} ${y}H${x1}` }),
      Math.abs(x1 - x0) < 34 ? null : s("text", { class: "measured", x: (x0 + x1) / 2, y: y - 6, "text-anchor": "middle" }, `${plain(Math.abs(to - from))} px`),
      s("text", { x: Math.max(60, x0 + 6), y: y + 19, "text-anchor": "end" }, "position z"),
      s("text", { x: Math.min(this.width - 84, Math.max(x1 - 6, x0 + 14)), y: y + 19 }, "centre of object"),
    ];
  }
}

const plain = (value) => String(Number(value.toFixed(2))).replace("-", "−");
