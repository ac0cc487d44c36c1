// The frame around the screens: which one is shown, and in which colours.

import * as api from "./api.js";
import { announce, h } from "./dom.js";
import { placeOf, routeOf, TITLES } from "./routes.js";

const main = document.getElementById("main");
let leaving = new AbortController();

async function show() {
  if (location.hash === "#main") return;
  leaving.abort();
  leaving = new AbortController();
  const { signal } = leaving;
  const { screen, id } = routeOf(location.hash);
  const root = h("div", { class: `screen screen-${screen}` });
  try {
    const run = id ? await api.getRun(id, signal) : null;
    if (!screen) return location.replace(placeOf(run));
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
        h("p", {}, h("a", { class: "button", href: "#/" }, "To the clips"))),
    );
  }
}

function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

function setUpTheme() {
  const button = document.getElementById("theme");
  const tell = () => {
    button.setAttribute("aria-pressed", String(isDark()));
    dispatchEvent(new Event("withinpx-theme")); // canvases have to be drawn anew
  };
  button.addEventListener("click", () => {
    const theme = isDark() ? "light" : "dark";
    document.documentElement.dataset.theme = theme;
    try {
      localStorage.setItem("withinpx-theme", theme);
    } catch {
      // then it lasts as long as this page
    }
    tell();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", tell);
  tell();
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
