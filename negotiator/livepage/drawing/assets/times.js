// Times for people. Clocks say what times of day the seconds are: from a second
// on, seconds to add for a Unix time on that clock, and the zone's name. Without
// clocks no dates are known.
export const two = (v) => String(v).padStart(2, "0");
export function duration(s) {
  if (Number.isNaN(s)) return "–";
  const sign = s < 0 ? "−" : "";
  s = Math.round(Math.abs(s));
  const d = Math.floor(s / 86400), h = Math.floor(s / 3600) % 24, m = Math.floor(s / 60) % 60;
  if (s < 60) return sign + s + " s";
  if (s < 3600) return sign + m + " min " + two(s % 60) + " s";
  return sign + (d ? d + " d " : "") + h + ":" + two(m) + ":" + two(s % 60) + " h";
}
export const clockOf = (clocks, t) => clocks.findLast((c) => c.from <= t) || clocks[0];
export function dateOf(clocks, t, seconds = true) {
  if (!clocks || !clocks.length) return "";
  const clock = clockOf(clocks, t), when = new Date((clock.shift + t) * 1000);
  return Number.isNaN(when.getTime()) ? "" : when.toISOString().slice(0, seconds ? 19 : 16).replace("T", " ") + (seconds ? " " + clock.zone : "");
}
// The seconds of a trace as days and a time of day, as exact as the step to the next mark.
export function tickOf(t, step) {
  const d = Math.floor(t / 86400), s = t - d * 86400;
  if (step >= 86400) return d + " d";
  const clock = two(Math.floor(s / 3600)) + ":" + two(Math.floor(s / 60) % 60) + (step < 60 ? ":" + two(s % 60) : "");
  return (d ? d + " d " : "") + clock;
}
// Round steps of time.
const steps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 4 * 3600, 6 * 3600, 12 * 3600];
for (const days of [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 100000, 1000000]) steps.push(days * 86400);
export const stepFor = (length, most) => steps.find((s) => length / s <= most) || length;
