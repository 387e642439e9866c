// The switch between light, dark, and what the system says.
(() => {
  const root = document.documentElement;
  const button = document.getElementById("theme");
  if (!button) return;
  const order = ["system", "light", "dark"];
  const show = () => {
    const theme = root.dataset.theme || "system";
    button.textContent = { system: "◐ System", light: "☀ Light", dark: "☾ Dark" }[theme];
    button.setAttribute("aria-label", "Theme: " + theme + ". Change it.");
  };
  button.addEventListener("click", () => {
    const next = order[(order.indexOf(root.dataset.theme || "system") + 1) % order.length];
    if (next === "system") delete root.dataset.theme;
    else root.dataset.theme = next;
    try {
      localStorage.setItem("condorsim-theme", next);
    } catch { /* kept for this visit only */ }
    show();
    dispatchEvent(new Event("themechange"));
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => dispatchEvent(new Event("themechange")));
  show();
})();
