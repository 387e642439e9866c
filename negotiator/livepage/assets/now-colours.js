// The ways to colour jobs. Each says of which class a job is, and has a name for each
// class. Classes keep their colours while the picture changes: a user who comes
// gets the next one that is free, the others keep theirs.
const widths = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024];
const bounds = [0, 60, 600, 3600, 4 * 3600, 86400, 3 * 86400, Infinity];

class Named {
  constructor(name) {
    this.name = name;
    this.places = new Map();
    this.names = [];
  }
  // Gives the first colours to those who have most.
  learn(jobs) {
    const use = new Map();
    for (const job of jobs) use.set(this.name(job), (use.get(this.name(job)) || 0) + job.cpus);
    const news = [...use.keys()].filter((name) => !this.places.has(name));
    news.sort((a, b) => use.get(b) - use.get(a) || (a < b ? -1 : 1));
    for (const name of news) {
      const place = Math.min(this.places.size, others);
      this.places.set(name, place);
      if (place < others) this.names[place] = name || "unknown";
    }
    const rest = this.places.size - others;
    if (rest > 0) this.names[others] = rest + (rest === 1 ? " other" : " others");
  }
  of(job) { return this.places.get(this.name(job)) ?? others; }
}
const others = 11; // the class of all who have no colour of their own

class Fixed {
  constructor(all, of) {
    Object.assign(this, { all, of, names: [] });
  }
  // Names those that there are.
  learn(jobs) {
    for (const job of jobs) {
      const place = this.of(job);
      this.names[place] ??= this.all[place];
    }
  }
}

export const situations = ["runs", "matched", "takes over", "scavenges", "reserved", "waits", "held"];
const inWords = ["runs", "matched: starts now", "runs where others leave", "scavenges", "reserved", "expected, without a reservation", "held"];

export const ways = () => ({
  user: new Named((job) => job.owner || ""),
  group: new Named((job) => job.group || ""),
  width: new Fixed(
    widths.map((n, i) => (n === 1 ? "1 cpu" : n === 2 ? "2 cpus" : i === widths.length - 1 ? "over 512 cpus" : widths[i - 1] + 1 + "–" + n + " cpus")),
    (job) => Math.min(widths.length - 1, Math.ceil(Math.log2(Math.max(1, job.cpus)))),
  ),
  situation: new Fixed(inWords, (job) => Math.max(0, situations.indexOf(job.situation))),
  wait: new Fixed(
    ["no wait", "≤ 1 min", "≤ 10 min", "≤ 1 h", "≤ 4 h", "≤ 1 d", "≤ 3 d", "> 3 d"],
    (job) => bounds.findIndex((b) => (job.likely ?? job.start ?? Infinity) - (job.submit ?? job.start ?? 0) <= b),
  ),
});
