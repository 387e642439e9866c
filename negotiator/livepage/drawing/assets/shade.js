// Shades draws the jobs that are smaller than a dot. A dot is as opaque as the
// share of it that they use, so that a busy stretch looks other than an idle one
// however short the jobs are. Its colour is that of the job with most of it.
export class Shades {
  clear(width, height) {
    const w = Math.max(1, Math.ceil(width)), h = Math.max(1, Math.ceil(height));
    if (w !== this.w || h !== this.h) {
      this.canvas = Object.assign(document.createElement("canvas"), { width: w, height: h });
      Object.assign(this, { w, h, of: new Uint8Array(w * h) });
      for (const name of ["share", "most"]) this[name] = new Float32Array(w * h);
    } else if (this.used) {
      this.share.fill(0);
      this.most.fill(0);
    }
    this.used = false;
  }
  // Adds a rectangle of the class with that number; one without an area can be seen, too.
  add(number, x, y, width, height) {
    const left = Math.max(x, 0), right = Math.min(x + Math.max(width, 0.01), this.w);
    const top = Math.max(y, 0), bottom = Math.min(y + Math.max(height, 0.01), this.h);
    this.used = true;
    for (let row = Math.floor(top); row < bottom; row++) {
      const tall = Math.min(row + 1, bottom) - Math.max(row, top);
      for (let dot = Math.floor(left); dot < right; dot++) {
        const part = tall * (Math.min(dot + 1, right) - Math.max(dot, left)), i = row * this.w + dot;
        this.share[i] += part;
        if (part <= this.most[i]) continue;
        this.most[i] = part;
        this.of[i] = number;
      }
    }
  }
  // Draws the dots, with the colours of the classes.
  draw(c, colours) {
    if (!this.used) return;
    const rgb = colours.map((colour) => [1, 3, 5].map((i) => parseInt(colour.slice(i, i + 2), 16)));
    const own = this.canvas.getContext("2d"), image = own.createImageData(this.w, this.h), bytes = image.data;
    this.share.forEach((share, i) => {
      if (!share) return;
      [bytes[4 * i], bytes[4 * i + 1], bytes[4 * i + 2]] = rgb[this.of[i]];
      bytes[4 * i + 3] = 255 * (Shades.least + (1 - Shades.least) * Math.min(1, share));
    });
    own.putImageData(image, 0, 0);
    c.imageSmoothingEnabled = false;
    c.drawImage(this.canvas, 0, 0);
  }
}
Shades.least = 0.15; // how opaque a dot is that hardly anything uses
