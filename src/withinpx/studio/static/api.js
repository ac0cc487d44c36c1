// Every request to the server. An error has the server's message.

import { useColours } from "./palette.js";

export class ApiError extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

const NO_SERVER = "The studio does not answer: is `withinpx studio` still running?";

async function request(path, { method = "GET", json, signal } = {}) {
  const body = json === undefined ? {} : { headers: { "Content-Type": "application/json" }, body: JSON.stringify(json) };
  let response;
  try {
    response = await fetch(path, { method, signal, ...body });
  } catch (error) {
    throw error.name === "AbortError" ? error : new ApiError(0, NO_SERVER);
  }
  if (!response.ok) throw new ApiError(response.status, errorIn(await response.text(), response.status));
  return response;
}

function errorIn(text, status) {
  try {
    return JSON.parse(text).error ?? `The studio refused this (${status}).`;
  } catch {
    return `The studio refused this (${status}).`;
  }
}

const toJson = async (response) => (await response).json();
/** An answer that brings the colours of its run's objects. */
const coloured = async (answer, coloursOf) => {
  const found = await answer;
  useColours(coloursOf(found));
  return found;
};
const toBlob = async (response) => (await response).blob();
const run = (id) => `/api/runs/${id}`;

export const state = (signal) => toJson(request("/api/state", { signal }));
export const getRun = (id, signal) => coloured(toJson(request(run(id), { signal })), (found) => found.result?.colours);
export const deleteRun = (id) => request(run(id), { method: "DELETE" });
export const setOptions = (id, options) => toJson(request(`${run(id)}/options`, { method: "PUT", json: options }));
export const inspection = (id, signal) => coloured(toJson(request(`${run(id)}/inspection`, { signal })), (found) => found.colours);
export const start = (id) => toJson(request(`${run(id)}/start`, { method: "POST" }));
export const stop = (id) => toJson(request(`${run(id)}/stop`, { method: "POST" }));
export const tracks = (id, signal) => coloured(toJson(request(`${run(id)}/tracks`, { signal })), (found) => found.colours);
export const certificate = (id, signal) => toJson(request(`${run(id)}/certificate`, { signal }));
export const review = (id, signal) => toJson(request(`${run(id)}/review`, { signal }));
export const changeReview = (id, revision, operation) => toJson(request(`${run(id)}/review`, { method: "POST", json: { revision, operation } }));
export const undoReview = (id, revision) => toJson(request(`${run(id)}/review/undo`, { method: "POST", json: { revision } }));
export const redoReview = (id, revision) => toJson(request(`${run(id)}/review/redo`, { method: "POST", json: { revision } }));
export const copyDemo = () => toJson(request("/api/demo/copy", { method: "POST" }));
export const render = (id, scene, signal) => toBlob(request(`${run(id)}/render`, { method: "POST", json: scene, signal }));
export const video = (id, order) => toBlob(request(`${run(id)}/video`, { method: "POST", json: order }));
export const bound = (settings, signal) => toJson(request(`/api/bound?${new URLSearchParams(settings)}`, { signal }));

export const scale = (id, signal) => toJson(request(`${run(id)}/scale`, { signal }));
export const setScale = (id, order) => toJson(request(`${run(id)}/scale`, { method: "PUT", json: order }));
export const removeScale = (id) => request(`${run(id)}/scale`, { method: "DELETE" });
export const motion = (id, query, signal) => toJson(request(`${run(id)}/motion?${new URLSearchParams(query)}`, { signal }));
export const motionUrl = (id, name, over) => `${run(id)}/motion/${name}?over=${over}`;

export const downloadUrl = (id, name) => `${run(id)}/download/${name}`;
export const previewUrl = (id, stamp) => `${run(id)}/preview?stamp=${stamp}`;

/** The URL of a frame, or of the crop of it. The crop itself is in the URL for the browser's cache. */
export function frameUrl(id, number, crop, max = 960) {
  return `${run(id)}/frames/${number}?crop=${crop ? 1 : 0}&max=${max}${crop ? `&of=${crop.join(",")}` : ""}`;
}

export async function frame(id, number, crop, signal, max = undefined) {
  return createImageBitmap(await toBlob(request(frameUrl(id, number, crop, max), { signal })));
}

/** Server-sent events of a run until the signal; the browser reconnects by itself. */
export function listen(id, handlers, signal) {
  if (signal.aborted) return;
  const source = new EventSource(`${run(id)}/events`);
  for (const [name, handle] of Object.entries(handlers)) {
    if (name === "lost") source.addEventListener("error", () => handle(NO_SERVER));
    else source.addEventListener(name, (event) => handle(JSON.parse(event.data)));
  }
  signal.addEventListener("abort", () => source.close());
}

/** Upload one video as the body, or images as a form; `onProgress` gets the share that is sent. */
export function upload({ files, name = "images" }, onProgress, signal) {
  const images = files.length > 1 || files[0].type.startsWith("image/");
  if (!images) return send(`/api/runs?name=${encodeURIComponent(files[0].name)}`, files[0], onProgress, signal);
  const form = new FormData();
  for (const file of files) form.append("images", file, file.name);
  return send(`/api/runs/images?name=${encodeURIComponent(name)}`, form, onProgress, signal);
}

function send(url, body, onProgress, signal) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest(); // fetch does not report the progress of an upload
    request.open("POST", url);
    request.upload.onprogress = (event) => event.lengthComputable && onProgress(event.loaded / event.total);
    request.onerror = () => reject(new ApiError(0, "The upload was interrupted: the clip may be too large, or the studio has stopped."));
    request.onload = () => {
      if (request.status === 201) resolve(JSON.parse(request.responseText));
      else reject(new ApiError(request.status, errorIn(request.responseText, request.status)));
    };
    signal?.addEventListener("abort", () => request.abort());
    request.send(body);
  });
}
