import { some } from "./now-panel.js";

// Finder looks for jobs, users and slots: what is found stays bright, and Enter
// goes from one to the next.
export class Finder {
  constructor(view) {
    this.view = view;
    this.text = "";
    this.at = -1;
    view.query.addEventListener("input", () => this.look(view.query.value));
    view.search.addEventListener("submit", (event) => {
      event.preventDefault();
      this.look(view.query.value);
      this.next();
    });
    view.query.addEventListener("keydown", (event) => { if (event.key === "Escape") this.clear(); });
  }
  look(text) {
    text = text.trim().toLowerCase();
    if (text === this.text) return;
    this.text = text;
    this.at = -1;
    this.renew();
    this.view.redraw(2);
  }
  // Looks anew, as the picture is another.
  renew() {
    const { view, text } = this;
    [this.jobs, this.rows] = [[], []];
    if (text || view.painter.search) view.painter.bands.forget();
    view.painter.search = null;
    view.painter.copied = false;
    view.found.textContent = "";
    if (!text || !view.store.head) return;
    for (const job of view.store.jobs.values()) {
      if (job.job.toLowerCase().includes(text) || (job.owner || "").toLowerCase().includes(text)) this.jobs.push(job);
    }
    this.rows = view.lanes.rows.filter((row) => row.slot.name.toLowerCase().includes(text));
    const ids = new Set(this.jobs.map((job) => job.id));
    if (ids.size) view.painter.search = (job) => ids.has(job.id);
    const found = [];
    if (this.jobs.length) found.push(some(this.jobs.length, "job"));
    if (this.rows.length) found.push(some(this.rows.length, "slot"));
    view.found.textContent = found.length ? found.join(", ") : "nothing here has this name";
  }
  // Goes to the next that was found: a job of just this name first, then jobs by
  // start, then slots.
  next() {
    const { view, text } = this;
    if (!text) return;
    const exact = (job) => Number(job.job.toLowerCase() === text);
    const list = [...this.jobs.sort((a, b) => exact(b) - exact(a) || a.start - b.start || a.id - b.id), ...this.rows];
    if (!list.length) return;
    this.at = (this.at + 1) % list.length;
    const one = list[this.at];
    if (one.slot === undefined) view.goTo(one.job);
    else {
      view.choose(null);
      view.state.slot = one;
      view.panel.slot(one, view.store.head.resources);
      const rows = Math.max(one.lanes * 3, (view.view.height - view.view.top) / 8);
      view.view.lanes(one.lane + one.lanes / 2 - rows / 2, one.lane + one.lanes / 2 + rows / 2);
    }
    if (list.length > 1) view.found.textContent = this.at + 1 + " of " + list.length;
  }
  clear() {
    this.view.query.value = "";
    this.look("");
    this.view.choose(null);
  }
}
