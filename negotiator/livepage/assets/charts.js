import { draw, make } from "./dom.js";

// Charts are small drawings in SVG with a scale of their own: their text has the size that it has on
// the page, so they are drawn anew if their width changes.

const pad = { left: 52, right: 14, top: 12, bottom: 26 };

// Chart is a figure that draws itself for its width: paint(plot) gets a Plot.
export class Chart {
  constructor(label, height, paint) {
    Object.assign(this, { height, paint, label });
    this.box = make("div", { class: "plot" });
    this.element = make("figure", null, this.box);
    // To draw while sizes are observed would change them again.
    this.watch = new ResizeObserver(() => requestAnimationFrame(() => { if (this.box.clientWidth !== this.drawn) this.draw(); }));
    this.watch.observe(this.box);
  }
  draw() {
    const width = Math.floor(this.box.clientWidth);
    if (width < 40) return;
    this.drawn = this.box.clientWidth;
    const plot = new Plot(width, this.height, this.label);
    this.paint(plot);
    this.box.replaceChildren(plot.svg);
  }
}

// Nice steps for numbers, and for times.
export function stepFor(span, most) {
  const raw = span / most, power = 10 ** Math.floor(Math.log10(raw || 1));
  return [1, 2, 5, 10].map((s) => s * power).find((s) => s >= raw) ?? power;
}
const timeSteps = [1, 5, 10, 30, 60, 300, 600, 1800, 3600, 2 * 3600, 6 * 3600, 12 * 3600, 86400, 2 * 86400, 7 * 86400, 30 * 86400, 365 * 86400];
export const timeStepFor = (span, most) => timeSteps.find((s) => span / s <= most) ?? stepFor(span, most);

export class Plot {
  constructor(width, height, label) {
    Object.assign(this, { width, height, left: pad.left, right: width - pad.right, top: pad.top, bottom: height - pad.bottom });
    this.svg = draw("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": label });
    this.scale([0, 1], [0, 1]);
  }
  scale([x0, x1], [y0, y1]) {
    Object.assign(this, { x0, x1: x1 > x0 ? x1 : x0 + 1, y0, y1: y1 > y0 ? y1 : y0 + 1 });
  }
  x(v) { return this.left + (v - this.x0) / (this.x1 - this.x0) * (this.right - this.left); }
  y(v) { return this.bottom - (v - this.y0) / (this.y1 - this.y0) * (this.bottom - this.top); }
  add(tag, properties, ...children) {
    const element = draw(tag, properties, ...children);
    this.svg.append(element);
    return element;
  }
  text(x, y, text, properties) { return this.add("text", { x, y, ...properties }, text); }
  line(x1, y1, x2, y2, kind) { return this.add("line", { x1, y1, x2, y2, class: kind }); }
  // A horizontal axis of time, and its words.
  times(words, most = Math.max(2, (this.right - this.left) / 80)) {
    const step = timeStepFor(this.x1 - this.x0, most);
    // Round times of a day are those of the pool's clock.
    const shift = words.clock(this.x0)?.shift ?? 0;
    this.across((v) => words.tick(v, step), step, ((shift % step) + step) % step);
  }
  // Marks on the horizontal axis: say(v) in words.
  across(say, step = stepFor(this.x1 - this.x0, this.width / 90), shift = 0) {
    let free = -Infinity;
    for (let v = Math.ceil((this.x0 + shift) / step) * step - shift; v <= this.x1 + step * 1e-9; v += step) {
      const x = this.x(v), text = say(v), wide = text.length * 6.2;
      this.line(x, this.top, x, this.bottom, "grid");
      if (x - wide / 2 < free || x - wide / 2 < 0) continue;
      const last = x + wide / 2 > this.width;
      this.text(last ? this.width - 2 : x, this.bottom + 16, text, { "text-anchor": last ? "end" : "middle", class: "tick" });
      free = x + wide / 2 + 8;
    }
  }
  up(say, step = stepFor(this.y1 - this.y0, Math.max(2, (this.bottom - this.top) / 32))) {
    for (let v = Math.ceil(this.y0 / step) * step; v <= this.y1 + step * 1e-9; v += step) {
      this.line(this.left, this.y(v), this.right, this.y(v), "grid");
      this.text(this.left - 6, this.y(v) + 4, say(v), { "text-anchor": "end", class: "tick" });
    }
  }
  // A line through points; with steps, each value holds until the next.
  path(points, kind, { steps = false, close = null } = {}) {
    if (!points.length) return;
    let d = "";
    points.forEach(([x, y], i) => {
      if (i && steps) d += "H" + this.x(x).toFixed(1);
      d += (i ? "L" : "M") + this.x(x).toFixed(1) + " " + this.y(y).toFixed(1);
    });
    if (close !== null) d += `L${this.x(points.at(-1)[0]).toFixed(1)} ${this.y(close).toFixed(1)}L${this.x(points[0][0]).toFixed(1)} ${this.y(close).toFixed(1)}Z`;
    return this.add("path", { d, class: kind });
  }
  area(points, kind) { this.path(points, kind, { close: this.y0 }); }
  dot(x, y, kind, title, r = 3.5) {
    return this.add("circle", { cx: this.x(x).toFixed(1), cy: this.y(y).toFixed(1), r, class: kind }, title ? draw("title", null, title) : "");
  }
}

// key says what colours mean: pairs of a class and words.
export const key = (pairs) => make("p", { class: "key" }, pairs.map(([kind, text]) => make("span", null, make("i", { class: kind }), text)));
