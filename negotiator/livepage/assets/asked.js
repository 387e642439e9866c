import { Chart, key } from "./charts.js";
import { card, definitions, figures, jobLink, make, name, prose } from "./dom.js";
import { letters, list, numbers } from "./table.js";
import { count, duration, number, percent, requests } from "./words.js";

// What answers to what-ifs look like: of a job, and of a change.

const told = (by, start, mid) => (by === "median" && mid !== undefined && mid !== null ? mid : start);
const asks = (a) => requests({ cpus: (a.request.cpus ?? 0), memory: a.request.memory ?? 0, gpus: a.request.gpus ?? 0, chunks: 1 })
  + (a.chunks > 1 ? " in each of " + count(a.chunks, "chunk") : "") + " for " + duration(a.seconds);

// text of a job's ad, by what a form has. Cpus and all are of one chunk.
export function adOf({ cpus, memory, disk, gpus, chunks, owner }) {
  const lines = ["RequestCpus = " + cpus, "RequestMemory = " + (memory || 0), "RequestDisk = " + (disk || 0)];
  let needs = "true";
  if (gpus) {
    lines.push("RequestGPUs = " + gpus);
    needs += " && (TARGET.GPUs >= RequestGPUs)";
  }
  if (chunks > 1) lines.push("MinHosts = " + chunks);
  if (owner) lines.push('Owner = "' + owner.replace(/[\u0000-\u001f]/g, " ").replace(/[\\"]/g, "\\$&") + '"');
  return [...lines, "Requirements = " + needs].join("\n");
}

// whenever is an instant and how far it is.
function whenever(w, t) {
  if (t === undefined || t === null) return "never, as far as is known";
  return t <= w.now ? "now" : w.brief(t) + ", " + w.away(t);
}

// strip draws starts on an axis of time, one a line: {label, at, low, high, kind}.
function strip(w, label, now, all) {
  const known = all.filter((a) => a.at !== undefined && a.at !== null);
  const last = Math.max(now + 60, ...known.map((a) => Math.max(a.at, a.high ?? 0)));
  return new Chart(label, 46 + 30 * all.length, (plot) => {
    plot.left = 12;
    plot.scale([now, now + (last - now) * 1.08], [0, all.length]);
    plot.times(w);
    all.forEach((a, i) => {
      const y = plot.top + 30 * i;
      plot.text(plot.left + 2, y + 11, a.label + (known.includes(a) ? "" : ": not foreseen"), { class: "label" });
      if (!known.includes(a)) return;
      const x = plot.x(Math.max(a.at, now));
      plot.line(plot.left, y + 20, plot.right, y + 20, "grid");
      if (a.low !== undefined && a.low !== null) plot.line(plot.x(Math.max(now, a.low)), y + 20, plot.x(a.high ?? last), y + 20, "range " + a.kind);
      plot.add("circle", { cx: x, cy: y + 20, r: 5.5, class: "mark-" + a.kind });
    });
  }).element;
}

// jobAnswer draws when a job would start. Today is the start of the job that it is compared with; take
// is called with an alternative that the reader wants to ask about.
export function jobAnswer(app, answer, { today, take } = {}) {
  const w = app.words, j = answer.job, at = told(j.told_by, j.start, j.p50);
  const parts = [];
  let by = "";
  if (today !== undefined && at !== null && at !== undefined) {
    const sooner = today - at;
    by = ": " + (Math.abs(sooner) < 60 ? "when" : duration(Math.abs(sooner)) + (sooner > 0 ? " sooner than" : " later than")) + " this one is expected to";
  }
  parts.push(make("p", { class: "big" }, "It would start ", make("b", null, whenever(w, at)), by + "."));
  const says = [];
  if (j.told_by === "median" && j.p10 !== undefined && j.p90 !== undefined) says.push("In eight of ten cases between " + w.range(j.p10, j.p90, " and ") + ".");
  says.push(j.told_by === "median" ? "By plan, if all jobs run as long as is planned: " + whenever(w,
    j.start) + "." : "By plan: if all jobs run as long as is planned, and nobody else comes.");
  says.push(j.delayed ? count(j.delayed, "job that waits", "jobs that wait") + " would start later because of it." : "It would delay no job.");
  parts.push(make("p", null, says.join(" ")));
  parts.push(definitions([["Asked", asks({ ...j })], ["Planned with", j.planned_seconds ? duration(j.planned_seconds) : ""],
  ["Guaranteed", j.promised ? "by " + w.brief(j.promised) : ""], ["On", j.slots ? name(j.slots, 80) : ""]]));
  const lines = [{ label: "as asked: " + asks(j), at, low: j.p10, high: j.p90, kind: "asked" }];
  if (today !== undefined) lines.unshift({ label: "today's plan", at: today, kind: "today" });
  for (const s of j.sooner) lines.push({ label: asks(s), at: told(j.told_by, s.start, s.p50), kind: "other" });
  parts.push(strip(w, "When it would start, and smaller or shorter jobs", answer.now, lines));
  if (j.sooner.length) {
    parts.push(make("h3", null, "It would start sooner"), make("ul", { class: "plain" }, j.sooner.map((s) => make("li", null,
      "with ", make("b", null, asks(s)), ": ", whenever(w, told(j.told_by, s.start, s.p50)), " ",
      take && make("button", { type: "button", class: "more", onclick: () => take(s) }, "Ask about it")))));
  }
  parts.push(...broken(w, j.broken));
  return make("div", { class: "answer" }, parts, notes(answer));
}

const notes = (answer) => (answer.notes?.length ? make("ul", { class: "notes" }, answer.notes.map((note) => make("li", { dir: "auto" }, note))) : "");

function broken(w, all) {
  if (!all?.length) return [];
  return [make("h3", { class: "bad" }, count(all.length, "promise") + " would be broken"), list({
    caption: "Promises that would be broken", kind: "cards", key: (b) => b.job, columns: [
      { key: "job", title: "Job", text: (b) => b.job, node: (b) => jobLink(b.job, 32) },
      { key: "owner", title: "Owner", text: (b) => b.owner ?? "", node: (b) => name(b.owner, 24) },
      { key: "promised", title: "Promised by", text: (b) => w.brief(b.promised) },
      { key: "start_before", title: "Today's plan", text: (b) => w.brief(b.start_before) },
      { key: "start_after", title: "Would start", text: (b) => w.brief(b.start_after) },
    ],
  }, all.slice(0, 200))];
}

// changeAnswer draws what would differ in the plan.
export function changeAnswer(app, answer) {
  const w = app.words, c = answer.change, parts = [];
  parts.push(figures([
    [number(c.earlier), "start earlier", c.earlier ? "good" : ""], [number(c.later), "start later", c.later ? "bad" : ""], [number(c.same), "at the same time"],
    c.never && [number(c.never), "would not start", "bad"], c.anew && [number(c.anew), "would start that cannot", "good"],
    [number(c.broken.length), "of " + count(c.promises, "promise") + " broken", c.broken.length ? "bad" : ""],
      c.lifted && [number(c.lifted), "promises that would bind nobody"],
  ]));
  for (const d of c.drained ?? []) parts.push(make("p", null, name(d.slot), " is drained from " + w.brief(d.from) + " to " + w.brief(d.from + d.for) + "."));
  const rows = [["Mean wait", "mean_wait", duration], ["Mean of the longest 5 % of waits", "worst_wait", duration],
  ["Mean bounded slowdown", "mean_bounded_slowdown", number], ["Until the last job ends", "makespan", duration]];
  parts.push(list({
    caption: "Of the " + count(c.present.jobs, "job") + " that start in both plans", kind: "cards", columns: [
      { key: "what", title: "", text: ([what]) => what },
      { key: "present", title: "Today's plan", number: true, text: ([, field, say]) => say(c.present[field]) },
      { key: "changed", title: "What if", number: true, text: ([, field, say]) => say(c.changed[field]) },
      {
        key: "by", title: "Change", number: true,
        text: ([, field]) => c.present[field] + " " + c.changed[field], // node says it
        node: ([, field]) => {
          const off = c.present[field] ? c.changed[field] / c.present[field] - 1 : 0;
          return make("span", { class: Math.abs(off) < 0.0005 ? "mark" : off < 0 ? "mark good" : "mark bad" },
            Math.abs(off) < 0.0005 ? "none" : (off > 0 ? "▲ " : "▼ ") + percent(Math.abs(off), 1));
        },
      },
    ],
  }, rows));
  if (c.moves.length) parts.push(make("h3", null, "Who would start at another time"), dumbbells(w, answer.now, c), moves(w, c));
  parts.push(...broken(w, c.broken));
  if (c.cut) parts.push(make("p", { class: "error", dir: "auto" }, "The answer has gaps: " + c.cut + "."));
  return make("div", { class: "answer" }, parts, notes(answer));
}

const most = 25; // moves that are drawn

// dumbbells draw starts from before to after.
function dumbbells(w, now, c) {
  const all = c.moves.slice(0, most), known = all.flatMap((m) => [m.start_before, m.start_after]).filter((t) => t !== null && t !== undefined);
  const last = Math.max(now + 60, ...known);
  const chart = new Chart("Starts today and as asked, of the jobs that move most", 44 + 19 * all.length, (plot) => {
    plot.left = Math.min(170, plot.width * 0.36);
    plot.scale([Math.min(now, ...known), last + (last - now) * 0.04], [0, 1]);
    plot.times(w);
    const letter = 6.6, room = Math.floor((plot.left - 8) / letter);
    all.forEach((m, i) => {
      const y = plot.top + 19 * i + 10, sooner = m.start_before === null || m.start_after !== null && m.start_after < m.start_before, kind = sooner ? "good" : "bad";
      const label = [...(m.job + (m.owner ? " " + m.owner : ""))];
      plot.text(4, y + 4, label.length > room ? label.slice(0, room - 1).join("") + "…" : label.join(""), { class: "label" });
      const a = m.start_before === null ? plot.right : plot.x(m.start_before), b = m.start_after === null ? plot.right : plot.x(m.start_after);
      plot.line(a, y, b, y, "move " + kind);
      if (m.start_before !== null) plot.add("circle", { cx: a, cy: y, r: 4, class: "mark-today" });
      if (m.start_after !== null) plot.add("circle", { cx: b, cy: y, r: 5, class: "mark-" + kind });
      else plot.text(b, y - 3, "never", { "text-anchor": "end", class: "label" });
    });
  });
  return make("div", null, key([["mark-today", "today's plan"], ["mark-good", "as asked, earlier"], ["mark-bad", "as asked, later"]]), chart.element,
    c.moves.length > most && make("p", { class: "hint" },
      "The " + most + " that move most; the table has " + count(c.moves.length, "job") + (c.unlisted ? " of " + number(c.moves.length + c.unlisted) : "") + "."));
}

function moves(w, c) {
  const by = (m) => (m.start_before === null ? -Infinity : m.start_after === null ? Infinity : m.start_after - m.start_before);
  return make("details", null, make("summary", null, "As a table"), list({
    caption: "Jobs that would start at another time", key: (m) => m.job, sort: "by", descending: true, columns: [
      { key: "job", title: "Job", text: (m) => m.job, node: (m) => jobLink(m.job, 32), compare: letters("job") },
      { key: "owner", title: "Owner", text: (m) => m.owner ?? "", node: (m) => name(m.owner, 24), compare: letters("owner") },
      { key: "start_before", title: "Today's plan", text: (m) => w.brief(m.start_before), compare: numbers("start_before") },
      { key: "start_after", title: "Would start", text: (m) => (m.start_after === null ? "never" : w.brief(m.start_after)), compare: numbers("start_after") },
      { key: "by", title: "Later by", number: true, text: (m) => (Number.isFinite(by(m)) ? duration(by(m)) : "–"), compare: (a, b) => by(a) - by(b) },
    ],
  }, c.moves));
}

// answered draws any answer, with what was asked in words.
export function answered(app, answer, options) {
  return card("Answer", make("p", { class: "hint" }, "Today's plan: ", prose(answer.present), answer.asked ? [". What if: ", prose(answer.asked)] : "", "."),
    answer.job ? jobAnswer(app, answer, options) : changeAnswer(app, answer));
}
