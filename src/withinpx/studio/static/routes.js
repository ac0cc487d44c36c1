// Where each screen lives.

export const TITLES = { start: "Clips", clip: "Clip", training: "Training", result: "Result", edit: "Edit", bound: "The bound" };

/** #/ , #/bound, #/clip/ID, #/run/ID, #/run/ID/training|result|edit */
export function routeOf(hash) {
  const [first, id, screen] = hash.replace(/^#\/?/, "").split("/");
  if (first === "bound") return { screen: "bound" };
  if (first === "clip" && id) return { screen: "clip", id };
  if (first === "run" && id) return { screen: screen in TITLES ? screen : null, id };
  return { screen: "start" };
}

/** Where a run is looked at when nobody said where. */
export function placeOf(run) {
  if (run.state === "finished") return addressOf(run, "result");
  return addressOf(run, run.state === "ready" ? "clip" : "training");
}

export const addressOf = (run, screen) => (screen === "clip" ? `#/clip/${run.id}` : `#/run/${run.id}/${screen}`);
