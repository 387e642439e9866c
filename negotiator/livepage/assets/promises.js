import { Chart, key } from "./charts.js";
import { card, empty, figures, jobLink, make, name, prose, replace } from "./dom.js";
import { Fresh } from "./fresh.js";
import { Table, letters, list, numbers } from "./table.js";
import { count, duration, number, percent } from "./words.js";

const lead = (l) => (l.to === undefined ? "over " + duration(l.from) : l.from ? duration(l.from) + " to " + duration(l.to) : "up to " + duration(l.to));

// PromisesView compares what was told of starts with what came.
export class PromisesView {
  constructor(root, app) {
    Object.assign(this, { root, app });
    this.status = make("p", { class: "says error", role: "status" });
    this.none = make("div");
    this.body = make("div", { hidden: true }, make("h1", null, "Promises"), this.lede = make("p", { class: "lead" }));
    root.append(this.status, this.none, this.body);
    this.fresh = new Fresh(app.store, 3000, () => app.api("promises"), (a) => this.fill(a), (error) => { this.status.textContent = error.message; });
    this.make();
  }
  make() {
    const w = this.app.words, report = () => this.report;
    this.numbers = make("div");
    this.scatter = new Chart("Starts that were told at arrival, and how much later or earlier they came", 300, (plot) => this.errors(plot, report()));
    this.calibration = new Chart("Calibration: which share of starts came by a bound by which so many were to come", 260, (plot) => this.calibrate(plot, report()));
    this.leads = new Table({
      caption: "How far off starts were, by how long before they were told", kind: "cards", columns: [
        { key: "lead", title: "Told before the start", text: lead },
        { key: "jobs", title: "Told starts", number: true, text: (l) => number(l.jobs) },
        { key: "median", title: "Median error", number: true, text: (l) => (l.jobs ? duration(l.median) : "–") },
        { key: "p90", title: "9 of 10 within", number: true, text: (l) => (l.jobs ? duration(l.p90) : "–") },
        { key: "bias", title: "Later by, mean", number: true, text: (l) => (l.jobs ? duration(l.bias) : "–"),
          why: "Below zero: jobs start earlier than they are told" },
        { key: "m", title: "Within 1 min", number: true, text: (l) => (l.jobs ? percent(l.within_1m) : "–") },
        { key: "t", title: "Within 10 min", number: true, text: (l) => (l.jobs ? percent(l.within_10m) : "–") },
        { key: "r", title: "In the range", number: true, text: (l) => (l.ranged ? percent(l.within_range) : "–"),
          why: "Of those that were told a range; eight of ten are to be" },
      ],
    });
    this.causes = make("div");
    this.broken = new Table({
      caption: "The last promises that were broken", kind: "cards", key: (b) => b.job + " " + b.at, columns: [
        { key: "at", title: "When", text: (b) => w.brief(b.at) }, { key: "job", title: "Job", text: (b) => b.job, node: (b) => jobLink(b.job, 32) },
        { key: "owner", title: "Owner", text: (b) => b.owner, node: (b) => name(b.owner, 24) },
        { key: "promised", title: "Promised by", text: (b) => w.brief(b.promised) },
        { key: "now", title: "Now by", text: (b) => (b.now === undefined ? "none" : w.brief(b.now)) },
        { key: "cause", title: "Why", wide: true, text: (b) => b.cause, node: (b) => prose(b.cause) },
      ],
    });
    this.delays = new Table({
      caption: "Starts that moved to later, since somebody else has the place", key: (d) => d.delayed + "\n" + d.by, sort: "seconds", descending: true, columns: [
        { key: "delayed", title: "Delayed", text: (d) => d.delayed, node: (d) => name(d.delayed, 28), compare: letters("delayed") },
        { key: "by", title: "By", text: (d) => d.by, node: (d) => name(d.by, 28), compare: letters("by") },
        { key: "seconds", title: "In all", number: true, first: true, text: (d) => duration(d.seconds), compare: numbers("seconds") },
        { key: "jobs", title: "Times", number: true, first: true, text: (d) => number(d.jobs), compare: numbers("jobs") },
      ],
    });
    this.starts = new Table({
      caption: "The last jobs that started, and what they were told when they came", key: (s) => s.job + " " + s.at, columns: [
        { key: "job", title: "Job", text: (s) => s.job, node: (s) => jobLink(s.job, 32) },
        { key: "owner", title: "Owner", text: (s) => s.owner, node: (s) => name(s.owner, 24) },
        { key: "at", title: "Told at", text: (s) => w.brief(s.at) }, { key: "told", title: "That it starts", text: (s) => w.brief(s.told) },
        { key: "started", title: "Started", text: (s) => w.brief(s.started) },
        { key: "off", title: "Later by", number: true, text: (s) => duration(s.started - s.told) },
      ],
    });
    this.guarantees = card("Guarantees", this.causes, this.broken.element);
    this.late = card("Who was delayed by whom", this.delays.element);
    const calibrated = this.calibrated = card("Are ranges as wide as they should be?", key([["k-grid", "as it should be"], ["k-line", "what came"]]),
      this.calibration.element, make("p", { class: "hint" }, "Below the line, starts came later than ranges said; above it, earlier."));
    this.body.append(this.numbers, make("div", { class: "columns" },
      card("Told and came", key([["mark-asked", "a job, by when it started, and how much later than it was told at first"], ["k-band", "within 10 min"]]),
      this.scatter.element), calibrated),
      card("By lead time", this.leads.element), this.guarantees, this.late,
        card("The last starts", make("details", null, make("summary", null, "As a table"), this.starts.element)));
  }
  show() { this.fresh.start(); }
  hide() { this.fresh.stop(); }
  fill(a) {
    this.status.textContent = "";
    this.report = a;
    const g = a.guarantees, told = a.leads.reduce((n, l) => n + l.jobs, 0), nothing = !told && !g.given && !a.broken.length && !a.delays.length;
    this.body.hidden = nothing;
    replace(this.none, nothing && empty("Nothing was promised yet that came.", "Once jobs that were told a start have started, this page says how true that was: "
      + "how far off starts are, which guarantees were kept and broken and why, and who was delayed by whom."));
    if (nothing) return;
    const mean = (field) => (told ? a.leads.reduce((sum, l) => sum + l[field] * l.jobs, 0) / told : 0);
    const ranged = a.leads.reduce((n, l) => n + l.ranged, 0), within = ranged ? a.leads.reduce((sum, l) => sum + l.within_range * l.ranged, 0) / ranged : 0;
    const range = ranged ? ", and " + percent(within) + " within the range that eight of ten should meet." : ".";
    this.lede.textContent = !told ? "No job that was told a start has started yet."
      : "Of " + count(told, "start") + " that " + (told === 1 ? "was" : "were") + " told, each change counted, " + percent(mean("within_10m")) + " came within ten minutes of what was said" + range;
    replace(this.numbers, figures([
      told && [percent(mean("within_1m")), "of told starts within 1 min"], told && [percent(mean("within_10m")), "within 10 min"],
      ranged && [percent(within), "within their range"],
      g.given && [number(g.given), "guarantees given"], g.given && [number(g.kept), "kept", g.kept ? "good" : ""],
      g.given && [number(g.broken), "broken", g.broken ? "bad" : ""],
      g.elsewhere && [number(g.elsewhere), "started elsewhere"], g.given && [number(g.open), "open"],
    ]));
    this.leads.show(a.leads);
    const part = (n, kind, label) => make("i", { class: kind, title: number(n) + " " + label, style: { width: (g.given ? n / g.given * 100 : 0) + "%" } });
    replace(this.causes, g.given ? [make("div",
      { class: "gauge", role: "img", "aria-label": number(g.kept) + " kept, " + number(g.broken) + " broken, " + number(g.open) + " open" },
      part(g.kept, "mark-good", "kept"), part(g.broken, "mark-bad", "broken"), part(g.open, "mark-open", "open")),
      key([["mark-good", number(g.kept) + " kept"], ["mark-bad", number(g.broken) + " broken"], ["mark-open", number(g.open) + " open"]])] : "",
        !g.given ? make("p", { class: "hint" },
        "No guarantees were given" + (this.app.store.head?.guarantees ? " yet." : ": the policy in charge gives none.")) : "",
      g.causes.length ? [make("h3", null, "Why they were broken"),
        make("ul", { class: "plain" }, g.causes.map((c) => make("li", null, prose(c.cause), ": ", make("b", null, count(c.jobs, "time")))))] : g.given ? make("p",
        null, "None was broken.") : "");
    this.broken.element.hidden = !a.broken.length;
    this.broken.show(a.broken);
    this.late.hidden = !a.delays.length;
    this.delays.show(a.delays);
    this.starts.show(a.starts.slice(0, 200));
    this.calibrated.hidden = !a.calibration.length;
    this.scatter.draw();
    this.calibration.draw();
  }
  // errors has one dot for each start: when it came across, and how much later than told upwards. The
  // axis is that of times that people know, denser where they are long.
  errors(plot, a) {
    if (!a?.starts.length) {
      plot.text(plot.width / 2, plot.height / 2, "no start has come yet", { "text-anchor": "middle", class: "tick" });
      return;
    }
    const w = this.app.words, bent = (s) => Math.sign(s) * Math.log10(1 + Math.abs(s) / 30), marks = [0, 60, 600, 3600, 6 * 3600, 86400, 7 * 86400];
    const offs = a.starts.map((s) => bent(s.started - s.told)), most = Math.max(bent(600), ...offs), least = Math.min(bent(-600), ...offs);
    plot.left = 74;
    plot.scale([Math.min(...a.starts.map((s) => s.started)), Math.max(...a.starts.map((s) => s.started))], [least * 1.08, most * 1.08]);
    plot.add("rect", { x: plot.left, width: plot.right - plot.left, y: plot.y(bent(600)), height: plot.y(bent(-600)) - plot.y(bent(600)), class: "band calm" });
    plot.times(w);
    for (const mark of marks.flatMap((m) => (m ? [m, -m] : [0]))) {
      const y = bent(mark);
      if (y > plot.y1 || y < plot.y0) continue;
      plot.line(plot.left, plot.y(y), plot.right, plot.y(y), mark ? "grid" : "axis");
      plot.text(plot.left - 6, plot.y(y) + 4, mark ? (mark > 0 ? "+" : "−") + duration(Math.abs(mark)) : "on time", { "text-anchor": "end", class: "tick" });
    }
    for (const s of a.starts) plot.dot(s.started, bent(s.started - s.told), "mark-asked faint",
      "Job " + [...s.job].slice(0, 60).join("") + ": told " + w.brief(s.told) + ", started " + w.brief(s.started));
  }
  calibrate(plot, a) {
    if (!a?.calibration.length) return;
    plot.scale([0, 1], [0, 1]);
    plot.across((v) => percent(v), 0.25);
    plot.up((v) => percent(v), 0.25);
    plot.path([[0, 0], [1, 1]], "ideal");
    const all = [...a.calibration].sort((x, y) => x.told - y.told);
    plot.path(all.map((c) => [c.told, c.came]), "line told");
    for (const c of all) plot.dot(c.told, c.came, "came",
      percent(c.came) + " of " + count(c.jobs, "start") + " came by a bound by which " + percent(c.told) + " were to come", 4.5);
  }
}
