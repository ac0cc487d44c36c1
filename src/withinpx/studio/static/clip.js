// A clip before any training: what moves in it, which part is wanted, what the network would promise.

import * as api from "./api.js";
import { Crop } from "./crop.js";
import { action, announce, calm, errorPlace, h } from "./dom.js";
import { drawName } from "./marks.js";
import { casingOf, colourOf, swatch } from "./palette.js";
import { Picture, wholeOf } from "./picture.js";
import { addressOf } from "./routes.js";
import { runHead } from "./run_head.js";
import { boundText, counted, duration, percent } from "./words.js";

const SLOW_MS = 1500; // an inspection that takes longer says how far it is
const BACKGROUNDS = [
  ["auto", "chosen for you"],
  ["layered", "still; things look the same everywhere"],
  ["perspective", "still; things look larger where they are nearer"],
  ["nearby", "moving camera"],
];

export async function show(root, { run: first, signal }) {
  let run = first;
  let seen = null;
  const open = !["training", "waiting"].includes(run.state) && !run.demo;
  const looking = errorPlace();
  const asking = errorPlace();
  const starting = errorPlace();
  const findings = h("div", { class: "findings", "aria-busy": "true" }, h("p", { class: "soft" }, "Looking for what moves …"));
  const far = howFar();
  const promise = h("div", { class: "promise" });
  const words = h("p", { class: "soft small", id: "clip-words" }, "The first frame.");
  const crop = new Crop(run, { onChange: (value) => change({ crop: value }) });
  const picture = new Picture(wholeOf(run.clip), {
    label: `A frame of ${run.name}, with what moves outlined`,
    describedBy: "clip-words",
    signal,
    paint: (pen, where) => {
      if (seen) drawMovers(pen, where, seen);
      crop.paint(pen, where);
    },
  });
  if (open) crop.attach(picture);

  root.append(
    runHead(run, "clip"),
    h("div", { class: "split" },
      h("section", { class: "split-main", "aria-label": "The picture" }, picture.element, words, looking.element),
      h("div", { class: "split-side" },
        h("section", { class: "card", "aria-labelledby": "moves" }, h("h2", { id: "moves" }, "What moves"), far.element, findings),
        h("section", { class: "card", "aria-labelledby": "plan" },
          h("h2", { id: "plan" }, "What would be promised"),
          promise,
          open ? wishes() : h("p", { class: "soft small" }, run.demo ? "This is the demo, already trained." : "While it is being trained, its settings stay as they are."),
          asking.element,
          h("div", { class: "buttons" }, open ? startButton() : run.demo ? copyButton() : null),
          starting.element))));

  function wishes() {
    return h("div", { class: "wishes" },
      objectsField(run, change),
      h("label", { class: "stacked" }, h("span", {}, "Background"),
        h("select", { onchange: (event) => change({ background: event.target.value }) },
          BACKGROUNDS.map(([name, title]) => h("option", { value: name, selected: run.options.background === name }, title)))),
      h("label", { class: "field-line" }, h("span", {}, "Largest error accepted, px"),
        h("input", { type: "number", min: 0.5, step: 0.5, placeholder: "any", value: run.options.target ?? "", onchange: (event) => change({ target: event.target.value ? Number(event.target.value) : null }) })),
      h("label", { class: "check" },
        h("input", { type: "checkbox", checked: run.options.quick, onchange: (event) => change({ quick: event.target.checked }) }),
        h("span", {}, "A quick look ", h("span", { class: "soft small" }, "(trains shorter; more may be refused)"))),
      crop.element);
  }

  function startButton() {
    const label = { ready: "Start", finished: "Train again" }[run.state] ?? "Go on";
    return action(label, starting, async () => {
      if (run.state === "finished") {
        if (!confirm(`Train ${run.name} again? What is there now is replaced.`)) return;
        if (JSON.stringify(run.options) === JSON.stringify(run.trained)) await api.setOptions(run.id, { seed: otherSeed(run.options.seed) });
      }
      await api.start(run.id);
      location.hash = addressOf(run, "training");
    }, { class: "primary", id: "start" });
  }

  function copyButton() {
    return action("Train it again for real", starting, async () => {
      location.hash = addressOf(await api.copyDemo(), "clip");
    }, { class: "primary" });
  }

  async function change(options) {
    asking.show(null);
    try {
      run = await api.setOptions(run.id, options);
      await look();
    } catch (error) {
      asking.show(error);
    }
  }

  const say = calm(400, announce);
  let looked = new AbortController(); // the latest look; those before it are of no use any more
  async function look() {
    looked.abort();
    const mine = (looked = new AbortController());
    signal.addEventListener("abort", () => mine.abort());
    findings.setAttribute("aria-busy", "true");
    looking.show(null);
    far.listen(run.id, mine.signal);
    try {
      const found = await api.inspection(run.id, mine.signal);
      const image = await api.frame(run.id, found.frame, null, mine.signal);
      if (mine.signal.aborted) return;
      seen = found;
      picture.show(image);
      words.textContent = `Frame ${seen.frame}. Outlines: what moves, where it is in this frame; lines: where else it was seen.`;
      findings.replaceChildren(...findingsOf(seen));
      promise.replaceChildren(...promiseOf(seen));
      say(`${counted(seen.movers.length, "mover")} found. ${seen.sentence}`);
    } catch (error) {
      if (mine.signal.aborted) return;
      seen = null;
      picture.draw();
      findings.replaceChildren(h("p", { class: "soft" }, "Nothing to follow was found."));
      promise.replaceChildren(h("p", { class: "soft" }, "Without anything that moves there is nothing to promise."));
      looking.show(error);
    } finally {
      if (!mine.signal.aborted) findings.setAttribute("aria-busy", "false");
      mine.abort(); // nothing more is to be heard of it
    }
  }

  api.frame(run.id, 0, null, signal).then((image) => picture.image ?? picture.show(image), looking.show);
  look();
}

/** How far the reading of a long clip is; a short one is there before anybody could read it. */
function howFar() {
  const bar = h("progress", { max: 1, value: 0, "aria-label": "How far the clip is read" });
  const said = h("p", { class: "soft small" });
  const element = h("div", { class: "how-far", hidden: true }, said, bar);
  let first = null; // what was heard first of this reading, and when
  const fill = ({ done, of, again }) => {
    if (!first || first.again !== again || done < first.done) first = { done, again, at: performance.now() };
    const left_s = ((performance.now() - first.at) / 1000) * ((of - done) / (done - first.done));
    bar.value = done / of;
    said.textContent = done < of
      ? `${again ? "Reading it once more, smaller" : "Reading the clip"}: ${percent(done / of)} of ${counted(of, "frame")}${Number.isFinite(left_s) ? `, about ${duration(left_s)} left` : ""}`
      : "Looking for what moves …";
    element.hidden = false;
  };
  function listen(id, signal) {
    first = null;
    setTimeout(() => api.listen(id, { looking: fill }, signal), SLOW_MS);
    signal.addEventListener("abort", () => (element.hidden = true));
  }
  return { element, listen };
}

function objectsField(run, change) {
  const fixed = run.options.objects;
  const number = h("input", { type: "number", min: 1, max: 20, value: fixed ?? 1, "aria-label": "How many", disabled: fixed === null, onchange: () => change({ objects: Number(number.value) }) });
  const pick = (auto) => {
    number.disabled = auto;
    change({ objects: auto ? null : Number(number.value) });
  };
  return h("fieldset", { class: "objects-field" },
    h("legend", {}, "Objects"),
    h("label", { class: "check" }, h("input", { type: "radio", name: "objects", checked: fixed === null, onchange: () => pick(true) }), h("span", {}, "as many as move")),
    h("div", { class: "check" }, h("label", { class: "check" }, h("input", { type: "radio", name: "objects", checked: fixed !== null, onchange: () => pick(false) }), h("span", {}, "exactly")), number));
}

/** With the same one, all would come out the same: past those that one training tries by itself. */
const otherSeed = (seed) => (seed + 100) % 1_000_000;

function findingsOf(seen) {
  return [
    h("table", { class: "plain-table" },
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Mover"), h("th", { scope: "col" }, "Size"), h("th", { scope: "col" }, "Seen in"))),
      h("tbody", {}, seen.movers.map((mover) => {
        const [low, high] = mover.size_px.map((value) => Math.round(value));
        return h("tr", {},
          h("th", { scope: "row" }, swatch(mover.number), mover.number),
          h("td", {}, low === high ? `${low} px` : `${low} to ${high} px`),
          h("td", {}, counted(mover.frames, "frame")));
      }))),
    h("p", { class: "small soft" }, `Sensor noise: ${seen.noise_levels.toFixed(1)} of 255 levels. ${seen.camera_moves ? "The camera moves." : "The camera stands still."}`),
    ...(seen.warnings.length ? [h("ul", { class: "warnings" }, seen.warnings.map((each) => h("li", {}, each)))] : []),
  ];
}

function promiseOf(seen) {
  const { encoder_rf: encoder, decoder_rf: decoder, sigma, support } = seen.network;
  return [
    h("p", { class: "bound-number" }, boundText(seen.bound_px), h("span", { class: "soft small" }, " by the theorem, across and down")),
    h("p", {}, seen.sentence),
    h("p", { class: "soft small" }, `The network: encoder ${encoder} px, decoder ${decoder} px, Gaussian ${sigma} px`, support ? `, ending at ${Number(support.toFixed(2))} px.` : ".", " Training may change that a little: the certificate measures the objects as they are drawn, adds what each frame leaves over, and refuses what it cannot prove."),
  ];
}

function drawMovers(pen, picture, seen) {
  pen.save();
  pen.lineJoin = "round";
  for (const mover of seen.movers) {
    const colour = colourOf(mover.number);
    pen.strokeStyle = colour;
    pen.globalAlpha = 0.55;
    pen.lineWidth = 1.5;
    pen.beginPath();
    mover.places.forEach(({ box: [left, top, width, height] }, at) => {
      const point = picture.toScreen(left + width / 2, top + height / 2);
      if (at) pen.lineTo(...point);
      else pen.moveTo(...point);
    });
    pen.stroke();
    pen.globalAlpha = 1;
    const here = mover.places.find(({ frame }) => frame === seen.frame);
    if (!here) continue;
    const [left, top, width, height] = here.box;
    const [x, y] = picture.toScreen(left, top);
    for (const [stroke, wide] of [[casingOf(colour), 4], [colour, 2.2]]) {
      pen.strokeStyle = stroke;
      pen.lineWidth = wide;
      pen.strokeRect(x, y, width * picture.scale, height * picture.scale);
    }
    drawName(pen, String(mover.number), x + width * picture.scale + 4, y + 4, colour, picture);
  }
  pen.restore();
}
