// Hand moves and zooms a view by pointer, fingers, wheel and keys, and tells what
// else the reader does on the stage: hover(x, y, event), away(), click(x, y).
// More keys are actions by the name of the key.
export class Hand {
  constructor(stage, view, { hover, away, click, keys = {}, all = () => view.all() }) {
    Object.assign(this, { stage, view, hover, away, click });
    this.fingers = new Map();
    this.drag = null;
    this.keys = {
      "+": () => view.zoom(0.6), "=": () => view.zoom(0.6), "-": () => view.zoom(1 / 0.6), "−": () => view.zoom(1 / 0.6), 0: all, Home: all,
      ArrowLeft: () => view.move(-0.15, 0), ArrowRight: () => view.move(0.15, 0), ArrowUp: () => view.move(0, -0.15), ArrowDown: () => view.move(0, 0.15),
      PageUp: () => view.zoomLanes(1 / 0.6), PageDown: () => view.zoomLanes(0.6), ...keys,
    };
    stage.addEventListener("pointerdown", (event) => this.down(event));
    stage.addEventListener("pointermove", (event) => this.moved(event));
    stage.addEventListener("pointerup", (event) => this.up(event));
    stage.addEventListener("pointercancel", (event) => this.release(event));
    stage.addEventListener("pointerleave", () => this.away());
    stage.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    stage.addEventListener("dblclick", (event) => view.zoom(0.4, view.time(this.place(event)[0])));
    stage.addEventListener("keydown", (event) => this.key(event));
  }
  place(event) {
    const box = this.stage.getBoundingClientRect(), { scale } = this.view;
    return [(event.clientX - box.left) / scale, (event.clientY - box.top) / scale];
  }
  // Where the hand is: the middle of its fingers, and how far they are apart.
  grip() {
    const all = [...this.fingers.values()];
    const x = all.reduce((sum, p) => sum + p[0], 0) / all.length, y = all.reduce((sum, p) => sum + p[1], 0) / all.length;
    const wide = all.length > 1 ? Math.max(Math.abs(all[0][0] - all[1][0]), 1) : 0, high = all.length > 1 ? Math.max(Math.abs(all[0][1] - all[1][1]), 1) : 0;
    return { x, y, wide, high };
  }
  down(event) {
    if (event.button !== 0) return;
    this.fingers.set(event.pointerId, this.place(event));
    this.stage.setPointerCapture(event.pointerId);
    this.take(false);
  }
  // Takes hold of what is seen. What is under the fingers will stay there.
  take(moved) {
    const { t0, t1, l0, l1 } = this.view;
    this.drag = this.fingers.size ? { ...this.grip(), t0, t1, l0, l1, moved } : null;
  }
  moved(event) {
    const [x, y] = this.place(event);
    if (!this.drag) return this.hover(x, y, event);
    if (!this.fingers.has(event.pointerId)) return;
    this.fingers.set(event.pointerId, [x, y]);
    const drag = this.drag, now = this.grip(), v = this.view;
    drag.moved = drag.moved || Math.hypot(now.x - drag.x, now.y - drag.y) > 3 || this.fingers.size > 1;
    if (!drag.moved) return;
    this.stage.classList.add("moving");
    this.away();
    // Fingers zoom along the axis along which they are apart.
    const closer = (before, after) => (before > 30 ? before / Math.max(after, 1) : 1);
    const ft = closer(drag.wide, now.wide), fl = closer(drag.high, now.high);
    const width = v.width - v.left, height = v.height - v.top;
    const t = drag.t0 + (drag.x - v.left) / width * (drag.t1 - drag.t0), lane = drag.l0 + (drag.y - v.top) / height * (drag.l1 - drag.l0);
    const dt = (drag.t1 - drag.t0) * ft, dl = (drag.l1 - drag.l0) * fl;
    const t0 = t - (now.x - v.left) / width * dt, l0 = lane - (now.y - v.top) / height * dl;
    v.times(t0, t0 + dt);
    v.lanes(l0, l0 + dl);
  }
  up(event) {
    const drag = this.drag;
    if (drag && !drag.moved && this.fingers.size === 1) this.click(...this.place(event));
    this.release(event);
  }
  release(event) {
    this.fingers.delete(event.pointerId);
    this.take(true);
    if (!this.drag) this.stage.classList.remove("moving");
  }
  wheel(event) {
    event.preventDefault();
    const [x, y] = this.place(event), view = this.view;
    const scale = event.deltaMode === 1 ? 16 : 1, delta = (event.deltaY || event.deltaX) * scale;
    if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) view.move((event.deltaX || event.deltaY) * scale / view.width, 0);
    else if (event.ctrlKey || event.altKey) view.zoomLanes(Math.exp(delta * 0.002), view.lane(y));
    else view.zoom(Math.exp(delta * 0.002), view.time(x));
  }
  key(event) {
    if (event.ctrlKey || event.metaKey || !this.keys[event.key]) return;
    event.preventDefault();
    this.keys[event.key]();
  }
}
