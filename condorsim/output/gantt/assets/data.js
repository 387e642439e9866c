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

const ran = [...jobs.names.keys()].filter((i) => !Number.isNaN(jobs.start[i]));
const running = new Spans(ran, jobs.start, jobs.end);
const waitingSpans = new Spans(ran, jobs.submit, jobs.start);

// Dates, if the trace says when its seconds were.
const clocks = encoded.clocks || [];
const date = (t, seconds = true) => dateOf(clocks, t, seconds);
