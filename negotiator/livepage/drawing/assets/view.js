// What is seen: a stretch of time and of lanes, and how they map to pixels.
export class View {
  // Left is the room for the names of the lanes, top that for the times.
  constructor({ left, top, limits }) {
    this.width = this.height = 1;
    this.scale = 1; // how large its units are, in those of the page
    Object.assign(this, { left, top, limits });
    this.listeners = [];
    this.all();
  }
  all() {
    Object.assign(this, this.limits);
    this.changed();
  }
  // Sets other limits; what is seen stays as far as there is something.
  within(limits) {
    this.limits = limits;
    this.times(this.t0, this.t1);
    this.lanes(this.l0, this.l1);
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
    const { l0: first, l1: last } = this.limits;
    const count = Math.min(Math.max(l1 - l0, Math.min(2, last - first)), last - first);
    this.l0 = Math.min(Math.max((l0 + l1 - count) / 2, first), last - count);
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
    const most = this.limits.l1 - this.limits.l0;
    const count = Math.min(Math.max((this.l1 - this.l0) * factor, Math.min(2, most)), most);
    const share = (lane - this.l0) / (this.l1 - this.l0);
    this.lanes(lane - share * count, lane + (1 - share) * count);
  }
  // Moves by shares of what is seen.
  move(right, down) {
    const dt = right * (this.t1 - this.t0), dl = down * (this.l1 - this.l0);
    this.times(this.t0 + dt, this.t1 + dt);
    this.lanes(this.l0 + dl, this.l1 + dl);
  }
  // Brings a job into sight: the stretch [from, to], of which [start, end] should
  // have a width, at a lane.
  reveal({ from, to, start, end, lane }) {
    const length = this.t1 - this.t0;
    if (from < this.t0 || to > this.t1 || this.x(end) - this.x(start) < 3) {
      const wanted = Math.min(Math.max((to - from) * 1.6, 60), Math.max(length, (to - from) * 1.2));
      this.times((from + to - wanted) / 2, (from + to + wanted) / 2);
    }
    if (lane < this.l0 || lane >= this.l1) this.lanes(lane - (this.l1 - this.l0) / 2, lane + (this.l1 - this.l0) / 2);
  }
}
