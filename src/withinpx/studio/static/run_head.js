// The head of every screen about one run: its name, its state, and the way to its other screens.

import { h } from "./dom.js";
import { addressOf } from "./routes.js";
import { clipWords, STATES } from "./words.js";

const SCREENS = [["clip", "Clip"], ["training", "Training"], ["result", "Result"], ["edit", "Edit"]];

export function runHead(run, current) {
  const open = { clip: true, training: run.state !== "ready", result: run.state === "finished", edit: run.state === "finished" };
  return h("header", { class: "run-head" },
    h("div", { class: "run-title" },
      h("h1", {}, run.name),
      statePill(run),
      h("p", { class: "soft" }, run.demo ? `The demo: ${clipWords(run.clip)}` : clipWords(run.clip))),
    h("nav", { class: "tabs", "aria-label": "This clip" },
      SCREENS.map(([screen, title]) =>
        open[screen] || screen === current
          ? h("a", { href: addressOf(run, screen), "aria-current": screen === current ? "page" : null }, title)
          : h("span", { class: "closed", role: "link", "aria-disabled": "true", title: "Not there yet" }, title))));
}

export function statePill(run) {
  const kind = { training: "busy", waiting: "busy", failed: "bad", finished: run.result?.certified ? "good" : "mixed" }[run.state] ?? "plain";
  return h("span", { class: `pill ${kind}` }, run.state === "finished" && run.result ? run.result.sentence : STATES[run.state] ?? run.state);
}
