// Draws the jobs on one canvas, and what follows the pointer on another above it.
class Painter {
  constructor(view) {
    this.view = view;
    this.base = document.getElementById("base");
    this.over = document.getElementById("over");
    this.colourBy = usersTell ? "user" : "wait";
    this.shades = new Shades();
    this.theme();
  }
  theme() {
    const style = getComputedStyle(document.documentElement);
    this.ink = {};
    for (const name of ["ink", "soft", "line", "card", "accent", "grid", "alarm", "good-ink"]) this.ink[name] = style.getPropertyValue("--" + name).trim();
    // Without the grey one, which would look like the one for all others.
    this.palette = [0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 11].map((i) => style.getPropertyValue("--s" + i).trim());
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
  resize() {
    const box = this.base.getBoundingClientRect();
    this.ratio = devicePixelRatio || 1;
    for (const canvas of [this.base, this.over]) {
      canvas.width = Math.max(1, Math.round(box.width * this.ratio));
      canvas.height = Math.max(1, Math.round(box.height * this.ratio));
    }
    this.view.width = box.width;
    this.view.height = box.height;
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
    if (width > 34 && height > 12) this.name(c, job, x, y, width, height);
  }
  name(c, job, x, y, width, height) {
    const left = Math.max(x, this.view.left) + 4, room = x + width - left - 4;
    const name = jobs.names[job];
    if (c.measureText(name).width > room) return;
    c.fillStyle = this.onColour[this.colours[job]];
    c.fillText(name, left, y + Math.min(height / 2 + 4, 18));
  }
  grid(c) {
    const v = this.view;
    const step = stepFor(v.t1 - v.t0, Math.max(2, (v.width - v.left) / 120));
    c.strokeStyle = this.ink.grid;
    c.fillStyle = this.ink.soft;
    c.lineWidth = 1;
    c.beginPath();
    c.textAlign = "center";
    const half = dated ? 50 : 24; // of the names of the times
    for (let t = Math.ceil(v.t0 / step) * step; t <= v.t1; t += step) {
      const x = v.x(t);
      if (x < v.left) continue;
      c.moveTo(x, v.top - 4);
      c.lineTo(x, v.height);
      if (x - half < 34 || x + half > v.width) continue;
      c.fillText(this.tick(t, step), x, 14);
      if (dated) c.fillText(date(t, false), x, 27);
    }
    c.stroke();
    c.textAlign = "left";
    c.fillText("time", 6, 14);
    if (dated) c.fillText(clockAt(v.t0).zone, 6, 27);
    this.laneNames(c);
  }
  tick(t, step) {
    const d = Math.floor(t / 86400), s = t - d * 86400;
    if (step >= 86400) return d + " d";
    const clock = two(Math.floor(s / 3600)) + ":" + two(Math.floor(s / 60) % 60) + (step < 60 ? ":" + two(s % 60) : "");
    return (d ? d + " d " : "") + clock;
  }
  laneNames(c) {
    const v = this.view;
    c.textAlign = "right";
    let last = -Infinity;
    const put = (text, y) => {
      if (y < v.top + 4 || y > v.height - 2 || y - last < 14) return;
      last = y;
      while (text.length > 2 && c.measureText(text).width > v.left - 8) text = text.slice(0, -2) + "…";
      c.fillText(text, v.left - 5, y + 4);
    };
    if (encoded.slots.length > 1) {
      let lane = 0;
      for (const { name, cpus } of machines) {
        const from = Math.max(v.y(lane), v.top), to = Math.min(v.y(lane + cpus), v.height);
        if (to > from) put(name, (from + to) / 2);
        lane += cpus;
      }
    } else {
      const count = v.l1 - v.l0, most = Math.max(2, (v.height - v.top) / 36);
      const step = [1, 2, 5].flatMap((m) => [0, 1, 2, 3, 4, 5, 6].map((e) => m * 10 ** e)).sort((a, b) => a - b).find((s) => count / s <= most) || count;
      for (let lane = Math.ceil(v.l0 / step) * step; lane <= v.l1; lane += step) put(String(lane), v.y(lane));
    }
    c.textAlign = "left";
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
    c.fillStyle = colour;
    c.fillRect(x - 1, y, 2, height);
    c.beginPath();
    c.moveTo(x + 1, y);
    c.lineTo(x + 8, y + 3);
    c.lineTo(x + 1, y + 6);
    c.fill();
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

// Black or white, whichever is read better on a colour.
function readable(colour) {
  const light = [1, 3, 5].map((i) => parseInt(colour.slice(i, i + 2), 16) / 255).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
  return 0.2126 * light[0] + 0.7152 * light[1] + 0.0722 * light[2] > 0.179 ? "#000" : "#fff";
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
