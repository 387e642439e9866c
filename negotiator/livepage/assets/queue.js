import { empty, jobLink, make, name, prose, replace } from "./dom.js";
import { Fresh } from "./fresh.js";
import { Table } from "./table.js";
import { count, duration, number, requests, situations } from "./words.js";

const page = 200;

// QueueView lists those who wait. Its state is in the hash, so that it can be linked to.
export class QueueView {
  constructor(root, app) {
    Object.assign(this, { root, app });
    this.wanted = { alike: "1" };
    this.make();
    this.fresh = new Fresh(app.store, 2000, () => app.api("queue?" + this.query()), (answer) => this.fill(answer), (error) => this.failed(error));
  }
  make() {
    const changed = () => this.choose();
    this.search = make("input", { type: "search", placeholder: "job, owner, reason, slot", "aria-label": "Search", maxlength: "200" });
    this.search.addEventListener("input", () => {
      clearTimeout(this.typing);
      this.typing = setTimeout(changed, 250);
    });
    this.owner = make("select", { onchange: changed });
    this.group = make("select", { onchange: changed });
    this.situation = make("select", { onchange: changed }, make("option", { value: "" }, "any"),
    ["reserved", "waits", "held"].map((s) => make("option", { value: s }, situations[s])));
    this.alike = make("input", { type: "checkbox", onchange: changed });
    this.groupLabel = make("label", null, "Group ", this.group);
    this.cluster = make("button", { type: "button", class: "chip", title: "Show all again", onclick: () => this.choose({ autocluster: "" }) });
    this.bar = make("form", { class: "pick", role: "search", onsubmit: (event) => event.preventDefault() },
      make("label", null, "Search ", this.search), make("label", null, "Owner ", this.owner), this.groupLabel,
      make("label", null, "Job ", this.situation), make("label", null, this.alike, " Alike jobs as one line"), this.cluster);
    this.says = make("p", { class: "says", role: "status" });
    const w = this.app.words, at = (t) => (t === undefined ? "" : w.brief(t));
    this.table = new Table({
      caption: "Jobs that wait", kind: "cards", sort: "position", key: (r) => r.id,
        choose: (sort, descending) => this.choose({ sort, descending: descending ? "1" : "" }, false),
      columns: [
        { key: "job", title: "Job", text: (r) => r.job + "\n" + r.jobs, node: (r) => this.names(r) },
        { key: "position", title: "Place", sort: "position", number: true, text: (r) => (r.position ? number(r.position) : ""),
          why: "The place in the queue's order" },
        { key: "owner", title: "Owner", sort: "owner", text: (r) => r.owner + (r.group ? "\n" + r.group : ""),
          node: (r) => [name(r.owner, 24), r.group && make("small", null, " ", name(r.group, 24))].filter(Boolean) },
        { key: "start", title: "Starts", sort: "start", text: (r) => this.starts(r), node: (r) => make("b", null, this.starts(r)),
          why: "When it is expected to start, as of now; of alike jobs the first and the last" },
        { key: "range", title: "8 of 10 cases", text: (r) => w.range(r.low, r.high), why: "Between when it starts in eight of ten cases" },
        { key: "guarantee", title: "Guarantee", sort: "guarantee", text: (r) => at(r.guarantee), why: "The latest start that it was promised" },
        { key: "reason", title: "Why not yet", wide: true, text: (r) => r.situation + "\n" + r.reason + "\n" + (r.behind ?? ""), node: (r) => this.reason(r) },
        { key: "cpus", title: "Asks for", sort: "cpus", text: (r) => requests(r) },
        { key: "requested", title: "For", sort: "requested", text: (r) => duration(r.requested) + (r.predicted ? "\nabout " + duration(r.predicted) : ""),
          node: (r) => [duration(r.requested), r.predicted && make("small", null, " runs about " + duration(r.predicted))].filter(Boolean) },
        { key: "submit", title: "Waits since", sort: "submit", text: (r) => at(r.submit) },
        { key: "places", title: "On", text: (r) => r.places ?? "", node: (r) => name(r.places, 32) },
      ],
    });
    this.earlier = make("button", { type: "button", onclick: () => this.turn(-page) }, "‹ Before");
    this.later = make("button", { type: "button", onclick: () => this.turn(page) }, "Further ›");
    this.pages = make("span", { class: "hint" });
    this.pager = make("p", { class: "pager" }, this.earlier, this.pages, this.later);
    this.none = make("div");
    this.table.element.hidden = this.pager.hidden = true; // until there is an answer
    this.root.append(this.bar, this.says, this.table.element, this.none, this.pager);
  }
  names(r) {
    if (r.jobs === 1) return jobLink(r.job, 32);
    const more = make("button", { type: "button", class: "more", title: "Show each of them",
      onclick: () => this.choose({ alike: "0", owner: r.owner, group: r.group ?? "", autocluster: r.autocluster }) }, "+ " + number(r.jobs - 1) + " alike");
    return [jobLink(r.job, 32), " ", more];
  }
  starts(r) {
    const w = this.app.words;
    if (r.start === undefined) return "not foreseen";
    const first = r.start <= w.now ? "now" : w.brief(r.start);
    return r.jobs > 1 && r.last !== undefined && r.last !== r.start ? first + " … " + w.brief(r.last) : first;
  }
  reason(r) {
    const parts = [];
    if (r.situation !== "waits") parts.push(make("span", { class: r.situation === "held" ? "mark bad" : "mark good" },
      r.situation === "reserved" ? r.situation : situations[r.situation] ?? r.situation), " ");
    parts.push(prose(this.app.words.whyNot(r)));
    if (r.behind && !r.reason.includes(r.behind)) parts.push("; behind ", jobLink(r.behind, 24));
    return parts;
  }
  query() {
    const all = { limit: String(page), ...this.wanted };
    return new URLSearchParams(Object.entries(all).filter(([, value]) => value !== "" && value !== undefined));
  }
  // choose reads the controls and asks again, from the first page on. The hash has what was chosen.
  choose(changes = {}, controls = true) {
    if (controls) {
      Object.assign(this.wanted, { search: this.search.value, owner: this.owner.value, group: this.group.value, situation: this.situation.value,
        alike: this.alike.checked ? "1" : "0" });
    }
    Object.assign(this.wanted, { offset: "" }, changes);
    this.keep();
    this.reflect();
    this.fresh.now();
  }
  turn(by) {
    this.wanted.offset = String(Math.max(0, Number(this.wanted.offset ?? 0) + by) || "");
    this.table.element.scrollTop = 0;
    this.keep();
    this.fresh.now();
  }
  keep() {
    const kept = new URLSearchParams(Object.entries(this.wanted).filter(([key, value]) => value && !(key === "alike" && value === "1")));
    history.replaceState(null, "", "#/queue" + (kept.size ? "?" + kept : ""));
  }
  // reflect has the controls show what is wanted.
  reflect() {
    const q = this.wanted;
    if (document.activeElement !== this.search) this.search.value = q.search ?? "";
    this.situation.value = q.situation ?? "";
    this.alike.checked = q.alike !== "0";
    for (const [select, value] of [[this.owner, q.owner ?? ""], [this.group, q.group ?? ""]]) {
      if (![...select.options].some((o) => o.value === value)) select.append(make("option", { value }, value || "all"));
      select.value = value;
    }
    this.groupLabel.hidden = this.group.options.length < 2;
    this.cluster.hidden = !q.autocluster;
    this.cluster.textContent = "Alike jobs of cluster " + q.autocluster + " ✕";
    this.table.sort = q.sort || "position";
    this.table.descending = q.descending === "1";
    this.table.mark();
  }
  show({ query }) {
    if (query.size) this.wanted = { alike: "1", ...Object.fromEntries(query) };
    this.keep();
    this.reflect();
    this.fresh.start();
    this.fresh.now();
  }
  hide() { this.fresh.stop(); }
  options(select, all, any) {
    const chosen = select.value, listed = [...new Set([...(chosen ? [chosen] : []), ...all])];
    const text = listed.join("\n");
    if (select.listed === text) return;
    select.listed = text;
    replace(select, make("option", { value: "" }, any), listed.map((value) => make("option", { value }, [...value].slice(0, 60).join("") || "(none)")));
    select.value = chosen;
  }
  fill(a) {
    this.options(this.owner, a.owners, "all");
    this.options(this.group, a.groups, "all");
    this.reflect();
    for (const key of ["places", "range", "guarantee"]) this.table.hide(key, a.rows.length > 0 && !a.rows.some((r) => r[key === "range" ? "low" : key]));
    this.table.show(a.rows);
    const filtered = ["search", "owner", "group", "situation", "autocluster"].some((key) => this.wanted[key]);
    const waiting = this.app.store.head?.waiting ?? a.jobs;
    this.says.className = "says";
    this.says.textContent = (filtered ? count(a.jobs, "job") + " of " + number(waiting) + " that wait" : count(a.jobs, "job waits", "jobs wait"))
      + (a.total < a.jobs ? ", in " + count(a.total, "line") : "") + "."
      + (a.further ? " " + count(a.further, "further job waits", "further jobs wait") + " behind these: not listed, as they are beyond what is planned." : "");
    this.table.element.hidden = !a.rows.length;
    replace(this.none, a.rows.length ? [] : [filtered ? empty("No job that waits is like that.", "Search for less, or show all again.") : empty("Nobody waits.",
      "Jobs that wait will be listed here, with when they are expected to start, and why not sooner.")]);
    const last = a.offset + a.rows.length;
    this.pager.hidden = a.total <= page && a.offset === 0;
    this.pages.textContent = a.rows.length ? number(a.offset + 1) + " to " + number(last) + " of " + number(a.total) : "";
    this.earlier.disabled = a.offset === 0;
    this.later.disabled = last >= a.total;
  }
  failed(error) {
    this.says.className = "says error";
    this.says.textContent = error.message;
  }
}
