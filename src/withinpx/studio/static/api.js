// Every request to the server. What goes wrong is an error whose message is the server's sentence.

export class ApiError extends Error {
  constructor(status, sentence) {
    super(sentence);
    this.status = status;
  }
}

const GONE = "The studio does not answer: is `withinpx studio` still running?";

async function ask(path, { method = "GET", json, body, signal } = {}) {
  let answer;
  try {
    answer = await fetch(path, {
      method,
      signal,
      headers: json === undefined ? {} : { "Content-Type": "application/json" },
      body: json === undefined ? body : JSON.stringify(json),
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(0, GONE);
  }
  if (!answer.ok) throw new ApiError(answer.status, sentenceIn(await answer.text(), answer.status));
  return answer;
}

function sentenceIn(text, status) {
  try {
    const { error, detail } = JSON.parse(text);
    return error ?? (typeof detail === "string" ? detail : `The studio refused this (${status}).`);
  } catch {
    return `The studio refused this (${status}).`;
  }
}

const toJson = async (asked) => (await asked).json();
const toBlob = async (asked) => (await asked).blob();
const run = (id) => `/api/runs/${id}`;

export const state = (signal) => toJson(ask("/api/state", { signal }));
export const getRun = (id, signal) => toJson(ask(run(id), { signal }));
export const removeRun = (id) => ask(run(id), { method: "DELETE" });
export const setOptions = (id, options) => toJson(ask(`${run(id)}/options`, { method: "PUT", json: options }));
export const inspection = (id, signal) => toJson(ask(`${run(id)}/inspection`, { signal }));
export const start = (id) => toJson(ask(`${run(id)}/start`, { method: "POST" }));
export const stop = (id) => toJson(ask(`${run(id)}/stop`, { method: "POST" }));
export const tracks = (id, signal) => toJson(ask(`${run(id)}/tracks`, { signal }));
export const certificate = (id, signal) => toJson(ask(`${run(id)}/certificate`, { signal }));
export const copyDemo = () => toJson(ask("/api/demo/copy", { method: "POST" }));
export const draw = (id, frame, positions, signal) =>
  toBlob(ask(`${run(id)}/draw`, { method: "POST", json: { frame, positions }, signal }));
export const film = (id, paths, fps) => toBlob(ask(`${run(id)}/film`, { method: "POST", json: { paths, fps } }));
export const bound = (settings, signal) => toJson(ask(`/api/bound?${new URLSearchParams(settings)}`, { signal }));

export const downloadAddress = (id, what) => `${run(id)}/download/${what}`;
export const previewAddress = (id, stamp) => `${run(id)}/preview?stamp=${stamp}`;

/** One frame as a picture; with a crop, that part alone. */
export function frameAddress(id, number, crop, max = 960) {
  return `${run(id)}/frames/${number}?crop=${crop ? 1 : 0}&max=${max}${crop ? `&of=${crop.join(",")}` : ""}`;
}

export async function frame(id, number, crop, signal) {
  return createImageBitmap(await toBlob(ask(frameAddress(id, number, crop), { signal })));
}

/** Listen to a run until the signal; the browser reconnects by itself. */
export function listen(id, handlers, signal) {
  if (signal.aborted) return;
  const source = new EventSource(`${run(id)}/events`);
  for (const [name, handle] of Object.entries(handlers)) {
    if (name === "lost") source.addEventListener("error", () => handle(GONE));
    else source.addEventListener(name, (event) => handle(JSON.parse(event.data)));
  }
  signal.addEventListener("abort", () => source.close());
}

/** Upload one video as it is, or several pictures under a name; `onProgress` gets the share that is through. */
export function upload({ files, name = "pictures" }, onProgress, signal) {
  const pictures = files.length > 1 || files[0].type.startsWith("image/");
  if (!pictures) return send(`/api/runs?name=${encodeURIComponent(files[0].name)}`, files[0], onProgress, signal);
  const form = new FormData();
  for (const file of files) form.append("pictures", file, file.name);
  return send(`/api/runs/pictures?name=${encodeURIComponent(name)}`, form, onProgress, signal);
}

function send(address, body, onProgress, signal) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest(); // fetch tells nobody how far an upload is
    request.open("POST", address);
    request.upload.onprogress = (event) => event.lengthComputable && onProgress(event.loaded / event.total);
    request.onerror = () => reject(new ApiError(0, "The upload broke off: the clip may be too large, or the studio has stopped."));
    request.onload = () => {
      if (request.status === 201) resolve(JSON.parse(request.responseText));
      else reject(new ApiError(request.status, sentenceIn(request.responseText, request.status)));
    };
    signal?.addEventListener("abort", () => request.abort());
    request.send(body);
  });
}
