"use strict";
// Runs before anything is drawn: says that there are scripts, and sets the theme
// that the reader chose last, so that nothing flickers.
document.documentElement.classList.add("scripted");
try {
  const theme = localStorage.getItem("condorsim-theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch { /* a page from a disk may have no storage */ }
