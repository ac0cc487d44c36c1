// The certificate: the verdict in a sentence, then every assumption of every object with its measurement.

import { h } from "./dom.js";
import { swatch } from "./palette.js";
import { boundText, CHECKS, percent, px, reasonText } from "./text.js";

export function certificateView(certificate, tracks) {
  return h("div", { class: "certificate" },
    verdict(certificate, tracks),
    certificate.warnings.length ? h("ul", { class: "warnings" }, certificate.warnings.map((warning) => h("li", {}, sentence(warning)))) : null,
    matrix(certificate.objects),
    measurements(certificate.objects),
    explanation(),
    h("p", { class: "soft small" }, details(certificate)));
}

function verdict({ objects, certified, support }, tracks) {
  const count = objects.filter((obj) => obj.certified).length;
  const kind = certified ? "good" : count ? "mixed" : "bad";
  const title = certified ? "Certified" : count ? `${count} of ${objects.length} objects certified` : "Not certified";
  const refused = objects.filter((obj) => !obj.certified).map((obj) => {
    const check = obj.checks.find(({ met }) => !met);
    return h("p", {}, `Object ${obj.object} is refused because ${reasonText(check.name)}: ${check.message}.`);
  });
  return h("div", { class: `verdict ${kind}` }, h("p", { class: "title" }, title), refused, guarantee(tracks, support, objects));
}

function guarantee(tracks, support, objects) {
  const bounds = tracks.bound_px.flatMap((column, index) => column.filter((_, row) => tracks.certified[index][row]));
  const present = tracks.present.flat().filter(Boolean).length;
  if (!bounds.length) return h("p", {}, "No position is certified.");
  const largest = bounds.reduce((one, other) => Math.max(one, other), 0);
  const alike = objects.some(({ membership }) => membership) ? ", looks as in frames that training never saw" : "";
  return [
    h("p", {}, "Every certified position is within ", h("b", {}, boundText(largest).slice(1)), " of the centre of its object, horizontally and vertically",
      support > 0 ? ", without exception," : "", ` if the background is known, no two objects have the same appearance, each was seen at two distant positions${alike}, and each is reconstructed where it is seen. All but the first are measured below.`),
    h("p", {}, `${bounds.length} of ${present} positions (${percent(bounds.length / present)}) are certified.${bounds.length < present ? " The others have no bound and are marked." : ""}`),
  ];
}

/** One row per assumption, one column per object. */
function matrix(objects) {
  const names = objects[0]?.checks.map((check) => check.name) ?? [];
  return h("div", { class: "card wide", tabindex: 0, role: "region", "aria-label": "Every assumption and its measurement" },
    h("table", { class: "matrix" },
      h("thead", {}, h("tr", {}, h("td", {}, h("span", { class: "hidden" }, "Assumption")),
        objects.map((obj) => h("th", { scope: "col" }, h("span", { class: "matrix-name" }, swatch(obj.object), `Object ${obj.object}`), h("span", { class: `pill ${obj.certified ? "good" : "bad"}` }, obj.certified ? "certified" : `refused: ${obj.failed}`))))),
      h("tbody", {},
        names.map((name) => h("tr", {},
          h("th", { scope: "row" }, CHECKS[name] ?? name, h("span", { class: "soft small note" }, name)),
          objects.map((obj) => checkCell(obj.checks.find((check) => check.name === name))))),
        factRow("Size of its reconstruction", objects, ({ size: [low, high] }) => (low.toFixed(1) === high.toFixed(1) ? px(low) : `${low.toFixed(1)} to ${px(high)}`)),
        factRow("Bound of theorem 4.1 on z", objects, (obj) => (obj.certified ? boundText(obj.theorem_px) : `none: ${reasonText(obj.failed)}`)),
        factRow("Shift from z to the centre of the body", objects, ({ shift }) => `${signed(shift[0])}, ${signed(shift[1])} px`))));
}

function checkCell(check) {
  if (!check) return h("td", {}, "–");
  return h("td", {}, h("b", {}, valueText(check, check.value)), h("span", { class: `mark ${check.met ? "good" : "bad"}` }, check.met ? "met" : "not met"), h("span", { class: "soft small note" }, limitText(check)));
}

const factRow = (title, objects, text) => h("tr", { class: "fact" }, h("th", { scope: "row" }, title), objects.map((obj) => h("td", {}, text(obj))));

function measurements(objects) {
  return h("details", { class: "explanation" },
    h("summary", {}, "Each measurement in words"),
    h("div", { class: "two" }, objects.map((obj) => h("div", {}, h("h3", {}, swatch(obj.object), `Object ${obj.object}`), h("ul", {}, obj.checks.map((check) => h("li", {}, `${check.name}, ${check.met ? "met" : "not met"}: ${check.message}.`)))))));
}

function explanation() {
  return h("details", { class: "explanation" },
    h("summary", {}, "What the certificate means, and what it does not cover"),
    h("div", { class: "two" },
      h("div", {},
        h("h3", {}, "What it means"),
        h("ul", {},
          h("li", {}, "In a certified frame, the centre of the object is no further from its position (x, y) than the bound, horizontally and vertically, whichever part of the object the network has learned to follow."),
          h("li", {}, "This is a theorem about what the network can see and reconstruct (Longa and Henriques, NeurIPS 2024, theorem 4.1), not a statistic of errors on other data. No label was used."),
          h("li", {}, "The theorem bounds the raw output z of the network. Three measurements in the frame are added: the influence of the rest of the heatmap on z, the distance between reconstruction and frame, and the distance between the centre of the body and the centre of the whole reconstruction."),
          h("li", {}, "(x, y) is z, moved to the centre of the body. Its bound is that of z plus the distance from z."))),
      h("div", {},
        h("h3", {}, "What it does not cover"),
        h("ul", {},
          h("li", {}, "What an object is: a heatmap follows whatever moves together, for example an animal and its shadow."),
          h("li", {}, "Which point you have in mind: the centre is that of the box around the object, not the tip of a nose."),
          h("li", {}, "Whether two objects that never separate are one."),
          h("li", {}, "Refused frames, and the time between frames.")))));
}

function details(certificate) {
  const held = certificate.kept_out < certificate.frames
    ? `${certificate.kept_out} of the ${certificate.frames} inspected frames were kept out of training; the reconstruction and heatmap checks use these.`
    : `The clip is too short to keep frames out of training: the checks use all ${certificate.frames}.`;
  const unused = certificate.unused.length ? ` Heatmaps that follow nothing: ${certificate.unused.join(", ")}.` : "";
  const support = certificate.support > 0 ? `, zero beyond ${Number(certificate.support.toFixed(2))} px` : "";
  return `${held} Measured receptive fields: encoder ${certificate.encoder_rf} px, decoder ${certificate.decoder_rf} px. Gaussian of sigma ${Number(certificate.sigma.toFixed(3))} px${support}. The network works at ${Math.round(100 * certificate.scale)} % of the recording's size.${unused}`;
}

function valueText(check, value) {
  if (check.unit === "share") return value > 1 ? `${Math.round(100 * value)} %` : percent(value); // a difference can exceed 100 %
  return `${value.toFixed(value >= 10 ? 1 : 2)} ${check.unit}`;
}

/** Shares are those of frames or pixels that are as they should be, unless none may be found. */
const isLeast = ({ name, unit, limit }) => name === "displacement" || (unit === "share" && limit > 0);
const limitText = (check) => `${isLeast(check) ? "at least" : "at most"} ${valueText(check, check.limit)}`;
const signed = (value) => `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(2)}`;
const sentence = (text) => `${text[0].toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? "" : "."}`;
