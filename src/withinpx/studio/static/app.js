// The frame around the screens: routing and the colour theme.

import * as api from "./api.js";
import { announce, h } from "./dom.js";
import { defaultRoute, parseRoute, TITLES } from "./routes.js";

const main = document.getElementById("main");
let current = new AbortController();

async function show() {
  if (location.hash === "#main") return;
  current.abort();
  current = new AbortController();
  const { signal } = current;
  const { screen, id } = parseRoute(location.hash);
  const root = h("div", { class: `screen screen-${screen}` });
  try {
    const run = id ? await api.getRun(id, signal) : null;
    if (!screen) return location.replace(defaultRoute(run));
    const module = await import(`./${screen}.js`);
    if (signal.aborted) return;
    document.title = `${TITLES[screen]}${run ? `: ${run.name}` : ""} – withinpx studio`;
    main.replaceChildren(root);
    window.scrollTo(0, 0);
    for (const link of document.querySelectorAll(".top-nav a")) {
      if (link.dataset.route === (screen === "bound" ? "bound" : "start")) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
    await module.show(root, { run, signal });
    if (!signal.aborted) announce(document.title);
  } catch (error) {
    if (error.name === "AbortError" || signal.aborted) return;
    console.error(error);
    main.replaceChildren(
      h("div", { class: "screen" }, h("h1", {}, "This cannot be shown"), h("p", { class: "error", role: "alert" }, error.message),
        h("p", {}, h("a", { class: "button", href: "#/" }, "Back to the clips"))),
    );
  }
}

function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

function setUpTheme() {
  const button = document.getElementById("theme");
  const update = () => {
    button.setAttribute("aria-pressed", String(isDark()));
    dispatchEvent(new Event("withinpx-theme")); // canvases repaint
  };
  button.addEventListener("click", () => {
    const theme = isDark() ? "light" : "dark";
    document.documentElement.dataset.theme = theme;
    try {
      localStorage.setItem("withinpx-theme", theme);
    } catch {
      // storage is off: the choice lasts as long as this page
    }
    update();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", update);
  update();
}

document.getElementById("skip").addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});
addEventListener("hashchange", () => {
  show();
  main.focus({ preventScroll: true });
});
setUpTheme();
show();
