import { Chart, key } from "./charts.js";
import { card, definitions, figures, make, name, partName, prose, replace } from "./dom.js";
import { Fresh } from "./fresh.js";
import { Table, letters, numbers } from "./table.js";
import { count, duration, number, percent, requests, resource } from "./words.js";

const phases = ["fetch", "match", "plan", "act", "publish", "rest"];

// bar is how much of a whole is in use, with what else there is to say of it.
function bar(share, more = 0, label = "") {
  const wide = (v) => Math.max(0, Math.min(1, v || 0)) * 100 + "%";
  return make("div", { class: "gauge", role: "img", "aria-label": label }, make("i", { class: "use", style: { width: wide(share) } }),
    make("i", { class: "hatched", style: { width: wide(Math.min(more, 1 - share)) } }));
}

// PoolView says how the pool is doing: its use, whose it is, and how its cycles go.
export class PoolView {
  constructor(root, app) {
    Object.assign(this, { root, app });
    this.status = make("p", { class: "says error", role: "status" });
    this.body = make("div", { hidden: true });
    root.append(this.status, this.body);
    this.make();
    this.fresh = new Fresh(app.store, 2000, () => app.api("pool"), (a) => this.fill(a), (error) => { this.status.textContent = error.message; });
  }
  make() {
    this.top = make("div");
    this.resources = make("div");
    this.use = new Chart("Use of each resource over time, as a share of what is up", 210, (plot) => this.over(plot));
    this.jobs = new Chart("Jobs that wait and run over time", 170, (plot) => this.crowd(plot));
    this.cycles = new Chart("How long the parts of the last cycles took", 190, (plot) => this.took(plot));
    this.users = new Table({
      caption: "Who uses how much", key: (u) => u.user + "\n" + (u.group ?? ""), kind: "cards", sort: "cpus", descending: true, columns: [
        { key: "user", title: "User", text: (u) => u.user, node: (u) => name(u.user, 28), compare: letters("user") },
        { key: "group", title: "Group", text: (u) => u.group ?? "", node: (u) => name(u.group, 24), compare: letters("group") },
        { key: "cpus", title: "Cpus", number: true, first: true, text: (u) => number(u.cpus), compare: numbers("cpus") },
        { key: "part", title: "Of what is in use", text: (u) => percent(this.inUse ? u.cpus / this.inUse : 0, 1),
          node: (u) => [bar(this.inUse ? u.cpus / this.inUse : 0), make("small", null, percent(this.inUse ? u.cpus / this.inUse : 0, 1))] },
        { key: "used", title: "Since the start", text: (u) => percent(this.ever ? u.used / this.ever : 0, 1), compare: numbers("used"),
          why: "Of the cpu time that all have used since the negotiator started",
          node: (u) => [bar(this.ever ? u.used / this.ever : 0), make("small", null, percent(this.ever ? u.used / this.ever : 0, 1))] },
        { key: "deserved", title: "Deserves", number: true, text: (u) => (u.deserved ? count(Math.round(u.deserved), "cpu") : ""), compare: numbers("deserved") },
        { key: "priority", title: "Priority", number: true, text: (u) => (u.priority ? number(u.priority) : ""), compare: numbers("priority"),
          why: "HTCondor's user priority: lower is better" },
        { key: "running", title: "Run", number: true, first: true, text: (u) => number(u.running), compare: numbers("running") },
        { key: "waiting", title: "Wait", number: true, first: true, text: (u) => number(u.waiting), compare: numbers("waiting") },
        { key: "wanted", title: "Cpus wanted", number: true, first: true, text: (u) => (u.wanted === undefined ? "" : number(u.wanted)),
          compare: numbers("wanted") },
      ],
    });
    const w = this.app.words;
    this.shapes = new Table({
      caption: "What those who wait ask for, by shape, and how many more of each would fit now", kind: "cards",
        key: (s) => [s.cpus, s.memory, s.gpus, s.other].join(" "), columns: [
        { key: "shape", title: "Of each slot", text: (s) => (s.other ? "all others" : "up to " + requests({ ...s, chunks: 1 })) },
        { key: "jobs", title: "Jobs", number: true, text: (s) => number(s.jobs) },
        { key: "slots", title: "Slots wanted", number: true, text: (s) => number(s.slots) },
        { key: "places", title: "Fit now", number: true, text: (s) => (s.other ? "" : number(s.places)),
          why: "How many more of this shape would fit on what is idle" },
        { key: "first", title: "The first starts", text: (s) => (s.first === undefined ? "not foreseen" : w.brief(s.first)) },
        { key: "unmatched", title: "Match no slot", number: true, text: (s) => (s.unmatched ? number(s.unmatched) : "") },
      ],
    });
    this.broken = make("div");
    this.alone = make("p", { class: "hint" });
    this.halves = new Table({
      caption: "What each negotiator has", kind: "cards", key: (p) => p.negotiator, columns: [
        { key: "negotiator", title: "Negotiator", text: (p) => p.negotiator, node: partName },
        ...[["slots", "Slots"], ["cpus", "Cpus"], ["in_use", "In use"], ["running", "Run"], ["waiting", "Wait"]].map(([key, title]) => (
          { key, title, number: true, text: (p) => number(p[key]) })),
      ],
    });
    this.halvesCard = card("All negotiators", this.halves.element, this.alone);
    this.policy = make("div");
    this.phases = make("div");
    this.shapesCard = card("Queue by shape", this.shapes.element);
    this.cyclesCard = card("Cycles", this.phases, this.cycles.element);
    this.historyCard = card("Over time", make("div", { class: "keys-here" }), this.use.element, key([["k-guarantee", "run"], ["k-line", "wait"]]),
      this.jobs.element);
    this.body.append(make("h1", null, "Pool"), this.top, this.halvesCard, this.broken,
      make("div", { class: "columns" }, make("div", null, card("Use", this.resources), card("Policy in charge", this.policy)), this.historyCard),
      card("Users", this.users.element), make("div", { class: "columns" }, this.shapesCard, this.cyclesCard));
  }
  show() { this.fresh.start(); }
  hide() { this.fresh.stop(); }
  fill(a) {
    const w = this.app.words, h = this.app.store.head, f = a.idle;
    this.status.textContent = "";
    this.body.hidden = false;
    this.answer = a;
    this.inUse = a.resources[0]?.use ?? 0;
    this.ever = a.users.reduce((sum, u) => sum + u.used, 0);
    replace(this.top, figures([
      [number(h.running), "jobs run"], [number(h.waiting), "wait"], h.held && [number(h.held), "held back", "bad"], [number(h.reserved), "have reservations"],
        [number(h.slots), "slots are up"], [number(h.ended), "have ended"],
      [number(h.reserved_idle), "cpus reserved and idle"], f && [number(f.cpus), "cpus are idle"],
      f && [number(f.usable), "idle and of use to " + (a.queue?.length ? "a job that waits" : "any job that comes")],
      f && [number(f.largest), "idle on the emptiest slot"],
      a.queue_ends !== undefined && [w.brief(a.queue_ends), "the queue ends, " + w.away(a.queue_ends)],
    ]));
    this.together(h);
    replace(this.resources, a.resources.filter((r) => r.capacity || r.use).map((r) => {
      const share = r.capacity ? r.use / r.capacity : 0;
      return make("div", { class: "resource" },
        make("p", null, make("b", null, name(r.name, 24)), " ",
        make("span", { class: "right" }, percent(share), make("small", null, " " + resource(r.name, r.use) + " of " + resource(r.name, r.capacity)))),
        bar(share, r.capacity ? (r.reserved_idle ?? 0) / r.capacity : 0, r.name + ": " + percent(share) + " in use"),
          r.reserved_idle ? make("p", { class: "hint" }, "Hatched: " + resource(r.name, r.reserved_idle) + " idle, as reservations will take them.") : "");
    }));
    replace(this.historyCard.querySelector(".keys-here"), key(a.resources.slice(0, 4).flatMap((r, i) => (r.capacity ? [["s" + i, r.name]] : []))));
    this.historyCard.hidden = a.history.length < 2;
    const users = a.users.slice(0, 500);
    for (const key of ["group", "deserved", "priority"]) this.users.hide(key, !users.some((u) => u[key]));
    this.users.show(users);
    this.shapesCard.hidden = !a.queue?.length;
    this.shapes.hide("unmatched", !a.queue?.some((s) => s.unmatched));
    this.shapes.show((a.queue ?? []).slice(0, 100));
    this.governs(a);
    this.last(a);
    for (const chart of [this.use, this.jobs, this.cycles]) chart.draw();
  }
  // together adds up what all negotiators of the pool have, where there are several.
  together({ parts, whole }) {
    this.halvesCard.hidden = !parts;
    if (!parts) return;
    this.halves.show([...parts, { ...whole, negotiator: "all" }]);
    replace(this.alone, "A job that waits is in the queue of each, and counted once in all. The rest of this page is of ",
      partName(parts.find((part) => part.own)), " alone.");
  }
  governs({ policy: p, plugins, problems }) {
    const told = JSON.stringify([p, plugins, problems]);
    if (told === this.told) return;
    this.told = told;
    replace(this.policy, definitions([
      ["Policy", make("b", null, name(p.name, 60))], p.fallback && ["Decides instead", make("span", { class: "mark bad" }, name(p.fallback, 60))],
      ["Why", p.why && prose(p.why)],
      ["Order of the queue", name(p.order, 120)], ["Guarantees", p.guarantees ? "yes: jobs are promised a latest start" : "no"],
    ]), p.text && make("details", null, make("summary", null, "What it does, and its options"), make("pre", { dir: "auto" }, p.text)),
    plugins?.length ? [make("h3", null, "Plugins"),
      make("ul", { class: "plain" }, plugins.map((plugin) => make("li", null, name(plugin.name, 80), ": ", prose(plugin.state))))] : "");
    replace(this.broken, problems?.length ? card("Problems", make("ul", { class: "plain" }, problems.map((line) => make("li", { dir: "auto" }, line)))) : "");
  }
  last({ cycles }) {
    this.cyclesCard.hidden = !cycles?.length;
    if (!cycles?.length) return;
    const c = cycles[0];
    replace(this.phases, make("p", null, "Cycle " + number(c.number) + " took ", make("b", null, duration(c.took)), " and started ",
      make("b", null, count(c.started, "job")), "."), key(this.parts(cycles).map((part, i) => ["s" + i, part])));
  }
  // parts are the names of the phases, in the order in which they come.
  parts(cycles) {
    const found = new Set(cycles.flatMap((c) => Object.keys(this.of(c))));
    return [...phases.filter((p) => found.delete(p)), ...[...found].sort()].slice(0, 8);
  }
  of(cycle) { return cycle.phases ?? Object.fromEntries(phases.filter((p) => cycle[p] !== undefined).map((p) => [p, cycle[p]])); }
  took(plot) {
    const all = [...(this.answer?.cycles ?? [])].slice(0, 60).reverse();
    if (!all.length) return;
    const parts = this.parts(all), most = Math.max(...all.map((c) => Math.max(c.took, parts.reduce((sum, p) => sum + (this.of(c)[p] ?? 0), 0))), 1e-6);
    plot.left = 64;
    plot.scale([0, Math.max(12, all.length)], [0, most * 1.05]);
    plot.up(duration);
    const wide = (plot.right - plot.left) / plot.x1;
    all.forEach((c, i) => {
      let sum = 0;
      parts.forEach((part, k) => {
        const s = this.of(c)[part] ?? 0;
        plot.add("rect", { x: plot.x(i) + 1, width: Math.max(1, wide - 2), y: plot.y(sum + s), height: Math.max(0, plot.y(sum) - plot.y(sum + s)), class: "s" + k });
        sum += s;
      });
    });
    plot.text(plot.left, plot.bottom + 16, "cycle " + number(all[0].number), { class: "tick" });
    plot.text(plot.right, plot.bottom + 16, number(all.at(-1).number), { "text-anchor": "end", class: "tick" });
  }
  time(plot) {
    const w = this.app.words, history = this.answer.history;
    plot.scale([history[0].at, history.at(-1).at], [plot.y0, plot.y1]);
    plot.times(w);
  }
  over(plot) {
    const a = this.answer;
    if (!a || a.history.length < 2) return;
    plot.scale([0, 1], [0, 1]);
    this.time(plot);
    plot.up((v) => percent(v), 0.25);
    a.resources.slice(0, 4).forEach((r, i) => r.capacity && plot.path(a.history.map((s) => [s.at, r.capacity ? Math.min(1, (s.use[i] ?? 0) / r.capacity) : 0]),
      "curve c" + i, { steps: true }));
  }
  crowd(plot) {
    const a = this.answer;
    if (!a || a.history.length < 2) return;
    plot.scale([0, 1], [0, Math.max(4, ...a.history.flatMap((s) => [s.waiting, s.running])) * 1.05]);
    this.time(plot);
    plot.up(number);
    plot.path(a.history.map((s) => [s.at, s.running]), "line guarantee", { steps: true });
    plot.path(a.history.map((s) => [s.at, s.waiting]), "line told", { steps: true });
  }
}
