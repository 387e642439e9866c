import { adOf, answered } from "./asked.js";
import { make, replace, wellFormed } from "./dom.js";
import { readMemory, readSpan, writeSpan } from "./words.js";

// What can be named. A test holds these lists against the policies, orders and estimators that there are.
const policies = ["bb", "best-fit", "conservative", "dc", "drain", "easy", "fcfs", "first-fit", "ibb", "maui", "pc", "slack", "slack-small"];
const orders = ["area", "fairshare", "fcfs", "fifo", "ljf", "narrowest", "sjf", "wfp", "wfp-wide", "widest", "xfactor"];
const estimators = ["requested", "user", "project", "combined", "selective", "tsafrir", "learned"];

// A Wrong is what is wrong with a field.
class Wrong extends Error {
  constructor(field, text) {
    super(text);
    this.field = field;
  }
}

// WhatIfView asks the questions of negotiator what-if.
export class WhatIfView {
  constructor(root, app) {
    Object.assign(this, { root, app });
    this.fields = {};
    this.answer = make("div", { role: "status", "aria-live": "polite" });
    this.button = make("button", { class: "main" }, "Ask");
    this.about = "job";
    this.tabs = ["job", "change"].map((about) => make("label", { class: "tab" },
      make("input", { type: "radio", name: "about", value: about, checked: about === "job", onchange: () => this.turn(about) }),
        about === "job" ? "When would a job start?" : "What would other rules or slots do?"));
    this.parts = {
      job: make("fieldset", null, make("legend", null, "A job"), make("div", { class: "grid" },
        this.field("cpus", "Cpus", "1", "of each chunk"), this.field("memory", "Memory", "1GiB", "such as 64GiB; MiB without a unit"),
          this.field("time", "Run time", "1h", "seconds, or such as 90m or 2h"),
        this.field("gpus", "Gpus", "0", "of each chunk"), this.field("disk", "Disk", "0", "such as 10GiB; KiB without a unit"),
          this.field("chunks", "Chunks", "1", "start together, on any slots"), this.field("owner", "Owner", "", "whose job it is"))),
      change: make("div", { hidden: true },
        make("fieldset", null, make("legend", null, "Another policy"), make("div", { class: "grid" },
          this.field("policy", "Policy", "", "by name; none: the one in charge", policies), this.field("options", "Options", "", "K=V, with commas between"),
            this.field("order", "Order of the queue", "", "by name", orders), this.field("estimates", "Run times by", "", "an estimator", estimators))),
        make("fieldset", null, make("legend", null, "Slots away"),
          make("div", { class: "grid" }, this.field("without", "Without", "", "slots or machines, with commas between"))),
        make("fieldset", null, make("legend", null, "More slots"), make("div", { class: "grid" },
          this.field("count", "How many", "", "such as 4"), this.field("withCpus", "Cpus of each", "", ""),
            this.field("withMemory", "Memory of each", "", "such as 256GiB"), this.field("like", "Like slot", "", "whose ad they have; none: the first"))),
        make("fieldset", null, make("legend", null, "A drain"), make("div", { class: "grid" },
          this.field("drain", "Slots", "", "slots or machines, with commas between"), this.field("from", "In", "", "such as 2h; none: now"),
            this.field("for", "For", "", "such as 4h")))),
    };
    this.form = make("form", { class: "card questions", novalidate: true, onsubmit: (event) => this.ask(event) },
      make("div", { class: "tabs", role: "radiogroup", "aria-label": "About what" }, this.tabs), this.parts.job, this.parts.change,
      make("p", null, this.button, " ", this.wrong = make("span", { class: "error", role: "alert", dir: "auto" })));
    root.append(make("h1", null, "What if?"), make("p", { class: "lead" }, "Nothing is touched: each answer compares plans that are made of a copy of the pool."),
      this.form, this.answer);
  }
  field(id, label, value, hint, list) {
    const input = make("input", { id: "q-" + id, value, autocomplete: "off", spellcheck: "false", list: list && "q-list-" + id, "aria-describedby": "q-hint-" + id,
      maxlength: "20000" });
    this.fields[id] = input;
    return make("div", { class: "field" }, make("label", { for: "q-" + id }, label), input, make("small", { id: "q-hint-" + id }, hint),
      list && make("datalist", { id: "q-list-" + id }, list.map((v) => make("option", { value: v }))));
  }
  turn(about) {
    this.about = about;
    for (const [part, element] of Object.entries(this.parts)) element.hidden = part !== about;
    this.clear();
  }
  show({ query }) {
    // A real pool answers no questions about options, which can make a plan as expensive as they like.
    const options = () => { this.fields.options.parentElement.hidden = this.app.store.head?.simulated === false; };
    options();
    this.app.store.addEventListener("change", options, { once: true });
    if (!query?.size) return;
    for (const [id, value] of query) if (this.fields[id]) this.fields[id].value = value;
    const about = query.get("about") === "change" ? "change" : "job";
    this.tabs[about === "job" ? 0 : 1].querySelector("input").checked = true;
    this.turn(about);
  }
  hide() { /* nothing goes on */ }
  clear() {
    this.wrong.textContent = "";
    for (const input of Object.values(this.fields)) {
      input.removeAttribute("aria-invalid");
      input.parentElement.querySelector(".error")?.remove();
    }
  }
  value(id) { return this.fields[id].value.trim(); }
  names(id) { return this.value(id).split(/[,\n]/).map((s) => s.trim()).filter(Boolean); }
  whole(id, least, empty) {
    const text = this.value(id);
    if (text === "" && empty !== undefined) return empty;
    if (!/^\d+$/.test(text) || Number(text) < least || !Number.isSafeInteger(Number(text))) throw new Wrong(id, "must be a whole number from " + least + " on");
    return Number(text);
  }
  // KiB are as exact as fields ask for: plain is how many of the unit a MiB is not.
  bytes(id, per = 1) {
    const text = this.value(id), plain = /^\d+$/.test(text);
    const n = text === "" ? 0 : plain ? Number(text) : readMemory(text) * per;
    if (!Number.isSafeInteger(n)) throw new Wrong(id, "must be such as 64GiB or 512MiB");
    return n;
  }
  span(id, empty) {
    const text = this.value(id), seconds = text === "" && empty !== undefined ? empty : readSpan(text.replace(/^\+/, ""));
    if (!Number.isSafeInteger(seconds) || seconds < (empty ?? 1)) throw new Wrong(id, "must be seconds, or such as 90m, 2h or 1h30m");
    return seconds;
  }
  // question is what the fields ask; it throws a Wrong.
  question() {
    if (this.about === "job") {
      const job = { cpus: this.whole("cpus", 1), memory: this.bytes("memory"), disk: this.bytes("disk", 1024), gpus: this.whole("gpus", 0, 0),
        chunks: this.whole("chunks", 1, 1), owner: this.value("owner") };
      return { job: { ad: adOf(job), seconds: this.span("time") } };
    }
    const q = {};
    for (const id of ["policy", "order", "estimates"]) if (this.value(id)) q[id] = this.value(id);
    if (this.value("options")) {
      if (!q.policy) throw new Wrong("policy", "name the policy whose options these are");
      q.options = Object.fromEntries(this.names("options").map((pair) => {
        const [, k, v] = /^([^=\s]+)\s*=\s*(.*)$/.exec(pair) ?? [];
        if (!k) throw new Wrong("options", "must be K=V");
        return [k, v];
      }));
    }
    if (this.names("without").length) q.without = this.names("without");
    if (this.value("count") || this.value("withCpus") || this.value("withMemory")) {
      const amounts = { cpus: this.whole("withCpus", 1) };
      if (this.value("withMemory")) amounts.memory = this.bytes("withMemory");
      q.with = [{ count: this.whole("count", 1, 1), amounts, ...(this.value("like") && { like: this.value("like") }) }];
    }
    if (this.value("from") || this.value("for") || this.names("drain").length) {
      if (!this.names("drain").length) throw new Wrong("drain", "name what to drain");
      const from = Math.floor(this.app.words.now) + this.span("from", 0), lasts = this.span("for");
      q.drain = this.names("drain").map((slot) => ({ slot, from, for: lasts }));
    }
    if (!Object.keys(q).length) throw new Wrong("policy", "say what is to be otherwise");
    return q;
  }
  async ask(event) {
    event?.preventDefault();
    this.clear();
    let q;
    try {
      q = this.question();
    } catch (wrong) {
      if (!(wrong instanceof Wrong)) throw wrong;
      this.blame(wrong.field, wrong.message);
      return;
    }
    this.keep();
    this.button.disabled = true;
    this.button.textContent = "Planning…";
    try {
      const found = await this.app.api("what-if", q);
      replace(this.answer, answered(this.app, found, { take: (s) => this.take(s) }));
      this.answer.scrollIntoView({ block: "nearest", behavior: "auto" });
    } catch (error) {
      replace(this.answer); // it was to another question
      const field = error.status === 400 && this.guess(error.message);
      if (field) this.blame(field, error.message);
      else this.wrong.textContent = error.message;
    }
    this.button.disabled = false;
    this.button.textContent = "Ask";
  }
  // keep has the hash say what was asked, so that it can be sent to somebody, who can ask it again.
  keep() {
    const inside = Object.entries(this.fields).filter(([, input]) => this.parts[this.about].contains(input) && input.value.trim());
    const asked = new URLSearchParams([["about", this.about], ...inside.map(([id, input]) => [id, wellFormed(input.value.trim())])]);
    history.replaceState(null, "", "#/what-if?" + asked);
  }
  blame(id, text) {
    const input = this.fields[id];
    input.setAttribute("aria-invalid", "true");
    input.parentElement.append(make("small", { class: "error", role: "alert", dir: "auto" }, text));
    input.focus();
  }
  // guess finds the field that the server's refusal is about, by its words; "": none.
  guess(text) {
    const shown = this.about === "job" ? ["cpus", "memory", "time", "gpus", "disk", "chunks"] : ["policy", "order", "estimates", "without", "drain", "like",
      "options"];
    const about = { policy: /policy/i, order: /order/i, estimates: /estimator/i, options: /option/i, memory: /memory/i, gpus: /gpu/i, disk: /disk/i,
      time: /run time/i };
    return shown.find((id) => this.value(id) && this.value(id).length > 2 && text.includes(this.value(id))) ?? shown.find((id) => this.value(id) && about[id]?.test(text)) ?? "";
  }
  // take asks about a job that would start sooner.
  take(s) {
    const { cpus, memory, disk, gpus } = s.request;
    Object.assign(this.fields.cpus, { value: cpus });
    if (memory !== undefined) this.fields.memory.value = memory + "MiB";
    if (disk !== undefined) this.fields.disk.value = String(disk);
    if (gpus !== undefined) this.fields.gpus.value = String(gpus);
    this.fields.chunks.value = String(s.chunks);
    this.fields.time.value = writeSpan(s.seconds);
    this.ask();
  }
}
