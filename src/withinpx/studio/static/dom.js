// Elements in one line, and the few things every screen says and does.

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

/** Say something to those who listen instead of looking. */
export function announce(sentence) {
  const live = document.getElementById("live");
  if (live.textContent !== sentence) live.textContent = sentence;
}

/** A place for errors, near what causes them. `show` takes an error or a sentence, or nothing to clear it. */
export function errorPlace() {
  const element = h("p", { class: "error", role: "alert", hidden: true });
  const show = (error) => {
    if (error?.name === "AbortError") return;
    element.textContent = error ? (error.message ?? String(error)) : "";
    element.hidden = !error;
  };
  return { element, show };
}

/** A button that cannot be pressed twice, and that puts what goes wrong where it belongs. */
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

/** Give the browser a file that was made here. */
export function save(blob, name) {
  const address = URL.createObjectURL(blob);
  const link = h("a", { href: address, download: name, hidden: true });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

/** Call `work` when `element` gets another size, until the screen is left. */
export function onResize(element, signal, work) {
  const observer = new ResizeObserver(() => work());
  observer.observe(element);
  signal.addEventListener("abort", () => observer.disconnect());
}

/** Wait until nobody has called for a while, then do the last one. */
export function calm(wait_ms, work) {
  let timer = 0;
  return (...values) => {
    clearTimeout(timer);
    timer = setTimeout(() => work(...values), wait_ms);
  };
}

/** One at a time, and of those that came meanwhile only the latest. */
export function latestWins(work) {
  let busy = false;
  let waiting = null;
  return async function ask(...values) {
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
        ask(...next);
      }
    }
  };
}
