// Runs before the first paint, so that a chosen theme does not flash. Without a choice the system's
// preference holds (console.css).
(() => {
  const chosen = localStorage.getItem("smsc.theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
})();
