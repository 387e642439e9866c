// The plugin's copy of the host's state, and the actions of a policy.
//
// It serves policies that make no reservations. Such a policy releases those of other
// policies at the start of each round, so that the copy need not know their times and
// places: nothing here has a time axis. Whole numbers arrive as text, because some do
// not fit a Number; amounts do.
'use strict';

// the reason for which the state itself holds a job
const NEVER_FITS = 'fits on no slot of the pool, even an empty one';

// Job is a job and its status. Policies must not change it.
class Job {
  constructor(spec, key) {
    this.id = spec.id;
    this.nodes = Number(spec.nodes);
    this.request = spec.request.map(Number); // of each chunk
    this.whole = spec.whole; // it takes all of one bundle instead
    this.estimate = Number(spec.estimate); // seconds
    this.release = Number(spec.release); // it must not start before
    this.labels = spec.labels;
    this.candidates = spec.candidates;
    this.order = [
      BigInt(spec.submit), Buffer.from(spec.place_queue),
      BigInt(spec.place_cluster), BigInt(spec.place_proc), BigInt(spec.id),
    ];
    this.key = key; // in the queue's order, lower first
    this.at = null; // where it runs: [{slot, count}]
    this.held = '';
    this.reserved = false; // perhaps
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
      if (j.running) this.run(job, placement(j.placement));
    }
  }

  // An independent copy.
  fork() {
    const copy = Object.assign(Object.create(State.prototype), this);
    copy.slots = this.slots.map((slot) => ({ ...slot, free: [...slot.free] }));
    copy.bundles = [...this.bundles];
    copy.sets = new Map(this.sets);
    copy.jobs = new Map([...this.jobs].map(([id, job]) => [id, Object.assign(Object.create(Job.prototype), job)]));
    return copy;
  }

  run(job, at) {
    this.take(at, job, 1);
    job.at = at;
    job.reserved = false;
  }

  requeue(job) {
    if (job.at) this.take(job.at, job, -1);
    job.at = null;
    job.reserved = false;
  }

  take(at, job, sign) {
    for (const { slot, count } of at) {
      const { free, capacity } = this.slots[slot];
      (job.whole ? capacity : job.request).forEach((amount, k) => { free[k] -= sign * count * amount; });
    }
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
    job.held = reason;
    job.reserved = false;
  }

  // Returns where the host would place the job now if there were no reservations; null
  // if it does not fit.
  place(job) {
    if (job.whole) return this.placeWhole(job);
    const hosts = [];
    for (const [id, rank] of this.sets.get(job.candidates)) {
      const slot = this.slots[id];
      const fit = slot.up ? chunks(job, slot.free) : 0;
      if (fit > 0) hosts.push({ slot: id, fit, rank, name: slot.nameBytes, left: leftOf(slot, job), count: 0 });
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
  placeWhole(job) {
    const free = new Set(this.bundles.filter((bundle) => bundle.slots.every((id) => this.allFree(this.slots[id]))));
    const choices = this.bundlesOf(job).filter(({ bundle }) => free.has(bundle)).map(({ bundle, rank }) => ({
      ...bundle, rank: this.rule === 'PLACEMENT_RULE_RANK' ? rank : 0,
      blocks: [...free].filter((other) => share(bundle, other)).length,
    }));
    choices.sort((a, b) => b.rank - a.rank || a.blocks - b.blocks || Buffer.compare(a.nameBytes, b.nameBytes));
    return choices.length > 0 ? choices[0].slots.map((slot) => ({ slot, count: 1 })) : null;
  }

  allFree(slot) {
    return Boolean(slot?.up) && slot.capacity.every((amount, k) => amount === 0 || slot.free[k] >= amount);
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
      case 'ACTION_KIND_START': this.run(job, placement(action.placement)); break;
      case 'ACTION_KIND_RESERVE': job.reserved = true; break;
      case 'ACTION_KIND_RELEASE': job.reserved = false; break;
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
      case 'EVENT_KIND_POLICY_CHANGED':
      case 'EVENT_KIND_ESTIMATE_CHANGED':
      case 'EVENT_KIND_RELEASED':
      case 'EVENT_KIND_WAKE': return undefined; // changes nothing that is kept here
      default: throw new Error(`unknown event ${event.kind}`);
    }
  }

  setSlot(spec) {
    const slot = newSlot(spec, true);
    const before = this.slots[spec.id];
    // Running jobs stay, even if they use more than the new capacity.
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

  failStart(job) {
    if (!job.at && !job.reserved) return; // it lost its slot in this very round
    this.requeue(job);
    this.holdIfItNeverFits(job);
  }

  remove(id) {
    this.requeue(this.jobs.get(id));
    this.jobs.delete(id);
  }

  find({ spec, key, placement: at }) {
    if (this.jobs.has(spec.id)) this.remove(spec.id);
    const job = new Job(spec, key);
    this.jobs.set(job.id, job);
    this.run(job, placement(at));
  }

  submit(spec, key) {
    const job = new Job(spec, key);
    this.jobs.set(job.id, job);
    this.holdIfItNeverFits(job);
  }
}

// Cycle is a round for a policy to act on, after all its events have been applied. No
// job has a reservation.
class Cycle {
  constructor(state, round) {
    this.state = state;
    this.now = Number(round.now);
    this.events = round.events.length;
    this.journal = []; // what the policy did
    this.failed = new Set(); // kinds of jobs that did not fit, and will not later in the round
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

  // Starts the job if it fits now; returns whether it did.
  start(job) {
    const kind = `${job.candidates} ${job.nodes} ${job.request}`;
    const at = this.failed.has(kind) ? null : this.state.place(job);
    if (!at) {
      this.failed.add(kind);
      return false;
    }
    const placement = { slots: at.map((on) => on.slot), counts: at.map((on) => on.count) };
    this.do({ kind: 'ACTION_KIND_START', job: job.id, placement });
    return true;
  }

  // Takes the job out of the queue; its owner is shown the reason.
  hold(job, reason) { this.do({ kind: 'ACTION_KIND_HOLD', job: job.id, reason }); }

  do(action) {
    action.after = this.events;
    this.journal.push(action);
    this.state.act(action);
  }
}

function newSlot({ name, capacity }, up) {
  const amounts = capacity.map(Number);
  return { nameBytes: Buffer.from(name), capacity: amounts, free: [...amounts], up };
}

// Returns whether two bundles share a slot.
function share(a, b) { return a.slots.some((id) => b.slots.includes(id)); }

function placement({ slots, counts }) {
  return slots.map((slot, i) => ({ slot, count: counts.length ? Number(counts[i]) : 1 }));
}

// Returns how many of the job's chunks fit an amount.
function chunks(job, amount) {
  const fits = job.request.flatMap((need, k) => (need > 0 ? [Math.floor(Math.max(0, amount[k]) / need)] : []));
  return Math.min(job.nodes, ...fits);
}

// Returns the least fraction of a resource that one chunk leaves free on the slot, exactly.
function leftOf(slot, job) {
  let least = [1n, 1n];
  slot.capacity.forEach((capacity, k) => {
    const left = [BigInt(slot.free[k] - job.request[k]), BigInt(capacity)];
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
