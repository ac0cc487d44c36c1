// Before anything is drawn: the colours that were chosen here last time, else what the system prefers.
(() => {
  let chosen = null;
  try {
    chosen = localStorage.getItem("withinpx-theme");
  } catch {
    // storage may be switched off; then the system decides
  }
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
})();
