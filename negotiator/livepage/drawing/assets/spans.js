// Spans finds those that meet a stretch of time among many: they are sorted by
// begin, and each block of them knows its latest end.
export class Spans {
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
