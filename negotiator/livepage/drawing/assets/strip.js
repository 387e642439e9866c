// Strip is all of the time at a glance, above a chart, with the stretch that is
// seen, which can be moved and drawn anew. What it shows is drawn by its heirs.
export class Strip {
  constructor(view, canvas) {
    this.view = view;
    this.canvas = canvas;
    this.canvas.addEventListener("pointerdown", (event) => this.press(event));
  }
  // Prepares the canvas; returns its context, width and height.
  begin() {
    const box = this.canvas.getBoundingClientRect(), ratio = devicePixelRatio || 1;
    const w = this.width = Math.max(1, Math.floor(box.width)), h = box.height;
    this.canvas.width = w * ratio;
    this.canvas.height = h * ratio;
    const c = this.canvas.getContext("2d");
    c.scale(ratio, ratio);
    return { c, w, h };
  }
  // Marks the stretch that is seen, and says what is drawn: words, with a colour each.
  finish(c, w, h, ink, says) {
    const a = this.x(this.view.t0), b = this.x(this.view.t1);
    c.fillStyle = ink.card;
    c.globalAlpha = 0.6;
    c.fillRect(0, 0, a, h);
    c.fillRect(b, 0, w - b, h);
    c.globalAlpha = 1;
    c.strokeStyle = ink.accent;
    c.lineWidth = 2;
    c.strokeRect(a + 1, 1, Math.max(b - a - 2, 3), h - 2);
    c.font = "11px system-ui, sans-serif";
    let x = 8;
    for (const [words, colour] of says) {
      const width = 14 + c.measureText(words).width;
      c.fillStyle = ink.card;
      c.globalAlpha = 0.85;
      c.fillRect(x - 3, 4, width + 6, 15);
      c.globalAlpha = 1;
      c.fillStyle = colour;
      c.fillRect(x, 7, 9, 9);
      c.fillStyle = ink.ink;
      c.fillText(words, x + 14, 15);
      x += width + 14;
    }
  }
  x(t) { const { t0, t1 } = this.view.limits; return (t - t0) / (t1 - t0) * this.width; }
  time(x) { const { t0, t1 } = this.view.limits; return t0 + x / this.width * (t1 - t0); }
  // A press inside the stretch moves it, one outside draws another.
  press(event) {
    const left = this.canvas.getBoundingClientRect().left, v = this.view;
    const from = this.time(event.clientX - left), { t0, t1 } = v;
    const inside = from > t0 && from < t1 && t1 - t0 < (v.limits.t1 - v.limits.t0) * 0.999;
    this.canvas.setPointerCapture(event.pointerId);
    const move = (e) => {
      const to = this.time(e.clientX - left);
      if (inside) v.times(t0 + to - from, t1 + to - from);
      else if (Math.abs(to - from) > (v.limits.t1 - v.limits.t0) / this.width * 3) v.times(Math.min(from, to), Math.max(from, to));
    };
    const up = (e) => {
      this.canvas.removeEventListener("pointermove", move);
      if (!inside && Math.abs(e.clientX - event.clientX) < 4 && t1 - t0 < v.limits.t1 - v.limits.t0) v.times(from - (t1 - t0) / 2, from + (t1 - t0) / 2);
    };
    this.canvas.addEventListener("pointermove", move);
    this.canvas.addEventListener("pointerup", up, { once: true });
    this.canvas.addEventListener("pointercancel", up, { once: true });
  }
}
