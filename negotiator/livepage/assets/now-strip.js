import { Strip } from "./drawing/strip.js";
import { runs } from "./now-lanes.js";

// Overview shows how many cpus are in use over all of the time that is planned.
export class Overview extends Strip {
  constructor(view, canvas, painter) {
    super(view, canvas);
    this.painter = painter;
  }
  // The picture or the limits are others.
  renew(store) {
    this.store = store;
    this.old = true;
  }
  // Cpus in use in each of n stretches, on average, by kind: what runs, what is
  // reserved, what is expected.
  measure(n) {
    this.old = false;
    const { t0, t1 } = this.view.limits, scale = n / (t1 - t0), now = this.store.head.now;
    this.use = [0, 1, 2].map(() => new Float64Array(n + 2));
    for (const job of this.store.jobs.values()) {
      if (job.start === undefined) continue;
      const running = runs.has(job.situation), sums = this.use[running ? 0 : job.situation === "reserved" ? 1 : 2];
      const end = running ? Math.max(job.end ?? Infinity, now) : job.end ?? Infinity;
      const a = Math.min(Math.max((job.start - t0) * scale, 0), n), b = Math.min(Math.max((end - t0) * scale, 0), n);
      if (!(b > a)) continue;
      const i = Math.floor(a), k = Math.floor(b);
      sums[i] += job.cpus * (1 - a + i);
      sums[i + 1] += job.cpus * (a - i);
      sums[k] -= job.cpus * (1 - b + k);
      sums[k + 1] -= job.cpus * (b - k);
    }
    for (const sums of this.use) for (let i = 1; i < n; i++) sums[i] += sums[i - 1];
  }
  draw() {
    if (!this.store?.head) return;
    const { c, w, h } = this.begin(), { ink, palette } = this.painter, capacity = Math.max(1, this.store.head.capacity[0]);
    if (!this.use || this.old || this.use[0].length !== w + 2) this.measure(w);
    const shades = [0.75, 0.4, 0.18];
    c.fillStyle = palette[0];
    for (let x = 0; x < w; x++) {
      let level = 0;
      for (const [kind, shade] of shades.entries()) {
        const from = Math.min(1, level / capacity);
        level += this.use[kind][x];
        const to = Math.min(1, level / capacity);
        if (to - from < 1e-3) continue;
        c.globalAlpha = shade;
        c.fillRect(x, h - to * (h - 4), 1, (to - from) * (h - 4));
      }
    }
    c.globalAlpha = 1;
    c.fillStyle = ink.alarm;
    c.fillRect(this.x(this.store.head.now) - 0.5, 0, 1.5, h);
    this.finish(c, w, h, ink, [["cpus in use: dark runs, paler reserved, palest expected", palette[0]]]);
  }
}
