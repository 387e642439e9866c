// Draws the jobs on one canvas, and what follows the pointer on another above it.
class Painter extends Sheet {
  constructor(view) {
    super(view, document.getElementById("base"), document.getElementById("over"));
    this.colourBy = usersTell ? "user" : "wait";
    this.shades = new Shades();
    this.theme();
  }
  theme() {
    this.inks();
    this.colour(this.colourBy);
  }
  // Settles each job's colour and what the legend says.
  colour(by) {
    this.colourBy = by;
    const classes = { user: byUser, width: byWidth, how: byHow, wait: byWait }[by]();
    const palette = [...this.palette, this.ink.soft];
    this.legend = classes.names.map((name, i) => ({ name, colour: palette[Math.min(i, palette.length - 1)] }));
    this.classes = classes.of;
    this.colours = classes.of.map((c) => this.legend[c].colour);
    this.onColour = Object.fromEntries(palette.map((colour) => [colour, readable(colour)]));
  }
  draw() {
    const c = this.context(this.base), v = this.view;
    this.grid(c);
    this.clip(c);
    this.shades.clear(v.width, v.height);
    this.drawn = 0;
    running.each(v.t0, v.t1, (job) => {
      const x = v.x(jobs.start[job]), width = v.x(jobs.end[job]) - x;
      for (let p = jobs.first[job]; p < jobs.first[job + 1]; p++) {
        const lane = jobs.lane[p];
        while (p + 1 < jobs.first[job + 1] && jobs.lane[p + 1] === jobs.lane[p] + jobs.lanes[p]) p++; // on neighbouring slots
        const y = v.y(lane), height = v.y(jobs.lane[p] + jobs.lanes[p]) - y;
        if (y > v.height || y + height < v.top) continue;
        if (width < 1 || height < 1) this.shades.add(this.classes[job], x, y, width, height);
        else this.box(c, job, x, y, width, height);
      }
    });
    this.shades.draw(c, this.legend.map((entry) => entry.colour));
    this.slotLines(c);
    c.restore();
  }
  box(c, job, x, y, width, height) {
    c.fillStyle = this.colours[job];
    c.fillRect(x, y, width > 4 ? width - 0.7 : width, height > 3 ? height - 0.7 : height);
    this.drawn++;
    if (width > 34 && height > 12) this.name(c, jobs.names[job], this.onColour[this.colours[job]], x, y, width, height);
  }
  grid(c) {
    this.times(c, clocks);
    let lane = 0;
    const named = ({ name, cpus }) => ({ name, lane: (lane += cpus) - cpus, lanes: cpus });
    this.rows(c, encoded.slots.length > 1 ? machines.map(named) : this.numbers());
  }
  slotLines(c) {
    const v = this.view;
    if (encoded.slots.length < 2 || (v.height - v.top) / (v.l1 - v.l0) * encoded.slots[0].cpus < 5) return;
    c.strokeStyle = this.ink.soft;
    c.lineWidth = 0.6;
    c.beginPath();
    let lane = 0;
    for (const slot of encoded.slots) {
      lane += slot.cpus;
      c.moveTo(v.left, v.y(lane));
      c.lineTo(v.width, v.y(lane));
    }
    c.stroke();
  }
  // Draws what follows the pointer: the instant, what is reserved at it, the job
  // under it and the chosen one.
  follow({ time, hovered, chosen, reserved }) {
    // On paper a canvas above another is not clear but white.
    const c = paper.matches ? this.base.getContext("2d") : this.context(this.over), v = this.view;
    this.clip(c);
    if (time !== null) {
      if (reserved) this.reserved(c, time);
      c.strokeStyle = this.ink.soft;
      c.lineWidth = 1;
      c.beginPath();
      c.moveTo(v.x(time), v.top);
      c.lineTo(v.x(time), v.height);
      c.stroke();
    }
    if (hovered !== null && hovered !== chosen) this.outline(c, hovered, this.ink.ink, 1.5);
    if (chosen !== null) this.chosen(c, chosen);
    c.restore();
  }
  outline(c, job, colour, width, dash = []) {
    const v = this.view;
    c.strokeStyle = colour;
    c.lineWidth = width;
    c.setLineDash(dash);
    for (let p = jobs.first[job]; p < jobs.first[job + 1]; p++) {
      const x = v.x(jobs.start[job]), y = v.y(jobs.lane[p]);
      c.strokeRect(x, y, Math.max(v.x(jobs.end[job]) - x, 1.5), Math.max(v.y(jobs.lane[p] + jobs.lanes[p]) - y, 1.5));
    }
    c.setLineDash([]);
  }
  // Outlines what waits at an instant where it will run, and marks by when it was
  // guaranteed to.
  reserved(c, time) {
    const v = this.view;
    let left = 400;
    waitingSpans.each(time, time, (job) => {
      if (jobs.submit[job] > time || jobs.start[job] <= time || jobs.start[job] > v.t1 || left-- <= 0) return;
      this.outline(c, job, this.ink.ink, 1, [3, 2]);
      if (!Number.isNaN(jobs.promised[job])) this.promise(c, job, this.ink.alarm);
    });
  }
  promise(c, job, colour) {
    const v = this.view, p = jobs.first[job], x = v.x(jobs.promised[job]);
    const y = v.y(jobs.lane[p]), height = Math.max(v.y(jobs.lane[p] + jobs.lanes[p]) - y, 6);
    this.flag(c, x, y, height, colour);
  }
  // Shows all of the chosen job: its wait, its run, the rest of its estimate and
  // its guarantee.
  chosen(c, job) {
    const v = this.view;
    if (Number.isNaN(jobs.start[job])) return;
    const start = v.x(jobs.start[job]), end = v.x(jobs.end[job]), submit = v.x(jobs.submit[job]);
    for (let p = jobs.first[job]; p < jobs.first[job + 1]; p++) {
      const y = v.y(jobs.lane[p]), height = Math.max(v.y(jobs.lane[p] + jobs.lanes[p]) - y, 2);
      c.fillStyle = this.hatch(c, this.ink.ink);
      c.fillRect(end, y, v.x(jobs.planned[job]) - end, height);
      c.globalAlpha = 0.18;
      c.fillStyle = this.ink.accent;
      c.fillRect(submit, y, start - submit, height);
      c.globalAlpha = 1;
    }
    const p = jobs.first[job];
    if (jobs.first[job + 1] > p) {
      const y = v.y(jobs.lane[p] + jobs.lanes[p] / 2);
      c.strokeStyle = this.ink.accent;
      c.lineWidth = 2;
      c.beginPath();
      c.moveTo(submit, y - 5);
      c.lineTo(submit, y + 5);
      c.moveTo(submit, y);
      c.lineTo(start, y);
      c.stroke();
      if (!Number.isNaN(jobs.promised[job])) this.promise(c, job, this.ink.alarm);
    }
    this.outline(c, job, this.ink.ink, 2.5);
  }
}

// Whether users tell jobs apart: one colour for all says nothing.
const usersTell = new Set(jobs.user).size > 1;
// Why jobs are not coloured by user at first; "": they are.
const whyNotUser = usersTell || !jobs.n ? "" : encoded.users.some((name) => name) ? "by wait, as all jobs are of one user" : "by wait, as no user is known";

// The ways to colour: names of classes, and the class of each job.
function byUser() {
  const use = encoded.users.map((name, i) => ({ name: name || "unknown", i, use: 0 }));
  for (const job of ran) use[jobs.user[job]].use += jobs.cpus[job] * (jobs.end[job] - jobs.start[job]);
  use.sort((a, b) => b.use - a.use || a.i - b.i);
  const own = use.length > 12 ? 11 : 12; // the twelfth colour is for all others
  const place = [];
  use.forEach((user, rank) => { place[user.i] = Math.min(rank, own); });
  const names = use.slice(0, own).map((user) => user.name);
  if (use.length > own) names.push(use.length - own + " others");
  return { names, of: jobs.user.map((user) => place[user]) };
}
function byWidth() {
  const classes = jobs.cpus.map((n) => Math.ceil(Math.log2(Math.max(1, n))));
  const present = [...new Set(classes)].sort((a, b) => a - b);
  return {
    names: present.map((k) => (k === 0 ? "1 cpu" : k === 1 ? "2 cpus" : 2 ** (k - 1) + 1 + "–" + 2 ** k + " cpus")),
    of: classes.map((k) => present.indexOf(k)),
  };
}
function byHow() {
  const names = { head: "at once: nothing waited", queue: "from the queue", backfill: "backfilled", held: "never" };
  return { names: encoded.hows.map((how) => names[how] || how), of: jobs.how };
}
function byWait() {
  const bounds = [0, 60, 600, 3600, 4 * 3600, 86400, Infinity];
  const names = ["no wait", "≤ 1 min", "≤ 10 min", "≤ 1 h", "≤ 4 h", "≤ 1 d", "> 1 d"];
  return { names, of: Array.from(jobs.start, (start, i) => (Number.isNaN(start) ? 6 : bounds.findIndex((b) => start - jobs.submit[i] <= b))) };
}
