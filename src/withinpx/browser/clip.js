// Clips that are given as files, frame by frame: images one after the other, or a video by the browser's decoder.

import { about } from "./runtime.js";
import { VideoReader } from "./video.js";

const IMAGE = /\.(png|jpe?g|bmp|tiff?|webp)$/i;

/** The clip of some files: `name`, `total` (may be an estimate), `frames()` in turn, `show(row)` of those again. */
export async function openClip(files) {
  const images = files.filter((file) => file.type.startsWith("image/") || IMAGE.test(file.name));
  if (!files.length) throw new Error("There is no file: choose a video, or the images of a clip.");
  if (images.length === files.length) return new ImageClip(images);
  if (files.length > 1) throw new Error(`${files.find((file) => !images.includes(file)).name} is no image: choose one video, or images only.`);
  return VideoClip.open(files[0]);
}

class ImageClip {
  constructor(files) {
    this.files = files.sort(inNaturalOrder);
    this.name = files.length === 1 ? files[0].name : `${files.length} images`;
    this.stem = files.length === 1 ? withoutEnding(files[0].name) : "images";
    this.total = files.length;
  }

  async *frames() {
    const pixels = new Pixels();
    for (const file of this.files) {
      const image = await decoded(file);
      yield { ...pixels.read(image, file.name), time_s: null };
      image.close();
    }
  }

  show(row) {
    return decoded(this.files[row]);
  }
}

class VideoClip {
  static async open(file) {
    return new VideoClip(file, await VideoReader.open(file), await VideoReader.open(file));
  }

  constructor(file, reader, viewer) {
    Object.assign(this, { name: file.name, stem: withoutEnding(file.name), reader, viewer, times: [] });
  }

  get total() {
    return this.reader.total;
  }

  async *frames() {
    const pixels = new Pixels();
    try {
      for await (const { image, time_s } of this.reader.frames()) {
        this.times.push(time_s);
        yield { ...pixels.read(image, this.name), time_s };
      }
    } finally {
      this.reader.close();
    }
  }

  async show(row) {
    return createImageBitmap(await this.viewer.shownAt(this.times[row]));
  }
}

const withoutEnding = (name) => name.replace(/\.[^.]*$/, "");

/** A canvas of the recording's size, from which the levels of an image are read. */
class Pixels {
  constructor() {
    this.canvas = Object.assign(document.createElement("canvas"), about.recording);
    this.pen = this.canvas.getContext("2d", { willReadFrequently: true });
  }

  read(image, name) {
    const { width, height } = about.recording;
    const [foundWidth, foundHeight] = [image.videoWidth ?? image.width, image.videoHeight ?? image.height];
    if (foundWidth !== width || foundHeight !== height) {
      throw new Error(`${name} is ${foundWidth}x${foundHeight} px, and the detector was made for ${width}x${height} px: use footage of the same camera.`);
    }
    this.pen.clearRect(0, 0, width, height);
    this.pen.drawImage(image, 0, 0);
    const rgba = this.pen.getImageData(0, 0, width, height).data;
    for (let index = 3; index < rgba.length; index += 4) {
      if (rgba[index] !== 255) throw new Error(`${name} has transparent pixels: save it without transparency.`);
    }
    return { rgba, image: this.canvas };
  }
}

/** The levels as they are in the file, whatever colour profile it names. */
async function decoded(file) {
  try {
    return await createImageBitmap(file, { colorSpaceConversion: "none", premultiplyAlpha: "none" });
  } catch {
    throw new Error(`${file.name} cannot be read as an image by this browser: save it as PNG, or remove it.`);
  }
}

/** By name, numbers in their own order: 2.png comes before 10.png. */
function inNaturalOrder(one, other) {
  const [first, second] = [one, other].map(({ name }) => name.split(/(\d+)/));
  for (let index = 0; index < Math.min(first.length, second.length); index++) {
    if (first[index] === second[index]) continue;
    const difference = index % 2 ? Number(first[index]) - Number(second[index]) : 0;
    return difference || (first[index] < second[index] ? -1 : 1);
  }
  return first.length - second.length;
}
