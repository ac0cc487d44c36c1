// What was found: the recording with it drawn on, which frames are certified, the certificate, the tracks, the files.

import * as api from "./api.js";
import { certificateView } from "./certificate.js";
import { Chart } from "./chart.js";
import { h } from "./dom.js";
import { numberOf } from "./marks.js";
import { colourOf, swatch } from "./palette.js";
import { viewOf } from "./picture.js";
import { Player } from "./player.js";
import { runHead } from "./run_head.js";
import { stretchList } from "./timeline.js";

const FILES = [
  ["tracks.csv", "Tracks", "every position, its bound, its verdict (CSV)"],
  ["overlay.mp4", "Overlay", "the recording with all of it drawn on"],
  ["certificate.html", "Certificate", "one page that needs no other file"],
  ["summary.png", "Summary", "ways, positions over time, what each looks like"],
  ["coco.json", "COCO", "results with masks"],
  ["coco_images.json", "COCO images", "what goes beside the results"],
  ["mot.txt", "MOTChallenge", "tracks for tracking tools"],
  ["dlc.csv", "DeepLabCut", "tracks for pose tools"],
  ["detector.zip", "Detector", "for other footage of this camera"],
];

export async function show(root, { run, signal }) {
  const [tracks, certificate] = await Promise.all([api.tracks(run.id, signal), api.certificate(run.id, signal)]);
  if (signal.aborted) return;
  const charts = ["x", "y"].map((axis) => trackChart(run, tracks, axis, signal));
  const player = new Player(run, tracks, { signal, onRow: (row) => charts.forEach((chart) => chart.movePlayhead(tracks.times_s[row])) });
  root.append(
    runHead(run, "result"),
    h("div", { class: "split" },
      h("div", { class: "split-main" }, player.element),
      h("div", { class: "split-side" },
        h("section", { class: "card", "aria-labelledby": "in-frame" }, h("h2", { id: "in-frame" }, "In this frame"), h("div", { class: "wide" }, player.table), legend()),
        h("section", { class: "card", "aria-labelledby": "stretches" }, h("h2", { id: "stretches" }, "Certified and refused"),
          stretchList(tracks, (row) => {
            player.pauseAt(row);
            player.element.scrollIntoView({ block: "nearest" });
          })))),
    h("section", { "aria-labelledby": "certificate" }, h("h2", { id: "certificate" }, "Certificate"), certificateView(certificate, tracks)),
    h("section", { "aria-labelledby": "tracks" }, h("h2", { id: "tracks" }, "Tracks over time"),
      h("div", { class: "card" },
        h("p", { class: "key" }, Array.from({ length: tracks.objects }, (_, each) => h("span", {}, swatch(numberOf(tracks, each)), `object ${numberOf(tracks, each)}`)),
          h("span", {}, h("i", { class: "swatch band-key", "aria-hidden": "true" }), "within the bound"), h("span", {}, h("i", { class: "swatch refused-key", "aria-hidden": "true" }), "refused")),
        h("div", { class: "two" }, charts.map((chart) => chart.element)))),
    h("section", { "aria-labelledby": "files" }, h("h2", { id: "files" }, "Files"),
      h("ul", { class: "files" }, FILES.map(([name, title, says]) =>
        h("li", {}, h("a", { href: api.downloadAddress(run.id, name), download: `${stem(run.name)}_${name}` }, title), h("span", { class: "soft small" }, ` ${says}`))))));
}

function legend() {
  return h("p", { class: "soft small legend" }, "Cross: the calibrated position. Square: all that is within the bound of z. Grey and dashed, with a question mark: nothing is promised. Arrow keys step, space plays, n goes to the next refused frame.");
}

const stem = (name) => name.replace(/\.[^.]*$/, "");

function trackChart(run, tracks, axis, signal) {
  const times = tracks.times_s;
  const view = viewOf(run);
  const range = axis === "x" ? [view[0], view[0] + view[2]] : [view[1] + view[3], view[1]]; // down, as in the picture
  const each = Array.from({ length: tracks.objects }, (_, at) => at);
  const only = (values, at, wanted) => values.map((value, row) => (tracks.present[at][row] && tracks.certified[at][row] === wanted ? value : null));
  return new Chart({
    height: 250,
    signal,
    label: `${axis} of each object over time; the numbers are in the tracks file`,
    data: () => ({
      x: { label: "time, s", range: [times[0], times.at(-1) || 1] },
      y: { label: axis === "x" ? "x, px" : "y, px", range },
      bands: each.map((at) => ({
        x: times,
        low: only(tracks[`z_${axis}`][at].map((z, row) => (z === null ? null : z - tracks.bound_px[at][row])), at, true),
        high: only(tracks[`z_${axis}`][at].map((z, row) => (z === null ? null : z + tracks.bound_px[at][row])), at, true),
        colour: colourOf(numberOf(tracks, at)),
      })),
      lines: each.flatMap((at) => [
        { x: times, y: only(tracks[axis][at], at, false), kind: "refused" },
        { x: times, y: only(tracks[axis][at], at, true), colour: colourOf(numberOf(tracks, at)) },
      ]),
      playhead: times[0],
    }),
  });
}
