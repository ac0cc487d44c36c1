// A training in progress: its stage, the reconstruction, and the current positions.

import * as api from "./api.js";
import { Chart } from "./chart.js";
import { action, announce, errorBox, h } from "./dom.js";
import { swatch } from "./palette.js";
import { routeTo } from "./routes.js";
import { runHeader } from "./run_header.js";
import { progressText, roundText, STAGES } from "./stages.js";
import { counted, percent, short } from "./text.js";

const STATES = {
  ready: "Not started yet.",
  waiting: "Waiting for its turn: another clip is being trained.",
  training: "Starting. Loading what is needed takes some seconds.",
  stopped: "Stopped. The training so far is kept and can be resumed.",
  finished: "Finished.",
  failed: "This training failed.",
};

export async function show(root, { run: initial, signal }) {
  let run = initial;
  const epochs = [];
  const errors = errorBox();
  const connection = errorBox();
  const header = h("div", {});
  const steps = h("ol", { class: "steps" });
  const bar = h("progress", { max: 1, value: 0, "aria-label": "Progress of this stage" });
  const now = h("p", { class: "now" });
  const left = h("p", { class: "soft" });
  const buttons = h("div", { class: "buttons" });
  const outcome = h("div", {});
  const numbers = h("p", { class: "soft small" });
  const preview = h("img", { class: "preview", alt: "A frame, the frame as it is rendered so far, and a map for each object, with the current positions", hidden: true });
  const positions = h("p", { class: "soft small positions" });
  const noPreview = h("p", { class: "soft empty" }, "The first image comes after the first round.");
  const loss = new Chart({ height: 240, signal, data: () => lossChart(epochs), label: "Difference between frames and rendered frames in each round" });

  root.append(header,
    h("section", { class: "card progress-card", "aria-label": "Progress" }, steps, now, bar, left, outcome, buttons, errors.element, connection.element),
    h("section", { class: "card", "aria-labelledby": "reconstruction" }, h("h2", { id: "reconstruction" }, "What has been learned so far"),
      noPreview,
      h("div", { class: "preview-box", tabindex: 0, role: "group", "aria-label": "Preview" }, preview),
      positions),
    h("section", { class: "card", "aria-labelledby": "loss" }, h("h2", { id: "loss" }, "Difference between frames and rendered frames"), loss.element, numbers));

  const startButton = action("Resume", errors, async () => fill(await api.start(run.id)), { class: "primary" });
  const stopButton = action("Stop", errors, async () => {
    stopButton.textContent = "Stopping …";
    announce("Stopping.");
    await api.stop(run.id);
  });
  let announced = "";
  let shownState = "";

  function fill(newer) {
    run = newer;
    const { state, progress, result, error } = run;
    if (shownState !== state) {
      header.replaceChildren(runHeader(run, "training"));
      shownState = state;
    }
    const running = state === "training" && progress;
    const stages = Object.keys(STAGES);
    const at = state === "finished" ? stages.length : progress ? stages.indexOf(progress.stage) : -1;
    steps.replaceChildren(...stages.map((stage, index) =>
      h("li", { class: index < at ? "done" : index === at ? "current" : "", "aria-current": index === at ? "step" : null },
        h("span", {}, STAGES[stage].step), index < at ? h("span", { class: "hidden" }, " (done)") : null)));
    const words = running ? progressText(progress, run.options.seed) : { now: STATES[state], left: "" };
    now.textContent = words.now;
    if (running && progress.total) bar.value = progress.done / progress.total;
    else if (state === "finished") bar.value = 1;
    else if (state === "waiting") bar.value = 0;
    left.textContent = words.left || "\u00a0"; // its place is kept
    buttons.replaceChildren(...(["training", "waiting"].includes(state) ? [stopButton]
      : state === "finished" ? [h("a", { class: "button primary", href: routeTo(run, "result") }, "See the result")] : [startButton]));
    if (state !== "training") stopButton.textContent = "Stop";
    startButton.textContent = { failed: "Try again", ready: "Start" }[state] ?? "Resume";
    outcome.replaceChildren(...(state === "finished" && result
      ? [h("p", { class: `verdict-line ${result.certified ? "good" : "mixed"}` }, `${result.message}; ${result.certified_positions} of ${result.positions} positions.`)] : []));
    if (state === "failed") errors.show(error);
    const sentence = running ? `${STAGES[progress.stage].now}, ${percent(progress.total ? Math.floor((10 * progress.done) / progress.total) / 10 : 0)}` : STATES[state];
    if (sentence !== announced) announce(sentence);
    announced = sentence;
  }

  function addEpoch(epoch) {
    const known = epochs.findIndex((other) => other.epoch === epoch.epoch && other.seed === epoch.seed);
    if (known >= 0) epochs.splice(known, 1, epoch); // sent again after a reconnection
    else epochs.push(epoch);
    numbers.textContent = roundText(epoch, short(epoch.loss));
    requestDraw();
  }

  let drawRequested = false;
  function requestDraw() {
    if (drawRequested) return;
    drawRequested = true;
    requestAnimationFrame(() => {
      drawRequested = false;
      if (!signal.aborted) loss.draw();
    });
  }

  function showPreview({ stamp, positions: found }) {
    const next = new Image();
    next.onload = () => {
      if (signal.aborted) return;
      preview.src = next.src;
      preview.hidden = false;
      noPreview.hidden = true;
    };
    next.src = api.previewUrl(run.id, stamp);
    if (!found) return;
    positions.replaceChildren("From the left: a frame; the same frame, rendered from what has been learned; for each object, a map that is bright where the network sees it. Positions: ",
      ...found.flatMap((position, index) => (position ? [h("span", { class: "position" }, swatch(index), `${index} at ${position[0].toFixed(1)}, ${position[1].toFixed(1)}`)] : [])));
  }

  fill(run);
  api.listen(run.id, {
    run: (newer) => {
      connection.show(null);
      fill(newer);
    },
    epoch: addEpoch,
    preview: showPreview,
    lost: (message) => ["training", "waiting"].includes(run.state) && connection.show(message),
  }, signal);
}

function lossChart(epochs) {
  const seeds = [...new Set(epochs.map((epoch) => epoch.seed))];
  const losses = epochs.map((epoch) => epoch.loss).filter((value) => value > 0);
  const low = losses.length ? Math.min(...losses) : 0.001;
  const high = losses.length ? Math.max(...losses) : 0.1;
  return {
    label: losses.length ? `Difference between frames and rendered frames over ${counted(epochs.length, "round")}: from ${short(losses[0])} to ${short(losses.at(-1))}` : "Difference between frames and rendered frames: no round yet",
    x: { label: "round", range: [0, Math.max(2, ...epochs.map((epoch) => epoch.total))] },
    y: { label: "difference, logarithmic", log: true, range: [Math.min(low / 1.25, high / 10), high * 1.25] }, // at least a decade
    lines: seeds.map((seed, index) => {
      const attempt = epochs.filter((epoch) => epoch.seed === seed);
      return { x: attempt.map((epoch) => epoch.epoch), y: attempt.map((epoch) => epoch.loss), kind: index === seeds.length - 1 ? "strong" : "past" };
    }),
  };
}
