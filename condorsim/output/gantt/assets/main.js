// Puts the parts together and answers to pointer, wheel and keys.
const paper = matchMedia("print");
const margin = Math.max(1, encoded.end - encoded.begin) * 0.01;
const view = new View({
  left: 58, top: clocks.length ? 34 : 22,
  limits: { t0: encoded.begin - margin, t1: encoded.end + margin, l0: 0, l1: lanesInAll },
});
const painter = new Painter(view);
const overview = new Overview(view, painter);
const stage = document.getElementById("stage");
const state = { time: null, hovered: null, chosen: null, reserved: true };

// Drawing waits for the next frame; what is asked for twice is drawn once.
let pending = 0;
const all = 2, above = 1;
function redraw(what) {
  if (!pending) requestAnimationFrame(draw);
  pending = Math.max(pending, what);
}
function draw() {
  const wanted = pending;
  pending = 0;
  if (wanted === all) {
    painter.draw();
    overview.draw();
  }
  if (wanted) {
    painter.follow(state);
    showInstant(state.time);
  }
}
// A change of size empties the canvases, so they are drawn before anybody sees it.
function fit() {
  painter.resize();
  pending = all;
  draw();
}
view.listeners.push(() => redraw(all));

// The job at a place of the stage; of several within a pixel the nearest.
function jobAt(x, y) {
  const t = view.time(x), lane = view.lane(y), pixel = (view.t1 - view.t0) / (view.width - view.left);
  let best = null, nearest = Infinity;
  running.each(t - pixel, t + pixel, (job) => {
    for (let p = jobs.first[job]; p < jobs.first[job + 1]; p++) {
      if (lane < jobs.lane[p] || lane >= jobs.lane[p] + jobs.lanes[p]) continue;
      const distance = Math.max(jobs.start[job] - t, t - jobs.end[job], 0);
      if (distance < nearest) [best, nearest] = [job, distance];
    }
  });
  return best;
}

function choose(job) {
  state.chosen = job;
  showJob(job);
  redraw(above);
}

// Brings a job into sight, with its wait and its guarantee.
const reveal = (job) => view.reveal({
  from: jobs.submit[job], to: Math.max(jobs.planned[job], jobs.promised[job] || -Infinity),
  start: jobs.start[job], end: jobs.end[job], lane: jobs.lane[jobs.first[job]],
});

// The next or the previous job by start.
function step(by) {
  const list = running.members;
  const at = state.chosen === null ? -1 : list.indexOf(state.chosen);
  const next = at < 0 ? (by > 0 ? list.findIndex((job) => jobs.start[job] >= view.t0) : list.length - 1) : Math.min(Math.max(at + by, 0), list.length - 1);
  if (next < 0 || !list.length) return;
  choose(list[next]);
  reveal(list[next]);
}
new Hand(stage, view, {
  hover: (x, y, event) => {
    const inside = x > view.left && y > view.top;
    state.time = inside ? Math.min(Math.max(view.time(x), encoded.begin), encoded.end) : null;
    state.hovered = inside ? jobAt(x, y) : null;
    showTip(state.hovered, event);
    redraw(above);
  },
  away: () => {
    state.hovered = null;
    showTip(null);
    redraw(above);
  },
  click: (x, y) => choose(jobAt(x, y)),
  keys: { "[": () => step(-1), "]": () => step(1), Escape: () => choose(null) },
});
document.getElementById("in").addEventListener("click", () => view.zoom(0.6));
document.getElementById("out").addEventListener("click", () => view.zoom(1 / 0.6));
document.getElementById("fit").addEventListener("click", () => view.all());
document.getElementById("colour").addEventListener("change", (event) => {
  painter.colour(event.target.value);
  showLegend(painter.legend);
  redraw(all);
});
document.getElementById("reserved").addEventListener("change", (event) => {
  state.reserved = event.target.checked;
  redraw(above);
});
document.getElementById("search").addEventListener("submit", (event) => {
  event.preventDefault();
  const query = document.getElementById("query").value.trim();
  const job = jobs.names.indexOf(query);
  document.getElementById("found").textContent = job >= 0 || !query ? "" : whyMissing(query);
  if (job < 0) return;
  choose(job);
  if (!Number.isNaN(jobs.start[job])) reveal(job);
});
function dress() {
  painter.theme();
  showLegend(painter.legend);
  redraw(all);
}
addEventListener("themechange", dress);
// Paper has colours and a size of its own, and waits for no frame.
paper.addEventListener("change", () => {
  dress();
  fit();
});
new ResizeObserver(() => { if (!paper.matches) fit(); }).observe(stage);

painter.resize();
document.getElementById("colour").value = painter.colourBy;
showLegend(painter.legend);
showJob(null);
state.time = encoded.begin;
redraw(all);
