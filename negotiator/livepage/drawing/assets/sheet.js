import { clockOf, dateOf, stepFor, tickOf } from "./times.js";

// Black or white, whichever is read better on a colour.
export function readable(colour) {
  const light = [1, 3, 5].map((i) => parseInt(colour.slice(i, i + 2), 16) / 255).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
  return 0.2126 * light[0] + 0.7152 * light[1] + 0.0722 * light[2] > 0.179 ? "#000" : "#fff";
}

// Sheet is what charts of slots and time are drawn on: a canvas for what stays, and
// one above it for what follows the pointer.
export class Sheet {
  constructor(view, base, over) {
    Object.assign(this, { view, base, over });
  }
  // Reads the colours of the theme.
  inks() {
    const style = getComputedStyle(document.documentElement);
    this.ink = {};
    for (const name of ["ink", "soft", "line", "card", "accent", "grid", "alarm", "good-ink", "warn-line"]) this.ink[name] = style.getPropertyValue("--" + name).trim();
    // Without the grey one, which would look like the one for all others.
    this.palette = [0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 11].map((i) => style.getPropertyValue("--s" + i).trim());
  }
  // Takes the size of its place in the page; everything is drawn larger by the scale.
  resize(scale = 1) {
    const box = this.base.getBoundingClientRect();
    this.ratio = devicePixelRatio || 1;
    for (const canvas of [this.base, this.over]) {
      canvas.width = Math.max(1, Math.round(box.width * this.ratio));
      canvas.height = Math.max(1, Math.round(box.height * this.ratio));
    }
    this.ratio *= scale;
    Object.assign(this.view, { scale, width: box.width / scale, height: box.height / scale });
  }
  context(canvas) {
    const c = canvas.getContext("2d");
    c.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    c.clearRect(0, 0, this.view.width, this.view.height);
    c.font = "11px system-ui, 'Liberation Sans', Arial, sans-serif";
    return c;
  }
  clip(c) {
    c.save();
    c.beginPath();
    c.rect(this.view.left, this.view.top, this.view.width - this.view.left, this.view.height - this.view.top);
    c.clip();
  }
  // The name of a job in its box, if there is room.
  name(c, name, colour, x, y, width, height) {
    const left = Math.max(x, this.view.left) + 4, room = x + width - left - 4;
    if (c.measureText(name).width > room) return;
    c.fillStyle = colour;
    c.fillText(name, left, y + Math.min(height / 2 + 4, 18));
  }
  // Lines at round times, with what the times are; with clocks the dates as well.
  // Tick says a time for those who know the step to the next. Round are times to
  // which the shift is added.
  times(c, clocks, tick = tickOf, shift = 0) {
    const v = this.view, dated = clocks.length > 0;
    const step = stepFor(v.t1 - v.t0, Math.max(2, (v.width - v.left) / 120));
    c.strokeStyle = this.ink.grid;
    c.fillStyle = this.ink.soft;
    c.lineWidth = 1;
    c.beginPath();
    c.textAlign = "center";
    const half = dated ? 50 : 24; // of the names of the times
    for (let t = Math.ceil((v.t0 + shift) / step) * step - shift; t <= v.t1; t += step) {
      const x = v.x(t);
      if (x < v.left) continue;
      c.moveTo(x, v.top - 4);
      c.lineTo(x, v.height);
      if (x - half < 34 || x + half > v.width) continue;
      c.fillText(tick(t, step), x, 14);
      if (dated) c.fillText(dateOf(clocks, t, false), x, 27);
    }
    c.stroke();
    c.textAlign = "left";
    c.fillText("time", 6, 14);
    if (dated) c.fillText(clockOf(clocks, v.t0).zone, 6, 27);
  }
  // Names of stretches of lanes, {name, lane, lanes}, beside them, as far as there is room.
  rows(c, stretches) {
    const v = this.view;
    c.textAlign = "right";
    c.fillStyle = this.ink.soft;
    let last = -Infinity;
    for (const { name, lane, lanes } of stretches) {
      const from = Math.max(v.y(lane), v.top), to = Math.min(v.y(lane + lanes), v.height);
      if (lanes && to <= from) continue;
      const y = (from + to) / 2;
      if (y < v.top + 4 || y > v.height - 2 || y - last < 14) continue;
      last = y;
      let text = name.length > 40 ? name.slice(0, 40) + "…" : name; // names may be of any length
      while (text.length > 2 && c.measureText(text).width > v.left - 8) text = text.slice(0, -2) + "…";
      c.fillText(text, v.left - 5, y + 4);
    }
    c.textAlign = "left";
  }
  // Numbers of lanes, for a pool that is one slot.
  numbers() {
    const v = this.view, count = v.l1 - v.l0, most = Math.max(2, (v.height - v.top) / 36);
    const step = [1, 2, 5].flatMap((m) => [0, 1, 2, 3, 4, 5, 6].map((e) => m * 10 ** e)).sort((a, b) => a - b).find((s) => count / s <= most) || count;
    const list = [];
    for (let lane = Math.ceil(v.l0 / step) * step; lane <= v.l1; lane += step) list.push({ name: String(lane), lane, lanes: 0 });
    return list;
  }
  // A flag at a time, on the lanes of that height.
  flag(c, x, y, height, colour) {
    c.fillStyle = colour;
    c.fillRect(x - 1, y, 2, height);
    c.beginPath();
    c.moveTo(x + 1, y);
    c.lineTo(x + 8, y + 3);
    c.lineTo(x + 1, y + 6);
    c.fill();
  }
  hatch(c, colour) {
    const tile = document.createElement("canvas");
    tile.width = tile.height = 6;
    const t = tile.getContext("2d");
    t.strokeStyle = colour;
    t.globalAlpha = 0.55;
    for (const shift of [-6, 0, 6]) {
      t.moveTo(shift, 6);
      t.lineTo(shift + 6, 0);
    }
    t.stroke();
    return c.createPattern(tile, "repeat");
  }
}
