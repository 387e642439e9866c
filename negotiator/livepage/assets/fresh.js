// Fresh loads something again when the pool changes, at most every so many milliseconds, and only
// while its view is shown and the page is in sight. What is asked for first comes last, or never: an
// answer counts only if nothing was asked since.
export class Fresh {
  constructor(store, every, load, show, failed) {
    Object.assign(this, { store, every, load, show, failed });
    this.on = false;
    this.asked = 0;
    this.timer = 0;
    this.last = -Infinity;
    this.changed = () => this.later();
    this.seen = () => { if (!document.hidden) this.later(); };
  }
  start() {
    if (this.on) return;
    this.on = true;
    this.store.addEventListener("change", this.changed);
    document.addEventListener("visibilitychange", this.seen);
    this.now();
  }
  stop() {
    this.on = false;
    this.asked++;
    clearTimeout(this.timer);
    this.timer = 0;
    this.store.removeEventListener("change", this.changed);
    document.removeEventListener("visibilitychange", this.seen);
  }
  later() {
    if (!this.on || this.timer || document.hidden) return;
    this.timer = setTimeout(() => this.now(), Math.max(0, this.last + this.every - performance.now()));
  }
  async now() {
    clearTimeout(this.timer);
    this.timer = 0;
    if (!this.store.head) return; // what time it is, and what dates there are, is not known yet
    this.timer = -1; // none other while one is under way
    this.last = performance.now();
    const asked = ++this.asked;
    try {
      const answer = await this.load();
      if (asked === this.asked) this.show(answer);
    } catch (error) {
      if (asked === this.asked) this.failed(error);
    }
    if (asked !== this.asked) return;
    this.timer = 0;
    this.last = performance.now();
  }
}
