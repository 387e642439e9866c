// What is seen: a stretch of time and of lanes, and how they map to pixels.
class View {
  constructor() {
    this.width = this.height = 1;
    this.left = 58; // for the names of the lanes
    this.top = dated ? 34 : 22; // for the times
    this.listeners = [];
    this.all();
  }
  all() {
    const length = Math.max(1, encoded.end - encoded.begin);
    this.limits = { t0: encoded.begin - length * 0.01, t1: encoded.end + length * 0.01, l0: 0, l1: lanesInAll };
    Object.assign(this, this.limits);
    this.changed();
  }
  changed() { for (const listener of this.listeners) listener(); }
  x(t) { return this.left + (t - this.t0) / (this.t1 - this.t0) * (this.width - this.left); }
  y(lane) { return this.top + (lane - this.l0) / (this.l1 - this.l0) * (this.height - this.top); }
  time(x) { return this.t0 + (x - this.left) / (this.width - this.left) * (this.t1 - this.t0); }
  lane(y) { return this.l0 + (y - this.top) / (this.height - this.top) * (this.l1 - this.l0); }
  // Shows the stretch [t0, t1], as far as there is something.
  times(t0, t1) {
    const { t0: first, t1: last } = this.limits;
    const length = Math.min(Math.max(t1 - t0, Math.min(10, last - first)), last - first);
    this.t0 = Math.min(Math.max((t0 + t1 - length) / 2, first), last - length);
    this.t1 = this.t0 + length;
    this.changed();
  }
  lanes(l0, l1) {
    const count = Math.min(Math.max(l1 - l0, Math.min(2, lanesInAll)), lanesInAll);
    this.l0 = Math.min(Math.max((l0 + l1 - count) / 2, 0), lanesInAll - count);
    this.l1 = this.l0 + count;
    this.changed();
  }
  // Zooms by a factor around a place, which stays where it is.
  zoom(factor, t = (this.t0 + this.t1) / 2) {
    const length = Math.min(Math.max((this.t1 - this.t0) * factor, Math.min(10, this.limits.t1 - this.limits.t0)), this.limits.t1 - this.limits.t0);
    const share = (t - this.t0) / (this.t1 - this.t0);
    this.times(t - share * length, t + (1 - share) * length);
  }
  zoomLanes(factor, lane = (this.l0 + this.l1) / 2) {
    const count = Math.min(Math.max((this.l1 - this.l0) * factor, Math.min(2, lanesInAll)), lanesInAll);
    const share = (lane - this.l0) / (this.l1 - this.l0);
    this.lanes(lane - share * count, lane + (1 - share) * count);
  }
  // Moves by shares of what is seen.
  move(right, down) {
    const dt = right * (this.t1 - this.t0), dl = down * (this.l1 - this.l0);
    this.times(this.t0 + dt, this.t1 + dt);
    this.lanes(this.l0 + dl, this.l1 + dl);
  }
  // Brings a job into sight.
  reveal(job) {
    const from = jobs.submit[job], to = Math.max(jobs.planned[job], jobs.promised[job] || -Infinity);
    const length = this.t1 - this.t0;
    if (from < this.t0 || to > this.t1 || this.x(jobs.end[job]) - this.x(jobs.start[job]) < 3) {
      const wanted = Math.min(Math.max((to - from) * 1.6, 60), Math.max(length, (to - from) * 1.2));
      this.times((from + to - wanted) / 2, (from + to + wanted) / 2);
    }
    const lane = jobs.lane[jobs.first[job]];
    if (lane < this.l0 || lane >= this.l1) this.lanes(lane - (this.l1 - this.l0) / 2, lane + (this.l1 - this.l0) / 2);
  }
}

// Round steps of time.
const steps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 4 * 3600, 6 * 3600, 12 * 3600];
for (const days of [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 100000, 1000000]) steps.push(days * 86400);
const stepFor = (length, most) => steps.find((s) => length / s <= most) || length;
