// The whole run at a glance, above the chart: use and queue over time, and the
// stretch that is seen, which can be moved and drawn anew.
class Overview {
  constructor(view, painter) {
    this.view = view;
    this.painter = painter;
    this.canvas = document.getElementById("overview");
    this.canvas.addEventListener("pointerdown", (event) => this.press(event));
    this.count();
  }
  // Counts the jobs that wait, from each instant on at which the number changes.
  count() {
    const came = Float64Array.from(ran, (job) => jobs.submit[job]).sort();
    const left = Float64Array.from(ran, (job) => jobs.start[job]).sort();
    this.changes = [];
    this.longest = 0;
    for (let a = 0, b = 0; b < left.length;) {
      const time = Math.min(came[a] ?? Infinity, left[b]);
      while (came[a] === time) a++;
      while (left[b] === time) b++;
      this.changes.push([time, a - b]);
      this.longest = Math.max(this.longest, a - b);
    }
  }
  // Means in each of n stretches: the use of the cpus, and the number of jobs that
  // wait, with the most at once. For a mean, a job adds to the first and the last
  // stretch by hand, to those between by a difference.
  measure(n) {
    const { t0, t1 } = this.view.limits, length = (t1 - t0) / n;
    const sum = (weight, from, to) => {
      const bins = new Float64Array(n), steps = new Float64Array(n + 1);
      for (const job of ran) {
        const a = from[job], b = to[job], w = weight(job) / length;
        if (!(b > a)) continue;
        const first = Math.floor((a - t0) / length), last = Math.min(n - 1, Math.floor((b - t0) / length));
        if (first === last) {
          bins[first] += w * (b - a);
          continue;
        }
        bins[first] += w * (t0 + (first + 1) * length - a);
        bins[last] += w * (b - t0 - last * length);
        steps[first + 1] += w * length;
        steps[last] -= w * length;
      }
      let level = 0;
      return bins.map((v, i) => v + (level += steps[i]));
    };
    this.use = sum((job) => jobs.cpus[job] / lanesInAll, jobs.start, jobs.end);
    this.queue = sum(() => 1, jobs.submit, jobs.start);
    this.most = new Float64Array(n);
    this.changes.forEach(([from, waiting], i) => {
      const to = i + 1 < this.changes.length ? this.changes[i + 1][0] : from;
      for (let bin = Math.floor((from - t0) / length); bin < (to - t0) / length; bin++) {
        this.most[bin] = Math.max(this.most[bin], waiting);
      }
    });
  }
  draw() {
    const box = this.canvas.getBoundingClientRect(), ratio = devicePixelRatio || 1;
    const w = this.width = Math.max(1, Math.floor(box.width)), h = box.height;
    if (!this.use || this.use.length !== w) this.measure(w);
    this.canvas.width = w * ratio;
    this.canvas.height = h * ratio;
    const c = this.canvas.getContext("2d"), ink = this.painter.ink;
    c.scale(ratio, ratio);
    c.fillStyle = this.painter.palette[0];
    c.globalAlpha = 0.35;
    for (let x = 0; x < w; x++) c.fillRect(x, h - this.use[x] * (h - 4), 1, this.use[x] * (h - 4));
    const height = (waiting) => h - 1 - waiting / Math.max(1, this.longest) * (h - 6);
    c.fillStyle = this.painter.palette[1];
    for (let x = 0; x < w; x++) {
      const top = height(this.most[x]);
      c.fillRect(x, top, 1, height(this.queue[x]) - top);
    }
    c.globalAlpha = 1;
    c.strokeStyle = this.painter.palette[1];
    c.lineWidth = 1.3;
    c.beginPath();
    for (let x = 0; x < w; x++) c.lineTo(x + 0.5, height(this.queue[x]));
    c.stroke();
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
    for (const [words, colour] of this.says()) {
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
  // Says what is drawn, with the colour of each.
  says() {
    const [use, queue] = this.painter.palette;
    return [["cpus in use", use], ["jobs waiting: at most " + this.longest + " (pale), on average (line)", queue]];
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
