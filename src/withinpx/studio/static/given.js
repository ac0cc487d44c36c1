// What a person gives, chosen or dropped: a video, pictures, or a folder of pictures.

const PICTURE = /\.(png|jpe?g|bmp|tiff?|webp)$/i; // what the server reads

/** The files of a drop; of a folder in it, its pictures. Ask at once: a drop is forgotten when its event is over. */
export async function dropped(transfer) {
  const files = [...transfer.files];
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry?.() ?? null);
  const folder = entries.find((entry) => entry?.isDirectory);
  return folder ? { name: folder.name, files: picturesOf(folder.name, await filesIn(folder)) } : { files };
}

/** The files of an input; of a folder, its pictures and not those of folders in it. */
export function chosen(input) {
  const files = [...input.files];
  if (!input.webkitdirectory || !files.length) return { files };
  const name = files[0].webkitRelativePath.split("/")[0];
  return { name, files: picturesOf(name, files.filter((file) => file.webkitRelativePath.split("/").length === 2)) };
}

function picturesOf(folder, files) {
  const pictures = files.filter(({ name }) => PICTURE.test(name) && !name.startsWith("."));
  if (!pictures.length) throw new Error(`${folder} holds no picture: choose a folder of pictures, or a video.`);
  return pictures;
}

async function filesIn(folder) {
  const reader = folder.createReader();
  const found = [];
  for (;;) {
    const some = await new Promise((resolve, reject) => reader.readEntries(resolve, reject)); // a hundred at a time
    if (!some.length) break;
    found.push(...some.filter((entry) => entry.isFile));
  }
  return Promise.all(found.map((entry) => new Promise((resolve, reject) => entry.file(resolve, reject))));
}
