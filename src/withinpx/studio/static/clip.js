// A clip before training: its moving objects, the crop and the options, and the bound to expect.

import * as api from "./api.js";
import { ClipPlayer } from "./clip_player.js";
import { Crop } from "./crop.js";
import { action, announce, debounce, errorBox, h } from "./dom.js";
import { FrameView, wholeOf } from "./frame_view.js";
import { drawLabel, strokeOutlined } from "./overlay.js";
import { colourOf, swatch } from "./palette.js";
import { routeTo } from "./routes.js";
import { runHeader } from "./run_header.js";
import { SavedOptions, Starter } from "./starter.js";
import { boundText, counted, duration, percent } from "./text.js";
import { Trim } from "./trim.js";

const SLOW_MS = 1500; // an inspection that takes longer shows its progress
const BACKGROUNDS = [
  ["auto", "automatic"],
  ["layered", "still; objects look the same everywhere"],
  ["perspective", "still; objects look larger where they are nearer"],
  ["nearby", "moving camera"],
];

export async function show(root, { run: initial, signal }) {
  let run = initial;
  let inspection = null;
  let shown = 0; // the number of the frame in the player
  const editable = !["training", "waiting"].includes(run.state) && !run.demo;
  let header = runHeader(run, "clip");
  const options = new SavedOptions(run, { onSaved, onChange: () => starter.update() });
  const change = (changes) => options.change(changes);
  const starter = new Starter({ options, start, label: { ready: "Start", finished: "Train again" }[run.state] ?? "Resume" });
  const findings = h("div", { class: "findings", "aria-busy": "true" });
  const progress = inspectionProgress();
  const expected = h("div", { class: "expected" });
  const caption = h("p", { class: "soft small", id: "clip-caption" }, "Boxes show where moving objects were found in a frame, lines their positions in others.");
  const crop = new Crop(run, { onChange: (value) => change({ crop: value }) });
  const trim = editable ? new Trim(run, { onChange: (value) => change({ frames: value }) }) : null;
  const frameView = new FrameView(wholeOf(run.clip), {
    label: `A frame of ${run.name} with its moving objects outlined`,
    describedBy: "clip-caption",
    signal,
    paint: (pen, view) => {
      if (inspection) drawObjects(pen, view, inspection, shown);
      crop.paint(pen, view);
    },
  });
  if (editable) crop.attach(frameView);
  const player = new ClipPlayer(run, frameView, { signal, trim, onShow: (number) => { shown = number; frameView.draw(); } });

  root.append(
    h("div", { class: "workbench" }, header, h("div", { class: "split" },
      h("div", { class: "split-main" }, player.element, caption),
      h("div", { class: "split-side", tabindex: 0, role: "group", "aria-label": "About this clip" },
        editable ? starter.element : notEditable(run),
        h("section", { class: "card", "aria-labelledby": "objects" }, h("h2", { id: "objects" }, "Moving objects"), progress.element, findings),
        h("section", { class: "card", "aria-labelledby": "plan" }, h("h2", { id: "plan" }, "The bound to expect"), expected),
        editable ? h("section", { class: "card", "aria-labelledby": "options" }, h("h2", { id: "options" }, "Options"), optionFields(run, crop, change), options.errors.element) : null))));

  function onSaved(newer) {
    run = newer;
    const shownBefore = header;
    header = runHeader(run, "clip");
    shownBefore.replaceWith(header);
    inspect();
  }

  async function start() {
    if (run.state === "finished") {
      if (!confirm(`Train ${run.name} again? Its present result is replaced.`)) return;
      if (JSON.stringify(run.options) === JSON.stringify(run.trained)) await api.setOptions(run.id, { seed: otherSeed(run.options.seed) });
    }
    await api.start(run.id);
    location.hash = routeTo(run, "training");
  }

  const announceLater = debounce(400, announce);
  let latest = new AbortController(); // of the latest inspection; earlier ones are cancelled
  async function inspect() {
    latest.abort();
    const mine = (latest = new AbortController());
    signal.addEventListener("abort", () => mine.abort());
    findings.setAttribute("aria-busy", "true");
    starter.searching();
    progress.listen(run.id, mine.signal);
    try {
      const found = await api.inspection(run.id, mine.signal);
      if (mine.signal.aborted) return;
      inspection = found;
      if (player.touched) frameView.draw();
      else player.seek(found.frame);
      findings.replaceChildren(...findingsOf(found));
      expected.replaceChildren(...expectedBound(found, run));
      starter.found(found);
      announceLater(`${counted(found.objects.length, "object")} found. ${found.message}`);
    } catch (error) {
      if (mine.signal.aborted) return;
      inspection = null;
      frameView.draw();
      findings.replaceChildren(h("p", { class: "soft" }, "No moving object was found."));
      expected.replaceChildren(h("p", { class: "soft" }, "Without a moving object there is no bound."));
      starter.refused(error, inspect);
    } finally {
      if (!mine.signal.aborted) findings.setAttribute("aria-busy", "false");
      mine.abort(); // closes its event stream
    }
  }

  inspect();
}

function notEditable(run) {
  const errors = errorBox();
  const copy = action("Train a copy", errors, async () => {
    location.hash = routeTo(await api.copyDemo(), "clip");
  }, { class: "primary" });
  return h("section", { class: "card", "aria-label": "Start" }, run.demo ? h("div", { class: "buttons first" }, copy) : null,
    h("p", { class: "soft small start-note" }, run.demo ? "This is the demo, already trained." : "The options cannot be changed during training."), errors.element);
}

function optionFields(run, crop, change) {
  return h("div", { class: "options" },
    objectsField(run, change),
    h("label", { class: "stacked" }, h("span", {}, "Background"),
      h("select", { onchange: (event) => change({ background: event.target.value }) },
        BACKGROUNDS.map(([name, title]) => h("option", { value: name, selected: run.options.background === name }, title)))),
    h("label", { class: "field-line" }, h("span", {}, "Largest accepted bound, px"),
      h("input", { type: "number", min: 0.5, step: 0.5, placeholder: "any", value: run.options.target ?? "", onchange: (event) => change({ target: event.target.value ? Number(event.target.value) : null }) })),
    h("label", { class: "check" },
      h("input", { type: "checkbox", checked: run.options.quick, onchange: (event) => change({ quick: event.target.checked }) }),
      h("span", {}, "Quick ", h("span", { class: "soft small" }, "(trains for a shorter time; more may be refused)"))),
    crop.element);
}

/** The progress of reading a long clip. */
function inspectionProgress() {
  const bar = h("progress", { max: 1, value: 0, "aria-label": "Progress of the inspection" });
  const text = h("p", { class: "soft small" });
  const element = h("div", { class: "inspection-progress", hidden: true }, text, bar);
  let first = null; // the first event and when it came
  const fill = ({ done, total }) => {
    if (!first || done < first.done) first = { done, at: performance.now() };
    const left_s = ((performance.now() - first.at) / 1000) * ((total - done) / (done - first.done));
    bar.value = done / total;
    text.textContent = done < total
      ? `Reading the clip: ${percent(done / total)} of ${counted(total, "frame")}${Number.isFinite(left_s) ? `, about ${duration(left_s)} left` : ""}`
      : "Searching for moving objects …";
    element.hidden = false;
  };
  function listen(id, signal) {
    first = null;
    setTimeout(() => api.listen(id, { inspecting: fill }, signal), SLOW_MS);
    signal.addEventListener("abort", () => (element.hidden = true));
  }
  return { element, listen };
}

function objectsField(run, change) {
  const fixed = run.options.objects;
  const number = h("input", { type: "number", min: 1, max: 20, value: fixed === "auto" ? 1 : fixed, "aria-label": "How many", disabled: fixed === "auto", onchange: () => change({ objects: Number(number.value) }) });
  const pick = (auto) => {
    number.disabled = auto;
    change({ objects: auto ? "auto" : Number(number.value) });
  };
  return h("fieldset", { class: "objects-field" },
    h("legend", {}, "Objects"),
    h("label", { class: "check" }, h("input", { type: "radio", name: "objects", checked: fixed === "auto", onchange: () => pick(true) }), h("span", {}, "all that move")),
    h("div", { class: "check" }, h("label", { class: "check" }, h("input", { type: "radio", name: "objects", checked: fixed !== "auto", onchange: () => pick(false) }), h("span", {}, "exactly")), number));
}

/** A seed beyond those that one training tries: the same seed would give the same result. */
const otherSeed = (seed) => (seed + 100) % 1_000_000;

function findingsOf(inspection) {
  return [
    h("table", { class: "plain-table" },
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Object"), h("th", { scope: "col" }, "Size"), h("th", { scope: "col" }, "Seen in"))),
      h("tbody", {}, inspection.objects.map((obj) => {
        const [low, high] = obj.size_px.map((value) => Math.round(value));
        return h("tr", {},
          h("th", { scope: "row" }, swatch(obj.number), obj.number),
          h("td", {}, low === high ? `${low} px` : `${low} to ${high} px`),
          h("td", {}, counted(obj.frames, "frame")));
      }))),
    h("p", { class: "small soft" }, `Sensor noise: ${inspection.noise_levels.toFixed(1)} of 255 levels. The camera ${inspection.camera_moves ? "moves" : "is fixed"}.`),
    ...(inspection.warnings.length ? [h("ul", { class: "warnings" }, inspection.warnings.map((warning) => h("li", {}, warning)))] : []),
  ];
}

function expectedBound(inspection, run) {
  if (run.state === "finished" && !run.result.certified_positions) {
    return [h("p", {}, "No position of this clip was certified: there is no bound. ", h("a", { href: routeTo(run, "result") }, "The result"), " says why.")];
  }
  const { encoder_rf: encoder, decoder_rf: decoder, sigma, support } = inspection.network;
  return [
    h("p", { class: "bound-number" }, boundText(inspection.bound_px), h("span", { class: "soft small" }, " by the theorem, horizontally and vertically")),
    h("p", {}, inspection.message),
    h("p", { class: "soft small" }, `The network: encoder ${encoder} px, decoder ${decoder} px, Gaussian ${sigma} px`, support ? `, zero beyond ${Number(support.toFixed(2))} px.` : ".", " The certificate measures each object after training, adds what each frame leaves unexplained, and refuses what it cannot prove."),
  ];
}

/** The boxes of the shown frame, where the inspection has listed them, and lines through the positions in all frames. */
function drawObjects(pen, view, inspection, shown) {
  pen.save();
  pen.lineJoin = "round";
  for (const { number, positions } of inspection.objects) {
    const colour = colourOf(number);
    pen.strokeStyle = colour;
    pen.globalAlpha = 0.55;
    pen.lineWidth = 1.5;
    pen.beginPath();
    for (const { box: [left, top, width, height] } of positions) pen.lineTo(...view.toScreen(left + width / 2, top + height / 2));
    pen.stroke();
    pen.globalAlpha = 1;
    const here = positions.find(({ frame }) => frame === shown);
    if (!here) continue;
    const [left, top, width, height] = here.box;
    const [x, y] = view.toScreen(left, top);
    strokeOutlined(pen, colour, 2.2, () => pen.rect(x, y, width * view.scale, height * view.scale));
    drawLabel(pen, String(number), x + width * view.scale + 4, y + 4, colour, view);
  }
  pen.restore();
}
