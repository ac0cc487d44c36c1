// What a person should look at in the tracks, worst first.

import { byPerson } from "./overlay.js";
import { stateAt } from "./timeline.js";

const WIDE = 1.5; // times the object's median bound
const ORDER = ["swap", "identity", "refused", "wide"];

/** Items {kind, object, other, from, to, reasons, weight}, in rows; possible swaps first, then what is in doubt longest. */
export function itemsToCheck(tracks, objects) {
  const items = [...possibleSwaps(tracks, objects), ...objects.flatMap((index) => stretchesOf(tracks, index))];
  return items.sort((one, other) => ORDER.indexOf(one.kind) - ORDER.indexOf(other.kind) || other.weight - one.weight || one.from - other.from);
}

export const keyOf = ({ kind, object, other, from, to }) => [kind, object, other, from, to].join(":");

function stretchesOf(tracks, index) {
  const checked = tracks.checked?.[index] ?? [];
  const median = medianOf(tracks.bound_px[index].filter((bound, row) => bound !== null && tracks.certified[index][row]));
  const grouped = (kind, test, weigh) => group(tracks.frames.length, (row) => !checked[row] && test(row)).map(({ from, to }) => ({ kind, object: index, from, to, weight: weigh(from, to) }));
  const length = (from, to) => to - from + 1;
  const largest = (from, to) => tracks.bound_px[index].slice(from, to + 1).reduce((most, bound) => Math.max(most, bound), 0);
  const refused = grouped("refused", (row) => stateAt(tracks, index, row) === "refused", length);
  for (const item of refused) item.reasons = [...new Set(tracks.reason[index].slice(item.from, item.to + 1))];
  return [
    ...refused,
    ...grouped("identity", (row) => tracks.identity?.[index][row] === 0, length),
    ...grouped("wide", (row) => tracks.certified[index][row] && tracks.bound_px[index][row] > WIDE * median, largest),
  ];
}

/** Stretches of rows that pass the test. */
function group(rows, test) {
  const found = [];
  for (let row = 0; row < rows; row++) {
    if (!test(row)) continue;
    const last = found.at(-1);
    if (last?.to === row - 1) last.to = row;
    else found.push({ from: row, to: row });
  }
  return found;
}

/** Where two objects would be nearer to where they were before if they were each other, and it is not proved that they are not. */
function possibleSwaps(tracks, objects) {
  const found = [];
  for (let row = 1; row < tracks.frames.length; row++) {
    const there = objects.filter((index) => canBeSwapped(tracks, index, row));
    const doubtful = there.filter((index) => !isLinked(tracks, index, row));
    for (const one of doubtful) {
      for (const other of there) {
        if (one === other || (other < one && doubtful.includes(other))) continue;
        const kept = step(tracks, one, one, row) + step(tracks, other, other, row);
        const swapped = step(tracks, one, other, row) + step(tracks, other, one, row);
        if (swapped < kept) found.push({ kind: "swap", object: Math.min(one, other), other: Math.max(one, other), from: row, to: row, weight: kept - swapped });
      }
    }
  }
  return found;
}

/** A network's position in both rows, and a link between them that no person has decided about. */
function canBeSwapped(tracks, index, row) {
  const moved = tracks.moved?.[index] ?? [];
  return [row - 1, row].every((at) => tracks.present[index][at] && !byPerson(tracks, index, at)) && moved[row - 1] === moved[row] && !tracks.checked?.[index][row];
}

function isLinked(tracks, index, row) {
  return tracks.identity ? tracks.identity[index][row] === 1 : tracks.certified[index][row] && tracks.certified[index][row - 1];
}

const step = (tracks, from, to, row) => Math.hypot(tracks.x[to][row] - tracks.x[from][row - 1], tracks.y[to][row] - tracks.y[from][row - 1]);

function medianOf(values) {
  const sorted = values.sort((one, other) => one - other);
  return sorted.length ? sorted[Math.floor(sorted.length / 2)] : Infinity;
}
