// Draws jobs by their waits in both schedules, on logarithmic axes, and names the
// job of a dot that is pointed at. A dot is all jobs of one step of both axes, so
// that a page has some thousands of them however many jobs there are.
(() => {
  const paper = matchMedia("print");
  const ticks = [[1, "1 s"], [10, "10 s"], [60, "1 min"], [600, "10 min"], [3600, "1 h"], [36000, "10 h"], [86400, "1 d"], [864000, "10 d"], [8640000, "100 d"]];
  const group = new Intl.NumberFormat("en-US");

  class Dots {
    constructor(card) {
      this.canvas = card.querySelector("canvas");
      this.picture = document.createElement("canvas"); // without the mark
      this.said = card.querySelector(".said");
      const data = JSON.parse(card.querySelector("script").textContent);
      Object.assign(this, data, { steps: data.decades * data.per + 1, chosen: -1 });
      this.changed = this.dots.map((_, i) => i).sort((i, k) => this.change(k) - this.change(i) || i - k);
      this.at = new Map(this.dots.map((dot, i) => [dot[0] * 4096 + dot[1], i]));
      this.canvas.addEventListener("pointermove", (event) => this.point(event));
      this.canvas.addEventListener("pointerdown", (event) => this.point(event));
      this.canvas.addEventListener("keydown", (event) => this.step(event));
    }
    change(i) { return Math.abs(this.dots[i][8] - this.dots[i][7]); }
    // Where a step of an axis is, from 0 to 1; no wait has a place of its own at the beginning.
    place(step) { return step === 0 ? 0.015 : 0.06 + 0.93 * (step - 1) / Math.max(1, this.steps - 1); }
    x(step) { return this.left + this.place(step) * this.size; }
    y(step) { return this.top + (1 - this.place(step)) * this.size; }
    draw() {
      const box = this.canvas.getBoundingClientRect(), ratio = devicePixelRatio || 1;
      if (!box.width) return; // it is not shown
      for (const canvas of [this.canvas, this.picture]) {
        canvas.width = Math.round(box.width * ratio);
        canvas.height = Math.round(box.height * ratio);
      }
      this.canvas.getContext("2d").scale(ratio, ratio);
      const c = this.picture.getContext("2d");
      c.scale(ratio, ratio);
      const style = getComputedStyle(document.documentElement);
      const colour = (name) => style.getPropertyValue("--" + name).trim();
      this.left = 62;
      this.top = 6;
      this.size = Math.min(box.width - this.left - 6, box.height - this.top - 38);
      c.font = "11px system-ui, sans-serif";
      c.lineWidth = 1;
      const end = this.left + this.size, base = this.top + this.size;
      let last = -99;
      for (const [seconds, text] of [[0, "0"], ...ticks]) {
        const step = seconds && 1 + this.per * Math.log10(seconds);
        if (step > this.steps) break;
        c.strokeStyle = colour("line");
        c.beginPath();
        c.moveTo(this.x(step), this.top);
        c.lineTo(this.x(step), base);
        c.moveTo(this.left, this.y(step));
        c.lineTo(end, this.y(step));
        c.stroke();
        c.fillStyle = colour("soft");
        c.textAlign = "right";
        c.fillText(text, this.left - 5, this.y(step) + 4);
        c.textAlign = "center";
        if (this.x(step) - last < 40) continue;
        last = this.x(step);
        c.fillText(text, last, base + 14);
      }
      c.fillText("wait under " + this.canvas.dataset.a, this.left + this.size / 2, base + 31, this.size);
      c.save();
      c.translate(9, this.top + this.size / 2);
      c.rotate(-Math.PI / 2);
      c.fillText("wait under " + this.canvas.dataset.b, 0, 0, this.size);
      c.restore();
      c.strokeStyle = colour("soft");
      c.beginPath();
      c.moveTo(this.x(0), this.y(0));
      c.lineTo(end, this.top);
      c.stroke();
      const inks = { less: colour("good-ink"), more: colour("bad-ink"), same: colour("soft") };
      this.dots.forEach((dot) => {
        c.fillStyle = dot[1] < dot[0] ? inks.less : dot[1] > dot[0] ? inks.more : inks.same;
        c.globalAlpha = 0.75;
        c.beginPath();
        c.arc(this.x(dot[0]), this.y(dot[1]), this.radius(dot), 0, 7);
        c.fill();
      });
      c.globalAlpha = 1;
      this.mark();
    }
    radius(dot) { return Math.min(7, 1.3 + 0.8 * Math.log2(dot[2])); }
    // Marks the chosen dot on the picture that was drawn.
    mark() {
      const c = this.canvas.getContext("2d"), { width, height } = this.canvas.getBoundingClientRect();
      c.clearRect(0, 0, width, height);
      c.drawImage(this.picture, 0, 0, width, height);
      if (this.chosen < 0) return;
      const dot = this.dots[this.chosen];
      c.strokeStyle = getComputedStyle(document.documentElement).getPropertyValue("--ink").trim();
      c.lineWidth = 2;
      c.beginPath();
      c.arc(this.x(dot[0]), this.y(dot[1]), this.radius(dot) + 2.5, 0, 7);
      c.stroke();
    }
    // The dot nearest to a place, at most 14 pixels off; −1: none is near.
    nearest(x, y) {
      let best = -1, least = 14 * 14;
      const reach = Math.ceil(14 / (0.93 * this.size / Math.max(1, this.steps - 1))) + 1;
      const across = this.stepAt((x - this.left) / this.size), up = this.stepAt(1 - (y - this.top) / this.size);
      for (let i = Math.max(0, across - reach); i <= across + reach; i++) {
        for (let k = Math.max(0, up - reach); k <= up + reach; k++) {
          const found = this.at.get(i * 4096 + k);
          if (found === undefined) continue;
          const off = (this.x(i) - x) ** 2 + (this.y(k) - y) ** 2;
          if (off < least) [best, least] = [found, off];
        }
      }
      return best;
    }
    stepAt(place) { return place < 0.0375 ? 0 : 1 + Math.round((place - 0.06) / 0.93 * Math.max(1, this.steps - 1)); }
    point(event) {
      const box = this.canvas.getBoundingClientRect();
      this.choose(this.nearest(event.clientX - box.left, event.clientY - box.top));
    }
    step(event) {
      const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (!by) return;
      event.preventDefault();
      const n = this.changed.length, now = this.changed.indexOf(this.chosen);
      this.choose(this.changed[now < 0 ? 0 : (now + by + n) % n]);
    }
    choose(i) {
      if (i < 0 || i === this.chosen) return;
      this.chosen = i;
      const [, , jobs, job, user, cpus, run, a, b, when] = this.dots[i];
      const seconds = (v) => group.format(v) + " s";
      this.said.textContent = "job " + job + (user && " of " + user) + ", " + group.format(cpus) + " cpus, runs " + seconds(run) +
        ", submitted " + when + "\nwaits " + seconds(a) + " under " + this.canvas.dataset.a + ", " + seconds(b) + " under " +
        this.canvas.dataset.b + " (" + (b > a ? "+" : "") + group.format(b - a).replace("-", "−") + " s)" +
        (jobs > 1 ? "\nand " + group.format(jobs - 1) + (jobs > 2 ? " jobs" : " job") + " more that wait about as long" : "");
      this.mark();
    }
  }
  const all = [...document.querySelectorAll(".dots")].map((card) => new Dots(card));
  const draw = () => all.forEach((dots) => dots.draw());
  addEventListener("themechange", draw);
  addEventListener("resize", draw);
  paper.addEventListener("change", draw);
  draw();
  window.compared = all; // for tests
})();
