// Words says instants, durations and amounts. Instants are in the pool's seconds; the clocks of the
// picture say which dates they are, and without clocks they are days and times of the trace.

const two = (v) => String(v).padStart(2, "0");

// count is a number with what it counts, such as "1 job" or "1,200 jobs".
export const count = (n, one, many = one + "s") => number(n) + " " + (n === 1 ? one : many);

export const number = (n) => Number(n).toLocaleString("en", { maximumFractionDigits: Math.abs(n) < 10 ? 2 : Math.abs(n) < 100 ? 1 : 0 });

export const percent = (share, digits = 0) => (share * 100).toFixed(digits) + " %";

// duration has the two greatest units, such as "2 h 5 min".
export function duration(seconds) {
  if (!Number.isFinite(seconds)) return "–";
  const sign = seconds < 0 ? "−" : "";
  let s = Math.round(Math.abs(seconds));
  if (Math.abs(seconds) < 1 && seconds) return sign + number(Number((Math.abs(seconds) * 1000).toPrecision(2))) + " ms";
  if (s < 60) return sign + (Math.abs(seconds) < 10 && s !== Math.abs(seconds) ? Math.abs(seconds).toFixed(1) : s) + " s";
  if (s < 600) return sign + Math.floor(s / 60) + " min" + (s % 60 ? " " + s % 60 + " s" : "");
  s = Math.round(s / 60);
  if (s < 60) return sign + s + " min";
  if (s < 48 * 60) return sign + Math.floor(s / 60) + " h" + (s % 60 ? " " + s % 60 + " min" : "");
  s = Math.round(s / 60);
  return sign + (s < 24 * 100 ? Math.floor(s / 24) + " d" + (s % 24 ? " " + s % 24 + " h" : "") : number(Math.round(s / 24)) + " d");
}

// memory is in MiB.
export function memory(mib) {
  if (mib >= 1 << 20) return number(round(mib / (1 << 20))) + " TiB";
  return mib >= 1024 ? number(round(mib / 1024)) + " GiB" : number(mib) + " MiB";
}
const round = (v) => (v < 100 ? Math.round(v * 10) / 10 : Math.round(v));

// resource is an amount of a resource, with its unit where it has one.
export function resource(name, amount) {
  if (name === "memory") return memory(amount);
  if (name === "disk") return memory(amount / 1024);
  return number(amount);
}

// requests is what a job asks for, such as "4 cpus, 8 GiB, 1 gpu".
export function requests({ cpus, memory: mib, gpus, chunks }) {
  const all = [count(cpus, "cpu"), mib ? memory(mib) : "", gpus ? count(gpus, "gpu") : ""].filter(Boolean).join(", ");
  return chunks > 1 ? all + " in " + count(chunks, "chunk") : all;
}

// readSpan reads seconds, or such as 90m, 2h or 1h30m; NaN if it is neither.
export function readSpan(text) {
  const trimmed = text.trim();
  if (/^\d+$/.test(trimmed)) return Number(trimmed);
  if (!/^(\d+(\.\d+)?\s*[dhms]\s*)+$/i.test(trimmed)) return NaN;
  const units = { d: 86400, h: 3600, m: 60, s: 1 };
  return Math.round([...trimmed.matchAll(/(\d+(?:\.\d+)?)\s*([dhms])/gi)].reduce((sum, [, n, unit]) => sum + Number(n) * units[unit.toLowerCase()], 0));
}

// writeSpan writes seconds so that readSpan reads them.
export function writeSpan(seconds) {
  const parts = [["h", 3600], ["m", 60], ["s", 1]];
  let rest = seconds, text = "";
  for (const [unit, size] of parts) {
    if (rest >= size) text += Math.floor(rest / size) + unit;
    rest %= size;
  }
  return text || "0";
}

// readMemory reads MiB, or such as 64GiB; NaN if it is neither.
export function readMemory(text, plain = 1) {
  const match = /^\s*(\d+(?:\.\d+)?)\s*([kmgt])?(i?b)?\s*$/i.exec(text);
  if (!match) return NaN;
  const sizes = { k: 1 / 1024, m: 1, g: 1024, t: 1 << 20 };
  return Math.round(Number(match[1]) * (match[2] ? sizes[match[2].toLowerCase()] / plain : 1));
}

export class Words {
  constructor(store) {
    this.store = store;
  }
  // Now is what the header says: time goes on between two pictures, as far as is known.
  get now() { return Math.floor(this.store.now()) || 0; }
  get clocks() { return this.store.head?.clocks ?? []; }
  clock(t) { return this.clocks.findLast((c) => c.from <= t) ?? this.clocks[0]; }
  // Parts are the day and the time of day.
  parts(t) {
    const clock = this.clock(t);
    if (clock) {
      const date = new Date((clock.shift + t) * 1000);
      if (Number.isNaN(date.getTime())) return { day: "", time: String(t), zone: clock.zone };
      const [day, time] = date.toISOString().slice(0, 19).split("T");
      return { day, time, zone: clock.zone };
    }
    const sign = t < 0 ? "−" : "", s = Math.abs(Math.round(t)), of = s % 86400;
    return { day: sign + "day " + Math.floor(s / 86400), time: two(Math.floor(of / 3600)) + ":" + two(Math.floor(of / 60) % 60) + ":" + two(of % 60), zone: "" };
  }
  // Text is the whole: 2026-03-01 12:00:00 CET.
  text(t) {
    const { day, time, zone } = this.parts(t);
    return (day + " " + time + " " + zone).trim();
  }
  // Brief is without the day if that is the present one, and without seconds where they tell nothing.
  brief(t) {
    if (t === undefined || t === null) return "–";
    const { day, time } = this.parts(t), here = this.parts(this.now);
    const short = this.clocks.length && Math.abs(t - this.now) > 600 ? time.slice(0, 5) : time;
    if (day === here.day) return short;
    const year = /^\d{4}-/.test(day) && day.slice(0, 5) === here.day.slice(0, 5);
    return (year ? this.date(day) : day) + " " + short;
  }
  // Date is a day of this year: 1 Mar.
  date(day) {
    const [, month, of] = day.split("-").map(Number);
    return of + " " + ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"][month - 1];
  }
  // Tick is an instant on an axis with so many seconds between two: the day at midnight, else the time.
  tick(t, step) {
    const { day, time } = this.parts(t), date = /^\d{4}-/.test(day) ? this.date(day) : day;
    return step >= 86400 || time === "00:00:00" && this.clocks.length ? date : step < 60 || !this.clocks.length ? time : time.slice(0, 5);
  }
  // Away is how far an instant is: "in 2 h", "5 min ago", "now".
  away(t) {
    const s = t - this.now;
    if (Math.abs(s) < 1) return "now";
    return s > 0 ? "in " + duration(s) : duration(-s) + " ago";
  }
  // WhyNot is why a job waits: of one with a reservation, when that is for.
  whyNot({ situation, reason }) {
    if (situation !== "reserved" || !reason.startsWith("reserved for ")) return reason;
    return "for " + reason.slice("reserved for ".length).replace(this.parts(this.now).day.replace("day ", "") + " ", "").replace(/(\d\d:\d\d):\d\d [A-Z][\w+-]*$/,
      "$1");
  }
  // Range says two instants alike: both with seconds or none, and a common day once.
  range(low, high, between = " – ") {
    if (low === undefined || low === null) return "";
    if (high === undefined || high === null) return this.brief(low) + between + "open";
    const a = this.parts(low), b = this.parts(high), far = this.clocks.length && Math.max(Math.abs(low - this.now), Math.abs(high - this.now)) > 600;
    const ends = far ? 5 : 8, day = a.day === this.parts(this.now).day ? "" : (/^\d{4}-/.test(a.day) ? this.date(a.day) : a.day) + " ";
    return day + a.time.slice(0, ends) + between + (a.day === b.day ? b.time.slice(0, ends) : this.brief(high));
  }
}

// situations in words.
export const situations = {
  runs: "runs", matched: "is starting", "takes over": "takes over", scavenges: "scavenges", reserved: "has a reservation", waits: "waits", held: "held back",
};
