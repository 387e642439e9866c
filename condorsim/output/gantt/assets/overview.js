// The whole run at a glance, above the chart: use and queue over time.
class Overview extends Strip {
  constructor(view, painter) {
    super(view, document.getElementById("overview"));
    this.painter = painter;
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
    const { c, w, h } = this.begin(), ink = this.painter.ink;
    if (!this.use || this.use.length !== w) this.measure(w);
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
    this.finish(c, w, h, ink, this.says());
  }
  // Says what is drawn, with the colour of each.
  says() {
    const [use, queue] = this.painter.palette;
    return [["cpus in use", use], ["jobs waiting: at most " + this.longest + " (pale), on average (line)", queue]];
  }
}
