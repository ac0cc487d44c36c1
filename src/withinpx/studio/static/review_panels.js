// Where the review is on the result's screen: a bar with Correct, undo and redo, the queue, the objects.

import { h } from "./dom.js";
import { CheckQueue } from "./check_queue.js";
import { CorrectMode } from "./correct_mode.js";
import { ObjectsPanel } from "./objects_panel.js";

/** The cards of the review, to be put beside the player. */
export function reviewPanels(review, run, player, signal) {
  const correct = new CorrectMode(review, player, signal);
  const undo = h("button", { type: "button", id: "undo", onclick: () => review.undo() }, "Undo");
  const redo = h("button", { type: "button", id: "redo", onclick: () => review.redo() }, "Redo");
  const update = () => {
    for (const [button, text, keys] of [[undo, review.undoText, "Ctrl+Z"], [redo, review.redoText, "Ctrl+Shift+Z"]]) {
      button.disabled = text === null;
      button.title = text === null ? `${button.textContent} (${keys})` : `${button.textContent}: ${text} (${keys})`;
    }
  };
  review.on("change", () => {
    update();
    player.refresh();
  });
  update();
  document.addEventListener("keydown", (event) => historyKey(event, review, correct), { signal });
  const bar = h("section", { class: "card review-bar", "aria-label": "Review" },
    h("div", { class: "buttons" }, correct.button, undo, redo), correct.help, review.errors.element);
  return [bar, new CheckQueue(review, player).element, new ObjectsPanel(review, run, signal).element];
}

async function historyKey(event, review, correct) {
  if (!(event.ctrlKey || event.metaKey) || event.altKey || event.target.matches?.("input[type=text], input[type=number], textarea")) return;
  const key = event.key.toLowerCase();
  const again = (key === "z" && event.shiftKey) || key === "y";
  if (key !== "z" && !again) return;
  event.preventDefault();
  await correct.save();
  if (again ? review.redoText === null : review.undoText === null) return;
  if (again) review.redo();
  else review.undo();
}
