// Bands are what is drawn of slots that are less than a few pixels high: several of
// them together, of one class, and how full they are over time. From below: what
// runs, what is reserved, what is expected without a reservation, by the classes of
// colours; from above: what is closed, since slots are down, drained or at their end.
export const kinds = ["runs", "reserved", "waits", "closed"];

const spare = 2; // room for so many more pieces in each row

export class Bands {
  constructor(lanes) {
    this.lanes = lanes;
    this.sums = new Float32Array(0);
    this.key = "";
    this.layout = -1; // that was copied
  }
  // The bands in which the pool is cut, each with at least so many lanes, if its class has.
  cut(least) {
    const target = 2 ** Math.ceil(Math.log2(Math.max(1, least)));
    const key = this.lanes.layout + " " + target;
    if (key === this.key) return this.list;
    this.key = key;
    this.list = [];
    let band = null, label = "", machine = "";
    for (const row of this.lanes.rows) {
      const of = row.key.slice(0, row.key.indexOf("\0"));
      const other = band && (of !== label ? band.lanes >= target / 4 : band.lanes >= target && row.slot.machine !== machine);
      if (!band || other || (band.lanes >= 2 * target)) {
        band = { lane: row.lane, lanes: 0, from: row.index, to: row.index };
        this.list.push(band);
      }
      band.lanes += row.lanes;
      band.to = row.index + 1;
      [label, machine] = [of, row.slot.machine];
    }
    for (const one of this.list) {
      const [a, b] = [this.lanes.rows[one.from].slot.machine, this.lanes.rows[one.to - 1].slot.machine];
      one.name = a === b ? a : shortened(a) + "–" + shortened(b);
    }
    return this.list;
  }
  // Jobs are of other classes than before.
  forget() {
    this.layout = -1;
  }
  // Copies what is needed of all pieces into columns, by row: much faster to go over
  // in each frame than the pieces are. Only rows that changed are copied anew, as long as
  // there is room. Class says of which of so many classes a job is.
  copy(classes, classOf) {
    const { rows, layout } = this.lanes;
    if (layout === this.layout && rows.every((row) => row.copied || this.put(row, classOf))) return;
    const size = rows.reduce((sum, row) => sum + this.lanes.listed(row).length + spare, 0);
    [this.start, this.end] = [new Float64Array(size), new Float64Array(size)];
    [this.cpus, this.series] = [new Float32Array(size), new Uint16Array(size)];
    [this.first, this.count] = [new Int32Array(rows.length + 1), new Int32Array(rows.length)];
    [this.classes, this.layout] = [classes, layout];
    for (const row of rows) {
      this.first[row.index + 1] = this.first[row.index] + row.pieces.length + spare;
      this.put(row, classOf);
    }
  }
  // Copies a row; false: there is no room.
  put(row, classOf) {
    const pieces = this.lanes.listed(row);
    let i = this.first[row.index];
    if (i + pieces.length > this.first[row.index + 1]) return false;
    for (const piece of pieces) {
      this.start[i] = piece.start;
      this.end[i] = piece.end;
      this.cpus[i] = piece.cpus;
      this.series[i] = (piece.running ? 0 : piece.job.situation === "reserved" ? 1 : 2) * this.classes + classOf(piece.job);
      i++;
    }
    this.count[row.index] = pieces.length;
    return (row.copied = true);
  }
  // Measures how full each band is in each of n stretches of the time that is seen,
  // as lanes: by kind and class, and what is closed behind them.
  measure(view, bands, n) {
    const width = n + 2, each = (kinds.length - 1) * this.classes + 1;
    const size = bands.length * each * width;
    if (this.sums.length < size) this.sums = new Float32Array(Math.ceil(size * 1.25));
    else this.sums.fill(0, 0, size);
    const used = this.used = new Uint8Array(bands.length * each);
    const { sums, start, end, cpus, series, first, count, classes } = this, { t0, t1 } = view, scale = n / (t1 - t0), now = this.lanes.now;
    // Adds a height from a time to another: as differences, which are summed up below.
    const add = (row, from, to, height) => {
      const a = Math.max((from - t0) * scale, 0), b = Math.min((to - t0) * scale, n);
      if (!(b > a)) return;
      const at = row * width, i = Math.floor(a), k = Math.floor(b), left = a - i, right = b - k;
      sums[at + i] += height * (1 - left);
      sums[at + i + 1] += height * left;
      sums[at + k] -= height * (1 - right);
      sums[at + k + 1] -= height * right;
      used[row] = 1;
    };
    bands.forEach((band, index) => {
      const base = index * each, closed = base + each - 1;
      for (let r = band.from; r < band.to; r++) {
        for (let p = first[r], last = p + count[r]; p < last; p++) {
          const late = series[p] < classes && end[p] < now; // it runs longer than expected
          add(base + series[p], start[p], late ? now : end[p], cpus[p]);
        }
        const row = this.lanes.rows[r], { slot } = row;
        if (slot.down) add(closed, now, Infinity, row.lanes);
        else {
          if (slot.drain) add(closed, Math.max(slot.drain.from, now), Math.min(slot.drain.until ?? Infinity, slot.end ?? Infinity), row.lanes);
          if (slot.end !== undefined) add(closed, slot.end, Infinity, row.lanes);
        }
      }
      for (let s = base; s < base + each; s++) {
        if (!used[s]) continue;
        let level = 0;
        for (let i = s * width, last = i + n; i < last; i++) sums[i] = level += sums[i];
      }
    });
    return { sums, width, each };
  }
  // Draws bands on a canvas of n columns, which is returned. Colours has one for each
  // kind and class, and closed is that of what is closed, as numbers for an image.
  draw(view, bands, n, colours, closed) {
    const { sums, width, each } = this.measure(view, bands, n);
    const high = Math.max(1, Math.round(view.height - view.top));
    if (!this.canvas || this.canvas.width !== n || this.canvas.height !== high) {
      this.canvas = Object.assign(document.createElement("canvas"), { width: n, height: high });
      this.image = new ImageData(n, high);
      this.dots = new Uint32Array(this.image.data.buffer);
    }
    this.dots.fill(0);
    const dots = this.dots;
    bands.forEach((band, index) => {
      const y0 = Math.max(0, Math.round(view.y(band.lane) - view.top)), y1 = Math.min(high, Math.round(view.y(band.lane + band.lanes) - view.top));
      const room = y1 - y0 > 4 ? 1 : 0; // between bands
      const full = view.y(band.lane + band.lanes) - view.y(band.lane) - room, scale = full / band.lanes;
      const bottom = Math.round(view.y(band.lane) - view.top + full), base = index * each * width;
      const series = [];
      for (let s = 0; s < each - 1; s++) if (this.used[index * each + s]) series.push(s);
      for (let x = 0; x < n; x++) {
        let level = 0, y = Math.min(bottom, high);
        for (const s of series) {
          const lanes = sums[base + s * width + x];
          if (lanes <= 1e-4) continue;
          level += lanes;
          const top = Math.max(y0, bottom - Math.round(Math.min(level, band.lanes) * scale)), colour = colours[s];
          for (; y > top; y--) dots[(y - 1) * n + x] = colour;
        }
        const shut = Math.min(y, y0 + Math.round(sums[base + (each - 1) * width + x] * scale));
        for (let row = y0; row < shut; row++) dots[row * n + x] = closed;
      }
    });
    this.canvas.getContext("2d").putImageData(this.image, 0, 0);
    return this.canvas;
  }
}

// A machine's name without its domain.
export const shortened = (name) => (/^[\d.]+$/.test(name) ? name : name.split(".")[0]);
