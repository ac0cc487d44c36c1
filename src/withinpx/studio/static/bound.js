// Theorem 4.1 with four sliders: the bound, the worst cases (the paper's figure 2) and the curves of figure 3.

import * as api from "./api.js";
import { Chart } from "./chart.js";
import { announce, debounce, errorBox, h, latestWins } from "./dom.js";
import { boundText } from "./text.js";
import { WorstCase } from "./worst_case.js";

const SLIDERS = [
  { name: "encoder_rf", title: "Encoder receptive field", unit: "px", min: 1, max: 31, step: 2, value: 9 },
  { name: "decoder_rf", title: "Decoder receptive field", unit: "px", min: 1, max: 31, step: 2, value: 25 },
  { name: "object_size", title: "Object size", unit: "px", min: 1, max: 31, step: 1, value: 9 },
  { name: "sigma", title: "Gaussian width (sigma)", unit: "px", min: 0, max: 5, step: 0.1, value: 0.8 },
];
const REACHES = [
  ["n0", "its centre only"], ["n1", "1 sigma (68.3 %)"], ["n2", "2 sigma (95.4 %)"], ["n3", "3 sigma (99.7 %)"], ["n4", "4 sigma (99.99 %)"], ["hard", "cut off at 4 sigma (always)"],
];

export async function show(root, { signal }) {
  const settings = Object.fromEntries(SLIDERS.map(({ name, value }) => [name, value]));
  let reach = "n2";
  let answer = null;
  const errors = errorBox();
  const sentence = h("p", { class: "bound-sentence", role: "status" });
  const number = h("p", { class: "bound-number large" });
  const worst = new WorstCase(signal);
  const charts = SLIDERS.map((slider) => ({ slider, chart: new Chart({ height: 210, signal, data: () => curveData(slider, answer, settings, reach), label: `The bound against ${slider.title}` }) }));
  const output = h("div", { class: "bound-output" });

  const update = latestWins(async () => {
    const n = Number(reach[1]) || 0;
    const query = { encoder_rf: settings.encoder_rf, decoder_rf: settings.decoder_rf, size_min: settings.object_size, size_max: settings.object_size, sigma: settings.sigma, n_sigma: n };
    if (reach === "hard") Object.assign(query, { support: 4 * settings.sigma, n_sigma: 4 });
    try {
      answer = await api.bound(query, signal);
      errors.show(null);
      output.classList.remove("stale");
      number.textContent = boundText(answer.bound);
      sentence.textContent = answer.message;
      worst.draw({ encoderRf: settings.encoder_rf, decoderRf: settings.decoder_rf, size: settings.object_size, reach: answer.reach, sigma: settings.sigma, bound: answer });
      for (const { chart } of charts) chart.draw();
    } catch (error) {
      errors.show(error);
      output.classList.add("stale");
    }
  });

  output.append(number, sentence);
  root.append(
    h("header", { class: "run-header" }, h("div", { class: "run-title" }, h("h1", {}, "The bound"),
      h("p", { class: "soft" }, "If a frame is reconstructed correctly, the error of the position is at most the smaller of two distances. Neither depends on how the network was trained."))),
    h("div", { class: "bound-layout" },
      h("section", { class: "card sliders", "aria-labelledby": "network" }, h("h2", { id: "network" }, "The network and the object"),
        SLIDERS.map((slider) => sliderField(slider, settings, update)),
        h("label", { class: "stacked" }, h("span", {}, "Part of the Gaussian that the decoder uses"),
          h("select", { onchange: (event) => {
            reach = event.target.value;
            update();
          } }, REACHES.map(([name, title]) => h("option", { value: name, selected: name === reach }, title)))),
        errors.element,
        output),
      h("section", { class: "card", "aria-labelledby": "worst" }, h("h2", { id: "worst" }, "The worst cases"), worst.element)),
    h("section", { "aria-labelledby": "curves" }, h("h2", { id: "curves" }, "The bound against each variable"),
      h("p", { class: "soft small" }, "One variable changes, the others are as set above. Solid: only the centre of the Gaussian; paler: one to four sigma of it. The point is the present setting."),
      h("div", { class: "curves" }, charts.map(({ slider, chart }) => h("figure", { class: "card" }, h("figcaption", {}, slider.title), chart.element)))));
  update();
}

function sliderField({ name, title, unit, min, max, step, value }, settings, update) {
  const announceLater = debounce(500, announce);
  const range = h("input", { type: "range", id: name, min, max, step, value, oninput: () => set(Number(range.value)) });
  const exact = h("input", { type: "number", min, max, step, value, "aria-label": `${title}, ${unit}`, onchange: () => set(Number(exact.value)) });
  function set(number) {
    settings[name] = number;
    range.value = number;
    exact.value = number;
    update().then(() => announceLater(document.querySelector(".bound-sentence")?.textContent ?? ""));
  }
  return h("div", { class: "slider" }, h("label", { for: name }, title), range, exact, h("span", { class: "soft small" }, unit));
}

function curveData({ name, title, min, max }, answer, settings, reach) {
  const curve = answer?.curves[name];
  const finite = (values) => values.map((value) => (value === null || value < 0 ? null : value));
  const names = ["n4", "n3", "n2", "n1", "support", "mean"];
  const top = answer ? Math.max(...Object.values(answer.curves).flatMap((line) => (line.n4 ?? line.mean).filter((value) => value !== null))) : 10;
  return {
    label: answer ? `The bound against the ${title.toLowerCase()}: ${boundText(answer.bound)} at ${settings[name]} px` : title,
    x: { label: `${title.toLowerCase()}, px`, range: [min, max] },
    y: { label: "bound, px", range: [0, Math.ceil(top * 1.08) || 1] },
    lines: curve ? names.filter((line) => curve[line]).map((line) => ({ x: curve.x, y: finite(curve[line]), kind: line === "mean" ? "strong" : `fan fan-${line}${reach === line || line === "support" ? " chosen" : ""}` })) : [],
    points: answer ? [{ x: settings[name], y: Math.max(0, answer.bound) }] : [],
  };
}
