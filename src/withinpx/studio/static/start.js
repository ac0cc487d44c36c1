// The first screen: a clip to begin with, the demo to look at, and the runs there are.

import * as api from "./api.js";
import { action, announce, errorPlace, h } from "./dom.js";
import { drawMarks } from "./marks.js";
import { Picture, viewOf } from "./picture.js";
import { addressOf, placeOf } from "./routes.js";
import { statePill } from "./run_head.js";
import { bytes, clipWords, counted, percent, when } from "./words.js";

const TAKES = "video/*,image/*,.mkv,.avi,.mov,.mp4,.webm,.tif,.tiff";

export async function show(root, { signal }) {
  const state = await api.state(signal);
  document.getElementById("version").textContent = `withinpx ${state.version}.`;
  const demo = state.runs.find((run) => run.id === state.demo) ?? (state.demo ? await api.getRun(state.demo, signal) : null);
  const runs = state.runs.filter((run) => !run.demo);
  root.append(
    h("section", { class: "hero" },
      h("div", {},
        h("h1", {}, "Find everything that moves, and know within how many pixels it is right."),
        h("p", { class: "lead" },
          "Give it a clip from a camera that stands still. It learns what moves, without a label, and proves for each position how far off it can be. Where the proof does not hold, it says so."),
        dropZone(state, signal)),
      demo ? demoCard(demo, signal) : null),
    runList(runs, signal),
  );
}

function dropZone(state, signal) {
  const errors = errorPlace();
  const bar = h("progress", { max: 1, value: 0, hidden: true, "aria-label": "Upload" });
  const input = h("input", { type: "file", accept: TAKES, multiple: true, id: "clip-file", class: "hidden-input", onchange: () => take([...input.files]) });
  const zone = h("div", { class: "drop" },
    h("p", {}, input, h("label", { for: "clip-file", class: "button primary" }, "Choose a clip"), h("span", { class: "drop-or" }, "or drop it here")),
    h("p", { class: "soft small" }, `A video of up to ${bytes(state.upload_limit_bytes)}, or the pictures of one. It stays on this computer.`),
    bar, errors.element);

  async function take(files) {
    if (!files.length) return;
    errors.show(null);
    if (files.length === 1 && files[0].size > state.upload_limit_bytes) {
      input.value = "";
      errors.show(`${files[0].name} has ${bytes(files[0].size)}; clips of up to ${bytes(state.upload_limit_bytes)} can be taken: make it shorter or smaller.`);
      return;
    }
    bar.hidden = false;
    announce("Uploading");
    try {
      const run = await api.upload(files, (share) => (bar.value = share), signal);
      location.hash = addressOf(run, "clip");
    } catch (error) {
      errors.show(error);
    } finally {
      bar.hidden = true;
      input.value = "";
    }
  }

  let inside = 0; // dragenter and dragleave come for every child too
  const mark = (change) => {
    inside = Math.max(0, inside + change);
    zone.classList.toggle("over", inside > 0);
  };
  const hold = (event) => event.preventDefault();
  zone.addEventListener("dragenter", () => mark(1));
  zone.addEventListener("dragleave", () => mark(-1));
  addEventListener("dragover", hold, { signal }); // a clip dropped beside the zone must not replace the page
  addEventListener("drop", hold, { signal });
  zone.addEventListener("drop", (event) => {
    event.preventDefault();
    mark(-inside);
    take([...event.dataTransfer.files]);
  });
  return zone;
}

function demoCard(demo, signal) {
  const errors = errorPlace();
  const card = h("section", { class: "card demo-card", "aria-labelledby": "demo-title" },
    h("h2", { id: "demo-title" }, "No clip at hand?"),
    h("p", { class: "soft" }, "A finished run comes along. Nobody told it what moves, how many things there are, or where."),
    h("div", { class: "buttons" },
      h("a", { class: "button", href: addressOf(demo, "result") }, "See the demo"),
      action("Train it again for real", errors, async () => {
        const run = await api.copyDemo();
        location.hash = addressOf(run, "clip");
      }, { class: "quiet" })),
    errors.element);
  showDemo(demo, card, signal).catch(() => {}); // without its picture the card still does its work
  return card;
}

async function showDemo(demo, card, signal) {
  const tracks = await api.tracks(demo.id, signal);
  const row = Math.floor(tracks.frames.length / 3);
  const image = await api.frame(demo.id, tracks.frames[row], demo.options.crop, signal);
  const picture = new Picture(viewOf(demo), {
    label: `A frame of the demo with ${counted(tracks.objects, "object")} marked: a cross at each position, a square within which it is promised to be.`,
    signal,
    paint: (pen, where) => drawMarks(pen, where, tracks, row),
  });
  card.prepend(h("a", { href: addressOf(demo, "result"), class: "demo-picture", tabindex: "-1", "aria-hidden": "true" }, picture.element));
  picture.show(image);
}

function runList(runs, signal) {
  const section = h("section", { class: "runs", "aria-labelledby": "runs-title" }, h("h2", { id: "runs-title" }, "Your clips"));
  if (!runs.length) {
    section.append(h("p", { class: "soft empty" }, "None yet. Each clip you add is kept here with its detector and its certificate, until you delete it."));
    return section;
  }
  section.append(h("ul", { class: "run-list" }, runs.map((run) => runRow(run, signal))));
  return section;
}

function runRow(first, signal) {
  const errors = errorPlace();
  const row = h("li", { class: "run-row" });
  const fill = (run) => {
    const { progress, result } = run;
    const text = result
      ? `${percent(result.certified_positions / Math.max(1, result.positions))} of ${result.positions} positions certified`
      : run.state === "training" && progress ? `${progress.stage}, ${progress.done} of ${progress.of}` : (run.error ?? "");
    row.replaceChildren(
      h("img", { class: "thumb", src: api.frameAddress(run.id, 0, run.options.crop, 240), alt: "", loading: "lazy" }),
      h("div", { class: "run-words" },
        h("a", { class: "run-name", href: placeOf(run) }, run.name),
        h("p", { class: "soft small" }, clipWords(run.clip), when(run.created) ? ` · ${when(run.created)}` : "")),
      h("div", { class: "run-state" }, statePill(run), text ? h("p", { class: "soft small" }, text) : null),
      action("Delete", errors, async () => {
        if (!confirm(`Delete ${run.name}, its detector and its tracks? This cannot be undone.`)) return;
        await api.removeRun(run.id);
        row.remove();
        announce(`${run.name} is deleted.`);
      }, { class: "quiet small", "aria-label": `Delete ${run.name}` }),
      errors.element);
  };
  fill(first);
  if (first.state === "training" || first.state === "waiting") api.listen(first.id, { run: fill }, signal);
  return row;
}
