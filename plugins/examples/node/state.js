// The plugin's copy of the host's state, and the actions of a policy.
//
// It serves policies that plan anew in each round: a cycle releases all reservations of
// former rounds at its start, so that the copy need not follow what becomes of them.
// Whole numbers arrive as text, because some do not fit a Number; amounts and times do.
'use strict';

// the reason for which the state itself holds a job
const NEVER_FITS = 'fits on no slot of the pool, even an empty one';

const FOREVER = 2 ** 61; // later than any instant

// Job is a job and its status. Policies must not change it.
class Job {
  constructor(spec, key) {
    this.id = spec.id;
    this.nodes = Number(spec.nodes);
    this.request = spec.request.map(Number); // of each chunk
    this.whole = spec.whole; // it takes all of one bundle instead
    this.estimate = Number(spec.estimate); // seconds
    this.runs = Number(spec.running) || this.estimate; // the expected run time once it is started
    this.release = Number(spec.release); // it must not start before
    this.labels = spec.labels;
    this.candidates = spec.candidates;
    this.order = [
      BigInt(spec.submit), Buffer.from(spec.place_queue),
      BigInt(spec.place_cluster), BigInt(spec.place_proc), BigInt(spec.id),
    ];
    this.key = key; // in the queue's order, lower first
    this.at = null; // where it runs: [{slot, count}]
    this.end = 0; // when it is expected to end, if it runs
    this.held = '';
    this.reserved = false; // perhaps
    this.planned = null; // where it is reserved in this round
  }

  get waits() { return !this.at && !this.held; }

  // The total number of cpus.
  get width() { return this.nodes * this.request[0]; }

  // The amount of every resource that all chunks take together.
  get total() { return this.request.map((amount) => this.nodes * amount); }
}

class State {
  constructor(snapshot) {
    this.rule = snapshot.rule;
    this.now = Number(snapshot.now);
    this.revision = BigInt(snapshot.revision);
    this.resources = snapshot.resources;
    this.slots = snapshot.slots.map(({ slot, up }) => newSlot(slot, up));
    this.bundles = [];
    this.sets = new Map(); // of slots, or of bundles for jobs that are whole, with the rank of each
    this.jobs = new Map();
    this.redefine(snapshot);
    for (const j of snapshot.jobs) {
      const job = new Job(j.job, j.key);
      job.held = j.held;
      job.reserved = !j.running && Boolean(j.placement);
      this.jobs.set(job.id, job);
      if (j.running) this.run(job, placement(j.placement), Number(j.end));
    }
  }

  // An independent copy.
  fork() {
    const copy = Object.assign(Object.create(State.prototype), this);
    copy.slots = this.slots.map((slot) => ({ ...slot, free: [...slot.free], spans: new Map(slot.spans) }));
    copy.bundles = [...this.bundles];
    copy.sets = new Map(this.sets);
    copy.jobs = new Map([...this.jobs].map(([id, job]) => [id, Object.assign(Object.create(Job.prototype), job)]));
    return copy;
  }

  run(job, at, end) {
    this.unplan(job);
    job.at = at;
    job.end = end;
    this.take(at, job, 1);
  }

  requeue(job) {
    this.unplan(job);
    if (job.at) this.take(job.at, job, -1);
    job.at = null;
  }

  take(at, job, sign) {
    for (const { slot, count } of at) {
      const { free, spans } = this.slots[slot];
      const amounts = this.amounts(job, slot, count);
      amounts.forEach((amount, k) => { free[k] -= sign * amount; });
      if (sign > 0) spans.set(job.id, { from: -FOREVER, to: job.end, amounts });
      else spans.delete(job.id);
    }
  }

  // Returns what so many of the job's chunks take of a slot.
  amounts(job, slot, count) {
    return (job.whole ? this.slots[slot].capacity : job.request).map((amount) => count * amount);
  }

  plan(job, at, start) {
    this.unplan(job); // an event may have voided its reservation, which is not followed here
    job.reserved = true;
    job.planned = at;
    for (const { slot, count } of at) {
      const amounts = this.amounts(job, slot, count);
      this.slots[slot].spans.set(job.id, { from: start, to: start + job.estimate, amounts });
      this.slots[slot].plans++;
    }
  }

  unplan(job) {
    for (const { slot } of job.planned ?? []) {
      this.slots[slot].spans.delete(job.id);
      this.slots[slot].plans--;
    }
    job.reserved = false;
    job.planned = null;
  }

  // Returns the least that is free of each of the slot's resources from start until end.
  freeDuring(slot, start, end) {
    if (start <= this.now && slot.plans === 0) return slot.free; // running jobs only end
    const spans = [...slot.spans.values()].filter(({ from, to }) => from < end && to > start);
    const begins = spans.map(({ from }) => from).filter((from) => from > start); // what is free drops there
    const least = slot.capacity.map(() => Infinity);
    for (const t of [start, ...begins]) {
      const there = spans.filter(({ from, to }) => from <= t && t < to);
      slot.capacity.forEach((capacity, k) => {
        least[k] = Math.min(least[k], there.reduce((left, { amounts }) => left - amounts[k], capacity));
      });
    }
    return least;
  }

  // Returns the earliest start of the job, {start, at}; null if it never fits. What is free
  // grows only where something ends.
  earliest(job) {
    const candidates = this.sets.get(job.candidates).keys();
    const slots = job.whole ? this.bundlesOf(job).flatMap(({ bundle }) => bundle.slots) : [...candidates];
    const ends = slots.flatMap((id) => [...(this.slots[id]?.spans.values() ?? [])].map(({ to }) => to));
    const starts = new Set([this.now, ...ends.filter((end) => end > this.now && end < FOREVER)]);
    for (const start of [...starts].sort((a, b) => a - b)) {
      const at = this.place(job, start);
      if (at) return { start, at };
    }
    return null;
  }

  // Returns the available bundles that the job may take, each with its rank.
  bundlesOf(job) {
    return [...this.sets.get(job.candidates)]
      .map(([id, rank]) => ({ bundle: this.bundles[id], rank }))
      .filter(({ bundle }) => bundle?.slots.every((id) => this.slots[id]?.up));
  }

  // Returns whether the empty pool could run the job.
  everFits(job) {
    if (job.whole) return this.bundlesOf(job).length > 0;
    let fit = 0;
    for (const id of this.sets.get(job.candidates).keys()) {
      if (this.slots[id]?.up) fit += chunks(job, this.slots[id].capacity);
      if (fit >= job.nodes) return true; // usually the first slot suffices
    }
    return false;
  }

  holdIfItNeverFits(job) {
    if (job.waits && !this.everFits(job)) this.hold(job, NEVER_FITS);
  }

  hold(job, reason) {
    this.unplan(job);
    job.held = reason;
  }

  // Returns where the host would place the job from start on, beside running jobs and those
  // that this round reserved; null if it does not fit.
  place(job, start) {
    if (job.whole) return this.placeWhole(job, start);
    const end = start + job.estimate;
    const hosts = [];
    for (const [id, rank] of this.sets.get(job.candidates)) {
      const slot = this.slots[id];
      if (!slot.up) continue;
      const free = this.freeDuring(slot, start, end);
      const fit = chunks(job, free);
      if (fit > 0) hosts.push({ slot: id, fit, rank, name: slot.nameBytes, left: leftOf(slot, free, job), count: 0 });
    }
    if (hosts.reduce((fit, host) => fit + host.fit, 0) < job.nodes) return null;
    hosts.sort((a, b) => this.prefer(a, b));
    const round = this.rule === 'PLACEMENT_RULE_SPREAD' ? 1 : job.nodes; // chunks that a slot gets at a time
    for (let left = job.nodes; left > 0;) {
      for (const host of hosts) {
        const n = Math.min(round, host.fit - host.count, left);
        host.count += n;
        left -= n;
      }
    }
    return hosts.filter((host) => host.count > 0).map(({ slot, count }) => ({ slot, count }));
  }

  // Returns the completely free bundle with the best rank, then the fewest blocked others,
  // then the first name.
  placeWhole(job, start) {
    const end = start + job.estimate;
    const free = new Set(this.bundles.filter(
      (bundle) => bundle.slots.every((id) => this.allFree(this.slots[id], start, end)),
    ));
    const choices = this.bundlesOf(job).filter(({ bundle }) => free.has(bundle)).map(({ bundle, rank }) => ({
      ...bundle, rank: this.rule === 'PLACEMENT_RULE_RANK' ? rank : 0,
      blocks: [...free].filter((other) => share(bundle, other)).length,
    }));
    choices.sort((a, b) => b.rank - a.rank || a.blocks - b.blocks || Buffer.compare(a.nameBytes, b.nameBytes));
    return choices.length > 0 ? choices[0].slots.map((slot) => ({ slot, count: 1 })) : null;
  }

  allFree(slot, start, end) {
    if (!slot?.up) return false;
    const free = this.freeDuring(slot, start, end);
    return slot.capacity.every((amount, k) => amount === 0 || free[k] >= amount);
  }

  // Compares slots in the order in which they are used.
  prefer(a, b) {
    const byLeft = compare(a.left[0] * b.left[1], b.left[0] * a.left[1]);
    switch (this.rule) {
      case 'PLACEMENT_RULE_SPREAD': return -byLeft || Buffer.compare(a.name, b.name);
      case 'PLACEMENT_RULE_PACK': return byLeft || Buffer.compare(a.name, b.name);
      default: return b.rank - a.rank || byLeft || Buffer.compare(a.name, b.name);
    }
  }

  redefine({ bundles, candidates }) {
    for (const { name, slots } of bundles) this.bundles.push({ nameBytes: Buffer.from(name), slots });
    for (const { id, slots, bundles: whole, rank } of candidates) {
      const all = [...slots, ...whole]; // one of the two is empty
      this.sets.set(id, new Map(all.map((candidate, i) => [candidate, rank[i] ?? 0])));
    }
  }

  // Applies what holds from the start of a round.
  open(round) {
    this.now = Number(round.now);
    this.redefine(round);
    for (const k of round.keys) this.jobs.get(k.job).key = k.key;
  }

  // Applies a round that was decided elsewhere.
  replay(round, journal) {
    this.open(round);
    let applied = 0;
    for (const action of journal) {
      while (applied < action.after) this.apply(round.events[applied++]);
      this.act(action);
    }
    while (applied < round.events.length) this.apply(round.events[applied++]);
    this.revision++;
  }

  act(action) {
    const job = this.jobs.get(action.job);
    switch (action.kind) {
      case 'ACTION_KIND_START': this.run(job, placement(action.placement), this.now + job.runs); break;
      case 'ACTION_KIND_RESERVE': this.plan(job, placement(action.placement), Number(action.at)); break;
      case 'ACTION_KIND_RELEASE': this.unplan(job); break;
      case 'ACTION_KIND_HOLD': this.hold(job, action.reason); break;
      default: // does not affect this copy
    }
  }

  apply(event) {
    switch (event.kind) {
      case 'EVENT_KIND_SLOT_ADDED':
      case 'EVENT_KIND_SLOT_CHANGED': return this.setSlot(event.slot);
      case 'EVENT_KIND_SLOT_LOST': return this.loseSlot(event.slot.id);
      case 'EVENT_KIND_COMPLETED':
      case 'EVENT_KIND_REMOVED': return this.remove(event.job);
      case 'EVENT_KIND_START_FAILED': return this.failStart(this.jobs.get(event.job));
      case 'EVENT_KIND_FOUND': return this.find(event);
      case 'EVENT_KIND_CHANGED': this.remove(event.spec.id); // and come again
      case 'EVENT_KIND_SUBMITTED': return this.submit(event.spec, event.key);
      case 'EVENT_KIND_ESTIMATE_CHANGED': return this.endAt(this.jobs.get(event.job), Number(event.end));
      case 'EVENT_KIND_POLICY_CHANGED':
      case 'EVENT_KIND_RELEASED':
      case 'EVENT_KIND_WAKE': return undefined; // changes nothing that is kept here
      default: throw new Error(`unknown event ${event.kind}`);
    }
  }

  setSlot(spec) {
    const slot = newSlot(spec, true);
    const before = this.slots[spec.id];
    // Running jobs stay, even if they use more than the new capacity.
    if (before) Object.assign(slot, { spans: before.spans, plans: before.plans });
    if (before) slot.free = slot.free.map((free, k) => free - before.capacity[k] + before.free[k]);
    this.slots[spec.id] = slot;
    if (before?.up) this.holdOutgrown(spec.id);
    for (const job of this.jobs.values()) if (job.held === NEVER_FITS && this.everFits(job)) job.held = '';
  }

  loseSlot(id) {
    const requeued = [...this.jobs.values()].filter((job) => job.at?.some(({ slot }) => slot === id));
    requeued.forEach((job) => this.requeue(job));
    this.slots[id].up = false;
    this.holdOutgrown(id);
    requeued.forEach((job) => this.holdIfItNeverFits(job));
  }

  holdOutgrown(id) {
    for (const job of this.jobs.values()) if (this.mayUse(job, id)) this.holdIfItNeverFits(job);
  }

  mayUse(job, slot) {
    const candidates = this.sets.get(job.candidates);
    if (!job.whole) return candidates.has(slot);
    return [...candidates.keys()].some((id) => this.bundles[id]?.slots.includes(slot));
  }

  endAt(job, end) {
    job.end = end;
    for (const { slot } of job.at ?? []) { // else it lost its slot in this very round
      const { spans } = this.slots[slot];
      spans.set(job.id, { ...spans.get(job.id), to: end });
    }
  }

  failStart(job) {
    if (!job.at && !job.reserved) return; // it lost its slot in this very round
    this.requeue(job);
    this.holdIfItNeverFits(job);
  }

  remove(id) {
    this.requeue(this.jobs.get(id));
    this.jobs.delete(id);
  }

  find({ spec, key, placement: at, end }) {
    if (this.jobs.has(spec.id)) this.remove(spec.id);
    const job = new Job(spec, key);
    this.jobs.set(job.id, job);
    this.run(job, placement(at), Number(end));
  }

  submit(spec, key) {
    const job = new Job(spec, key);
    this.jobs.set(job.id, job);
    this.holdIfItNeverFits(job);
  }
}

// Cycle is a round for a policy to act on, after all its events have been applied. No
// job has a reservation, but those that the policy makes.
class Cycle {
  constructor(state, round) {
    this.state = state;
    this.now = Number(round.now);
    this.events = round.events.length;
    this.journal = []; // what the policy did
    this.failed = new Map(); // the shortest estimate that did not fit in this round, by kind of job
    this.planned = false; // there is a reservation
    state.open(round);
    round.events.forEach((event) => state.apply(event));
    for (const job of state.jobs.values()) if (job.reserved) this.do({ kind: 'ACTION_KIND_RELEASE', job: job.id });
  }

  // What the slots that are up have together of each resource.
  get capacity() {
    const up = this.state.slots.filter((slot) => slot?.up);
    return this.state.resources.map((_, k) => up.reduce((sum, slot) => sum + slot.capacity[k], 0));
  }

  // The waiting jobs that may start, in the queue's order.
  queue() {
    const waiting = [...this.state.jobs.values()].filter((job) => job.waits && job.release <= this.now);
    return waiting.sort((a, b) => compare(a.key, b.key) || byOrder(a, b));
  }

  // The running jobs, by expected end.
  running() {
    const all = [...this.state.jobs.values()].filter((job) => job.at);
    return all.sort((a, b) => compare(a.end, b.end) || byOrder(a, b));
  }

  // Starts the job if it fits now, beside what is reserved; returns whether it did.
  start(job) {
    const kind = `${job.candidates} ${job.nodes} ${job.request}`;
    if (!job.waits || job.estimate >= (this.failed.get(kind) ?? Infinity)) return false;
    const at = this.state.place(job, this.now);
    if (!at) {
      this.failed.set(kind, this.planned ? job.estimate : 0); // without reservations, all that run shorter fail, too
      return false;
    }
    this.do({ kind: 'ACTION_KIND_START', job: job.id, placement: message(at) });
    return true;
  }

  // Reserves the earliest place for the job; returns its start, or null if it never fits,
  // does not wait, or has a reservation of this round.
  // The reservation lasts until the next round, in which the policy makes it again.
  reserve(job) {
    const earliest = job.waits && !job.reserved ? this.state.earliest(job) : null;
    if (!earliest) return null;
    this.do({ kind: 'ACTION_KIND_RESERVE', job: job.id, at: String(earliest.start), placement: message(earliest.at) });
    this.planned = true;
    return earliest.start;
  }

  // Takes the job out of the queue if it waits; its owner is shown the reason. Returns
  // whether it did.
  hold(job, reason) {
    if (!job.waits) return false;
    this.do({ kind: 'ACTION_KIND_HOLD', job: job.id, reason });
    return true;
  }

  do(action) {
    action.after = this.events;
    this.journal.push(action);
    this.state.act(action);
  }
}

function newSlot({ name, capacity }, up) {
  const amounts = capacity.map(Number);
  // spans are of running and reserved jobs, plans the number of the latter
  return { nameBytes: Buffer.from(name), capacity: amounts, free: [...amounts], up, spans: new Map(), plans: 0 };
}

// Returns whether two bundles share a slot.
function share(a, b) { return a.slots.some((id) => b.slots.includes(id)); }

function placement({ slots, counts }) {
  return slots.map((slot, i) => ({ slot, count: counts.length ? Number(counts[i]) : 1 }));
}

function message(at) { return { slots: at.map((on) => on.slot), counts: at.map((on) => on.count) }; }

// Returns how many of the job's chunks fit an amount.
function chunks(job, amount) {
  const fits = job.request.flatMap((need, k) => (need > 0 ? [Math.floor(Math.max(0, amount[k]) / need)] : []));
  return Math.min(job.nodes, ...fits);
}

// Returns the least fraction of a resource that one chunk leaves free on the slot, exactly.
function leftOf(slot, free, job) {
  let least = [1n, 1n];
  slot.capacity.forEach((capacity, k) => {
    const left = [BigInt(free[k] - job.request[k]), BigInt(capacity)];
    if (capacity > 0 && left[0] * least[1] < least[0] * left[1]) least = left;
  });
  return least;
}

function byOrder(a, b) {
  for (let i = 0; i < a.order.length; i++) {
    const c = i === 1 ? Buffer.compare(a.order[i], b.order[i]) : compare(a.order[i], b.order[i]);
    if (c !== 0) return c;
  }
  return 0;
}

function compare(a, b) { return a < b ? -1 : Number(a > b); }

module.exports = { State, Cycle };
