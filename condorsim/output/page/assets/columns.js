// Tables with more columns than one reads at once: those that are not marked with
// data-first are hidden until they are chosen. The column of the rows' names stays.
prepare((root) => root.querySelectorAll("table.choosable").forEach((table) => {
  const make = (name, with_, ...children) => {
    const element = Object.assign(document.createElement(name), with_);
    element.append(...children);
    return element;
  };
  const heads = [...table.tHead.rows[0].cells].slice(1);
  const boxes = heads.map(() => make("input", { type: "checkbox" }));
  const summary = make("summary", {}), style = make("style", {});
  function show() {
    const off = boxes.flatMap((box, i) => (box.checked ? [] : [".choosable :is(th,td):nth-child(" + (i + 2) + ")"]));
    style.textContent = off.length ? off.join() + "{display:none}" : "";
    summary.textContent = "Columns: " + (heads.length + 1 - off.length) + " of " + (heads.length + 1) + " shown";
  }
  function choose(which) {
    boxes.forEach((box, i) => { box.checked = which(heads[i]); });
    show();
  }
  const button = (text, which) => make("button", { type: "button", textContent: text, onclick: () => choose(which) });
  const names = heads.map((head) => head.querySelector("button").textContent);
  const choices = make("div", { className: "choices" }, ...boxes.map((box, i) => make("label", {}, box, names[i])));
  choices.addEventListener("change", show);
  const few = (head) => "first" in head.dataset;
  const whole = make("p", {}, button("All", () => true), button("As at first", few), button("None", () => false));
  table.parentElement.before(style, make("details", { className: "columns" }, summary, whole, choices));
  choose(few);
}));
