import { Own } from "./own.js";

// Store has the pool's last picture, and keeps it up to date: it loads the picture
// once, follows the server's events, and loads it anew if it missed some or the
// server is another. Its event "change" has the difference as its detail, null if
// all is new; "state" says that the connection is another:
//
//   connecting  nothing is here yet, or the connection broke and may come back;
//   live        the picture is that of the server;
//   gone        the server has not answered since the time that `since` has.
export class Store extends EventTarget {
  constructor({ base = "api/v1/" } = {}) {
    super();
    this.base = base;
    this.own = new Own(base, () => this.load());
    this.head = null;
    this.slots = new Map();
    this.jobs = new Map();
    this.epoch = "";
    this.version = 0;
    this.state = "connecting";
    this.since = null; // a Date
    this.source = null;
    this.missed = null; // differences that came while the picture was loaded
  }
  // Begins, and never ends by itself.
  start() {
    this.failures = 0;
    this.load();
  }
  stop() {
    clearTimeout(this.timer);
    this.source?.close();
    this.source = null;
    this.stopped = true;
  }

  // Loads the whole picture. What comes meanwhile is applied afterwards.
  async load() {
    if (this.missed) return; // under way
    this.missed = [];
    try {
      const [answer] = await Promise.all([fetch(this.base + "picture"), this.own.load()]);
      if (answer.status === 401) location.reload(); // the server asks who it is
      const text = await answer.text();
      if (!answer.ok) throw new Error(text.slice(0, 200));
      if (this.stopped) return;
      this.whole(JSON.parse(text));
    } catch {
      this.missed = null;
      this.lost();
      this.again(() => this.load());
      return;
    }
    const missed = this.missed;
    this.missed = null;
    this.become("live");
    if (!this.source) this.follow();
    for (const difference of missed) this.differ(difference);
  }
  // Tries again after a while: a second, and later ten.
  again(what) {
    if (this.stopped) return;
    clearTimeout(this.timer);
    this.timer = setTimeout(what, Math.min(10, 2 ** this.failures) * 1000);
    this.failures++;
  }

  // Follows the server's events. The browser connects again by itself if the
  // connection breaks, and not if the server refuses; then this loads the picture
  // now and then.
  follow() {
    if (this.stopped) return;
    const query = new URLSearchParams({ epoch: this.epoch, version: String(this.version) });
    const source = this.source = new EventSource(this.base + "events?" + query);
    source.addEventListener("open", () => {
      this.failures = 0;
      this.become("live");
    });
    source.addEventListener("difference", (event) => this.differ(JSON.parse(event.data)));
    source.addEventListener("reset", () => this.load());
    source.addEventListener("error", () => {
      this.lost();
      if (source.readyState !== EventSource.CLOSED) return;
      this.source = null;
      this.again(() => this.load());
    });
  }
  become(state) {
    if (state !== "gone") clearTimeout(this.waits);
    if (state !== "connecting") this.waits = 0;
    if (state === this.state) return;
    if (state === "live") this.since = null;
    this.state = state;
    this.dispatchEvent(new Event("state"));
  }
  // The connection broke. A server that is not back in ten seconds is gone.
  lost() {
    if (this.state === "gone" || this.waits) return;
    this.frozen = this.now();
    this.since = new Date();
    this.become("connecting");
    this.waits = setTimeout(() => this.become("gone"), 10_000);
  }

  whole({ epoch, version, head, slots, jobs }) {
    Object.assign(this, { epoch, version });
    this.own.name(jobs, false);
    this.slots = new Map(slots.map((slot) => [slot.id, slot]));
    this.jobs = new Map(jobs.map((job) => [job.id, job]));
    this.tell(head, null);
  }
  differ(difference) {
    if (this.missed) {
      this.missed.push(difference);
      return;
    }
    if (difference.version <= this.version) return;
    if (difference.version > this.version + 1) {
      this.load();
      return;
    }
    this.version = difference.version;
    for (const id of difference.slots_gone || []) this.slots.delete(id);
    for (const slot of difference.slots || []) this.slots.set(slot.id, slot);
    for (const id of difference.jobs_gone || []) this.jobs.delete(id);
    this.own.name(difference.jobs || [], true);
    for (const job of difference.jobs || []) this.jobs.set(job.id, job);
    this.tell(difference.head, difference);
  }
  tell(head, difference) {
    this.head = head;
    this.heard = performance.now();
    this.frozen = null;
    this.next = this.known();
    this.dispatchEvent(new CustomEvent("change", { detail: difference }));
  }
  // When something is expected to start or to end next: beyond, nothing is known yet.
  known() {
    const now = this.head.now;
    let next = Infinity;
    for (const { start, end } of this.jobs.values()) {
      if (start > now && start < next) next = start;
      if (end > now && end < next) next = end;
    }
    return next;
  }
  // What time it is for the pool, as far as is known: as in the last picture, and
  // then as fast as its time passes, until something should have happened.
  now() {
    const head = this.head;
    if (!head) return NaN;
    if (this.frozen !== null && this.state !== "live") return this.frozen;
    const speed = head.over ? 0 : head.simulated ? Number(head.speed) || 0 : 1;
    return Math.max(head.now, Math.min(this.next, head.now + speed * (performance.now() - this.heard) / 1000));
  }
}
