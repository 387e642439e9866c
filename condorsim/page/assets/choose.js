// Choosing what is shown: a select with data-chooses="kind" shows the elements
// with data-kind="its value" among those that are optional. Selects of the same
// kind move together.
(() => {
  const selects = [...document.querySelectorAll("select[data-chooses]")];
  function choose(kind, value) {
    for (const select of selects) if (select.dataset.chooses === kind) select.value = value;
    for (const part of document.querySelectorAll(".optional[data-" + kind + "]")) {
      part.classList.toggle("chosen", part.dataset[kind] === value);
    }
  }
  for (const select of selects) {
    select.addEventListener("change", () => choose(select.dataset.chooses, select.value));
    choose(select.dataset.chooses, select.value);
  }
  for (const button of document.querySelectorAll("button[data-copy]")) {
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(button.dataset.copy);
        button.textContent = "Copied";
      } catch {
        getSelection().selectAllChildren(button.previousElementSibling);
      }
    });
  }
})();
