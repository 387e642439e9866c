import { Store } from "./store.js";
import { Words, number, percent } from "./words.js";
import { empty, make, partName, prose, replace } from "./dom.js";
import { NowView } from "./now.js";
import { QueueView } from "./queue.js";
import { JobView } from "./job.js";
import { PromisesView } from "./promises.js";
import { PoolView } from "./pool.js";
import { WhatIfView } from "./whatif.js";

const byID = (id) => document.getElementById(id);
const views = { now: NowView, queue: QueueView, job: JobView, promises: PromisesView, pool: PoolView, "what-if": WhatIfView };
const names = Object.keys(views);

// Refused is an answer of the server that is an error, in its words.
class Refused extends Error {
  constructor(text, status) {
    super(text);
    this.status = status;
  }
}

// api asks the server for JSON. The body, if any, is sent as JSON.
async function api(path, body) {
  const options = body === undefined ? {} : { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) };
  let response;
  try {
    response = await fetch("api/v1/" + path, options);
  } catch {
    throw new Refused("The server does not answer.", 0);
  }
  if (response.status === 401) location.reload(); // whoever was signed in is not any more: the server asks again
  const answer = await response.json().catch(() => null);
  if (!response.ok) throw new Refused(answer?.error ?? "The server answered " + response.status + ".", response.status);
  return answer;
}

// place reads the hash: the view, what follows its name, and the parameters.
function place(hash) {
  const [path, query = ""] = hash.replace(/^#\/?/, "").split("?", 2), slash = path.indexOf("/");
  const view = slash < 0 ? path : path.slice(0, slash);
  let rest = slash < 0 ? "" : path.slice(slash + 1);
  try {
    rest = decodeURIComponent(rest);
  } catch { /* somebody wrote it by hand: as it is */ }
  return { view: names.includes(view) ? view : "now", name: rest, query: new URLSearchParams(query) };
}

class Shell {
  constructor() {
    this.store = new Store();
    this.app = { store: this.store, api, words: new Words(this.store), go: (hash) => { location.hash = hash; } };
    this.made = new Map();
    this.waits = empty("Waiting for the pool", "The page begins once a cycle has ended.");
    byID("view").prepend(this.waits);
    this.job = ""; // that was looked at last
    this.store.addEventListener("change", () => this.head());
    this.store.addEventListener("state", () => this.state());
    addEventListener("hashchange", () => this.turn());
    document.addEventListener("keydown", (event) => this.key(event));
    byID("keys").addEventListener("click", () => byID("help").showModal());
    byID("wall").addEventListener("click", () => this.wall());
    setInterval(() => { if (!document.hidden) this.tick(); }, 1000);
    byID("leave").addEventListener("click", () => this.leave());
    this.turn();
    this.state();
    this.store.start();
  }
  // turn shows the view of the hash; the others do no work.
  turn() {
    const { view, name: job, query } = place(location.hash), before = this.view;
    this.view = view;
    if (view === "job" && job) {
      this.job = job;
      byID("views").querySelector("[href^='#/job']").href = "#/job/" + encodeURIComponent(job);
    }
    if (before && before !== view) this.made.get(before)?.hide();
    for (const section of document.querySelectorAll("#view > section")) section.hidden = section.dataset.view !== view;
    for (const link of byID("views").querySelectorAll("a")) {
      if (link.hash.slice(2).split("/")[0] === view) {
        link.setAttribute("aria-current", "page");
        link.scrollIntoView({ block: "nearest", inline: "nearest" });
      }
      else link.removeAttribute("aria-current");
    }
    if (!this.made.has(view)) this.made.set(view, new views[view](document.querySelector(`#view > [data-view="${view}"]`), this.app));
    document.body.dataset.view = view;
    this.title();
    this.made.get(view).show({ name: job, query, job: query.get("job") ?? undefined });
    if (before && before !== view) {
      scrollTo(0, 0);
      byID("view").focus({ preventScroll: true });
    }
  }
  // leave signs out.
  async leave() {
    await fetch("sign-out", { method: "POST" }).catch(() => null);
    location.reload();
  }
  title() {
    const section = document.querySelector(`#view > [data-view="${this.view}"]`);
    document.title = [this.view === "job" && this.job ? [...this.job].slice(0, 60).join("") : section.getAttribute("aria-label"),
      this.store.head?.pool].filter(Boolean).join(" · ");
  }
  key(event) {
    if (event.ctrlKey || event.altKey || event.metaKey || event.defaultPrevented || byID("help").open) return;
    if (event.key === "Escape" && document.body.classList.contains("wall")) return this.wall();
    if (event.target.closest?.("input, select, textarea")) {
      if (event.key === "Escape") event.target.blur();
      return;
    }
    const number = Number(event.key);
    if (number >= 1 && number <= names.length) location.hash = byID("views").querySelectorAll("a")[number - 1].hash;
    else if (event.key === "?") byID("help").showModal();
    else if (event.key === "w") this.wall();
    else if (event.key === "/") {
      const field = document.querySelector("#view > section:not([hidden]) input[type=search]");
      if (!field) return;
      field.focus();
      field.select();
    } else return;
    event.preventDefault();
  }
  wall() {
    const on = document.body.classList.toggle("wall");
    byID("wall").setAttribute("aria-pressed", String(on));
    dispatchEvent(new Event("resize")); // charts have other room now
  }
  head() {
    const h = this.store.head, { me } = this.store.own;
    if (!h) return;
    this.waits.remove();
    byID("leave").hidden = !me.signed;
    byID("leave").title = me.user ? "You are " + me.user + "." : "";
    byID("pool").textContent = h.pool || "The pool";
    byID("pool").title = h.pool;
    byID("charge").textContent = (h.fallback ? h.fallback + " in place of " + h.policy : h.policy) + ", order " + h.order + (h.guarantees ? ", gives guarantees" : "");
    this.parts(h.parts ?? []);
    const share = h.capacity[0] ? h.use[0] / h.capacity[0] : 0;
    replace(byID("counts"),
      make("span", null, make("b", null, number(h.running)), " run"),
      make("span", null, make("b", null, number(h.waiting)), " wait"),
      make("span", { title: number(h.use[0]) + " of " + number(h.capacity[0]) + " " + h.resources[0] + " in use" }, make("b", null, percent(share)),
        " of " + h.resources[0]));
    const told = [];
    if (h.fallback) told.push("The policy " + h.policy + " was given up: " + h.fallback + " decides in its place.");
    if (h.over || h.ended_all) told.push("The simulation is over: nothing changes any more.");
    told.push(...(h.problems ?? []));
    const text = told.join("\n"), banner = byID("problems");
    if (banner.dataset.told !== text) {
      banner.dataset.told = text;
      banner.hidden = !told.length;
      replace(banner, told.length > 1 ? make("ul", null, told.map((line) => make("li", null, prose(line)))) : prose(text));
    }
    this.title();
    this.tick();
    this.state();
  }
  // parts says whose slots are shown, where several negotiators are at work, and leads to the others' pages.
  parts(all) {
    const told = JSON.stringify(all.map((part) => [part.negotiator, part.page]));
    if (told === this.told) return;
    this.told = told;
    const own = all.find((part) => part.own), others = all.filter((part) => !part.own);
    replace(byID("parts"), own ? ["slots of ", make("b", null, partName(own)), "; see also ",
      ...others.flatMap((part, i) => [i ? ", " : "", partName(part)])] : "");
  }
  tick() {
    const h = this.store.head;
    if (h) byID("clock").textContent = this.app.words.text(Math.floor(this.store.now()));
  }
  state() {
    const state = this.store.state, link = byID("link");
    const h = this.store.head;
    const text = state === "live" ? (h?.simulated ? "simulated" + (h.speed ? ", × " + h.speed : "") : "live")
      : state === "gone" ? "the server is gone since " + (this.store.since ?? new Date()).toTimeString().slice(0, 8) : h ? "connecting again…" : "connecting…";
    link.className = state;
    if (link.textContent !== text) link.textContent = text;
    link.title = state === "live" ? "What is shown is as of now." : "What is shown is as of " + (h ? this.app.words.text(h.now) : "never") + ".";
  }
}

const shell = new Shell();
// For tests, and for those who look into the page.
globalThis.shell = shell;
