import { clockOf, dateOf, tickOf, two } from "./drawing/times.js";
import { readable, Sheet } from "./drawing/sheet.js";
import { Shades } from "./drawing/shade.js";
import { Bands, shortened } from "./now-bands.js";
import { ways } from "./now-colours.js";

const opaque = { reserved: 0.45, waits: 0.2 }; // of what does not run
const least = 3; // pixels of a slot that is drawn by itself
const most = 12_000; // pieces that are drawn one by one
const bandHigh = 16; // pixels of a band, at least
const column = 2; // pixels of a column of bands

// Painter draws the slots over time: in detail, or as bands if they are too many.
export class Painter extends Sheet {
  constructor(view, base, over, lanes) {
    super(view, base, over);
    this.lanes = lanes;
    this.bands = new Bands(lanes);
    this.shades = new Shades();
    this.ways = ways();
    this.way = "user";
    this.clocks = [];
    this.search = null; // whether a job is looked for; null: all are
    this.theme();
  }
  theme() {
    this.inks();
    this.colours = [...this.palette, this.ink.soft];
    this.on = this.colours.map(readable);
    this.hatches = {};
    const rgb = (colour) => [1, 3, 5].map((i) => parseInt(colour.slice(i, i + 2), 16));
    const dot = ([r, g, b], alpha) => ((Math.round(alpha * 255) << 24) | (b << 16) | (g << 8) | r) >>> 0;
    const plain = (colour) => rgb(/^#[0-9a-f]{6}$/i.test(colour) ? colour : "#808080");
    // One class more: what is not looked for.
    const classes = [...this.colours.map(plain), plain(this.ink.soft)];
    this.dots = [1, opaque.reserved, opaque.waits].flatMap((alpha) => classes.map((c, i) => dot(c, i < this.colours.length ? alpha : alpha * 0.25)));
    this.shut = dot(plain(this.ink.soft), 0.28);
  }
  // Learns who is to have a colour of the jobs that came, and when it is.
  learn(store, jobs) {
    this.clocks = store.head.clocks || [];
    this.view.top = this.clocks.length ? 34 : 22;
    this.ways[this.way].learn(jobs);
    this.copied = false; // what bands are made of
    this.simulated = store.head.simulated;
  }
  colourBy(way, store) {
    this.way = way;
    this.bands.forget();
    this.learn(store, store.jobs.values());
  }
  // The classes that there are, with their colours.
  get legend() {
    return this.ways[this.way].names.map((name, i) => ({ name, colour: this.colours[Math.min(i, this.colours.length - 1)] })).filter(Boolean);
  }
  classOf(job) { return this.ways[this.way].of(job); }
  dim(job) { return this.search !== null && !this.search(job); }

  // Whether slots are drawn as bands: since they are low, or too much is on them.
  banded() {
    const v = this.view, [from, to] = this.lanes.seen(v.l0, v.l1);
    if ((to - from) * least > v.height - v.top) return true;
    let pieces = 0;
    for (let i = from; i < to; i++) {
      const row = this.lanes.rows[i];
      pieces += row.pieces.length * (Math.min(v.l1, row.lane + row.lanes) - Math.max(v.l0, row.lane)) / row.lanes;
    }
    return pieces > most;
  }
  draw() {
    const c = this.context(this.base);
    this.drawn = 0;
    if (this.clocks.length) this.times(c, this.clocks, (t, step) => this.timeOfDay(t, step), clockOf(this.clocks, this.view.t0).shift);
    else this.times(c, this.clocks);
    this.detail = !this.banded();
    if (this.detail) this.details(c);
    else this.drawBands(c);
  }
  timeOfDay(t, step) {
    const s = clockOf(this.clocks, t).shift + t, day = ((s % 86400) + 86400) % 86400;
    const text = two(Math.floor(day / 3600)) + ":" + two(Math.floor(day / 60) % 60);
    return step < 60 ? text + ":" + two(Math.floor(day % 60)) : text;
  }
  // A time in words: of today without the date, of another day without seconds.
  says(t) {
    const text = dateOf(this.clocks, t), today = dateOf(this.clocks, this.lanes.now ?? t);
    if (!text) return tickOf(t, 1);
    return text.slice(0, 10) === today.slice(0, 10) ? text.slice(11, 19) : text.slice(0, 16);
  }

  drawBands(c) {
    const v = this.view, height = (v.height - v.top) / (v.l1 - v.l0);
    const all = this.bands.cut(bandHigh / height);
    this.shown = all.filter((band) => band.lane + band.lanes > v.l0 && band.lane < v.l1);
    const n = Math.max(1, Math.round((v.width - v.left) / column)), classes = this.colours.length + 1;
    if (!this.copied) this.bands.copy(classes, this.search === null ? (job) => this.classOf(job) : (job) => (this.dim(job) ? classes - 1 : this.classOf(job)));
    this.copied = true;
    const picture = this.bands.draw(v, this.shown, n, this.dots, this.shut);
    c.imageSmoothingEnabled = false;
    c.drawImage(picture, v.left, v.top, v.width - v.left, Math.round(v.height - v.top));
    this.rows(c, this.shown);
    this.drawn = this.shown.length;
  }

  details(c) {
    const v = this.view, lanes = this.lanes, [from, to] = lanes.seen(v.l0, v.l1);
    const rows = lanes.rows.slice(from, to);
    this.rows(c, lanes.rows.length > 1 ? named(rows) : this.numbers());
    this.clip(c);
    this.shades.clear(v.width, v.height);
    for (const row of rows) this.closed(c, row);
    for (const kind of [0, 1]) { // what is planned is above what will make way for it
      for (const row of rows) {
        for (const piece of lanes.settled(row)) {
          if (Number(piece.running) === kind) continue;
          if (piece.start < v.t1 && lanes.end(piece) > v.t0) this.piece(c, row, piece);
          if (piece.idle && piece.start > v.t0) this.idle(c, row, piece);
        }
      }
    }
    this.shades.draw(c, this.colours);
    this.lines(c, rows);
    c.restore();
  }
  piece(c, row, piece) {
    const v = this.view, { job } = piece, x = v.x(Math.max(piece.start, v.t0 - (v.t1 - v.t0)));
    const right = v.x(Math.min(this.lanes.end(piece), v.t1 + (v.t1 - v.t0))), width = right - x, of = this.classOf(job);
    const shade = (piece.running ? 1 : job.situation === "reserved" ? opaque.reserved : opaque.waits) * (this.dim(job) ? 0.2 : 1);
    for (const [lane, lanes] of piece.parts) {
      const y = v.y(row.lane + lane), height = v.y(row.lane + lane + lanes) - y;
      if (y > v.height || y + height < v.top) continue;
      if (width < 1 || height < 1) {
        if (shade > 0.3) this.shades.add(of, Math.max(x, v.left), y, right - Math.max(x, v.left), height);
        continue;
      }
      this.drawn++;
      c.globalAlpha = shade;
      c.fillStyle = this.colours[of];
      const w = width > 4 ? width - 0.7 : width, h = height > 3 ? height - 0.7 : height;
      c.fillRect(x, y, w, h);
      c.globalAlpha = this.dim(job) ? 0.25 : 1;
      if (job.situation === "reserved" && width > 5 && height > 4) {
        c.strokeStyle = this.colours[of];
        c.lineWidth = 1;
        c.strokeRect(x + 0.5, y + 0.5, w - 1, h - 1);
      }
      if (piece.running && height > 9) this.range(c, piece, y, height);
      if (width > 34 && height > 12) this.name(c, shown(job.job), piece.running ? this.on[of] : this.ink.ink, x, y, width, height);
      c.globalAlpha = 1;
    }
  }
  // Where what runs may end: from low to high, or from its expected end to the latest.
  range(c, piece, y, height) {
    const { job } = piece, low = job.low ?? job.end, high = job.high;
    if (high === undefined || low === undefined || high <= low) return;
    this.whisker(c, this.view.x(low), this.view.x(high), y + height - Math.min(4, height / 3), this.ink.soft);
  }
  whisker(c, from, to, y, colour) {
    c.strokeStyle = colour;
    c.lineWidth = 1;
    c.beginPath();
    c.moveTo(from, y);
    c.lineTo(to, y);
    for (const x of [from, to]) {
      c.moveTo(x, y - 2.5);
      c.lineTo(x, y + 2.5);
    }
    c.stroke();
  }
  hatched(c, colour) { return (this.hatches[colour] ??= this.hatch(c, colour)); }
  // Lanes that are idle until a reservation takes them.
  idle(c, row, piece) {
    const v = this.view;
    c.fillStyle = this.hatched(c, this.ink.soft);
    for (const [lane, lanes, since] of piece.idle) {
      const from = Math.max(since, this.lanes.now), y = v.y(row.lane + lane), height = v.y(row.lane + lane + lanes) - y;
      if (piece.start <= from || height < 2 || y > v.height || y + height < v.top) continue;
      const x = Math.max(v.x(from), v.left);
      c.globalAlpha = 0.45;
      c.fillRect(x, y, v.x(piece.start) - x, height);
      c.globalAlpha = 1;
    }
  }
  // When a slot runs nothing: it is down, drained, or has ended.
  closed(c, row) {
    const v = this.view, { slot } = row, y = v.y(row.lane), height = v.y(row.lane + row.lanes) - y;
    const shut = (from, until, colour, words) => {
      const x = Math.max(v.x(from), v.left), right = until === undefined ? v.width : Math.min(v.x(until), v.width);
      if (right <= x) return;
      c.globalAlpha = 0.16;
      c.fillStyle = colour;
      c.fillRect(x, y, right - x, height);
      c.globalAlpha = 1;
      c.fillStyle = this.hatched(c, colour);
      c.fillRect(x, y, right - x, height);
      c.fillStyle = colour;
      c.fillRect(x, y, 1.5, height);
      if (height < 13 || c.measureText(words).width > right - x - 10) return;
      c.fillStyle = this.ink.card;
      c.fillRect(x + 3, y + height / 2 - 7, c.measureText(words).width + 6, 14);
      c.fillStyle = this.ink.ink;
      c.fillText(words, x + 6, y + height / 2 + 4);
    };
    if (slot.down) shut(this.lanes.now, undefined, this.ink.soft, "down");
    else {
      if (slot.drain) shut(slot.drain.from, slot.drain.until ?? slot.end, this.ink["warn-line"], "drained: " + slot.drain.why);
      if (slot.end !== undefined) shut(slot.end, undefined, this.ink.soft, "the slot ends");
    }
  }
  lines(c, rows) {
    const v = this.view;
    if (rows.length < 2 || (v.height - v.top) / rows.length < 6) return;
    c.strokeStyle = this.ink.line;
    c.lineWidth = 1;
    c.beginPath();
    for (const row of rows) {
      const y = Math.round(v.y(row.lane + row.lanes)) - 0.5;
      c.moveTo(v.left, y);
      c.lineTo(v.width, y);
    }
    c.stroke();
  }

  // Draws what changes without another picture: the time, the job under the pointer
  // and the chosen one, with the times at which it may start, and a slot that was found.
  follow({ now, hovered, chosen, windows, slot }) {
    const c = this.paper ? this.base.getContext("2d") : this.context(this.over), v = this.view;
    this.clip(c);
    if (slot) this.frame(c, slot);
    if (chosen) this.chosen(c, chosen, windows);
    if (hovered && hovered !== chosen) this.outline(c, hovered, this.ink.ink, 1.5);
    if (!Number.isNaN(now)) {
      c.fillStyle = this.ink.alarm;
      c.fillRect(v.x(now) - 0.75, v.top, 1.5, v.height);
    }
    c.restore();
    if (Number.isNaN(now) || v.x(now) < v.left) return;
    c.fillStyle = this.ink.alarm;
    c.beginPath();
    c.moveTo(v.x(now) - 5, v.top - 6);
    c.lineTo(v.x(now) + 5, v.top - 6);
    c.lineTo(v.x(now), v.top);
    c.fill();
  }
  frame(c, row) {
    const v = this.view, y = v.y(row.lane), height = Math.max(3, v.y(row.lane + row.lanes) - y);
    c.strokeStyle = this.ink.accent;
    c.lineWidth = 2;
    c.strokeRect(v.left + 1, y, v.width - v.left - 2, height);
  }
  outline(c, job, colour, width) {
    const v = this.view;
    c.strokeStyle = colour;
    c.lineWidth = width;
    for (const { piece, y, height } of this.parts(job)) {
      const x = Math.max(v.x(piece.start), v.left - 5), right = Math.min(v.x(this.lanes.end(piece)), v.width + 5);
      if (right > x - 2) c.strokeRect(x, y, Math.max(right - x, 1.5), Math.max(height, 1.5));
    }
  }
  // Where the parts of a job are, as far as they are in sight.
  *parts(job) {
    const v = this.view;
    for (const piece of this.lanes.pieces.get(job.id) || []) {
      if (piece.row.lane > v.l1 || piece.row.lane + piece.row.lanes < v.l0) continue;
      if (this.detail) this.lanes.settled(piece.row);
      for (const [lane, lanes] of (this.detail && piece.parts) || [[0, Math.min(piece.cpus, piece.row.lanes)]]) {
        const y = v.y(piece.row.lane + lane);
        yield { piece, y, height: v.y(piece.row.lane + lane + lanes) - y };
      }
    }
  }
  chosen(c, job, windows) {
    const v = this.view;
    for (const { slot, from, until } of windows || []) {
      const row = this.lanes.of.get(slot);
      if (!row || row.lane > v.l1 || row.lane + row.lanes < v.l0) continue;
      const x = Math.max(v.x(from), v.left), right = until === undefined ? v.width : v.x(until), y = v.y(row.lane);
      c.fillStyle = this.ink["good-ink"];
      c.globalAlpha = 0.2;
      c.fillRect(x, y, right - x, Math.max(2, v.y(row.lane + row.lanes) - y));
      c.globalAlpha = 1;
      c.fillRect(x, y, right - x, 2);
    }
    this.outline(c, job, this.ink.ink, 2.5);
    const [first] = this.parts(job);
    if (!first) return;
    const { y, height } = first, middle = y + Math.max(3, height / 2);
    if (job.low !== undefined && job.high !== undefined) this.whisker(c, v.x(job.low), v.x(job.high), middle, this.ink.accent);
    if (job.reserved !== undefined) this.flag(c, v.x(job.reserved), y, Math.max(height, 8), this.ink.accent);
    if (job.guarantee !== undefined) this.flag(c, v.x(job.guarantee), y, Math.max(height, 8), this.ink.alarm);
  }
}

// The machines of rows, with their lanes.
function named(rows) {
  const list = [];
  for (const { slot, lane, lanes } of rows) {
    const last = list[list.length - 1];
    if (last && last.machine === slot.machine) last.lanes += lanes;
    else list.push({ machine: slot.machine, name: shortened(slot.machine), lane, lanes });
  }
  return list;
}

// A job's name as it is drawn: not longer than can be of use.
export const shown = (name) => (name.length > 60 ? name.slice(0, 60) + "…" : name);
