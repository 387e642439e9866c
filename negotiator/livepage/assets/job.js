import { adOf, jobAnswer } from "./asked.js";
import { Chart, key, timeStepFor } from "./charts.js";
import { card, definitions, empty, jobHash, jobLink, make, name, prose, replace, wellFormed } from "./dom.js";
import { Fresh } from "./fresh.js";
import { list } from "./table.js";
import { count, duration, memory, number, readMemory, readSpan, requests, situations, writeSpan } from "./words.js";

// JobView says first what a user wants to know: when, by when at the latest, why not sooner, where.
export class JobView {
  constructor(root, app) {
    Object.assign(this, { root, app });
    this.input = make("input", { type: "search", placeholder: "such as 12.0", "aria-label": "Job", maxlength: "400", required: true });
    this.find = make("form", { class: "pick", role: "search", onsubmit: (event) => this.seek(event) }, make("label", null, "Job ", this.input),
      make("button", null, "Show"));
    this.status = make("p", { class: "says error", role: "status" });
    this.head = make("div");
    this.facts = make("div");
    this.first = make("section", { class: "card first" }, this.head, this.facts);
    this.about = make("div");
    this.less = make("div");
    this.root.append(this.find, this.status, this.first, this.less, this.about);
    this.fresh = new Fresh(app.store, 4000, () => app.api("jobs/" + encodeURIComponent(wellFormed(this.name))), (a) => this.fill(a), (error) => this.failed(error));
  }
  seek(event) {
    event.preventDefault();
    const wanted = this.input.value.trim();
    if (wanted) this.app.go(jobHash(wanted));
  }
  show({ name: wanted }) {
    if (this.name !== wanted) {
      this.name = wanted;
      this.input.value = wanted;
      this.told = "";
      for (const part of [this.head, this.facts, this.about, this.less]) replace(part);
      this.row = null;
      this.status.textContent = "";
      this.form = null;
    }
    this.first.hidden = !wanted;
    this.fresh.stop();
    clearInterval(this.clock);
    this.clock = setInterval(() => this.tick(), 1000);
    if (wanted) this.fresh.start();
    else replace(this.about, empty("Which job?",
      "Give its name above, or choose one in the queue or the chart: this page says when it starts, by when at the latest, and why not sooner."));
  }
  hide() {
    clearInterval(this.clock);
    this.fresh.stop();
  }
  failed(error) {
    if (error.status === 404) {
      this.first.hidden = true;
      this.row = null;
      replace(this.less);
      this.told = "";
      replace(this.about, empty("There is no such job now.", "It has ended, was removed, or never was: only jobs that wait or run can be explained."),
        make("p", { class: "hint", dir: "auto" }, error.message));
      this.status.textContent = "";
    } else this.status.textContent = error.message;
  }
  fill(a) {
    this.status.textContent = "";
    this.first.hidden = false;
    // Nothing is touched while all stays as it was, but for how far instants are.
    const told = JSON.stringify(a);
    const r = a.row, waits = ["waits", "reserved", "held"].includes(r.situation);
    this.row = r;
    this.tick();
    const facts = this.known(r, a.at ?? []);
    if (facts.textContent !== this.facts.textContent) replace(this.facts, facts);
    if (told === this.told) return;
    this.told = told;
    const open = this.about.querySelector("details[open]") !== null;
    replace(this.about, this.history(a, open), this.fit(a), this.windows(a), a.text && card("In full", make("pre", { dir: "auto" }, a.text)));
    if (waits && r.cpus && !this.form) this.ask(r);
    if (!waits && this.form) {
      this.form = null;
      replace(this.less);
    }
  }
  headline(r) {
    const w = this.app.words, title = make("h1", null, "Job ", name(r.job, 60));
    const who = make("p", { class: "who" }, [r.owner && ["of ", name(r.owner, 40)], r.group && [", group ", name(r.group, 40)]].flat().filter(Boolean));
    let big, more = "";
    if (r.situation === "runs" || r.situation === "scavenges" || r.situation === "takes over" || r.situation === "matched") {
      const verb = { runs: "It runs", scavenges: "It scavenges what nobody needs", "takes over": "It takes over", matched: "It is starting" }[r.situation];
      big = [verb, r.start !== undefined && [" since ", make("b", null, w.brief(r.start))]].flat();
      if (r.end !== undefined) more = "It is expected to end at " + w.brief(r.end) + ", " + w.away(r.end) + (r.high > r.end ? "; at the latest at " + w.brief(r.high) : "") + ".";
    } else if (!r.situation) {
      big = ["The plan does not have it."];
      more = "It may be far behind in the queue, or it has just come.";
    } else if (r.start === undefined) {
      big = ["No start is foreseen."];
    } else if (r.start <= w.now) {
      big = ["It starts ", make("b", null, "now"), ", as far as is known."];
    } else {
      big = ["It starts most likely at ", make("b", null, w.brief(r.start)), ", " + w.away(r.start) + "."];
    }
    const range = r.low === undefined || r.situation === "runs" ? ""
      : "In eight of ten cases it starts " + (r.high === undefined ? "from " + w.brief(r.low) + " on." : "between " + w.range(r.low, r.high, " and ") + ".");
    const waits = ["waits", "reserved", "held"].includes(r.situation);
    const promise = r.guarantee !== undefined && waits ? make("p", { class: "promise" }, make("span", { class: "mark good" }, "guaranteed"), " At the latest at ",
      make("b", null, w.brief(r.guarantee)), ", " + w.away(r.guarantee) + ".")
      : waits && r.situation ? make("p", { class: "promise soft" },
        this.app.store.head?.guarantees ? "It was promised no latest start." : "The policy in charge promises no latest starts.") : "";
    return [title, who, make("p", { class: "huge" }, big), (range || more) && make("p", null, range || more), promise];
  }
  // tick says anew how far instants are, as time passes.
  tick() {
    if (!this.row || document.hidden) return;
    const head = make("div", null, this.headline(this.row));
    if (head.textContent !== this.head.textContent) replace(this.head, head);
  }
  // Before are those who are on its slots before it, the last to leave first. Who is expected to stay
  // beside it is not in its way.
  before(r, at) {
    const start = this.app.store.jobs.get(r.id)?.start; // in the chart, as the ends of the others are
    if (start === undefined || start <= this.app.words.now) return [];
    const slots = new Set(at.map(([slot]) => slot)), found = [];
    for (const job of this.app.store.jobs.values()) {
      if (job.id !== r.id && job.end <= start && job.at?.some(([slot]) => slots.has(slot))) found.push(job);
    }
    return found.sort((a, b) => b.end - a.end || a.id - b.id).slice(0, 3);
  }
  // drawn says why the chart has it at another time than it is told.
  drawn(r, waits) {
    const start = this.app.store.jobs.get(r.id)?.start;
    return waits && r.start !== undefined && start !== undefined && start !== r.start
      ? "from " + this.app.words.brief(start) + ", where it starts if all jobs run for as long as they are expected to" : "";
  }
  known(r, at) {
    const w = this.app.words, waits = ["waits", "reserved", "held"].includes(r.situation);
    // Of a job with a reservation the reason is when that is for: what keeps it from starting is that others are first.
    const reserved = r.situation === "reserved" && r.reason.startsWith("reserved for ");
    const why = !waits || !r.reason ? "" : make("span", null,
      ...(reserved ? ["What it needs is in use, or kept for jobs before it. It has a reservation ", prose(w.whyNot(r)),
      ", and starts sooner if others end sooner."] : [prose(r.reason)]),
      r.behind ? [" It waits behind ", jobLink(r.behind, 40), "."] : "");
    const before = this.before(r, at);
    const links = make("span", null, make("a", { href: "#/now?job=" + encodeURIComponent(wellFormed(r.job)) }, "Show it in the chart"),
      r.owner && waits && [" · ", make("a", { href: "#/queue?" + new URLSearchParams({ owner: wellFormed(r.owner), alike: "0" }) }, "All that wait of this owner")]);
    return definitions([
      [waits ? "Why not sooner" : "Why", why || (r.reason && prose(r.reason))],
      [waits ? "Where" : "Runs on", r.places && name(r.places, 120)],
      ["In the chart", this.drawn(r, waits)],
      ["Before it there", waits && before.length ? make("span", null,
        before.flatMap((job, i) => [i ? "; " : "", jobLink(job.job, 32), " of ", name(job.owner, 24), job.situation === "runs" ? ", runs" : "",
        ", expected to end at " + w.brief(job.end)])) : ""],
      ["Place in the queue", r.position ? number(r.position) : ""],
      ["State", situations[r.situation] ?? r.situation],
      ["Asks for", r.cpus ? requests(r) + (r.requested ? " for " + duration(r.requested) : "") : ""],
      ["Expected to run", r.predicted ? duration(r.predicted) : ""],
      ["Submitted", r.situation && r.submit !== undefined ? w.brief(r.submit) : ""],
      ["", r.situation ? links : ""],
    ]);
  }
  history(a, open) {
    const w = this.app.words, all = a.history;
    if (!all.length) return "";
    const known = all.filter((e) => e.start !== undefined);
    const chart = known.length > 1 && new Chart("What it was told of its start, over time", 220, (plot) => this.steps(plot, all));
    return card("What it was told", make("p", { class: "hint" }, count(all.length, "time") + " since " + w.brief(all[0].at) + "."),
      chart && [key([["k-line", "start that was told"], ["k-band", "eight of ten cases"], ["k-guarantee", "guarantee"], ["k-came", "came"]]), chart.element],
      make("details", { open: open || !chart }, make("summary", null, "As a table"), list({
        caption: "What it was told, the last first", columns: [
          { key: "at", title: "When", text: (e) => w.brief(e.at) },
          { key: "start", title: "Start", text: (e) => (e.came ? "came at " : "") + (e.start === undefined ? "not foreseen" : w.brief(e.start)) },
          { key: "range", title: "8 of 10 cases", text: (e) => w.range(e.low, e.high) },
          { key: "guarantee", title: "Guarantee", text: (e) => (e.guarantee === undefined ? "" : w.brief(e.guarantee)) },
          { key: "cause", title: "Why it changed", wide: true, text: (e) => e.cause ?? "", node: (e) => prose(e.cause) },
        ],
      }, [...all].reverse())));
  }
  // steps draws what was told as steps: when it was told across, the start that was told upwards.
  steps(plot, all) {
    const w = this.app.words, came = all.at(-1).came, until = came ? all.at(-1).at : Math.max(w.now, all.at(-1).at);
    const values = all.flatMap((e) => [e.start, e.low, e.high]).filter((v) => v !== undefined);
    const low = Math.min(...values), latest = Math.max(0, ...all.map((e) => e.guarantee ?? 0));
    let high = Math.max(...values);
    // A guarantee that is far off would press the rest flat: it is said instead.
    const far = latest > high + 2 * Math.max(60, high - low);
    if (!far) high = Math.max(high, latest);
    const room = Math.max(10, (high - low) * 0.06);
    plot.left = 78;
    plot.scale([all[0].at, until], [low - room, high + room]);
    plot.times(w);
    plot.up((v) => w.brief(v), timeStepFor(plot.y1 - plot.y0, 6));
    const ends = (i) => (i + 1 < all.length ? all[i + 1].at : until);
    all.forEach((e, i) => {
      if (e.low === undefined || e.came) return;
      const x = plot.x(e.at), y = plot.y(e.high ?? high);
      plot.add("rect", { x, y, width: Math.max(0, plot.x(ends(i)) - x), height: Math.max(1, plot.y(e.low) - y), class: "band" });
    });
    const line = (field, kind) => {
      let points = [];
      all.forEach((e, i) => {
        if (e[field] !== undefined && !(e.came && field !== "start")) points.push([e.at, e[field]], [ends(i), e[field]]);
        if (e[field] === undefined || i + 1 === all.length) {
          plot.path(points, kind, { steps: true });
          points = [];
        }
      });
    };
    if (!far) line("guarantee", "line guarantee");
    else plot.text(plot.right, plot.top + 10, "guaranteed by " + w.brief(latest) + " ↑", { "text-anchor": "end", class: "tick" });
    line("start", "line told");
    if (came) plot.dot(all.at(-1).at, all.at(-1).start, "came", "It started at " + w.text(all.at(-1).start), 5);
  }
  fit({ fit: f }) {
    if (!f) return "";
    const share = (n) => (f.slots ? Math.max(0, Math.min(100, n / f.slots * 100)) + "%" : "0");
    const lines = (title, all, say) => all?.length && [make("h3", null, title),
      make("ul", { class: "plain" }, all.map((c) => make("li", null, prose(c.text ?? c.why), ": ", say(c.slots ?? c.unmet))))];
    return card("Slots that fit", make("p", null, make("b", null, number(f.matching)), " of ", make("b", null, count(f.slots, "slot")), " match what it requires",
      f.refusing ? "; " + count(f.refusing, "slot refuses", "slots refuse") + " it." : "."),
      make("div", { class: "gauge", role: "img", "aria-label": number(f.matching) + " of " + number(f.slots) },
        make("i", { class: "use", style: { width: share(f.matching) } }), make("i", { class: "refused", style: { width: share(f.refusing) } })),
      lines("What it requires, and is not met", f.clauses, (n) => "not met on " + count(n, "slot")),
        lines("What slots require of it", f.refusals, (n) => "not met by it on " + count(n, "slot")),
      lines("Closed to it for now", f.closed, (n) => count(n, "slot")));
  }
  windows({ windows: all }) {
    if (!all?.length) return "";
    const w = this.app.words, slots = this.app.store.slots, called = (id) => slots.get(id)?.name ?? "slot " + id;
    return card("When it may start", list({
      caption: "Start windows", columns: [
        { key: "slot", title: "Slot", text: (x) => called(x.slot), node: (x) => name(called(x.slot)) },
        { key: "from", title: "From", text: (x) => w.brief(x.from) },
        { key: "until", title: "Until", text: (x) => (x.until === undefined ? "open" : w.brief(x.until)) },
      ],
    }, all.slice(0, 100)));
  }
  // ask is the form "what if I asked for less", with what the job asks for now.
  ask(r) {
    const chunks = r.chunks || 1, each = { cpus: Math.max(1, Math.round(r.cpus / chunks)), memory: Math.round((r.memory ?? 0) / chunks),
      gpus: Math.round((r.gpus ?? 0) / chunks) };
    const field = (label, value, hint) => {
      const input = make("input", { value, size: "9", "aria-label": label, autocomplete: "off" });
      return { input, label: make("label", null, label, " ", input, hint && make("small", null, " ", hint)) };
    };
    const of = chunks > 1 ? " of each chunk" : "";
    const cpus = field("Cpus" + of, String(each.cpus)), mib = field("Memory" + of, each.memory ? memory(each.memory).replace(/,/g, "") : "0"),
      time = field("Run time", writeSpan(r.requested), "such as 90m or 2h");
    const gpus = each.gpus ? field("Gpus" + of, String(each.gpus)) : null, many = chunks > 1 ? field("Chunks", String(chunks)) : null;
    const answer = make("div", { role: "status" }), button = make("button", { class: "main" }, "Ask");
    const submit = async (event) => {
      event?.preventDefault();
      for (const f of [cpus, mib, time]) f.input.removeAttribute("aria-invalid");
      const q = { cpus: Number(cpus.input.value), memory: readMemory(mib.input.value), gpus: Number(gpus?.input.value ?? 0), chunks: Number(many?.input.value ?? 1),
        owner: r.owner };
      const seconds = readSpan(time.input.value);
      for (const [bad, f, why] of [[!(Number.isInteger(q.cpus) && q.cpus > 0), cpus, "Cpus must be a whole number from 1 on."],
        [!(q.memory >= 0), mib, "Memory must be such as 4GiB or 512MiB."], [!(seconds > 0), time, "The run time must be such as 90m, 2h or 3600."]]) {
        if (!bad) continue;
        f.input.setAttribute("aria-invalid", "true");
        f.input.focus();
        replace(answer, make("p", { class: "error" }, why));
        return;
      }
      button.disabled = true;
      try {
        const found = await this.app.api("what-if", { job: { ad: adOf(q), seconds } });
        replace(answer, jobAnswer(this.app, found, {
          today: this.row?.start, take: (s) => {
            cpus.input.value = s.request.cpus;
            if (s.request.memory !== undefined) mib.input.value = s.request.memory + "MiB";
            if (many) many.input.value = s.chunks;
            time.input.value = writeSpan(s.seconds);
            submit();
          },
        }));
      } catch (error) {
        replace(answer, make("p", { class: "error", dir: "auto" }, error.message));
      }
      button.disabled = false;
    };
    this.form = make("form", { class: "pick", onsubmit: submit }, cpus.label, mib.label, gpus?.label ?? "", many?.label ?? "", time.label, button);
    replace(this.less, card("What if I asked for less?",
      make("p", { class: "hint" }, "Asks about another job like this one that came now, beside it. Nothing is changed."), this.form, answer));
  }
}
