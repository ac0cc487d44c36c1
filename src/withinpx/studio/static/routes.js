// The address of each screen.

export const TITLES = { start: "Clips", clip: "Clip", training: "Training", result: "Result", edit: "Edit", bound: "The bound" };

/** #/, #/bound, #/clip/ID, #/run/ID, #/run/ID/training|result|edit */
export function parseRoute(hash) {
  const [first, id, screen] = hash.replace(/^#\/?/, "").split("/");
  if (first === "bound") return { screen: "bound" };
  if (first === "clip" && id) return { screen: "clip", id };
  if (first === "run" && id) return { screen: screen in TITLES ? screen : null, id };
  return { screen: "start" };
}

/** The screen of a run that fits its state. */
export function defaultRoute(run) {
  if (run.state === "finished") return routeTo(run, "result");
  return routeTo(run, run.state === "ready" ? "clip" : "training");
}

export const routeTo = (run, screen) => (screen === "clip" ? `#/clip/${run.id}` : `#/run/${run.id}/${screen}`);
