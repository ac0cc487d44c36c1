// The result: the recording with its detections, certified and refused frames, certificate, tracks and files.

import * as api from "./api.js";
import { certificateView } from "./certificate.js";
import { Chart } from "./chart.js";
import { h } from "./dom.js";
import { viewOf } from "./frame_view.js";
import { measureSection } from "./measure.js";
import { nameOf, numberOf } from "./overlay.js";
import { colourOf, swatch } from "./palette.js";
import { Player } from "./player.js";
import { Review } from "./review.js";
import { reviewPanels } from "./review_panels.js";
import { runHeader } from "./run_header.js";
import { indices, stretchList } from "./timeline.js";

const FILES = [
  ["tracks.csv", "Tracks", "every position with its bound and verdict (CSV)"],
  ["reviewed.csv", "Reviewed tracks", "the same as a person left them, with the source of each position (CSV)"],
  ["overlay.mp4", "Overlay", "the recording with all detections"],
  ["certificate.html", "Certificate", "one self-contained page"],
  ["summary.png", "Summary", "trajectories, positions over time, appearances"],
  ["coco.json", "COCO", "results with masks"],
  ["coco_images.json", "COCO images", "the images file of the results"],
  ["mot.txt", "MOTChallenge", "tracks for tracking tools"],
  ["dlc.csv", "DeepLabCut", "tracks for pose tools"],
  ["detector.zip", "Detector", "for other footage of this camera"],
];

export async function show(root, { run, signal }) {
  const [tracks, certificate] = await Promise.all([api.tracks(run.id, signal), api.certificate(run.id, signal)]);
  const verdict = certificateView(certificate, tracks); // of the network's tracks, whatever a person changed
  const measured = { ...tracks, numbers: [...tracks.numbers] }; // and so is what is measured
  const review = new Review(run, tracks, signal);
  await review.load();
  if (signal.aborted) return;
  const charts = ["x", "y"].map((axis) => trackChart(run, tracks, axis, signal));
  const player = new Player(run, tracks, { signal, onRow: (row) => {
    charts.forEach((chart) => chart.movePlayhead(timeAxis(tracks)[row]));
    review.moveTo(row);
  } });
  const key = h("p", { class: "key" });
  const refusedList = h("div");
  const showAll = () => {
    key.replaceChildren(...chartKey(tracks));
    refusedList.replaceChildren(stretchList(tracks, (row) => {
      player.pauseAt(row);
      player.element.scrollIntoView({ block: "nearest" });
    }));
  };
  review.on("settled", () => {
    showAll();
    charts.forEach((chart) => chart.draw());
  });
  root.append(
    h("div", { class: "workbench" }, runHeader(run, "result"), h("div", { class: "split" },
      h("div", { class: "split-main" }, player.element),
      h("div", { class: "split-side", tabindex: 0, role: "group", "aria-label": "About this frame" },
        h("section", { class: "card", "aria-labelledby": "in-frame" }, h("h2", { id: "in-frame" }, "In this frame"), h("div", { class: "wide", tabindex: 0, role: "group", "aria-label": "Positions in this frame" }, player.table)),
        reviewPanels(review, run, player, signal),
        h("section", { class: "card", "aria-labelledby": "stretches" }, h("h2", { id: "stretches" }, "Certified and refused"),
          refusedList, legend())))),
    h("section", { "aria-labelledby": "certificate" }, h("h2", { id: "certificate" }, "Certificate"), verdict),
    h("section", { "aria-labelledby": "tracks" }, h("h2", { id: "tracks" }, "Tracks over time"),
      h("div", { class: "card" },
        key,
        h("div", { class: "two" }, charts.map((chart) => chart.element)))),
    measureSection(run, measured, player, signal),
    h("section", { "aria-labelledby": "files" }, h("h2", { id: "files" }, "Files"),
      h("ul", { class: "files" }, FILES.map(([name, title, description]) =>
        h("li", {}, h("a", { href: api.downloadUrl(run.id, name), download: `${run.name.replace(/\.[^.]*$/, "")}_${name}` }, title), h("span", { class: "soft small" }, ` ${description}`))))));
  showAll();
}

/** What the colours of the charts stand for. */
function chartKey(tracks) {
  return [
    ...indices(tracks).map((index) => h("span", {}, swatch(numberOf(tracks, index)), nameOf(tracks, index))),
    h("span", {}, h("i", { class: "swatch band-key", "aria-hidden": "true" }), "within the bound"),
    h("span", {}, h("i", { class: "swatch refused-key", "aria-hidden": "true" }), "refused, or set by a person"),
  ];
}

function legend() {
  return h("p", { class: "soft small legend" }, "Cross: the position. Square: the centre of the object lies inside it. Grey and dashed, with a question mark: refused, without a bound. Diamond: set by a person, not certified. Arrow keys step, space plays, n goes to the next refused frame.");
}

const timeAxis = (tracks) => tracks.times_s ?? tracks.frames;

function trackChart(run, tracks, axis, signal) {
  const times = timeAxis(tracks);
  const view = viewOf(run);
  const range = axis === "x" ? [view[0], view[0] + view[2]] : [view[1] + view[3], view[1]]; // y points down, as in the frame
  const where = (index, certified, value) => tracks[axis][index].map((position, row) => (tracks.present[index][row] && tracks.certified[index][row] === certified ? value(position, tracks.bound_px[index][row]) : null));
  const data = () => ({
    x: { label: tracks.times_s ? "time, s" : "frame", range: [times[0], times.at(-1) || 1] },
    y: { label: `${axis}, px`, range },
    bands: indices(tracks).map((index) => ({
      x: times,
      low: where(index, true, (position, bound) => position - bound),
      high: where(index, true, (position, bound) => position + bound),
      colour: colourOf(numberOf(tracks, index)),
    })),
    lines: indices(tracks).flatMap((index) => [
      { x: times, y: where(index, false, (position) => position), kind: "refused" },
      { x: times, y: where(index, true, (position) => position), colour: colourOf(numberOf(tracks, index)) },
    ]),
  });
  return new Chart({ height: 250, signal, data, label: `${axis} of each object over time; the numbers are in the tracks file` });
}
