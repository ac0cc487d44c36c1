// What a person changes in the tracks: the page's tracks follow the review that the server keeps.

import * as api from "./api.js";
import { announce, debounce, errorBox } from "./dom.js";
import { nameOf } from "./overlay.js";

const NOTHING = { x: null, y: null, z_x: null, z_y: null, bound_px: null, theorem_px: null, residual_px: null, present: false, certified: false, reason: "absent", identity: null, moved: false, checked: false };
const SETTLED_MS = 250; // after the last change, before what takes long is updated

export class Review {
  /** `tracks` are the network's; they become the reviewed ones in place, since all of the page reads them. */
  constructor(run, tracks, signal) {
    Object.assign(this, { run, tracks, signal, revision: null, undoText: null, redoText: null, sizes: [] });
    this.row = 0;
    this.selected = 0; // the object that buttons and keys change
    this.listeners = { change: [], row: [], select: [] };
    this.errors = errorBox();
    this.last = Promise.resolve(); // one request at a time: each needs the revision of the one before
    this.settle = debounce(SETTLED_MS, () => !signal.aborted && this.emit("settled"));
  }

  on(name, work) {
    (this.listeners[name] ??= []).push(work);
  }

  emit(name) {
    for (const work of this.listeners[name] ?? []) work();
  }

  /** The review as it is on the server; without it the page shows the network's tracks. */
  async load() {
    try {
      this.take(await api.review(this.run.id, this.signal));
    } catch (error) {
      this.errors.show(error);
    }
  }

  get frame() {
    return this.tracks.frames[this.row];
  }

  /** Called with the row that the player shows. */
  moveTo(row) {
    if (row === this.row) return;
    this.row = row;
    this.emit("row");
  }

  select(index) {
    this.selected = index;
    this.emit("select");
  }

  /** The objects that are still there, by their place in the tracks. */
  get objects() {
    return Array.from({ length: this.tracks.objects }, (_, index) => index).filter((index) => !this.tracks.gone?.has(index));
  }

  name(index) {
    return nameOf(this.tracks, index);
  }

  /** Resolves to whether the server took it; a refusal is shown. */
  change(operation) {
    return this.request(() => api.changeReview(this.run.id, this.revision, operation), null);
  }

  undo() {
    const text = this.undoText;
    return this.request(() => api.undoReview(this.run.id, this.revision), text && `Undone: ${text}.`);
  }

  redo() {
    const text = this.redoText;
    return this.request(() => api.redoReview(this.run.id, this.revision), text && `Done again: ${text}.`);
  }

  request(send, sentence) {
    const done = this.last.then(async () => {
      try {
        this.take(await send());
        this.errors.show(null);
        announce(sentence ?? `Done: ${this.undoText}.`);
        return true;
      } catch (error) {
        if (error.status === 409) await this.loadAgain();
        this.errors.show(error);
        return false;
      }
    });
    this.last = done;
    return done;
  }

  /** Another window has changed the review. */
  async loadAgain() {
    Object.assign(this.tracks, { moved: null, checked: null }, await api.tracks(this.run.id, this.signal));
    await this.load();
  }

  take(answer) {
    const { tracks } = this;
    Object.assign(this, { revision: answer.revision, undoText: answer.undo, redoText: answer.redo, sizes: answer.sizes });
    resize(tracks, answer.objects);
    for (const { object, from, ...columns } of answer.changes) {
      for (const [name, values] of Object.entries(columns)) {
        const column = tracks[name]?.[object];
        if (column) values.forEach((value, at) => (column[from + at] = value));
      }
    }
    tracks.names = answer.names;
    tracks.gone = new Set(answer.gone);
    if (!this.objects.includes(this.selected)) this.selected = this.objects[0] ?? 0;
    this.emit("change");
    this.settle();
  }
}

/** As many columns as there are objects; those of new ones are empty. */
function resize(tracks, objects) {
  for (const name of ["moved", "checked"]) tracks[name] ??= [];
  for (const [name, nothing] of Object.entries(NOTHING)) {
    const columns = tracks[name];
    if (!columns) continue; // identities that are not in doubt
    columns.length = Math.min(columns.length, objects);
    while (columns.length < objects) columns.push(tracks.frames.map(() => nothing));
  }
  tracks.numbers.length = Math.min(tracks.numbers.length, objects);
  while (tracks.numbers.length < objects) tracks.numbers.push(Math.max(tracks.numbers.length, ...tracks.numbers.map((number) => number + 1)));
  tracks.objects = objects;
}
