// The theorem to play with: four sliders, the bound, the worst placement and the four curves of the paper's figure 3.

import * as api from "./api.js";
import { Chart } from "./chart.js";
import { announce, calm, errorPlace, h, latestWins } from "./dom.js";
import { WorstPlacement } from "./worst.js";
import { boundText } from "./words.js";

const SLIDERS = [
  { name: "encoder_rf", title: "Encoder receptive field", unit: "px", min: 1, max: 31, step: 2, value: 9 },
  { name: "decoder_rf", title: "Decoder receptive field", unit: "px", min: 1, max: 31, step: 2, value: 25 },
  { name: "object_size", title: "Object size", unit: "px", min: 1, max: 31, step: 1, value: 9 },
  { name: "sigma", title: "Gaussian width (sigma)", unit: "px", min: 0, max: 5, step: 0.1, value: 0.8 },
];
const READINGS = [
  ["n0", "its centre alone"], ["n1", "1 sigma (68.3 %)"], ["n2", "2 sigma (95.4 %)"], ["n3", "3 sigma (99.7 %)"], ["n4", "4 sigma (99.99 %)"], ["hard", "cut off at 4 sigma (certain)"],
];

export async function show(root, { signal }) {
  const settings = Object.fromEntries(SLIDERS.map(({ name, value }) => [name, value]));
  let reading = "n2";
  let answer = null;
  const errors = errorPlace();
  const sentence = h("p", { class: "bound-sentence", role: "status" });
  const number = h("p", { class: "bound-number large" });
  const worst = new WorstPlacement(signal);
  const charts = SLIDERS.map((slider) => ({ slider, chart: new Chart({ height: 210, signal, data: () => curveData(slider, answer, settings, reading), label: `The bound against: ${slider.title}` }) }));
  const output = h("div", { class: "bound-output" });

  const ask = latestWins(async () => {
    const n = Number(reading[1]) || 0;
    const wanted = { encoder_rf: settings.encoder_rf, decoder_rf: settings.decoder_rf, size_min: settings.object_size, size_max: settings.object_size, sigma: settings.sigma, n_sigma: n };
    if (reading === "hard") Object.assign(wanted, { support: 4 * settings.sigma, n_sigma: 4 });
    try {
      answer = await api.bound(wanted, signal);
      const reach = answer.reach ?? (reading === "hard" ? 4 : n) * settings.sigma;
      errors.show(null);
      output.classList.remove("stale");
      number.textContent = boundText(answer.bound);
      sentence.textContent = answer.sentence;
      worst.draw({ encoderRf: settings.encoder_rf, decoderRf: settings.decoder_rf, size: settings.object_size, reach, sigma: settings.sigma, found: answer });
      for (const { chart } of charts) chart.draw();
    } catch (error) {
      errors.show(error);
      output.classList.add("stale");
    }
  });

  output.append(number, sentence);
  root.append(
    h("header", { class: "run-head" }, h("div", { class: "run-title" }, h("h1", {}, "The bound"),
      h("p", { class: "soft" }, "If a picture is redrawn right, the position cannot be further off than the smaller of two distances. Neither depends on how the network was trained."))),
    h("div", { class: "bound-layout" },
      h("section", { class: "card sliders", "aria-labelledby": "network" }, h("h2", { id: "network" }, "The network and the object"),
        SLIDERS.map((slider) => sliderField(slider, settings, ask)),
        h("label", { class: "stacked" }, h("span", {}, "Of the Gaussian, the decoder uses"),
          h("select", { onchange: (event) => {
            reading = event.target.value;
            ask();
          } }, READINGS.map(([name, title]) => h("option", { value: name, selected: name === reading }, title)))),
        errors.element,
        output),
      h("section", { class: "card", "aria-labelledby": "worst" }, h("h2", { id: "worst" }, "The worst placements"), worst.element)),
    h("section", { "aria-labelledby": "curves" }, h("h2", { id: "curves" }, "The bound against each"),
      h("p", { class: "soft small" }, "One thing varies, the others stay as above. Solid: the Gaussian's centre alone; paler: one to four sigma of it; the point: where you are."),
      h("div", { class: "curves" }, charts.map(({ slider, chart }) => h("figure", { class: "card" }, h("figcaption", {}, slider.title), chart.element)))));
  ask();
}

function sliderField({ name, title, unit, min, max, step, value }, settings, ask) {
  const said = calm(500, announce);
  const range = h("input", { type: "range", id: name, min, max, step, value, oninput: () => set(Number(range.value)) });
  const exact = h("input", { type: "number", min, max, step, value, "aria-label": `${title}, ${unit}`, onchange: () => set(Number(exact.value)) });
  function set(wanted) {
    settings[name] = wanted;
    range.value = wanted;
    exact.value = wanted;
    ask().then(() => said(document.querySelector(".bound-sentence")?.textContent ?? ""));
  }
  return h("div", { class: "slider" }, h("label", { for: name }, title), range, exact, h("span", { class: "soft small" }, unit));
}

function curveData({ name, title, min, max }, answer, settings, reading) {
  const curve = answer?.curves[name];
  const finite = (values) => values.map((value) => (value === null || value < 0 ? null : value));
  const names = ["n4", "n3", "n2", "n1", "support", "mean"];
  const top = answer ? Math.max(...Object.values(answer.curves).flatMap((each) => (each.n4 ?? each.mean).filter((value) => value !== null))) : 10;
  return {
    label: answer ? `The bound against the ${title.toLowerCase()}: ${boundText(answer.bound)} at ${settings[name]} px` : title,
    x: { label: `${title.toLowerCase()}, px`, range: [min, max] },
    y: { label: "bound, px", range: [0, Math.ceil(top * 1.08) || 1] },
    lines: curve ? names.filter((each) => curve[each]).map((each) => ({ x: curve.x, y: finite(curve[each]), kind: each === "mean" ? "strong" : `fan fan-${each}${reading === each || each === "support" ? " chosen" : ""}` })) : [],
    points: answer ? [{ x: settings[name], y: Math.max(0, answer.bound) }] : [],
  };
}
