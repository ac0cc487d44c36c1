// Objects at new positions: drag one and the decoder renders it there; record a path; export a video.

import * as api from "./api.js";
import { action, announce, errorBox, h, latestWins, onDrag, onResize, saveFile } from "./dom.js";
import { FrameView, viewOf } from "./frame_view.js";
import { numberOf } from "./overlay.js";
import { colourOf, swatch } from "./palette.js";
import { runHeader } from "./run_header.js";
import { counted } from "./text.js";
import { indices } from "./timeline.js";

const FPS = 25;
const MAX_FRAMES = 3000;
const STEPS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

export async function show(root, { run, signal }) {
  const tracks = await api.tracks(run.id, signal);
  if (signal.aborted) return;
  const renderErrors = errorBox();
  const videoErrors = errorBox();
  const editor = new Editor(run, tracks, { signal, errors: renderErrors });
  const recorder = new Recorder(editor, signal);
  const video = h("video", { controls: true, loop: true, playsinline: true, class: "video", hidden: true, "aria-label": "The video" });
  const exportButton = action("Export a video", videoErrors, async () => {
    if (!recorder.path.length) throw new Error("There is no path yet: press Record, move an object, and press Stop.");
    announce("The video is being rendered.");
    const blob = await api.video(run.id, { trajectories: recorder.path, fps: FPS, appearance: editor.appearance });
    video.src = URL.createObjectURL(blob);
    video.hidden = false;
    saveFile(blob, `${run.name.replace(/\.[^.]*$/, "")}_edited.mp4`);
    announce("The video is ready.");
  }, { id: "export" });
  root.append(
    runHeader(run, "edit"),
    h("div", { class: "split" },
      h("section", { class: "split-main", "aria-label": "The scene" },
        editor.element,
        h("p", { class: "soft small", id: "edit-help" }, "Drag an object, or focus it and use the arrow keys (with Shift, 10 px). The decoder renders the image; nothing is copied from a frame."),
        renderErrors.element),
      h("div", { class: "split-side" },
        h("section", { class: "card", "aria-labelledby": "objects" }, h("h2", { id: "objects" }, "Objects"), editor.list, frameSlider(tracks, editor)),
        h("section", { class: "card", "aria-labelledby": "record-title" }, h("h2", { id: "record-title" }, "Record a path"),
          h("p", { class: "soft small" }, "Record while you move objects; then play it back, or export it as a video."),
          recorder.element, h("div", { class: "buttons" }, exportButton), videoErrors.element, video))));
  editor.update();
}

function frameSlider(tracks, editor) {
  const last = tracks.frames.length - 1;
  const label = h("output", {}, `frame ${tracks.frames[0]}`);
  const slider = h("input", { type: "range", min: 0, max: last, value: 0, "aria-label": "Frame to take the positions from", oninput: () => {
    label.textContent = `frame ${tracks.frames[Number(slider.value)]}`;
    slider.setAttribute("aria-valuetext", label.textContent);
    editor.takeFrom(Number(slider.value));
  } });
  return h("div", { class: "from-frame" }, h("p", { class: "small" }, "Positions from ", label), slider);
}

class Editor {
  constructor(run, tracks, { signal, errors }) {
    Object.assign(this, { run, tracks, signal, errors, view: viewOf(run) });
    this.hidden = new Set();
    this.appearance = indices(tracks).map(() => null); // the frame that shows how each object appears; null: as usual
    this.handles = indices(tracks).map((index) => this.handle(index));
    this.coordinates = this.handles.map(() => h("span", { class: "coordinates" }));
    this.frameView = new FrameView(this.view, { label: "The decoder's image with the objects at these positions", describedBy: "edit-help", signal });
    this.element = this.frameView.element;
    this.element.append(...this.handles);
    this.list = h("ul", { class: "object-list" }, this.coordinates.map((coordinates, index) => h("li", {},
      h("label", { class: "check" },
        h("input", { type: "checkbox", checked: true, onchange: (event) => this.setShown(index, event.target.checked) }),
        swatch(numberOf(tracks, index)), h("span", {}, `object ${numberOf(tracks, index)}`)), coordinates,
      tracks.has_appearances ? this.appearanceSlider(index) : [])));
    this.render = latestWins(() => this.renderNow());
    this.positions = this.positionsAt(0);
    onResize(this.element, signal, () => this.placeHandles());
  }

  /** A button per object, so that it can be dragged, focused and moved by keys. */
  handle(index) {
    const number = numberOf(this.tracks, index);
    const button = h("button", { type: "button", class: "handle", "data-object": number, "aria-describedby": "edit-help", onkeydown: (event) => this.key(event, index) }, h("span", { "aria-hidden": "true" }, number));
    button.style.setProperty("--colour", colourOf(number));
    onDrag(button, (event) => {
      button.focus({ preventScroll: true });
      const [x, y] = this.frameView.toRecording(event);
      const offset = [this.positions[index][0] - x, this.positions[index][1] - y];
      const move = (at) => {
        const [toX, toY] = this.frameView.toRecording(at);
        this.moveTo(index, toX + offset[0], toY + offset[1]);
      };
      return { move };
    });
    return button;
  }

  key(event, index) {
    const step = STEPS[event.key];
    if (!step || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    const length = event.shiftKey ? 10 : 1;
    const [x, y] = this.positions[index];
    this.moveTo(index, x + length * step[0], y + length * step[1]);
    announce(`x ${this.positions[index][0].toFixed(0)}, y ${this.positions[index][1].toFixed(0)}`);
  }

  moveTo(index, x, y) {
    const [left, top, width, height] = this.view;
    this.positions[index] = [Math.min(Math.max(x, left), left + width), Math.min(Math.max(y, top), top + height)];
    this.update();
  }

  setShown(index, on) {
    if (on) this.hidden.delete(index);
    else this.hidden.add(index);
    this.update();
  }

  takeFrom(row) {
    this.positions = this.positionsAt(row);
    this.update();
  }

  /** Chooses how an object appears: as usual at the left end, else as in one of the frames that show it. */
  appearanceSlider(index) {
    const rows = this.shownRows(index);
    const label = h("output", {}, "usual");
    const slider = h("input", { type: "range", min: -1, max: rows.length - 1, value: -1, "aria-label": `Appearance of object ${numberOf(this.tracks, index)}`, oninput: () => {
      const row = rows[Number(slider.value)];
      this.appearance[index] = row === undefined ? null : this.tracks.frames[row];
      label.textContent = row === undefined ? "usual" : `as in frame ${this.tracks.frames[row]}`;
      slider.setAttribute("aria-valuetext", label.textContent);
      this.render();
    } });
    return h("div", { class: "appearance" }, h("p", { class: "small" }, "Appearance: ", label), slider);
  }

  shownRows(index) {
    return this.tracks.frames.map((_, at) => at).filter((at) => this.tracks.x[index][at] !== null);
  }

  /** The positions in a frame; of an absent object, those in the nearest frame that shows it. */
  positionsAt(row) {
    const [left, top, width, height] = this.view;
    return indices(this.tracks).map((index) => {
      const rows = this.shownRows(index);
      const nearest = rows.reduce((best, at) => (Math.abs(at - row) < Math.abs(best - row) ? at : best), rows[0]);
      return nearest === undefined ? [left + width / 2, top + height / 2] : [this.tracks.x[index][nearest], this.tracks.y[index][nearest]];
    });
  }

  /** The positions of all objects, null for hidden ones. */
  get shown() {
    return this.positions.map((position, index) => (this.hidden.has(index) ? null : position));
  }

  set shown(positions) {
    this.positions = this.positions.map((position, index) => positions[index] ?? position);
    this.update();
  }

  update() {
    this.placeHandles();
    this.render();
  }

  placeHandles() {
    this.handles.forEach((button, index) => {
      const [x, y] = this.positions[index];
      button.hidden = this.hidden.has(index);
      button.style.left = `${((x - this.view[0]) / this.view[2]) * 100}%`;
      button.style.top = `${((y - this.view[1]) / this.view[3]) * 100}%`;
      button.setAttribute("aria-label", `Object ${numberOf(this.tracks, index)} at x ${x.toFixed(0)}, y ${y.toFixed(0)}`);
      this.coordinates[index].textContent = this.hidden.has(index) ? "hidden" : `${x.toFixed(1)}, ${y.toFixed(1)} px`;
    });
  }

  async renderNow() {
    const positions = structuredClone(this.shown); // they may change while the server renders
    try {
      const blob = await api.render(this.run.id, { positions, appearance: this.appearance }, this.signal);
      this.frameView.show(await createImageBitmap(blob));
      this.element.dataset.rendered = JSON.stringify(positions);
      this.errors.show(null);
    } catch (error) {
      this.errors.show(error);
    }
  }
}

class Recorder {
  constructor(editor, signal) {
    this.editor = editor;
    this.path = []; // the positions of all objects in each frame
    this.timer = 0;
    this.recordButton = h("button", { type: "button", class: "record", id: "record", onclick: () => (this.recording ? this.stop() : this.start()) }, "Record");
    this.playButton = h("button", { type: "button", class: "quiet", disabled: true, onclick: () => this.play() }, "Play it back");
    this.status = h("p", { class: "soft small", role: "status" }, "Nothing recorded yet.");
    this.element = h("div", {}, h("div", { class: "buttons" }, this.recordButton, this.playButton), this.status);
    signal.addEventListener("abort", () => clearInterval(this.timer));
  }

  get recording() {
    return this.recordButton.classList.contains("on");
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
      this.status.textContent = `Recording: ${(this.path.length / FPS).toFixed(1)} s`;
      if (this.path.length >= MAX_FRAMES) this.stop();
    }, 1000 / FPS);
  }

  stop() {
    clearInterval(this.timer);
    this.recordButton.classList.remove("on");
    this.recordButton.textContent = "Record again";
    this.playButton.disabled = !this.path.length;
    this.status.textContent = `A path of ${counted(this.path.length, "frame")}, ${(this.path.length / FPS).toFixed(1)} s.`;
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
