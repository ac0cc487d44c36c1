// The header of every screen about one run: its name, its state, and links to its other screens.

import { h } from "./dom.js";
import { routeTo } from "./routes.js";
import { clipText, STATES } from "./text.js";

const SCREENS = [["clip", "Clip"], ["training", "Training"], ["result", "Result"], ["edit", "Edit"]];

export function runHeader(run, current) {
  const available = { clip: true, training: run.state !== "ready", result: run.state === "finished", edit: run.state === "finished" };
  return h("header", { class: "run-header" },
    h("div", { class: "run-title" },
      h("h1", {}, run.name),
      statePill(run),
      h("p", { class: "soft" }, run.demo ? `The demo: ${clipText(run.clip)}` : clipText(run.clip), spanText(["result", "edit"].includes(current) ? run.trained : run.options))),
    h("nav", { class: "tabs", "aria-label": "This clip" },
      SCREENS.map(([screen, title]) =>
        available[screen] || screen === current
          ? h("a", { href: routeTo(run, screen), "aria-current": screen === current ? "page" : null }, title)
          : h("span", { class: "closed", role: "link", "aria-disabled": "true", title: "Not available yet" }, title))));
}

export function statePill(run) {
  const kind = { training: "busy", waiting: "busy", failed: "bad", finished: run.result?.certified ? "good" : "mixed" }[run.state] ?? "plain";
  return h("span", { class: `pill ${kind}` }, run.state === "finished" && run.result ? run.result.message : STATES[run.state] ?? run.state);
}

/** Which frames are used, where they are a part of the clip. */
const spanText = (options) => (options?.frames ? `; frames ${options.frames[0]} to ${options.frames[1]} are used` : "");
