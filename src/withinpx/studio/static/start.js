// The first screen: a clip to begin with, the demo to look at, and the runs there are.

import * as api from "./api.js";
import { action, announce, errorPlace, h, latestWins } from "./dom.js";
import { chosen, dropped } from "./given.js";
import { drawMarks } from "./marks.js";
import { Picture, viewOf } from "./picture.js";
import { addressOf, placeOf } from "./routes.js";
import { statePill } from "./run_head.js";
import { bytes, clipWords, counted, percent, when } from "./words.js";

const TAKES = "video/*,image/*,.mkv,.avi,.mov,.mp4,.webm,.tif,.tiff";
const EVERY_MS = 1500; // between two looks at what became of the runs

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
  const input = h("input", { type: "file", accept: TAKES, multiple: true, id: "clip-file", class: "hidden-input", onchange: () => take(() => chosen(input)) });
  const folder = h("input", { type: "file", webkitdirectory: true, id: "clip-folder", class: "hidden-input", onchange: () => take(() => chosen(folder)) });
  const zone = h("div", { class: "drop" },
    h("p", {}, input, h("label", { for: "clip-file", class: "button primary" }, "Choose a clip"), h("span", { class: "drop-or" }, "or drop it here")),
    h("p", { class: "soft small" }, `A video of up to ${bytes(state.upload_limit_bytes)}, or the pictures of one (`, folder, h("label", { for: "clip-folder", class: "as-link" }, "choose a folder"), "). It stays on this computer."),
    bar, errors.element);

  async function take(giving) {
    errors.show(null);
    try {
      const given = await giving();
      if (!given.files.length) return;
      const size = given.files.reduce((sum, file) => sum + file.size, 0);
      if (size > state.upload_limit_bytes) {
        const what = given.files.length > 1 ? counted(given.files.length, "picture") : given.files[0].name;
        throw new Error(`${what}: ${bytes(size)} in all; clips of up to ${bytes(state.upload_limit_bytes)} can be taken: make it shorter or smaller.`);
      }
      bar.hidden = false;
      announce("Uploading");
      const run = await api.upload(given, (share) => (bar.value = share), signal);
      location.hash = addressOf(run, "clip");
    } catch (error) {
      errors.show(error);
    } finally {
      bar.hidden = true;
      input.value = folder.value = "";
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
    const coming = dropped(event.dataTransfer);
    take(() => coming);
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

/** Kept as the server has it: somebody else may add a clip, train it, or delete it. */
function runList(first, signal) {
  const rows = new Map(); // id -> row
  const none = h("p", { class: "soft empty" }, "None yet. Each clip you add is kept here with its detector and its certificate, until you delete it.");
  const list = h("ul", { class: "run-list" });
  const fill = (runs) => {
    const there = new Set(runs.map((run) => run.id));
    for (const id of rows.keys()) if (!there.has(id)) remove(id);
    runs.forEach((run, at) => {
      if (!rows.has(run.id)) rows.set(run.id, runRow(remove));
      const { element, show } = rows.get(run.id);
      show(run);
      if (list.children[at] !== element) list.insertBefore(element, list.children[at] ?? null);
    });
    none.hidden = rows.size > 0;
  };
  const remove = (id) => {
    rows.get(id)?.element.remove();
    rows.delete(id);
    none.hidden = rows.size > 0;
  };
  const look = latestWins(async () => {
    const state = await api.state(signal).catch(() => null); // perhaps next time
    if (state && !signal.aborted) fill(state.runs.filter((run) => !run.demo));
  });
  fill(first);
  const timer = setInterval(() => document.hidden || look(), EVERY_MS);
  signal.addEventListener("abort", () => clearInterval(timer));
  return h("section", { class: "runs", "aria-labelledby": "runs-title" }, h("h2", { id: "runs-title" }, "Your clips"), none, list);
}

function runRow(onDeleted) {
  const errors = errorPlace();
  const element = h("li", { class: "run-row" });
  const state = h("div", { class: "run-state" });
  let shown = "";
  const show = (run) => {
    const { progress, result } = run;
    const text = result
      ? `${percent(result.certified_positions / Math.max(1, result.positions))} of ${result.positions} positions certified`
      : run.state === "training" && progress ? `${progress.stage}, ${progress.done} of ${progress.of}` : (run.error ?? "");
    state.replaceChildren(statePill(run), ...(text ? [h("p", { class: "soft small" }, text)] : []));
    const rest = JSON.stringify({ ...run, progress: null });
    if (rest === shown) return; // what has the focus keeps it
    shown = rest;
    element.replaceChildren(
      h("img", { class: "thumb", src: api.frameAddress(run.id, 0, run.options.crop, 240), alt: "", loading: "lazy" }),
      h("div", { class: "run-words" },
        h("a", { class: "run-name", href: placeOf(run) }, run.name),
        h("p", { class: "soft small" }, clipWords(run.clip), when(run.created) ? ` · ${when(run.created)}` : "")),
      state,
      action("Delete", errors, async () => {
        if (!confirm(`Delete ${run.name}, its detector and its tracks? This cannot be undone.`)) return;
        await api.removeRun(run.id);
        onDeleted(run.id);
        announce(`${run.name} is deleted.`);
      }, { class: "quiet small", "aria-label": `Delete ${run.name}` }),
      errors.element);
  };
  return { element, show };
}
