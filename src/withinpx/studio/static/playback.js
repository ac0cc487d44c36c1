// Playing rows by their times; the clock waits for a frame that is not loaded yet.

/**
 * Play until `last`. `row` and `active` are called at every tick; `ready` tells whether a row can be shown at once, `load`
 * fetches it, `seek` shows it, and `pause` is called at the end or when a frame cannot be loaded.
 */
export function playRows(times, { row, last, speed, active, ready, load, seek, pause }) {
  let [started, from] = [performance.now(), times[row()]];
  const tick = (now) => {
    if (!active()) return;
    let next = row();
    while (next < last && times[next + 1] <= from + ((now - started) / 1000) * speed) next++;
    if (next !== row()) {
      if (ready(next)) seek(next);
      else {
        const late = row() + 1;
        load(late).then(() => active() && row() < late && seek(late), () => pause());
        [started, from] = [now, times[row()]];
      }
    }
    if (row() >= last) pause();
    else requestAnimationFrame(tick);
  };
  requestAnimationFrame(tick);
}
