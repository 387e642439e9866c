// Own puts in the viewer's own names: what all viewers are told alike has pseudonyms
// for everybody where each may see his own name alone.
export class Own {
  // changed is called when a viewer's name may have come that was not there before.
  constructor(base, changed) {
    Object.assign(this, { base, changed, me: {}, names: new Map(), seen: new Set(), asked: 0 });
  }
  // Asks the server who the viewer is.
  async load() {
    this.asked = performance.now();
    try {
      const answer = await fetch(this.base + "me");
      if (!answer.ok) return;
      this.me = await answer.json();
      this.names = new Map((this.me.own ?? []).map(({ alias, user }) => [alias, user]));
    } catch { /* the picture tells that the server is gone */ }
  }
  // Names the owners of jobs. In a difference, somebody who was not there before may be the viewer.
  name(jobs, later) {
    if (this.me.names !== "own" || !this.me.user) return;
    let strangers = false;
    for (const job of jobs) {
      strangers ||= !this.seen.has(job.owner);
      this.seen.add(job.owner);
      job.owner = this.names.get(job.owner) ?? job.owner;
    }
    if (!later || !strangers || this.waits) return;
    this.waits = setTimeout(() => {
      this.waits = 0;
      this.changed();
    }, Math.max(0, this.asked + 30_000 - performance.now()));
  }
}
