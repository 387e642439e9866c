// Lanes are the rows of the chart: one for each cpu of each slot. The server says
// on which slots a job is; in which lanes is found here, and only for slots that
// are in sight. Jobs that run keep their lanes.
export const runs = new Set(["runs", "matched", "takes over", "scavenges"]);

// Names with their numbers at equal lengths, which sort as people count.
const counted = (name) => name.replace(/\d+/g, (digits) => digits.padStart(8, "0"));
// The class of a slot: what the server says, or its size.
const classOf = (slot) => slot.class ?? slot.capacity.join(" ");

export class Lanes {
  constructor() {
    this.clear();
  }
  clear() {
    this.rows = []; // in the order of the chart
    this.of = new Map(); // rows by the slot's number
    this.pieces = new Map(); // of each job, by its number
    this.keys = new Map(); // of classes
    this.total = 0; // lanes
    this.layout ??= 0; // counts how often the rows became others
  }
  // Takes over what a store has, or only what differs.
  take(store, difference) {
    this.now = store.head.now;
    if (!difference) {
      this.clear();
      for (const slot of store.slots.values()) this.row(slot);
      this.arrange();
      for (const job of store.jobs.values()) this.add(job, null);
      return;
    }
    let others = false;
    for (const id of difference.slots_gone || []) others = this.drop(id) || others;
    for (const slot of difference.slots || []) {
      const row = this.of.get(slot.id);
      if (row && classOf(row.slot) === classOf(slot) && row.slot.name === slot.name) row.slot = slot;
      else {
        this.row(slot);
        others = true;
      }
    }
    if (others) this.arrange();
    for (const id of difference.jobs_gone || []) this.remove(id);
    for (const job of difference.jobs || []) this.add(job, this.remove(job.id));
    // Jobs whose slot came after them, or became another.
    if (others) for (const job of store.jobs.values()) if (!this.pieces.has(job.id)) this.add(job, null);
  }
  row(slot) {
    this.drop(slot.id);
    this.of.set(slot.id, {
      slot, lanes: Math.max(1, slot.capacity[0]), lane: 0, index: 0, pieces: [], settled: false, copied: false, stale: false,
      key: this.classKey(slot) + "\0" + counted(slot.machine) + "\0" + counted(slot.name),
    });
  }
  classKey(slot) {
    const name = classOf(slot);
    if (!this.keys.has(name)) this.keys.set(name, counted(name));
    return this.keys.get(name);
  }
  drop(id) {
    const row = this.of.get(id);
    if (!row) return false;
    for (const piece of this.listed(row)) this.remove(piece.job.id);
    return this.of.delete(id);
  }
  // Puts the rows in order: by class, machine and name.
  arrange() {
    this.rows = [...this.of.values()].sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : a.slot.id - b.slot.id));
    this.total = 0;
    this.rows.forEach((row, index) => {
      row.index = index;
      row.lane = this.total;
      this.total += row.lanes;
    });
    this.layout++;
  }
  remove(id) {
    const before = this.pieces.get(id);
    if (!before) return null;
    this.pieces.delete(id);
    for (const piece of before) {
      piece.gone = piece.row.stale = true;
      piece.row.settled = piece.row.copied = false;
    }
    return before;
  }
  // Adds a job, with the lanes that it had before.
  add(job, before) {
    if (!job.at || job.start === undefined) return;
    const list = [];
    const running = runs.has(job.situation);
    for (const at of job.at) {
      const cpus = at[1], row = this.of.get(at[0]);
      if (!row) continue;
      const old = running && before ? before.find((piece) => piece.row === row && piece.cpus === cpus && piece.running) : null;
      const piece = { job, row, cpus, running, start: job.start, end: job.end ?? Infinity, parts: old ? old.parts : null, idle: null, gone: false };
      row.pieces.push(piece);
      row.settled = row.copied = false;
      list.push(piece);
    }
    this.pieces.set(job.id, list);
  }
  // The row at a lane.
  at(lane) {
    let low = 0, high = this.rows.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.rows[middle].lane <= lane) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }
  // The rows that meet the lanes [l0, l1), as indexes: from, and behind the last.
  seen(l0, l1) {
    const from = Math.max(0, this.at(l0));
    let to = from;
    while (to < this.rows.length && this.rows[to].lane < l1) to++;
    return [from, to];
  }
  // The pieces of a row, in no order.
  listed(row) {
    if (row.stale) row.pieces = row.pieces.filter((piece) => !piece.gone);
    row.stale = false;
    return row.pieces;
  }
  // The pieces of a row, each with its lanes (parts: [lane, lanes] within the row)
  // and, if it is reserved, those that are idle until it comes (idle: with a time).
  settled(row) {
    const pieces = this.listed(row);
    if (!row.settled) this.settle(row);
    return pieces;
  }
  settle(row) {
    row.settled = true;
    const free = new Free(row.lanes);
    row.pieces.sort((a, b) => Number(b.running) - Number(a.running) || a.start - b.start || a.job.id - b.job.id);
    for (const piece of row.pieces) {
      if (!piece.running || !piece.parts) continue;
      if (piece.parts.every(([lane, lanes]) => free.idle(lane, lanes))) {
        for (const [lane, lanes] of piece.parts) free.claim(lane, lanes, this.end(piece));
      } else piece.parts = null;
    }
    for (const piece of row.pieces) {
      if (piece.running && piece.parts) continue;
      [piece.parts, piece.idle] = free.place(Math.min(Math.max(1, piece.cpus), row.lanes), piece.running ? -Infinity : piece.start, this.end(piece));
      if (piece.job.situation !== "reserved") piece.idle = null;
    }
  }
  // What runs longer than expected is still there.
  end(piece) { return piece.running ? Math.max(piece.end, this.now) : piece.end; }
}

// Free is which lanes of a row are taken until when, as stretches of lanes: the
// first lane of each, and until when it is taken. The last one is behind all.
class Free {
  constructor(lanes) {
    this.first = [0, lanes];
    this.until = [-Infinity, Infinity];
  }
  idle(lane, lanes) {
    for (let i = 0; i + 1 < this.first.length && this.first[i] < lane + lanes; i++) {
      if (this.first[i + 1] > lane && this.until[i] > -Infinity) return false;
    }
    return lane + lanes <= this.first[this.first.length - 1];
  }
  claim(lane, lanes, until) {
    let i = 0;
    while (this.first[i + 1] <= lane) i++;
    this.take(i, lane, lanes, until);
  }
  // Takes lanes from the stretch with that index on, in which the first one is.
  take(i, lane, lanes, until) {
    let last = i;
    while (this.first[last + 1] < lane + lanes) last++;
    const first = [], times = [];
    const put = (from, time) => {
      first.push(from);
      times.push(time);
    };
    if (this.first[i] < lane) put(this.first[i], this.until[i]);
    put(lane, until);
    if (this.first[last + 1] > lane + lanes) put(lane + lanes, this.until[last]);
    this.first.splice(i, last - i + 1, ...first);
    this.until.splice(i, last - i + 1, ...times);
  }
  // Finds lanes that are free at a time: beside each other if there are such, else
  // any, and if the plan has more jobs than lanes those that are free next.
  place(lanes, start, until) {
    const n = this.first.length - 1, taken = [];
    for (let i = 0, from = 0; i < n; i++) {
      if (this.until[i] > start) from = i + 1;
      else if (this.first[i + 1] - this.first[from] >= lanes) {
        let wanted = lanes;
        for (let k = from; wanted > 0; k++) {
          const some = Math.min(wanted, this.first[k + 1] - this.first[k]);
          taken.push([this.first[k], some, this.until[k]]);
          wanted -= some;
        }
        this.take(from, this.first[from], lanes, until);
        return [[[taken[0][0], lanes]], taken];
      }
    }
    const order = [];
    let room = 0;
    for (let i = 0; i < n && room < lanes; i++) {
      if (this.until[i] > start) continue;
      order.push(i);
      room += this.first[i + 1] - this.first[i];
    }
    if (room < lanes) {
      const busy = [...this.first.keys()].filter((i) => i < n && this.until[i] > start);
      order.push(...busy.sort((a, b) => this.until[a] - this.until[b]));
    }
    let wanted = lanes;
    for (const i of order) {
      const some = Math.min(wanted, this.first[i + 1] - this.first[i]);
      taken.push([this.first[i], some, this.until[i]]);
      if (!(wanted -= some)) break;
    }
    for (const [lane, some] of taken) this.claim(lane, some, until);
    return [joined(taken), taken.filter(([, , since]) => since <= start)];
  }
}
// Stretches of lanes, those beside each other as one.
function joined(taken) {
  const parts = [];
  for (const [lane, lanes] of taken.sort((a, b) => a[0] - b[0])) {
    const last = parts[parts.length - 1];
    if (last && last[0] + last[1] === lane) last[1] += lanes;
    else parts.push([lane, lanes]);
  }
  return parts;
}
