// A training while it goes on: how far it is, how well the pictures are redrawn, and where things are found by now.

import * as api from "./api.js";
import { Chart } from "./chart.js";
import { action, announce, errorPlace, h } from "./dom.js";
import { swatch } from "./palette.js";
import { addressOf } from "./routes.js";
import { runHead } from "./run_head.js";
import { counted, duration, percent, short } from "./words.js";

const STAGES = ["looking", "warm start", "training", "certifying", "detecting", "writing"];
const WHAT = {
  looking: "Looking at the clip",
  "warm start": "Learning which heatmap takes which mover",
  training: "Learning to redraw the pictures",
  certifying: "Measuring the theorem's assumptions",
  detecting: "Finding the objects in every frame",
  writing: "Writing tracks and certificate",
};

export async function show(root, { run: first, signal }) {
  let run = first;
  const epochs = [];
  const errors = errorPlace();
  const lost = errorPlace();
  const head = h("div", {});
  const steps = h("ol", { class: "steps" });
  const bar = h("progress", { max: 1, value: 0, "aria-label": "This step" });
  const now = h("p", { class: "now" });
  const left = h("p", { class: "soft" });
  const buttons = h("div", { class: "buttons" });
  const outcome = h("div", {});
  const numbers = h("p", { class: "soft small" });
  const preview = h("img", { class: "preview", alt: "The current frame, what the network draws of it, and its heatmaps, with the positions found so far", hidden: true });
  const positions = h("p", { class: "soft small positions" });
  const noPreview = h("p", { class: "soft empty" }, "The first picture comes with the first pass through the clip.");
  const loss = new Chart({ height: 240, signal, data: () => lossChart(epochs), label: "Reconstruction loss, epoch by epoch" });

  root.append(head,
    h("section", { class: "card progress-card", "aria-label": "Progress" }, steps, now, bar, left, outcome, buttons, errors.element, lost.element),
    h("section", { class: "card", "aria-labelledby": "redrawn" }, h("h2", { id: "redrawn" }, "What it sees and draws"),
      noPreview,
      h("div", { class: "preview-box", tabindex: 0, role: "group", "aria-label": "The pictures" }, preview),
      positions),
    h("section", { class: "card", "aria-labelledby": "loss" }, h("h2", { id: "loss" }, "Reconstruction loss"), loss.element, numbers));

  const startButton = action("Resume", errors, async () => fill(await api.start(run.id)), { class: "primary" });
  const stopButton = action("Stop", errors, async () => {
    stopButton.textContent = "Stopping …";
    announce("Stopping.");
    await api.stop(run.id);
  });
  let told = "";
  let shown = "";

  function fill(newer) {
    run = newer;
    const { state, progress, result, error } = run;
    if (shown !== state) {
      head.replaceChildren(runHead(run, "training"));
      shown = state;
    }
    const at = state === "finished" ? STAGES.length : progress ? STAGES.indexOf(progress.stage) : -1;
    steps.replaceChildren(...STAGES.map((stage, each) =>
      h("li", { class: each < at ? "done" : each === at ? "current" : "", "aria-current": each === at ? "step" : null },
        h("span", {}, stage), each < at ? h("span", { class: "hidden" }, " (done)") : null)));
    const going = state === "training" && progress;
    now.textContent = going ? `${WHAT[progress.stage] ?? progress.stage}${progress.seed ? `, attempt with seed ${progress.seed}` : ""}` : SAYS[state];
    if (going && progress.of) bar.value = progress.done / progress.of;
    else if (state === "finished") bar.value = 1;
    else if (state === "waiting") bar.value = 0;
    left.textContent = going
      ? `${progress.of ? `${progress.done} of ${progress.of}` : ""}${progress.seconds_left !== null && progress.seconds_left !== undefined ? `${progress.of ? ", " : ""}about ${duration(progress.seconds_left)} left` : ""}`
      : "";
    left.hidden = !left.textContent;
    buttons.replaceChildren(...(["training", "waiting"].includes(state) ? [stopButton]
      : state === "finished" ? [h("a", { class: "button primary", href: addressOf(run, "result") }, "See the result")] : [startButton]));
    if (state !== "training") stopButton.textContent = "Stop";
    startButton.textContent = state === "failed" ? "Try again" : state === "ready" ? "Start" : "Resume";
    outcome.replaceChildren(...(state === "finished" && result
      ? [h("p", { class: `verdict-line ${result.certified ? "good" : "mixed"}` }, `${result.sentence}; ${result.certified_positions} of ${result.positions} positions.`)] : []));
    if (state === "failed") errors.show(error);
    const saying = going ? `${WHAT[progress.stage]}, ${percent(progress.of ? Math.floor((10 * progress.done) / progress.of) / 10 : 0)}` : SAYS[state];
    if (saying !== told) announce(saying);
    told = saying;
  }

  function addEpoch(epoch) {
    const known = epochs.findIndex((each) => each.epoch === epoch.epoch && each.seed === epoch.seed);
    if (known >= 0) epochs.splice(known, 1, epoch); // told again after a reconnection
    else epochs.push(epoch);
    numbers.textContent = `Epoch ${epoch.epoch} of ${epoch.of}: loss ${short(epoch.loss)}${epoch.accuracy === null ? "" : `, ${(Math.floor(1000 * epoch.accuracy) / 10).toFixed(1)} % of the pixels redrawn right`}.`;
    requestDraw();
  }

  let due = false;
  function requestDraw() {
    if (due) return;
    due = true;
    requestAnimationFrame(() => {
      due = false;
      if (!signal.aborted) loss.draw();
    });
  }

  function showPreview({ stamp, frame, positions: places }) {
    const next = new Image();
    next.onload = () => {
      if (signal.aborted) return;
      preview.src = next.src;
      preview.hidden = false;
      noPreview.hidden = true;
    };
    next.src = api.previewAddress(run.id, stamp);
    if (!places) return;
    positions.replaceChildren(`From the left: the frame, what is drawn of it, one heatmap per object. Positions${frame === undefined ? "" : ` in frame ${frame}`}: `, ...places.flatMap((place, each) => (place ? [h("span", { class: "place" }, swatch(each), `${each} at ${place[0].toFixed(1)}, ${place[1].toFixed(1)}`)] : [])));
  }

  fill(run);
  api.listen(run.id, {
    run: (newer) => {
      lost.show(null);
      fill(newer);
    },
    epoch: addEpoch,
    preview: showPreview,
    lost: (sentence) => ["training", "waiting"].includes(run.state) && lost.show(sentence),
  }, signal);
}

const SAYS = {
  ready: "Not started yet.",
  waiting: "Waiting for its turn: another clip is being trained.",
  training: "Beginning …",
  stopped: "Stopped. What was learned is kept; it goes on from there.",
  finished: "Finished.",
  failed: "This training failed.",
};

function lossChart(epochs) {
  const seeds = [...new Set(epochs.map((each) => each.seed))];
  const losses = epochs.map((each) => each.loss).filter((value) => value > 0);
  const low = losses.length ? Math.min(...losses) : 0.001;
  const high = losses.length ? Math.max(...losses) : 0.1;
  const of = Math.max(2, ...epochs.map((each) => each.of));
  return {
    label: losses.length ? `Reconstruction loss over ${counted(epochs.length, "epoch")}: from ${short(losses[0])} to ${short(losses.at(-1))}` : "Reconstruction loss: no epoch yet",
    x: { label: "epoch", range: [0, of] },
    y: { label: "loss, logarithmic", log: true, range: [Math.min(low / 1.25, high / 10), high * 1.25] }, // a decade at least
    lines: seeds.map((seed, each) => {
      const its = epochs.filter((epoch) => epoch.seed === seed);
      return { x: its.map((epoch) => epoch.epoch), y: its.map((epoch) => epoch.loss), kind: each === seeds.length - 1 ? "strong" : "past" };
    }),
  };
}
