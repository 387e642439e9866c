// Reads the jobs: columns of zigzag varints in base64, see encode.go.
const encoded = JSON.parse(document.getElementById("data").textContent);

function numbers(text) {
  const bytes = atob(text);
  const values = [];
  for (let i = 0; i < bytes.length;) {
    let value = 0, factor = 1, byte;
    do { // no shifts: numbers may have more than 32 bits
      byte = bytes.charCodeAt(i++);
      value += (byte & 127) * factor;
      factor *= 128;
    } while (byte > 127);
    values.push(value % 2 ? -(value + 1) / 2 : value / 2);
  }
  return values;
}
const column = (name) => numbers(encoded.columns[name]);

// The jobs, a column each; times are seconds of the trace. A job that never ran
// has no start (NaN), one without a guarantee no promise.
const jobs = (() => {
  const n = encoded.count;
  const [wait, run, rest, promise] = ["wait", "run", "rest", "promise"].map(column);
  const submit = new Float64Array(n), start = new Float64Array(n), end = new Float64Array(n);
  const planned = new Float64Array(n), promised = new Float64Array(n), estimate = new Float64Array(n);
  let at = encoded.begin;
  column("submit").forEach((step, i) => {
    at += step;
    submit[i] = at;
    start[i] = wait[i] < 0 ? NaN : at + wait[i];
    end[i] = start[i] + run[i];
    planned[i] = end[i] + rest[i];
    estimate[i] = run[i] + rest[i];
    promised[i] = promise[i] < 0 ? NaN : at + promise[i];
  });
  const pieces = column("pieces"), flat = column("lanes");
  const first = new Int32Array(n + 1); // of a job's pieces
  pieces.forEach((count, i) => { first[i + 1] = first[i] + count; });
  const lane = Float64Array.from({ length: flat.length / 2 }, (_, i) => flat[2 * i]);
  const lanes = Float64Array.from({ length: flat.length / 2 }, (_, i) => flat[2 * i + 1]);
  let id = 0;
  const names = encoded.names || column("ids").map((step) => String(id += step));
  return {
    n, submit, start, end, planned, promised, estimate, first, lane, lanes, names,
    cpus: column("cpus"), memory: column("memory"), user: column("user"), how: column("how"),
    partition: encoded.partitions && column("partition"),
  };
})();

// Says why there is no job of a name: cleaning dropped it, or there never was one.
function whyMissing(name) {
  const id = String(Number(name)) === name ? Number(name) : NaN;
  for (const { why, ranges } of encoded.dropped) {
    let last = 0;
    const list = numbers(ranges);
    for (let i = 0; i < list.length; i += 2) {
      const first = last + list[i];
      last = first + list[i + 1];
      if (first <= id && id <= last) return "cleaning dropped job " + name + ": " + why;
    }
  }
  if (!encoded.unlisted) return "the trace has no job " + name;
  return "no job " + name + " here; cleaning dropped " + encoded.unlisted + " that are not listed";
}

const lanesInAll = encoded.slots.reduce((sum, slot) => sum + slot.cpus, 0);

// The machines of the slots, with their cpus: what is behind the last @ of a slot's name, without the
// domain that all have in common.
const machines = (() => {
  const list = [];
  for (const { name, cpus } of encoded.slots) {
    const machine = name.slice(name.lastIndexOf("@") + 1);
    if (list.length && list[list.length - 1].name === machine) list[list.length - 1].cpus += cpus;
    else list.push({ name: machine, cpus });
  }
  const domain = (name) => (name.includes(".") ? name.slice(name.indexOf(".")) : "");
  const common = list.length > 1 && list.every(({ name }) => domain(name) === domain(list[0].name));
  return common ? list.map(({ name, cpus }) => ({ name: name.slice(0, name.length - domain(name).length), cpus })) : list;
})();

// Spans finds those that meet a stretch of time among many: they are sorted by
// begin, and each block of them knows its latest end.
class Spans {
  constructor(members, begin, end) {
    this.members = Int32Array.from(members).sort((a, b) => begin[a] - begin[b] || a - b);
    this.begin = begin;
    this.end = end;
    this.latest = [];
    this.members.forEach((job, i) => {
      const block = Math.floor(i / Spans.block);
      this.latest[block] = Math.max(this.latest[block] ?? -Infinity, end[job]);
    });
  }
  // Calls visit with each member that begins before the time to and ends at or
  // after from, by begin.
  each(from, to, visit) {
    let low = 0, high = this.members.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.begin[this.members[middle]] < to) low = middle + 1;
      else high = middle;
    }
    for (let block = 0; block * Spans.block < low; block++) {
      if (this.latest[block] < from) continue;
      const last = Math.min(low, (block + 1) * Spans.block);
      for (let i = block * Spans.block; i < last; i++) {
        const job = this.members[i];
        if (this.end[job] >= from) visit(job);
      }
    }
  }
}
Spans.block = 128;

const ran = [...jobs.names.keys()].filter((i) => !Number.isNaN(jobs.start[i]));
const running = new Spans(ran, jobs.start, jobs.end);
const waitingSpans = new Spans(ran, jobs.submit, jobs.start);

// Times for people.
const two = (v) => String(v).padStart(2, "0");
function duration(s) {
  if (Number.isNaN(s)) return "–";
  const sign = s < 0 ? "−" : "";
  s = Math.round(Math.abs(s));
  const d = Math.floor(s / 86400), h = Math.floor(s / 3600) % 24, m = Math.floor(s / 60) % 60;
  if (s < 60) return sign + s + " s";
  if (s < 3600) return sign + m + " min " + two(s % 60) + " s";
  return sign + (d ? d + " d " : "") + h + ":" + two(m) + ":" + two(s % 60) + " h";
}
const dated = Boolean(encoded.clocks && encoded.clocks.length);
const clockAt = (t) => encoded.clocks.findLast((c) => c.from <= t) || encoded.clocks[0];
function date(t, seconds = true) {
  if (!dated) return "";
  const clock = clockAt(t), when = new Date((clock.shift + t) * 1000);
  return Number.isNaN(when.getTime()) ? "" : when.toISOString().slice(0, seconds ? 19 : 16).replace("T", " ") + (seconds ? " " + clock.zone : "");
}
