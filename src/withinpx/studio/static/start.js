// The first screen: upload a clip, open the demo, and the list of runs.

import * as api from "./api.js";
import { droppedFiles, inputFiles } from "./chosen_files.js";
import { action, announce, errorBox, h, latestWins } from "./dom.js";
import { FrameView, viewOf } from "./frame_view.js";
import { drawOverlay } from "./overlay.js";
import { defaultRoute, routeTo } from "./routes.js";
import { statePill } from "./run_header.js";
import { positionText } from "./stages.js";
import { bytes, clipText, counted, dateText, percent } from "./text.js";

const ACCEPTED = "video/*,image/*,.mkv,.avi,.mov,.mp4,.webm,.tif,.tiff";
const POLL_MS = 1500;

export async function show(root, { signal }) {
  const state = await api.state(signal);
  document.getElementById("version").textContent = `withinpx ${state.version}.`;
  const demo = state.runs.find((run) => run.id === state.demo);
  root.append(
    h("section", { class: "hero" },
      h("div", {},
        h("h1", {}, "Find every moving object, and know its position to within a proved number of pixels."),
        h("p", { class: "lead" },
          "Upload a clip from a fixed camera. The moving objects are found without labels, and each position gets a bound on its error. Where no bound can be proved, the position is marked as refused."),
        dropZone(state, signal)),
      demo ? demoCard(demo, signal) : null),
    runList(state.runs, signal),
  );
}

function dropZone(state, signal) {
  const errors = errorBox();
  const bar = h("progress", { max: 1, value: 0, hidden: true, "aria-label": "Upload" });
  const input = h("input", { type: "file", accept: ACCEPTED, multiple: true, id: "clip-file", class: "hidden-input", onchange: () => upload(() => inputFiles(input)) });
  const folder = h("input", { type: "file", webkitdirectory: true, id: "clip-folder", class: "hidden-input", onchange: () => upload(() => inputFiles(folder)) });
  const zone = h("div", { class: "drop" },
    h("p", {}, input, h("label", { for: "clip-file", class: "button primary" }, "Choose a clip"), h("span", { class: "drop-or" }, "or drop it here")),
    h("p", { class: "soft small" }, `A video of up to ${bytes(state.upload_limit_bytes)}, or a set of images (`, folder, h("label", { for: "clip-folder", class: "as-link" }, "choose a folder"), "). It stays on this computer."),
    bar, errors.element);

  async function upload(choose) {
    errors.show(null);
    try {
      const chosen = await choose();
      if (!chosen.files.length) return;
      const size = chosen.files.reduce((sum, file) => sum + file.size, 0);
      if (size > state.upload_limit_bytes) {
        const name = chosen.files.length > 1 ? counted(chosen.files.length, "image") : chosen.files[0].name;
        throw new Error(`${name}: ${bytes(size)}; clips of up to ${bytes(state.upload_limit_bytes)} are accepted: make it shorter or smaller.`);
      }
      bar.hidden = false;
      announce("Uploading");
      const run = await api.upload(chosen, (share) => (bar.value = share), signal);
      location.hash = routeTo(run, "clip");
    } catch (error) {
      errors.show(error);
    } finally {
      bar.hidden = true;
      input.value = folder.value = "";
    }
  }

  let depth = 0; // dragenter and dragleave also come for every child
  const enter = (change) => {
    depth = Math.max(0, depth + change);
    zone.classList.toggle("over", depth > 0);
  };
  const ignore = (event) => event.preventDefault();
  zone.addEventListener("dragenter", () => enter(1));
  zone.addEventListener("dragleave", () => enter(-1));
  addEventListener("dragover", ignore, { signal }); // a clip dropped beside the zone must not replace the page
  addEventListener("drop", ignore, { signal });
  zone.addEventListener("drop", (event) => {
    event.preventDefault();
    enter(-depth);
    const dropped = droppedFiles(event.dataTransfer);
    upload(() => dropped);
  });
  return zone;
}

function demoCard(demo, signal) {
  const errors = errorBox();
  const card = h("section", { class: "card demo-card", "aria-labelledby": "demo-title" },
    h("h2", { id: "demo-title" }, "Look at the demo"),
    h("p", { class: "soft" }, "A finished run of three objects. No labels, object count or initial positions were given."),
    h("div", { class: "buttons" },
      h("a", { class: "button", href: routeTo(demo, "result") }, "Open the demo"),
      action("Train a copy", errors, async () => {
        location.hash = routeTo(await api.copyDemo(), "clip");
      }, { class: "quiet" })),
    errors.element);
  showDemoFrame(demo, card, signal).catch(() => {}); // the card is useful without its image
  return card;
}

async function showDemoFrame(demo, card, signal) {
  const tracks = await api.tracks(demo.id, signal);
  const row = Math.floor(tracks.frames.length / 3);
  const image = await api.frame(demo.id, tracks.frames[row], demo.options.crop, signal);
  const frameView = new FrameView(viewOf(demo), {
    label: `A frame of the demo with ${counted(tracks.objects, "object")} marked: a cross at each position, a square for its bound.`,
    signal,
    paint: (pen, view) => drawOverlay(pen, view, tracks, row),
  });
  card.prepend(h("a", { href: routeTo(demo, "result"), class: "demo-frame", tabindex: "-1", "aria-hidden": "true" }, frameView.element));
  frameView.show(image);
}

/** Polled: another window may add, train or delete a clip. */
function runList(initial, signal) {
  const rows = new Map(); // id -> row
  const none = h("p", { class: "soft empty" }, "None yet. Clips are kept here with their detectors and certificates until you delete them.");
  const list = h("ul", { class: "run-list" });
  const fill = (all) => {
    const runs = all.filter((run) => !run.demo);
    const ids = new Set(runs.map((run) => run.id));
    for (const id of rows.keys()) if (!ids.has(id)) remove(id);
    runs.forEach((run, at) => {
      if (!rows.has(run.id)) rows.set(run.id, runRow(remove));
      const { element, update } = rows.get(run.id);
      update(run);
      if (list.children[at] !== element) list.insertBefore(element, list.children[at] ?? null);
    });
    none.hidden = rows.size > 0;
  };
  const remove = (id) => {
    rows.get(id)?.element.remove();
    rows.delete(id);
    none.hidden = rows.size > 0;
  };
  const poll = latestWins(async () => {
    const state = await api.state(signal).catch(() => null); // the next poll tries again
    if (state && !signal.aborted) fill(state.runs);
  });
  fill(initial);
  const timer = setInterval(() => document.hidden || poll(), POLL_MS);
  signal.addEventListener("abort", () => clearInterval(timer));
  return h("section", { class: "runs", "aria-labelledby": "runs-title" }, h("h2", { id: "runs-title" }, "Your clips"), none, list);
}

function runRow(onDeleted) {
  const errors = errorBox();
  const element = h("li", { class: "run-row" });
  const state = h("div", { class: "run-state" });
  let shown = "";
  const update = (run) => {
    const { progress, result } = run;
    const text = result
      ? `${percent(result.certified_positions / Math.max(1, result.positions))} of ${result.positions} positions certified`
      : run.state === "training" && progress ? positionText(progress) : (run.error ?? "");
    state.replaceChildren(statePill(run), ...(text ? [h("p", { class: "soft small" }, text)] : []));
    const rest = JSON.stringify({ ...run, progress: null });
    if (rest === shown) return; // so that a focused link or button keeps the focus
    shown = rest;
    element.replaceChildren(
      h("img", { class: "thumb", src: api.frameUrl(run.id, 0, run.options.crop, 240), alt: "", loading: "lazy" }),
      h("div", { class: "run-text" },
        h("a", { class: "run-name", href: defaultRoute(run) }, run.name),
        h("p", { class: "soft small" }, [clipText(run.clip), dateText(run.created)].filter(Boolean).join(" · "))),
      state,
      action("Delete", errors, async () => {
        if (!confirm(`Delete ${run.name}, its detector and its tracks? This cannot be undone.`)) return;
        await api.deleteRun(run.id);
        onDeleted(run.id);
        announce(`${run.name} is deleted.`);
      }, { class: "quiet small", "aria-label": `Delete ${run.name}` }),
      errors.element);
  };
  return { element, update };
}
