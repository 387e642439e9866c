// Puts the parts together and answers to pointer, wheel and keys.
const paper = matchMedia("print");
const view = new View();
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

const place = (event) => {
  const box = stage.getBoundingClientRect();
  return [event.clientX - box.left, event.clientY - box.top];
};

let drag = null;
stage.addEventListener("pointerdown", (event) => {
  if (event.button !== 0) return;
  const [x, y] = place(event);
  drag = { x, y, t0: view.t0, t1: view.t1, l0: view.l0, l1: view.l1, moved: false };
  stage.setPointerCapture(event.pointerId);
});
stage.addEventListener("pointermove", (event) => {
  const [x, y] = place(event);
  if (drag) {
    drag.moved = drag.moved || Math.hypot(x - drag.x, y - drag.y) > 3;
    if (!drag.moved) return;
    stage.classList.add("moving");
    const dt = (drag.x - x) / (view.width - view.left) * (drag.t1 - drag.t0), dl = (drag.y - y) / (view.height - view.top) * (drag.l1 - drag.l0);
    view.times(drag.t0 + dt, drag.t1 + dt);
    view.lanes(drag.l0 + dl, drag.l1 + dl);
    showTip(null);
    return;
  }
  const inside = x > view.left && y > view.top;
  state.time = inside ? Math.min(Math.max(view.time(x), encoded.begin), encoded.end) : null;
  state.hovered = inside ? jobAt(x, y) : null;
  showTip(state.hovered, event);
  redraw(above);
});
stage.addEventListener("pointerup", (event) => {
  if (drag && !drag.moved) {
    const [x, y] = place(event);
    choose(jobAt(x, y));
  }
  drag = null;
  stage.classList.remove("moving");
});
stage.addEventListener("pointercancel", () => { drag = null; });
stage.addEventListener("pointerleave", () => {
  state.hovered = null;
  showTip(null);
  redraw(above);
});
stage.addEventListener("wheel", (event) => {
  event.preventDefault();
  const [x, y] = place(event);
  const scale = event.deltaMode === 1 ? 16 : 1, delta = (event.deltaY || event.deltaX) * scale;
  if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) view.move((event.deltaX || event.deltaY) * scale / view.width, 0);
  else if (event.ctrlKey || event.altKey) view.zoomLanes(Math.exp(delta * 0.002), view.lane(y));
  else view.zoom(Math.exp(delta * 0.002), view.time(x));
}, { passive: false });
stage.addEventListener("dblclick", (event) => view.zoom(0.4, view.time(place(event)[0])));

// The next or the previous job by start.
function step(by) {
  const list = running.members;
  const at = state.chosen === null ? -1 : list.indexOf(state.chosen);
  const next = at < 0 ? (by > 0 ? list.findIndex((job) => jobs.start[job] >= view.t0) : list.length - 1) : Math.min(Math.max(at + by, 0), list.length - 1);
  if (next < 0 || !list.length) return;
  choose(list[next]);
  view.reveal(list[next]);
}
stage.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey) return;
  const actions = {
    "+": () => view.zoom(0.6), "=": () => view.zoom(0.6), "-": () => view.zoom(1 / 0.6), "−": () => view.zoom(1 / 0.6), 0: () => view.all(), Home: () => view.all(),
    ArrowLeft: () => view.move(-0.15, 0), ArrowRight: () => view.move(0.15, 0), ArrowUp: () => view.move(0, -0.15), ArrowDown: () => view.move(0, 0.15),
    PageUp: () => view.zoomLanes(1 / 0.6), PageDown: () => view.zoomLanes(0.6), "[": () => step(-1), "]": () => step(1), Escape: () => choose(null),
  };
  if (!actions[event.key]) return;
  event.preventDefault();
  actions[event.key]();
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
  if (!Number.isNaN(jobs.start[job])) view.reveal(job);
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
