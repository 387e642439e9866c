// What charts answer to: the legend (a click hides a series everywhere, pointing
// at it brings it to the front), tips on bars and cells, and reading curves off.
(() => {
  const tip = document.createElement("div");
  tip.id = "tip";
  tip.hidden = true;
  document.body.append(tip);
  function showTip(event, text) {
    tip.textContent = text;
    tip.hidden = false;
    const box = tip.getBoundingClientRect();
    const right = event.clientX + 14 + box.width > innerWidth;
    tip.style.left = Math.max(4, right ? event.clientX - 14 - box.width : event.clientX + 14) + "px";
    tip.style.top = Math.max(4, Math.min(event.clientY + 14, innerHeight - box.height - 4)) + "px";
  }
  const hideTip = () => { tip.hidden = true; };

  const off = new Set();
  function toggle(series) {
    if (!off.delete(series)) off.add(series);
    hide(document);
  }
  function hide(root) {
    for (const part of root.querySelectorAll(".chart [data-s]")) part.classList.toggle("off", off.has(part.dataset.s));
    for (const key of root.querySelectorAll(".chart .key")) key.setAttribute("aria-pressed", String(!off.has(key.dataset.s)));
  }
  function highlight(chart, series) {
    for (const part of chart.querySelectorAll("[data-s]:not(.key)")) {
      part.classList.toggle("dim", series !== null && part.dataset.s !== series);
      part.classList.toggle("strong", part.dataset.s === series);
    }
  }
  prepare((root) => root.querySelectorAll(".chart .key").forEach((key) => {
    key.setAttribute("role", "button");
    key.setAttribute("tabindex", "0");
    key.setAttribute("aria-label", "Show " + key.textContent);
    const chart = key.closest(".chart");
    chart.setAttribute("role", "group");
    key.addEventListener("click", () => toggle(key.dataset.s));
    key.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      toggle(key.dataset.s);
    });
    for (const name of ["pointerenter", "focus"]) key.addEventListener(name, () => highlight(chart, key.dataset.s));
    for (const name of ["pointerleave", "blur"]) key.addEventListener(name, () => highlight(chart, null));
  }));
  prepare(hide);

  // An axis is written as kind, unit, minimum and maximum.
  const zeroPart = 0.07; // of a logarithmic axis, from 0 to 1
  function axis(spec) {
    const [kind, unit, min, max] = spec.split(" ");
    const low = Number(min), high = Number(max);
    const value = (place) => {
      if (kind === "linear") return low + place * (high - low);
      return place < zeroPart ? place / zeroPart : high ** ((place - zeroPart) / (1 - zeroPart));
    };
    return (place) => format(unit, value(place));
  }
  function format(unit, v) {
    const digits = (x) => String(Number(x.toPrecision(3)));
    if (unit === "percent") return digits(v * 100) + " %";
    if (unit !== "seconds") return digits(v);
    for (const [size, name] of [[86400, "d"], [3600, "h"], [60, "min"]]) if (Math.abs(v) >= size) return digits(v / size) + " " + name;
    return digits(v) + " s";
  }
  // A curve's coordinates are whole tenths of a pixel, relative to those before.
  const curves = new WeakMap();
  function points(path) {
    if (!curves.has(path)) {
      const numbers = path.getAttribute("d").match(/-?\d+/g).map(Number);
      const list = [];
      let x = 0, y = 0;
      for (let i = 0; i < numbers.length; i += 2) {
        x += numbers[i];
        y += numbers[i + 1];
        list.push([x / 10, y / 10]);
      }
      curves.set(path, list);
    }
    return curves.get(path);
  }
  function heightAt(path, x) {
    const list = points(path);
    if (x < list[0][0] - 0.5 || x > list[list.length - 1][0] + 0.5) return null;
    let low = 0, high = list.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (list[middle][0] <= x) low = middle;
      else high = middle - 1;
    }
    const [a, b] = [list[low], list[low + 1]];
    return b && b[0] > a[0] ? a[1] + (b[1] - a[1]) * Math.max(0, (x - a[0]) / (b[0] - a[0])) : a[1];
  }
  prepare((root) => root.querySelectorAll(".chart .plot").forEach((plot) => {
    const chart = plot.closest(".chart");
    const across = axis(plot.dataset.across), up = axis(plot.dataset.up);
    const [x0, y0, w, h] = ["x", "y", "width", "height"].map((name) => Number(plot.getAttribute(name)));
    let guide = null;
    plot.addEventListener("pointermove", (event) => {
      const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(chart.getScreenCTM().inverse());
      const x = Math.min(Math.max(at.x, x0), x0 + w);
      if (!guide) {
        guide = document.createElementNS("http://www.w3.org/2000/svg", "line");
        guide.setAttribute("class", "guide");
        plot.before(guide);
      }
      for (const [name, value] of [["x1", x], ["x2", x], ["y1", y0], ["y2", y0 + h]]) guide.setAttribute(name, value);
      const lines = [];
      for (const path of chart.querySelectorAll("path[data-name]:not(.off)")) {
        const [fx, fy] = points(path)[0];
        if (fx < x0 - 1 || fx > x0 + w + 1 || fy < y0 - 1 || fy > y0 + h + 1) continue; // of another panel
        const y = heightAt(path, x);
        if (y !== null) lines.push([y, path.dataset.name + ": " + up((y0 + h - y) / h)]);
      }
      lines.sort((a, b) => a[0] - b[0]);
      showTip(event, [plot.dataset.x.replace(/,.*/, "") + " " + across((x - x0) / w), ...lines.map((l) => l[1])].join("\n"));
    });
    plot.addEventListener("pointerleave", () => {
      hideTip();
      if (guide) guide.remove();
      guide = null;
    });
  }));
  document.addEventListener("pointerover", (event) => {
    const part = event.target.closest && event.target.closest("[data-tip]");
    if (part) showTip(event, part.dataset.tip);
  });
  document.addEventListener("pointerout", (event) => {
    if (event.target.closest && event.target.closest("[data-tip]")) hideTip();
  });
})();
