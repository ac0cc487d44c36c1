// Runs before the first paint: the theme that was chosen last time, else that of the system.
(() => {
  let chosen = null;
  try {
    chosen = localStorage.getItem("withinpx-theme");
  } catch {
    // storage is off: the theme of the system is used
  }
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
})();
