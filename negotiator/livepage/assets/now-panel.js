import { duration } from "./drawing/times.js";
import { runs } from "./now-lanes.js";
import { shown } from "./now-paint.js";

// Makes an element: its name, what it has, and what is in it. Texts are only texts.
export function make(name, having = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(having)) {
    if (key in element && key !== "list") element[key] = value;
    else element.setAttribute(key, value);
  }
  element.append(...children);
  return element;
}
export const grouped = (n) => n.toLocaleString("en-US");
export const some = (n, one, many = one + "s") => grouped(n) + " " + (n === 1 ? one : many);
// A name of a stranger: it may be of any length and run in any direction.
const stranger = (text) => make("bdi", { title: text.length > 60 ? text : "" }, shown(text) || "unknown");

const inWords = {
  runs: "runs", matched: "is matched and starts", "takes over": "runs where others leave", scavenges: "scavenges: makes way for any other job",
  reserved: "waits, with a reservation", waits: "waits, and is expected to start here", held: "is held",
};

// What is known of a job, in rows: name, value, and more of it. Says tells times.
export function facts(job, store, now, says) {
  const rows = [["", inWords[job.situation] || job.situation, ""], ["user", job.owner || "unknown", job.group || ""]];
  rows.push(["cpus", grouped(job.cpus), ""]);
  const ago = (t) => (t > now ? "in " + duration(t - now) : duration(now - t) + " ago");
  const row = (name, t, more) => { if (t !== undefined) rows.push([name, says(t), more ?? ago(t)]); };
  const running = runs.has(job.situation);
  row("submitted", job.submit);
  row(running ? "started" : "expected start", running ? job.start : job.likely ?? job.start);
  if (!running && job.likely !== undefined) row("drawn from", job.start, "if all jobs run as long as expected");
  row("reserved from", job.reserved);
  if (!running && job.low !== undefined && job.high !== undefined) {
    rows.push(["in 8 of 10 cases", "from " + says(job.low), "to " + says(job.high)]);
  }
  if (job.end !== undefined) row("expected end", job.end, running && job.end <= now ? "runs longer than expected" : undefined);
  if (running) row("ends at the latest", job.high);
  if (job.guarantee !== undefined && !running) row("guaranteed start by", job.guarantee);
  if (running && job.submit !== undefined) rows.push(["waited", duration(job.start - job.submit), ""]);
  const slots = (job.at || []).map(([id]) => store.slots.get(id)?.name || "?");
  if (slots.length) rows.push(["", "on " + slots.slice(0, 4).join(", "), slots.length > 4 ? "and " + grouped(slots.length - 4) + " more" : ""]);
  return rows;
}

function fill(list, rows) {
  list.replaceChildren(...rows.flatMap(([name, value, more]) => {
    const said = make("dd", {}, make("bdi", { title: value.length > 120 ? value : "" }, value.slice(0, 120)));
    if (more) said.append(make("small", {}, make("bdi", {}, more.slice(0, 200))));
    return [make("dt", {}, name), said];
  }));
}

// Panel says in short what is chosen: a job, or a slot.
export class Panel {
  constructor(says) {
    this.says = says;
    this.title = make("h2", { id: "now-chosen" }, "Nothing chosen");
    this.list = make("dl");
    this.why = make("p", { className: "why" });
    this.link = make("a", { hidden: true }, "All about this job");
    this.hint = make("p", { className: "hint" }, "Choose a job in the chart, or search for one.");
    this.element = make("section", { className: "now-panel" }, this.title, this.list, this.why, this.link, this.hint);
    this.element.setAttribute("aria-labelledby", "now-chosen");
    this.element.setAttribute("aria-live", "polite");
  }
  clear() {
    this.element.classList.remove("full");
    this.title.replaceChildren("Nothing chosen");
    this.list.replaceChildren();
    this.why.textContent = "";
    this.link.hidden = true;
    this.hint.hidden = false;
  }
  job(name, job, store, now, reason) {
    this.element.classList.add("full");
    this.title.replaceChildren("Job ", stranger(name));
    fill(this.list, job ? facts(job, store, now, this.says) : [["", "has no place in the chart", "It has ended, is unknown, or nothing says where it will start."]]);
    this.why.replaceChildren(make("bdi", {}, reason || ""));
    this.link.href = "#/job/" + encodeURIComponent(name);
    this.link.hidden = false;
    this.hint.hidden = true;
  }
  slot(row, resources) {
    const { slot } = row;
    this.element.classList.add("full");
    this.title.replaceChildren("Slot ", stranger(slot.name));
    const rows = slot.capacity.map((n, i) => [resources[i] || "", grouped(n), ""]);
    if (slot.down) rows.unshift(["", "is down", ""]);
    if (slot.drain) rows.push(["drained", "from " + this.says(slot.drain.from), (slot.drain.until === undefined ? "" : "until " + this.says(slot.drain.until) + ": ") + slot.drain.why]);
    if (slot.end !== undefined) rows.push(["ends", this.says(slot.end), ""]);
    fill(this.list, rows);
    this.why.textContent = "";
    this.link.hidden = true;
    this.hint.hidden = true;
  }
}

// Tip is what is said beside the pointer.
export class Tip {
  constructor() {
    this.element = make("div", { className: "now-tip", hidden: true });
  }
  show(text, event) {
    this.element.hidden = !text;
    if (!text) return;
    this.element.textContent = text;
    const box = this.element.getBoundingClientRect(), { style } = this.element;
    style.left = Math.max(4, event.clientX + 16 + box.width > innerWidth ? event.clientX - 16 - box.width : event.clientX + 16) + "px";
    style.top = Math.max(4, Math.min(event.clientY + 16, innerHeight - box.height - 4)) + "px";
  }
}
export const told = (name, rows) => [name, ...rows.map(([key, value, more]) => (key ? key + ": " : "") + value.slice(0, 80) + (more ? " (" + more.slice(0, 80) + ")" : ""))].join("\n");

const rowsAtMost = 200;

// Table lists the jobs that are in sight, for those who do not see the chart, and for paper.
export class Table {
  constructor(says) {
    this.says = says;
    this.body = make("tbody");
    this.caption = make("caption");
    const head = ["Job", "User", "Situation", "Cpus", "Start", "End", "Slots"];
    this.table = make("table", {}, this.caption, make("thead", {}, make("tr", {}, ...head.map((name) => make("th", { scope: "col" }, name)))), this.body);
    this.element = make("details", { className: "now-table" }, make("summary", {}, "Table of the jobs in sight"), make("div", { className: "scrolls" }, this.table));
  }
  get open() { return this.element.open; }
  fill(store, lanes, view) {
    const [from, to] = lanes.seen(view.l0, view.l1), jobs = new Map();
    for (let i = from; i < to; i++) {
      for (const piece of lanes.listed(lanes.rows[i])) {
        if (piece.start < view.t1 && lanes.end(piece) > view.t0) jobs.set(piece.job.id, piece.job);
      }
    }
    const list = [...jobs.values()].sort((a, b) => a.start - b.start || a.id - b.id);
    this.caption.textContent = some(list.length, "job") + " in sight, by start" + (list.length > rowsAtMost ? "; the first " + rowsAtMost : "");
    this.body.replaceChildren(...list.slice(0, rowsAtMost).map((job) => {
      const slots = job.at.map(([id]) => store.slots.get(id)?.name || "?");
      const link = make("a", { href: "#/job/" + encodeURIComponent(job.job) }, stranger(job.job));
      return make("tr", {}, make("th", { scope: "row" }, link), make("td", {}, stranger(job.owner || "")), make("td", {}, job.situation), make("td", { className: "n" }, grouped(job.cpus)),
        make("td", {}, this.says(job.start)), make("td", {}, job.end === undefined ? "" : this.says(job.end)),
        make("td", {}, make("bdi", {}, slots.slice(0, 3).join(" ") + (slots.length > 3 ? " +" + (slots.length - 3) : ""))));
    }));
  }
}

// The picture in a sentence or two.
export function summary(store, says) {
  const { head } = store, now = head.now;
  let next = null;
  for (const job of store.jobs.values()) if (!runs.has(job.situation) && job.start !== undefined && (!next || job.start < next.start)) next = job;
  const parts = ["As of " + says(now) + ", " + some(head.running, "job runs", "jobs run") + " on " + some(head.slots, "slot") + " and " + (head.running === 1 ? "uses " : "use ") + grouped(head.use[0]) + " of " + grouped(head.capacity[0]) + " cpus.",
    some(head.waiting, "job waits", "jobs wait") + ", " + grouped(head.reserved) + " with a reservation."];
  if (head.further) parts.push(grouped(head.further) + " more are far behind in the queue and not shown.");
  if (head.reserved_idle) parts.push(some(head.reserved_idle, "cpu") + " idle for reservations.");
  if (next) parts.push("Next, job " + shown(next.job) + " starts " + (next.start > now ? "in " + duration(next.start - now) : "now") + ".");
  return parts.join(" ");
}
