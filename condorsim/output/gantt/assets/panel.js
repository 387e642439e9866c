// What is said in words: of the chosen job, of the instant under the pointer, and
// in the tip beside it.
const slotOf = (lane) => {
  for (const slot of encoded.slots) {
    if (lane < slot.cpus) return slot.name;
    lane -= slot.cpus;
  }
  return "";
};
const grouped = (n) => n.toLocaleString("en-US");
const instant = (t) => (Number.isNaN(t) ? "–" : grouped(Math.round(t)) + " s");

// Rows of what is known of a job: name, value, and a date or the like.
function facts(job) {
  const never = Number.isNaN(jobs.start[job]), [requeues, lost] = encoded.requeued[job] || [0, 0];
  const rows = [["submitted", instant(jobs.submit[job]), date(jobs.submit[job])]];
  if (!never) {
    rows.push(
      ["started", instant(jobs.start[job]), date(jobs.start[job])],
      ["ended", instant(jobs.end[job]), date(jobs.end[job])],
      ["wait", duration(jobs.start[job] - jobs.submit[job]), requeues ? "with the runs that were lost" : ""],
      ["run time", duration(jobs.end[job] - jobs.start[job]), ""],
    );
  }
  if (requeues) rows.push(["slots lost", requeues + (requeues === 1 ? " time" : " times"), grouped(lost) + " cpu s for nothing"]);
  rows.push(["estimate", duration(jobs.estimate[job]), ""], ["cpus", grouped(jobs.cpus[job]), ""]);
  if (encoded.memory) rows.push(["memory", grouped(jobs.memory[job]) + " MiB", ""]);
  if (never) rows.push(["held", encoded.held[job] || "to the end", ""]);
  else if (Number.isNaN(jobs.promised[job])) rows.push(["guarantee", "none", ""]);
  else {
    const ahead = jobs.promised[job] - jobs.start[job];
    rows.push(["guarantee", instant(jobs.promised[job]), (ahead > 0 ? duration(ahead) + " before it" : ahead < 0 ? duration(-ahead) + " after it: broken" : "just then")]);
  }
  if (!never) rows.push(["how", encoded.hows[jobs.how[job]], ""]);
  rows.push(["user", encoded.users[jobs.user[job]] || "unknown", ""]);
  const slots = new Set();
  for (let p = jobs.first[job]; p < jobs.first[job + 1]; p++) slots.add(slotOf(jobs.lane[p]));
  if (encoded.partitions && !never) rows.push(["partition", encoded.partitions[jobs.partition[job]], ""]);
  if (encoded.slots.length > 1 && !never) rows.push(["slots", [...slots].slice(0, 6).join(" ") + (slots.size > 6 ? " and " + (slots.size - 6) + " more" : ""), ""]);
  return rows;
}

function fill(list, rows) {
  list.replaceChildren(...rows.flatMap(([name, value, more]) => {
    const term = document.createElement("dt"), said = document.createElement("dd");
    term.textContent = name;
    said.textContent = value;
    if (more) said.append(Object.assign(document.createElement("small"), { textContent: more }));
    return [term, said];
  }));
}

function showJob(job) {
  document.getElementById("job-title").textContent = job === null ? "No job chosen" : "Job " + jobs.names[job];
  fill(document.getElementById("job"), job === null ? [] : Number.isNaN(jobs.start[job]) ? [["", "It never ran.", ""], ...facts(job)] : facts(job));
}

// What runs and waits at an instant; the first of those that wait by their start.
function showInstant(time) {
  if (time === null) return;
  let busy = 0, count = 0;
  running.each(time, time, (job) => {
    if (jobs.start[job] > time || jobs.end[job] <= time) return;
    busy += jobs.cpus[job];
    count++;
  });
  const waiting = [];
  waitingSpans.each(time, time, (job) => { if (jobs.submit[job] <= time && jobs.start[job] > time) waiting.push(job); });
  fill(document.getElementById("now"), [
    ["time", instant(time), [duration(time), date(time)].filter(Boolean).join(" · ")],
    ["running", grouped(count) + (count === 1 ? " job" : " jobs"), ""],
    ["in use", grouped(busy) + " of " + grouped(lanesInAll) + " cpus", ""],
    ["waiting", grouped(waiting.length) + (waiting.length === 1 ? " job" : " jobs"), ""],
  ]);
  waiting.sort((a, b) => jobs.start[a] - jobs.start[b] || a - b);
  const body = document.querySelector("#waiting tbody");
  body.replaceChildren(...waiting.slice(0, 8).map((job) => {
    const row = document.createElement("tr");
    for (const [i, text] of [jobs.names[job], jobs.cpus[job], Number.isNaN(jobs.promised[job]) ? "–" : duration(jobs.promised[job] - time), duration(jobs.start[job] - time)].entries()) {
      row.append(Object.assign(document.createElement("td"), { textContent: text, className: i ? "n" : "" }));
    }
    return row;
  }));
  document.getElementById("waiting").hidden = waiting.length === 0;
  document.getElementById("more").textContent = waiting.length > 8 ? "and " + (waiting.length - 8) + " more" : "";
}

function showTip(job, event) {
  const tip = document.getElementById("tip");
  tip.hidden = job === null;
  if (job === null) return;
  tip.textContent = "Job " + jobs.names[job] + "\n" + facts(job).map(([name, value, more]) => name + ": " + value + (more ? " (" + more + ")" : "")).join("\n");
  const box = tip.getBoundingClientRect();
  tip.style.left = Math.max(4, event.clientX + 16 + box.width > innerWidth ? event.clientX - 16 - box.width : event.clientX + 16) + "px";
  tip.style.top = Math.max(4, Math.min(event.clientY + 16, innerHeight - box.height - 4)) + "px";
}

function showLegend(entries) {
  document.getElementById("legend").replaceChildren(...entries.map(({ name, colour }) => {
    const entry = document.createElement("span"), swatch = document.createElement("i");
    swatch.style.background = colour;
    entry.append(swatch, name);
    return entry;
  }));
  const by = document.getElementById("colour").value;
  if (by === "wait" && whyNotUser) document.getElementById("legend").prepend(Object.assign(document.createElement("em"), { textContent: whyNotUser }));
}
