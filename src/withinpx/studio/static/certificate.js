// The certificate: the verdict in a sentence, then every assumption of every object with its number.

import { h } from "./dom.js";
import { swatch } from "./palette.js";
import { because, boundText, CHECKS, percent, px } from "./words.js";

export function certificateView(certificate, tracks) {
  return h("div", { class: "certificate" },
    verdict(certificate, tracks),
    certificate.warnings.length ? h("ul", { class: "warnings" }, certificate.warnings.map((each) => h("li", {}, sentence(each)))) : null,
    matrix(certificate.objects),
    inWords(certificate.objects),
    meaning(),
    h("p", { class: "soft small" }, finePrint(certificate)));
}

function verdict(certificate, tracks) {
  const { objects } = certificate;
  const sure = objects.filter((each) => each.certified);
  const kind = certificate.certified ? "good" : sure.length ? "mixed" : "bad";
  const word = certificate.certified ? "Certified" : sure.length ? `${sure.length} of ${objects.length} objects certified` : "Not certified";
  const refused = objects.filter((each) => !each.certified).map((each) => {
    const check = each.checks.find((one) => !one.met);
    return h("p", {}, `Object ${each.object} is refused because ${because(check.name)}: ${check.says}.`);
  });
  return h("div", { class: `verdict ${kind}` }, h("p", { class: "word" }, word), refused, promise(certificate, tracks, sure));
}

function promise(certificate, tracks, sure) {
  const bounds = [];
  let present = 0;
  for (let each = 0; each < tracks.objects; each++) {
    tracks.frames.forEach((_, row) => {
      present += tracks.present[each][row] ? 1 : 0;
      if (tracks.present[each][row] && tracks.certified[each][row]) bounds.push(tracks.bound_px[each][row]);
    });
  }
  if (!bounds.length || !sure.length) return h("p", {}, "No position is promised to be right.");
  const worst = bounds.reduce((one, other) => Math.max(one, other), 0);
  return [
    h("p", {}, "Every certified position z is within ", h("b", {}, boundText(worst).slice(1)), " of its object's centre, across and down",
      certificate.support > 0 ? ", for certain," : "", " if the background is known, no two objects look the same, each was seen at two places, and each is drawn where it is seen. The last three are measured below."),
    h("p", {}, `${bounds.length} of ${present} positions (${percent(bounds.length / present)}) are certified.${bounds.length < present ? " Nothing is promised of the others, which are marked." : ""}`),
  ];
}

/** Assumptions down, objects across: every number at one glance. */
function matrix(objects) {
  const names = objects[0]?.checks.map((check) => check.name) ?? [];
  return h("div", { class: "card wide", tabindex: 0, role: "region", "aria-label": "Every assumption and its number" },
    h("table", { class: "matrix" },
      h("thead", {}, h("tr", {}, h("td", {}, h("span", { class: "hidden" }, "Assumption")),
        objects.map((each) => h("th", { scope: "col" }, h("span", { class: "matrix-name" }, swatch(each.object), `Object ${each.object}`), h("span", { class: `pill ${each.certified ? "good" : "bad"}` }, each.certified ? "certified" : `refused: ${each.failed}`))))),
      h("tbody", {},
        names.map((name) => h("tr", {},
          h("th", { scope: "row" }, CHECKS[name] ?? name, h("span", { class: "soft small says" }, name)),
          objects.map((each) => checkCell(each.checks.find((check) => check.name === name))))),
        factRow("Size of what is drawn", objects, ({ size: [low, high] }) => (low.toFixed(1) === high.toFixed(1) ? px(low) : `${low.toFixed(1)} to ${px(high)}`)),
        factRow("The theorem's bound", objects, (each) => boundText(each.bound)),
        factRow("Shift from z to the middle of the body", objects, ({ shift }) => `${signed(shift[0])}, ${signed(shift[1])} px`))));
}

function checkCell(check) {
  if (!check) return h("td", {}, "–");
  return h("td", {}, h("b", {}, valueOf(check, check.value)), h("span", { class: `mark ${check.met ? "good" : "bad"}` }, check.met ? "met" : "not met"), h("span", { class: "soft small says" }, limitOf(check)));
}

const factRow = (title, objects, say) => h("tr", { class: "fact" }, h("th", { scope: "row" }, title), objects.map((each) => h("td", {}, say(each))));

function inWords(objects) {
  return h("details", { class: "meaning" },
    h("summary", {}, "Each measurement in words"),
    h("div", { class: "two" }, objects.map((each) => h("div", {}, h("h3", {}, swatch(each.object), `Object ${each.object}`), h("ul", {}, each.checks.map((check) => h("li", {}, `${check.name}, ${check.met ? "met" : "not met"}: ${check.says}.`)))))));
}

function meaning() {
  return h("details", { class: "meaning" },
    h("summary", {}, "What the certificate means, and what it cannot know"),
    h("div", { class: "two" },
      h("div", {},
        h("h3", {}, "What it means"),
        h("ul", {},
          h("li", {}, "For every object and frame the network reports a raw position z. In a certified frame the object's centre is no further from z than the bound, across and down, whatever part of the object the network has learned to look at."),
          h("li", {}, "That is a theorem about what the network can see and draw (Longa and Henriques, NeurIPS 2024, theorem 4.1), not a statistic of errors on other data. No label was used."),
          h("li", {}, "The bound of a frame is the theorem's, plus what the heatmap shows elsewhere, plus how far what is drawn lies from what the frame shows, plus how far the middle of the body lies from the middle of all that is drawn. All are measured in that frame."),
          h("li", {}, "x and y are z moved to the middle of the body. They usually lie much nearer; the promise is about z."))),
      h("div", {},
        h("h3", {}, "What it cannot know"),
        h("ul", {},
          h("li", {}, "What an object means: a heatmap follows what moves together, an animal and its shadow for example."),
          h("li", {}, "Which point you have in mind: the centre is that of the box around the object. A nose lies elsewhere."),
          h("li", {}, "Whether two things that never part are one."),
          h("li", {}, "Anything about refused frames, or between frames.")))));
}

function finePrint(certificate) {
  const kept = certificate.kept_out < certificate.frames
    ? `${certificate.kept_out} of the ${certificate.frames} frames that were looked at were kept out of training; the reconstruction and heatmap checks are made on these.`
    : `The clip is too short to keep frames out of training: the checks were made on all ${certificate.frames}.`;
  const unused = certificate.unused.length ? ` Heatmaps that follow nothing: ${certificate.unused.join(", ")}.` : "";
  const reach = certificate.support > 0 ? `, zero beyond ${Number(certificate.support.toFixed(2))} px` : "";
  return `${kept} Receptive fields, measured: encoder ${certificate.encoder_rf} px, decoder ${certificate.decoder_rf} px. Gaussian of sigma ${Number(certificate.sigma.toFixed(3))} px${reach}. The network looks at ${Math.round(100 * certificate.scale)} % of the recording's size.${unused}`;
}

function valueOf(check, value) {
  if (check.unit === "share") return value > 1 ? `${Math.round(100 * value)} %` : percent(value); // two drawings can differ by more than all of one
  return `${value.toFixed(value >= 10 ? 1 : 2)} ${check.unit}`;
}

const AT_LEAST = new Set(["distinct", "places", "reconstruction"]);
const limitOf = (check) => `${AT_LEAST.has(check.name) ? "at least" : "at most"} ${valueOf(check, check.limit)}`;
const signed = (value) => `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(2)}`;
const sentence = (text) => `${text[0].toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? "" : "."}`;
