// The files that are embedded in the page, and the detector that runs on them: onnxruntime-web on one thread.

const OUTPUTS = ["positions", "z", "sizes", "present", "certified", "theorem_px", "residual_px", "reasons", "changed"];

export const about = JSON.parse(document.getElementById("about").textContent);

/** The content of an embedded file. */
export async function unpacked(id) {
  const bytes = Uint8Array.from(atob(document.getElementById(id).textContent), (sign) => sign.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
}

/** A function from the pixels of a frame, RGBA as a canvas has them, to the graph's outputs as arrays. */
export async function loadDetector() {
  if (!globalThis.DecompressionStream || !globalThis.WebAssembly) {
    throw new Error("This browser is too old for this page: use a Chrome, Edge, Firefox or Safari of 2023 or later.");
  }
  const code = URL.createObjectURL(new Blob([await unpacked("runtime-code")], { type: "text/javascript" }));
  const runtime = await import(code);
  URL.revokeObjectURL(code);
  Object.assign(runtime.env.wasm, { wasmBinary: await unpacked("runtime-wasm"), numThreads: 1 });
  const session = await runtime.InferenceSession.create(new Uint8Array(await unpacked("detector")), { executionProviders: ["wasm"] });
  const { width, height } = about.recording;
  return async (rgba) => {
    const frames = new runtime.Tensor("uint8", colours(rgba), [1, height, width, about.colours]);
    const found = await session.run({ frames }, OUTPUTS);
    return Object.fromEntries(OUTPUTS.map((name) => [name, Array.from(found[name].data, Number)]));
  };
}

/** As `withinpx detect` converts: grey is the mean of the three colours. */
function colours(rgba) {
  const levels = new Uint8Array((rgba.length / 4) * about.colours);
  let at = 0;
  for (let pixel = 0; pixel < rgba.length; pixel += 4) {
    if (about.colours === 1) levels[at++] = Math.round((rgba[pixel] + rgba[pixel + 1] + rgba[pixel + 2]) / 3);
    else for (let colour = 0; colour < 3; colour++) levels[at++] = rgba[pixel + colour];
  }
  return levels;
}
