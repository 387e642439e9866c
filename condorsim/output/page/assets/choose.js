// Choosing what is shown: a select with data-chooses="kind" shows the elements
// with data-kind="its value" among those that are optional. Selects of the same
// kind move together. What was packed is unpacked when it is first chosen.

// prepare calls a function with the document, and with whatever is unpacked later.
function prepare(how) {
  how(document);
  document.addEventListener("unpacked", (event) => how(event.target));
}
(() => {
  async function unpack(part) {
    const packed = part.querySelector(":scope > script");
    if (!packed) return;
    packed.remove();
    try {
      const bytes = Uint8Array.from(atob(packed.textContent), (c) => c.charCodeAt(0));
      part.innerHTML = await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
    } catch {
      part.textContent = "This browser cannot unpack what was chosen; it is in the folders charts and tables beside the report.";
    }
    part.dispatchEvent(new Event("unpacked", { bubbles: true }));
  }
  const selects = [...document.querySelectorAll("select[data-chooses]")];
  function choose(kind, value) {
    for (const select of selects) if (select.dataset.chooses === kind) select.value = value;
    for (const part of document.querySelectorAll(".optional[data-" + kind + "]")) {
      const chosen = part.dataset[kind] === value;
      part.classList.toggle("chosen", chosen);
      if (chosen) unpack(part);
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
