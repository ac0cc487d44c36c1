// Files that a person has chosen or dropped: a video, images, or a folder of images.

const IMAGE = /\.(png|jpe?g|bmp|tiff?|webp)$/i; // what the server reads

/** The files of a drop; of a folder, its images. Call it in the event: the transfer is empty afterwards. */
export async function droppedFiles(transfer) {
  const files = [...transfer.files];
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry?.() ?? null);
  const folder = entries.find((entry) => entry?.isDirectory);
  return folder ? { name: folder.name, files: imagesOf(folder.name, await filesIn(folder)) } : { files };
}

/** The files of an input; of a folder, its images without those of subfolders. */
export function inputFiles(input) {
  const files = [...input.files];
  if (!input.webkitdirectory || !files.length) return { files };
  const name = files[0].webkitRelativePath.split("/")[0];
  return { name, files: imagesOf(name, files.filter((file) => file.webkitRelativePath.split("/").length === 2)) };
}

function imagesOf(folder, files) {
  const images = files.filter(({ name }) => IMAGE.test(name) && !name.startsWith("."));
  if (!images.length) throw new Error(`${folder} holds no images: choose a folder of images, or a video.`);
  return images;
}

async function filesIn(folder) {
  const reader = folder.createReader();
  const found = [];
  for (;;) {
    const entries = await new Promise((resolve, reject) => reader.readEntries(resolve, reject)); // a hundred at a time
    if (!entries.length) break;
    found.push(...entries.filter((entry) => entry.isFile));
  }
  return Promise.all(found.map((entry) => new Promise((resolve, reject) => entry.file(resolve, reject))));
}
