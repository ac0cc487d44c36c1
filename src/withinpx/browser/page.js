// A detector in one page: a clip is dropped, its frames are read and judged one after the other, the result is shown.

import { droppedFiles, inputFiles } from "../studio/static/chosen_files.js";
import { announce, errorBox, h } from "../studio/static/dom.js";
import { FrameView, wholeOf } from "../studio/static/frame_view.js";
import { swatch, useColours } from "../studio/static/palette.js";
import { boundText, counted, reasonText } from "../studio/static/text.js";
import { openClip } from "./clip.js";
import { frameView, Result, verdictSentence } from "./result.js";
import { about, loadDetector, unpacked } from "./runtime.js";
import { Tracks } from "./tracks.js";

const screen = document.getElementById("screen");
const errors = errorBox();
let leaving = new AbortController(); // of the screen that is shown
let detector = null; // the promise of it
let back = showStart; // to what was shown before a clip that cannot be used

function start() {
  useColours(about.marks);
  document.getElementById("version").textContent = `withinpx ${about.version}.`;
  document.getElementById("show-notices").addEventListener("click", showNotices);
  for (const name of ["dragover", "drop"]) addEventListener(name, (event) => event.preventDefault()); // else the browser opens the file
  addEventListener("drop", ({ dataTransfer }) => attempt(() => droppedFiles(dataTransfer)));
  showStart();
}

function newScreen(name, ...content) {
  leaving.abort();
  leaving = new AbortController();
  screen.className = `screen screen-${name}`;
  screen.replaceChildren(...content);
  return leaving.signal;
}

function showStart() {
  back = showStart;
  const { width, height } = about.recording;
  const hero = h("section", { class: "hero" });
  const signal = newScreen("start", hero);
  const scene = new FrameView(wholeOf(about.recording), { label: "The scene without its objects", signal });
  const image = h("img", { src: about.background.image, alt: "" });
  image.decode().then(() => scene.show(image, about.background.part));
  hero.append(
    h("div", {},
      h("h1", {}, "Find the objects in another clip of this camera"),
      h("p", { class: "lead" }, `The detector of ${counted(about.objects.length, "object")} in frames of ${width} × ${height} px. It runs in this page, on this computer.`),
      dropZone(),
      errors.element),
    h("div", { class: "card scene" }, scene.element, h("p", { class: "soft small" }, "The scene as the detector knows it, without objects."), objectList()));
}

function dropZone() {
  const video = h("input", { type: "file", id: "clip", multiple: true, accept: "video/*,image/*", class: "hidden-input", onchange: () => attempt(() => inputFiles(video)) });
  return h("div", { class: "drop" }, video,
    h("label", { class: "button primary", for: "clip" }, "Choose a video or images"), h("span", { class: "drop-or" }, "or drop them here"),
    h("p", { class: "soft small" }, "A folder of images can be dropped, too. PNG images are read exactly; videos as this browser decodes them."));
}

function objectList() {
  const verdict = ({ certified, failed, theorem_px }) => {
    if (certified) return `bounds from ${boundText(theorem_px)}`;
    return failed ? `never certified: ${reasonText(failed)}` : "never certified here: it has no feasible sets";
  };
  return h("ul", { class: "object-list" }, about.objects.map((object, index) => h("li", {}, h("span", {}, swatch(index), `Object ${index}`), h("span", { class: "soft" }, verdict(object)))));
}

/** One clip at a time; what is dropped meanwhile is not taken. */
async function attempt(chosen) {
  if (screen.dataset.busy) return;
  screen.dataset.busy = "true";
  errors.show(null);
  try {
    const { name, files } = await chosen();
    await detect(files, name);
  } catch (error) {
    back();
    errors.show(error);
  } finally {
    delete screen.dataset.busy;
  }
}

async function detect(files, folder) {
  const progress = h("progress", {});
  const message = h("p", { class: "now", role: "status" }, "Preparing the detector …");
  const stop = h("button", { type: "button" }, "Stop");
  const card = h("div", { class: "card progress-card" }, message, progress, h("div", { class: "buttons" }, stop));
  const signal = newScreen("progress", card);
  const [clip, run] = await Promise.all([openClip(files), (detector ??= loadDetector())]);
  if (folder) Object.assign(clip, { name: folder, stem: folder });
  const stopping = new AbortController();
  stop.addEventListener("click", () => stopping.abort());
  const tracks = new Tracks();
  const view = frameView(tracks, clip.name, signal);
  card.append(view.element);
  const rate = await judge(clip, run, tracks, stopping.signal, (image, perSecond) => {
    Object.assign(view, { row: tracks.length - 1 });
    view.show(image);
    message.textContent = `${clip.name}: frame ${tracks.length}${clip.total ? ` of ${Math.max(clip.total, tracks.length)}` : ""}, ${perSecond.toFixed(1)} per second`;
    if (clip.total) Object.assign(progress, { max: clip.total, value: tracks.length });
  });
  showResult(clip, tracks, rate, stopping.signal.aborted);
}

/** Every frame through the detector; returns how many per second. */
async function judge(clip, run, tracks, stopping, onFrame) {
  const changed = [];
  const started = performance.now();
  const perSecond = () => (1000 * tracks.length) / (performance.now() - started);
  for await (const { rgba, image, time_s } of clip.frames()) {
    const found = await run(rgba);
    tracks.add(found, time_s);
    changed.push(found.changed[0]);
    if (changed.length === about.scene.frames) checkScene(clip, changed);
    onFrame(image, perSecond());
    await new Promise((resolve) => setTimeout(resolve)); // for the screen, and the button
    if (stopping.aborted) break;
  }
  if (changed.length < about.scene.frames) checkScene(clip, changed);
  return perSecond();
}

/** Footage of another scene is refused, as `withinpx detect` does. */
function checkScene(clip, changed) {
  const ordered = [...changed].sort((one, other) => one - other);
  const middle = (ordered[Math.floor((ordered.length - 1) / 2)] + ordered[Math.floor(ordered.length / 2)]) / 2;
  if (middle > about.scene.most) {
    throw new Error(`${clip.name} does not show the detector's scene: ${Math.round(100 * middle)}% of the frame differs from its background. Use footage of the same camera.`);
  }
}

function showResult(clip, tracks, rate, stopped) {
  const sentence = `${stopped ? "Stopped. " : ""}${verdictSentence(tracks)}`;
  const header = h("header", { class: "run-header" }, h("div", { class: "run-title" },
    h("h1", {}, clip.name), h("button", { type: "button", class: "small", id: "another", onclick: () => {
      errors.show(null);
      showStart();
    } }, "Another clip"),
    h("p", { class: "soft", id: "verdict", "data-rate": rate.toFixed(2) }, sentence)));
  const signal = newScreen("result", header, errors.element);
  back = () => showResult(clip, tracks, rate, stopped);
  screen.append(new Result(clip, tracks, signal).element);
  announce(sentence);
}

async function showNotices({ target }) {
  const text = document.getElementById("notices-text");
  text.textContent = new TextDecoder().decode(await unpacked("notices"));
  text.hidden = false;
  target.hidden = true;
}

start();
