// Helpers to build elements, and what all screens share.

const SVG = "http://www.w3.org/2000/svg";

/** An HTML element. Properties that begin with "on" are listeners; children are elements, text or nothing. */
export function h(tag, properties = {}, ...children) {
  return filled(document.createElement(tag), properties, children);
}

/** An SVG element. */
export function s(tag, properties = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), properties, children);
}

function filled(element, properties, children) {
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "style") Object.assign(element.style, value);
    else if (name === "value" && "value" in element) element.value = value;
    else if (name === "checked") element.checked = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** Announce a sentence to screen readers. */
export function announce(sentence) {
  const live = document.getElementById("live");
  if (live.textContent !== sentence) live.textContent = sentence;
}

/** A box for errors near their cause. `show` takes an error or a sentence, or null to clear it. */
export function errorBox() {
  const element = h("p", { class: "error", role: "alert", hidden: true });
  const show = (error) => {
    if (error?.name === "AbortError") return;
    element.textContent = error ? (error.message ?? String(error)) : "";
    element.hidden = !error;
  };
  return { element, show };
}

/** A button that ignores a second press while it works, and shows its error in `errors`. */
export function action(label, errors, work, properties = {}) {
  const button = h("button", { type: "button", ...properties, onclick: press }, label);
  async function press(event) {
    if (button.getAttribute("aria-disabled") === "true") return;
    button.setAttribute("aria-disabled", "true");
    errors.show(null);
    try {
      await work(event);
    } catch (error) {
      errors.show(error);
    } finally {
      button.removeAttribute("aria-disabled");
    }
  }
  return button;
}

/** Download a blob. */
export function saveFile(blob, name) {
  const url = URL.createObjectURL(blob);
  const link = h("a", { href: url, download: name, hidden: true });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

/** Call `work` when the size of `element` changes, until the signal. */
export function onResize(element, signal, work) {
  const observer = new ResizeObserver(() => work());
  observer.observe(element);
  signal.addEventListener("abort", () => observer.disconnect());
}

/** Follow a pointer from its press on `element` to its release: `press` returns {move, end}, or null to let it be. */
export function onDrag(element, press) {
  element.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    const drag = press(event);
    if (!drag) return;
    event.preventDefault();
    element.setPointerCapture(event.pointerId);
    const { move, end } = drag;
    const dragging = new AbortController();
    const stop = ({ type }) => {
      dragging.abort();
      end?.(type === "pointerup");
    };
    element.addEventListener("pointermove", move, { signal: dragging.signal });
    for (const type of ["pointerup", "pointercancel"]) element.addEventListener(type, stop, { signal: dragging.signal });
  });
}

/** Do the last call, once there was none for a while. */
export function debounce(wait_ms, work) {
  let timer = 0;
  return (...values) => {
    clearTimeout(timer);
    timer = setTimeout(() => work(...values), wait_ms);
  };
}

/** One call at a time; of those made meanwhile only the latest is done. */
export function latestWins(work) {
  let busy = false;
  let waiting = null;
  return async function call(...values) {
    if (busy) {
      waiting = values;
      return;
    }
    busy = true;
    try {
      await work(...values);
    } finally {
      busy = false;
      if (waiting) {
        const next = waiting;
        waiting = null;
        call(...next);
      }
    }
  };
}
