// Objects where they never were: drag one, and the decoder draws it there at once; record a path; take the film home.

import * as api from "./api.js";
import { action, announce, errorPlace, h, latestWins, onResize, save } from "./dom.js";
import { numberOf } from "./marks.js";
import { colourOf, swatch } from "./palette.js";
import { Picture, viewOf } from "./picture.js";
import { runHead } from "./run_head.js";
import { counted } from "./words.js";

const FPS = 25;
const MOST_FRAMES = 3000;
const MOVES = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

export async function show(root, { run, signal }) {
  const tracks = await api.tracks(run.id, signal);
  if (signal.aborted) return;
  const view = viewOf(run);
  const drawing = errorPlace();
  const filming = errorPlace();
  const editor = new Editor(run, tracks, view, { signal, errors: drawing });
  const recorder = new Recorder(editor, signal);
  const film = h("video", { controls: true, loop: true, playsinline: true, class: "film", hidden: true, "aria-label": "The film" });
  const exportButton = action("Export the film", filming, async () => {
    if (!recorder.path.length) throw new Error("There is no path yet: press Record, move an object, and press Stop.");
    announce("The film is being made.");
    const blob = await api.film(run.id, recorder.path, FPS);
    film.src = URL.createObjectURL(blob);
    film.hidden = false;
    save(blob, `${run.name.replace(/\.[^.]*$/, "")}_edited.mp4`);
    announce("The film is ready.");
  }, { id: "export" });
  root.append(
    runHead(run, "edit"),
    h("div", { class: "split" },
      h("section", { class: "split-main", "aria-label": "The picture" },
        editor.element,
        h("p", { class: "soft small", id: "edit-help" }, "Drag an object, or focus it and use the arrow keys (with Shift, 10 px). What you see is drawn by the decoder, not copied from a frame."),
        drawing.element),
      h("div", { class: "split-side" },
        h("section", { class: "card", "aria-labelledby": "where" }, h("h2", { id: "where" }, "Objects"), editor.list, fromFrame(tracks, editor)),
        h("section", { class: "card", "aria-labelledby": "film" }, h("h2", { id: "film" }, "A path, and a film of it"),
          h("p", { class: "soft small" }, "Record while you move objects about; then play it back, or export it."),
          recorder.element, h("div", { class: "buttons" }, exportButton), filming.element, film))));
  editor.redraw();
}

function fromFrame(tracks, editor) {
  const last = tracks.frames.length - 1;
  const said = h("output", {}, `frame ${tracks.frames[0]}`);
  const slider = h("input", { type: "range", min: 0, max: last, value: 0, "aria-label": "Frame to take the positions of", oninput: () => {
    said.textContent = `frame ${tracks.frames[Number(slider.value)]}`;
    slider.setAttribute("aria-valuetext", said.textContent);
    editor.takeFrom(Number(slider.value));
  } });
  return h("div", { class: "from-frame" }, h("p", { class: "small" }, "Put them as in ", said), slider);
}

class Editor {
  constructor(run, tracks, view, { signal, errors }) {
    Object.assign(this, { run, tracks, view, signal, errors });
    this.frame = tracks.frames[0];
    this.hidden = new Set();
    this.onChange = () => {};
    this.handles = Array.from({ length: tracks.objects }, (_, each) => this.handle(each));
    this.rows = Array.from({ length: tracks.objects }, () => h("span", { class: "coordinates" }));
    this.picture = new Picture(view, { label: "What the decoder draws with the objects at these places", describedBy: "edit-help", signal });
    this.picture.element.append(...this.handles);
    this.element = this.picture.element;
    this.list = h("ul", { class: "object-list" }, this.rows.map((row, each) => h("li", {},
      h("label", { class: "check" },
        h("input", { type: "checkbox", checked: true, onchange: (event) => this.setShown(each, event.target.checked) }),
        swatch(numberOf(tracks, each)), h("span", {}, `object ${numberOf(tracks, each)}`)), row)));
    this.ask = latestWins(() => this.draw());
    this.takeFrom(0, false);
    onResize(this.element, signal, () => this.place());
  }

  /** A real button per object: it can be dragged, focused, moved by keys and heard. */
  handle(each) {
    const number = numberOf(this.tracks, each);
    const button = h("button", { type: "button", class: "handle", "data-object": number, "aria-describedby": "edit-help", onkeydown: (event) => this.key(event, each) }, h("span", { "aria-hidden": "true" }, number));
    button.style.setProperty("--colour", colourOf(number));
    button.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      event.preventDefault();
      button.focus({ preventScroll: true });
      button.setPointerCapture(event.pointerId);
      const [x, y] = this.picture.toRecording(event);
      const off = [this.positions[each][0] - x, this.positions[each][1] - y];
      const move = (at) => {
        const [toX, toY] = this.picture.toRecording(at);
        this.moveTo(each, toX + off[0], toY + off[1]);
      };
      const end = () => {
        button.removeEventListener("pointermove", move);
        button.removeEventListener("pointerup", end);
        button.removeEventListener("pointercancel", end);
      };
      button.addEventListener("pointermove", move);
      button.addEventListener("pointerup", end);
      button.addEventListener("pointercancel", end);
    });
    return button;
  }

  key(event, each) {
    const step = MOVES[event.key];
    if (!step || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    const far = event.shiftKey ? 10 : 1;
    const [x, y] = this.positions[each];
    this.moveTo(each, x + far * step[0], y + far * step[1]);
    announce(`x ${this.positions[each][0].toFixed(0)}, y ${this.positions[each][1].toFixed(0)}`);
  }

  moveTo(each, x, y) {
    const [left, top, width, height] = this.view;
    this.positions[each] = [Math.min(Math.max(x, left), left + width), Math.min(Math.max(y, top), top + height)];
    this.redraw();
  }

  setShown(each, on) {
    if (on) this.hidden.delete(each);
    else this.hidden.add(each);
    this.redraw();
  }

  /** The places of a frame; of an object that it does not show, the nearest place before or after. */
  takeFrom(row, redraw = true) {
    this.frame = this.tracks.frames[row];
    this.positions = this.handles.map((_, each) => {
      const rows = this.tracks.frames.map((_frame, at) => at).filter((at) => this.tracks.x[each][at] !== null);
      const nearest = rows.reduce((best, at) => (Math.abs(at - row) < Math.abs(best - row) ? at : best), rows[0]);
      return nearest === undefined ? [this.view[0] + this.view[2] / 2, this.view[1] + this.view[3] / 2] : [this.tracks.x[each][nearest], this.tracks.y[each][nearest]];
    });
    if (redraw) this.redraw();
  }

  get shown() {
    return this.positions.map((position, each) => (this.hidden.has(each) ? null : position));
  }

  set shown(places) {
    places.forEach((place, each) => {
      if (place) this.positions[each] = place;
    });
    this.redraw();
  }

  redraw() {
    this.place();
    this.onChange();
    this.ask();
  }

  place() {
    this.handles.forEach((button, each) => {
      const [x, y] = this.positions[each];
      button.hidden = this.hidden.has(each);
      button.style.left = `${((x - this.view[0]) / this.view[2]) * 100}%`;
      button.style.top = `${((y - this.view[1]) / this.view[3]) * 100}%`;
      button.setAttribute("aria-label", `Object ${numberOf(this.tracks, each)} at x ${x.toFixed(0)}, y ${y.toFixed(0)}`);
      this.rows[each].textContent = this.hidden.has(each) ? "not drawn" : `${x.toFixed(1)}, ${y.toFixed(1)} px`;
    });
  }

  async draw() {
    const places = structuredClone(this.shown); // they may move on while this is being drawn
    try {
      const blob = await api.draw(this.run.id, this.frame, places, this.signal);
      this.picture.show(await createImageBitmap(blob));
      this.element.dataset.drawn = JSON.stringify(places);
      this.errors.show(null);
    } catch (error) {
      this.errors.show(error);
    }
  }
}

class Recorder {
  constructor(editor, signal) {
    this.editor = editor;
    this.signal = signal;
    this.path = []; // one list of places a frame
    this.timer = 0;
    this.recordButton = h("button", { type: "button", class: "record", id: "record", onclick: () => this.toggle() }, "Record");
    this.playButton = h("button", { type: "button", class: "quiet", disabled: true, onclick: () => this.play() }, "Play it back");
    this.said = h("p", { class: "soft small", role: "status" }, "Nothing recorded yet.");
    this.element = h("div", {}, h("div", { class: "buttons" }, this.recordButton, this.playButton), this.said);
    signal.addEventListener("abort", () => clearInterval(this.timer));
  }

  get recording() {
    return this.recordButton.classList.contains("on");
  }

  toggle() {
    if (this.recording) this.stop();
    else this.start();
  }

  start() {
    clearInterval(this.timer);
    this.path = [];
    this.recordButton.classList.add("on");
    this.recordButton.textContent = "Stop";
    this.playButton.disabled = true;
    announce("Recording.");
    this.timer = setInterval(() => {
      this.path.push(structuredClone(this.editor.shown));
      this.said.textContent = `Recording: ${(this.path.length / FPS).toFixed(1)} s`;
      if (this.path.length >= MOST_FRAMES) this.stop();
    }, 1000 / FPS);
  }

  stop() {
    clearInterval(this.timer);
    this.recordButton.classList.remove("on");
    this.recordButton.textContent = "Record anew";
    this.playButton.disabled = !this.path.length;
    this.said.textContent = `A path of ${counted(this.path.length, "frame")}, ${(this.path.length / FPS).toFixed(1)} s.`;
  }

  play() {
    clearInterval(this.timer);
    let at = 0;
    this.timer = setInterval(() => {
      if (at >= this.path.length) return clearInterval(this.timer);
      this.editor.shown = structuredClone(this.path[at++]);
    }, 1000 / FPS);
  }
}
