import { Hand } from "./drawing/hand.js";
import { View } from "./drawing/view.js";
import { Lanes, runs } from "./now-lanes.js";
import { Painter, shown } from "./now-paint.js";
import { facts, grouped, make, Panel, some, summary, Table, Tip, told } from "./now-panel.js";
import { Overview } from "./now-strip.js";
import { Finder } from "./now-find.js";

const above = 1, all = 2; // what is drawn anew: only what follows, or everything

// NowView shows what runs and what is planned, on which slot and when.
export class NowView {
  constructor(root, app) {
    Object.assign(this, { root, app, store: app.store, shown: false, pending: 0, queue: null });
    this.lanes = new Lanes();
    this.view = new View({ left: 92, top: 22, limits: { t0: 0, t1: 600, l0: 0, l1: 1 } });
    this.state = { now: NaN, hovered: null, chosen: null, windows: null, slot: null };
    this.chosen = null; // the name of a job
    this.reason = "";
    this.build();
    this.painter = new Painter(this.view, this.base, this.over, this.lanes);
    this.overview = new Overview(this.view, this.strip, this.painter);
    this.finder = new Finder(this);
    this.listen();
  }
  says(t) { return this.painter.says(t); }

  build() {
    const says = (t) => this.says(t);
    [this.panel, this.tip, this.table] = [new Panel(says), new Tip(), new Table(says)];
    this.base = make("canvas");
    this.over = make("canvas");
    this.strip = make("canvas", { className: "now-strip", "aria-hidden": "true" });
    this.stage = make("div", { className: "now-stage", tabIndex: 0, role: "application", "aria-roledescription": "Gantt chart" }, this.base, this.over);
    this.query = make("input", { type: "search", size: 14, placeholder: "job, user or slot", autocomplete: "off", "aria-label": "Search for a job, user or slot" });
    this.found = make("output", { className: "found", role: "status" });
    this.search = make("form", { role: "search" }, this.query, make("button", {}, "Find"), this.found);
    this.colour = make("select", {}, ...Object.keys({ user: 0, group: 0, width: 0, situation: 0, wait: 0 }).map((way) => make("option", { value: way }, way)));
    this.following = make("input", { type: "checkbox", checked: true });
    const button = (text, label, act) => make("button", { type: "button", title: label, "aria-label": label, onclick: act }, text);
    const zoom = make("span", { className: "buttons", role: "group", "aria-label": "Zoom" },
      button("+", "Zoom in", () => this.view.zoom(0.6)), button("−", "Zoom out", () => this.view.zoom(1 / 0.6)),
      button("⇕+", "Fewer slots", () => this.view.zoomLanes(0.6)), button("⇕−", "More slots", () => this.view.zoomLanes(1 / 0.6)),
      button("Now", "From now on", () => this.home()), button("All", "All times and slots", () => this.view.all()));
    this.legend = make("div", { className: "now-legend", "aria-label": "Colours" });
    this.caption = make("p", { className: "now-summary" });
    this.spoken = make("p", { className: "now-spoken", role: "status", "aria-live": "polite" });
    const keys = make("p", { className: "now-keys" }, "Wheel: zoom time · Shift: move · Ctrl: zoom slots · drag: move · click: choose · keys + − ← → ↑ ↓ Page 0 [ ] n Esc");
    this.root.replaceChildren(
      make("div", { className: "now-bar" }, this.search, make("label", {}, "Colour ", this.colour), make("label", { title: "Move along as time passes" }, this.following, " Follow"), zoom),
      this.legend,
      make("div", { className: "now-main" }, make("div", { className: "now-canvases" }, this.strip, this.stage, this.caption, this.spoken, keys), make("aside", {}, this.panel.element)),
      this.table.element, this.tip.element,
    );
    this.root.classList.add("now");
  }

  listen() {
    const { view } = this;
    view.listeners.push(() => this.redraw(all));
    this.store.addEventListener("change", (event) => this.changed(event.detail));
    this.store.addEventListener("state", () => this.redraw(above));
    new Hand(this.stage, view, {
      hover: (x, y, event) => this.hover(x, y, event),
      away: () => this.hover(-1, -1, null),
      click: (x, y) => this.click(x, y),
      all: () => view.all(),
      keys: { "[": () => this.step(-1), "]": () => this.step(1), n: () => this.home(), Escape: () => this.finder.clear() },
    });
    this.colour.addEventListener("change", () => {
      this.painter.colourBy(this.colour.value, this.store);
      this.showLegend();
      this.redraw(all);
    });
    this.table.element.addEventListener("toggle", () => this.fillTable());
    addEventListener("themechange", () => this.dress());
    this.printed = matchMedia("print");
    // Paper has colours and a size of its own, and waits for no frame.
    this.printed.addEventListener("change", () => {
      if (!this.shown || !this.store.head) return;
      this.painter.paper = this.printed.matches;
      if (this.printed.matches) this.table.fill(this.store, this.lanes, view);
      this.dress();
      this.fit();
    });
    new ResizeObserver(() => {
      const box = this.stage.getBoundingClientRect(), other = Math.abs(box.width - view.width * view.scale) > 0.5 || Math.abs(box.height - view.height * view.scale) > 0.5;
      if (this.shown && other && !this.printed.matches) this.fit();
    }).observe(this.stage);
  }
  dress() {
    this.painter.theme();
    if (this.store.head) this.showLegend();
    this.redraw(all);
  }
  resize() {
    this.painter.resize(innerWidth >= 2200 ? 1.5 : 1); // a screen on a wall is far away
    this.view.left = this.view.width < 500 ? 58 : 92;
  }
  fit() {
    this.resize();
    this.pending = all;
    this.draw();
  }

  show(args) {
    this.shown = true;
    this.queue = "all";
    const job = args?.query?.get("job");
    if (job) this.wanted = job;
    this.clock ??= setInterval(() => this.tick(), 200);
    this.redraw(all);
  }
  hide() {
    this.shown = false;
    clearInterval(this.clock);
    this.clock = undefined;
    this.hover(-1, -1, null);
  }
  // Moves the line of the present, if it would move by a dot.
  tick() {
    if (document.hidden || !this.store.head) return;
    const now = this.store.now(), x = this.view.x(now);
    if (Number.isNaN(this.state.now) || Math.abs(x - this.view.x(this.state.now)) >= 0.5) this.redraw(above);
  }
  // A picture came: it is taken over with the next frame. A hidden view waits until it is shown.
  changed(difference) {
    if (!this.shown) return;
    if (!difference || this.queue === "all" || this.queue?.length > 20) this.queue = "all";
    else (this.queue ??= []).push(difference);
    this.redraw(all);
  }
  redraw(what) {
    if (!this.shown) return;
    if (!this.pending) requestAnimationFrame(() => this.draw());
    this.pending = Math.max(this.pending, what);
  }
  draw() {
    const wanted = this.pending;
    this.pending = 0;
    if (!this.shown || !this.store.head || !wanted) return;
    const first = !this.lanes.rows.length, other = this.queue !== null;
    if (other) this.take();
    this.pending = 0; // moving the view asked for what is done now
    this.state.now = this.store.now();
    if (wanted === all) {
      this.painter.draw();
      // What is above the slots can wait for a frame: it goes over all jobs.
      if (other) requestAnimationFrame(() => { if (this.shown) this.overview.draw(); });
      else this.overview.draw();
    }
    this.painter.follow(this.state);
    if (first) requestAnimationFrame(() => performance.mark("chart drawn")); // for who measures
  }
  take() {
    const { store, view, lanes } = this, first = !this.lanes.rows.length, before = this.taken;
    for (const difference of this.queue === "all" ? [null] : this.queue) lanes.take(store, difference);
    this.painter.learn(store, this.queue === "all" ? store.jobs.values() : this.queue.flatMap(({ jobs }) => jobs || []));
    this.queue = null;
    this.taken = store.head.now;
    const whole = { times: view.t0 <= view.limits.t0 && view.t1 >= view.limits.t1, lanes: view.l0 <= view.limits.l0 && view.l1 >= view.limits.l1 };
    const limits = this.limits();
    if (first) {
      this.say(); // what is said takes room, which the canvases do not have
      this.resize();
      view.within(limits);
      view.all();
      this.home();
    } else {
      const moved = this.following.checked && before >= view.t0 && before <= view.t1 ? this.taken - before : 0;
      view.within(limits);
      if (whole.times) view.times(limits.t0, limits.t1);
      else if (moved) view.times(view.t0 + moved, view.t1 + moved);
      if (whole.lanes) view.lanes(limits.l0, limits.l1);
    }
    this.overview.renew(store);
    this.finder.renew();
    this.again();
    this.say();
    if (this.wanted) this.goTo(this.wanted);
  }
  // All there is: from the first start of what runs to the end of all plans.
  limits() {
    const { now } = this.store.head;
    let t0 = now - 60, t1 = now + 600;
    for (const { start, end } of this.store.jobs.values()) {
      if (start < t0) t0 = start;
      if (end > t1) t1 = end;
    }
    const chosen = this.chosen === null ? null : this.job(this.chosen);
    t1 = Math.max(t1, chosen?.guarantee ?? t1);
    const margin = (t1 - t0) * 0.01;
    return { t0: t0 - margin, t1: t1 + margin, l0: 0, l1: Math.max(1, this.lanes.total) };
  }
  // Shows what is near: a little of the past, and the future of nine in ten jobs.
  home() {
    if (!this.store.head) return;
    const { now } = this.store.head, ends = new Float64Array(this.store.jobs.size);
    let n = 0;
    for (const { end } of this.store.jobs.values()) if (end > now) ends[n++] = end - now;
    const ahead = Math.max(600, n ? ends.subarray(0, n).sort()[Math.floor(n * 0.9)] * 1.1 : 0);
    this.view.times(now - ahead * 0.15, now + ahead);
  }

  // Says what is seen in words: aloud at most every 10 s.
  say() {
    const time = performance.now(), text = summary(this.store, (t) => this.says(t));
    this.caption.textContent = text;
    if (time - (this.said ?? -Infinity) < 10_000) return;
    this.said = time;
    this.spoken.textContent = text;
    this.stage.setAttribute("aria-label", "Slots over time. " + text + " Plus and minus zoom, arrows move, square brackets step through the jobs, n shows the present, 0 everything, Escape clears the choice. A table is below.");
    this.showLegend();
    this.fillTable();
  }
  fillTable() { if (this.table.open && this.store.head) this.table.fill(this.store, this.lanes, this.view); }
  showLegend() {
    const swatch = (className, name, colour) => {
      const mark = make("i", { className });
      if (colour) mark.style.background = colour;
      return make("span", {}, mark, make("bdi", {}, shown(name)));
    };
    const kinds = [["reserved", "reserved"], ["expected", "expected"], ["idle", "idle for a reservation"], ["shut", "closed"]];
    this.legend.replaceChildren(...this.painter.legend.map(({ name, colour }) => swatch("", name, colour)), ...kinds.map(([kind, name]) => swatch(kind, name)));
  }

  // What is at a place: a row or a band, and a job if single ones are drawn.
  under(x, y) {
    const { view, lanes, painter } = this;
    if (x < view.left || y < view.top || !lanes.rows.length) return {};
    const t = view.time(x), lane = view.lane(y), row = lanes.rows[lanes.at(lane)];
    if (!painter.detail) return { t, band: painter.shown?.find((b) => b.lane <= lane && lane < b.lane + b.lanes) };
    if (!row) return {};
    const pixel = (view.t1 - view.t0) / (view.width - view.left);
    let job = null, nearest = Infinity;
    for (const piece of lanes.settled(row)) {
      if (!piece.parts.some(([l, n]) => lane >= row.lane + l && lane < row.lane + l + n)) continue;
      const distance = Math.max(piece.start - t, t - lanes.end(piece), 0);
      if (distance <= pixel && distance < nearest) [job, nearest] = [piece.job, distance];
    }
    return { t, row, job };
  }
  hover(x, y, event) {
    const at = event ? this.under(x, y) : {};
    this.state.hovered = at.job || null;
    let text = "";
    if (at.job) text = told("Job " + shown(at.job.job), facts(at.job, this.store, this.store.now(), (t) => this.says(t)));
    else if (at.row) text = at.row.slot.name.slice(0, 200) + "\n" + this.says(at.t);
    else if (at.band) text = this.band(at.band, at.t);
    this.tip.show(text, event);
    this.redraw(above);
  }
  // What is in a band at a time.
  band(band, t) {
    const use = [0, 0, 0];
    for (let i = band.from; i < band.to; i++) {
      for (const piece of this.lanes.listed(this.lanes.rows[i])) {
        if (piece.start <= t && this.lanes.end(piece) > t) use[piece.running ? 0 : piece.job.situation === "reserved" ? 1 : 2] += piece.cpus;
      }
    }
    const words = ["run", "reserved", "expected"].map((name, i) => grouped(use[i]) + " " + name).join(", ");
    const sizes = new Set(this.lanes.rows.slice(band.from, band.to).map((row) => row.lanes));
    const slots = some(band.to - band.from, "slot") + (sizes.size === 1 ? " of " + some(...sizes, "cpu") : ", " + some(band.lanes, "cpu"));
    return band.name.slice(0, 200) + "\n" + slots + "\n" + this.says(t) + ": " + words + "\nclick to see the slots";
  }
  click(x, y) {
    const at = this.under(x, y);
    if (at.band) {
      this.view.lanes(at.band.lane, at.band.lane + at.band.lanes);
      return;
    }
    if (at.job) this.choose(at.job.job);
    else if (at.row && x >= this.view.left) {
      this.choose(null);
      this.panel.slot(at.row, this.store.head.resources);
      this.state.slot = at.row;
    } else this.choose(null);
  }

  // The job of a name, if it has a place in the chart.
  job(name) {
    if (this.state.chosen?.job === name && this.store.jobs.get(this.state.chosen.id) === this.state.chosen) return this.state.chosen;
    for (const job of this.store.jobs.values()) if (job.job === name) return job;
    return null;
  }
  choose(name) {
    Object.assign(this, { chosen: name, reason: "", asked: 0 });
    Object.assign(this.state, { slot: null, chosen: null, windows: null });
    if (name === null) this.panel.clear();
    else {
      this.again();
      this.view.within(this.limits()); // with its guarantee
    }
    this.redraw(above);
  }
  // Says anew what is chosen.
  again() {
    if (this.state.slot) this.state.slot = this.lanes.of.get(this.state.slot.slot.id) || null;
    if (this.chosen === null) return;
    const job = this.state.chosen = this.job(this.chosen);
    this.panel.job(this.chosen, job, this.store, this.store.head.now, this.reason);
    if (!job || !runs.has(job.situation)) this.ask();
  }
  // Asks the server for what pictures do not have: why a job waits, and when it could start where.
  async ask() {
    const time = performance.now(), name = this.chosen;
    if (time - this.asked < 5000 && this.asked) return;
    this.asked = time;
    try {
      const answer = await this.app.api("jobs/" + encodeURIComponent(name));
      if (this.chosen !== name) return;
      this.state.windows = answer.windows || null;
      this.reason = answer.row?.reason || "";
    } catch {
      return; // the job has gone, or the server has; the shell says so
    }
    this.panel.job(name, this.state.chosen, this.store, this.store.head.now, this.reason);
    this.redraw(above);
  }
  // Chooses a job and brings it into sight.
  goTo(name) {
    this.wanted = null;
    this.choose(name);
    const job = this.job(name);
    if (job) this.reveal(job);
  }
  reveal(job) {
    const [piece] = this.lanes.pieces.get(job.id) || [], { now } = this.store.head;
    if (!piece) return;
    const { view, lanes } = this, end = Math.min(lanes.end(piece), view.limits.t1);
    const rows = (view.height - view.top) / 8; // as many as can be told apart
    if (!this.painter.detail || view.l1 - view.l0 > rows * 20) {
      const room = Math.max(piece.row.lanes * 3, rows), middle = piece.row.lane + piece.row.lanes / 2;
      view.lanes(middle - room / 2, middle + room / 2);
    }
    // What is far behind all else, as a guarantee may be, would make the rest too small.
    const from = Math.min(job.start, now), near = from + 3 * (end - from);
    const to = Math.max(end, ...[job.guarantee, job.high].filter((t) => t <= near));
    view.reveal({ from, to: Math.max(to, from + 1), start: job.start, end, lane: piece.row.lane });
  }
  // The next or the previous job by start.
  step(to) {
    const list = [...this.lanes.pieces.values()].filter((pieces) => pieces.length).map(([piece]) => piece.job).sort((a, b) => a.start - b.start || a.id - b.id);
    if (!list.length) return;
    const at = list.indexOf(this.state.chosen);
    const next = at < 0 ? list.findIndex((job) => job.start >= this.view.t0) : Math.min(Math.max(at + to, 0), list.length - 1);
    this.goTo(list[Math.max(0, next)].job);
  }
}
