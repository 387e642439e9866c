import { make } from "./dom.js";

// Table shows rows, and keeps what it has of a row while the row stays: focus, selection and the
// scrolled place survive new data. A column is {key, title, sort, number, text(row), node(row), compare}:
// text says what is shown, and node makes it if it is more than a text. With choose, the header's
// buttons call it; without, the table sorts by itself where a column has compare.
export class Table {
  constructor({ columns, caption, key, choose, sort, descending = false, kind = "" }) {
    Object.assign(this, { columns, key, choose, sort, descending });
    this.rows = [];
    this.lines = new Map();
    this.heads = columns.map((column) => {
      const sortable = column.sort || column.compare;
      return make("th", { scope: "col", class: column.number ? "n" : undefined, title: column.why },
        sortable ? make("button", { type: "button", onclick: () => this.by(column) }, column.title) : column.title);
    });
    this.body = make("tbody");
    this.table = make("table", { class: kind }, caption && make("caption", null, caption), make("thead", null, make("tr", null, this.heads)), this.body);
    // A region that scrolls must be reached by keys.
    this.element = make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption ?? "Table" }, this.table);
    this.mark();
  }
  by(column) {
    const name = column.sort ?? column.key;
    this.descending = this.sort === name ? !this.descending : Boolean(column.first);
    this.sort = name;
    this.mark();
    if (this.choose) this.choose(this.sort, this.descending);
    else this.show(this.rows);
  }
  mark() {
    this.columns.forEach((column, i) => {
      if (!column.sort && !column.compare) return;
      const here = this.sort === (column.sort ?? column.key);
      this.heads[i].setAttribute("aria-sort", !here ? "none" : this.descending ? "descending" : "ascending");
    });
  }
  show(rows) {
    this.rows = rows;
    const column = !this.choose && this.columns.find((c) => c.compare && c.key === this.sort);
    const shown = column ? [...rows].sort((a, b) => (this.descending ? column.compare(b, a) : column.compare(a, b))) : rows;
    const keys = shown.map((row, i) => String(this.key ? this.key(row) : i)), old = this.lines;
    this.lines = new Map(keys.map((key) => [key, old.get(key) ?? this.line()]));
    // What is in its place stays untouched, as to move an element takes its focus; so what is gone goes first.
    for (const [key, line] of old) if (!this.lines.has(key)) line.row.remove();
    let before = this.body.firstElementChild;
    shown.forEach((row, i) => {
      const line = this.lines.get(keys[i]);
      this.fill(line, row);
      if (line.row === before) before = before.nextElementSibling;
      else this.body.insertBefore(line.row, before);
    });
  }
  // hide leaves a column out, or has it again.
  hide(key, hidden) { this.table.classList.toggle("no-" + (this.columns.findIndex((c) => c.key === key) + 1), hidden); }
  line() {
    const cells = this.columns.map((column, i) => make(i === 0 ? "th" : "td", {
      scope: i === 0 ? "row" : undefined, class: [column.number ? "n" : "", column.wide ? "wide" : ""].join(" ").trim() || undefined, "data-of": column.title,
    }));
    return { row: make("tr", null, cells), cells, texts: [] };
  }
  fill(line, row) {
    this.columns.forEach((column, i) => {
      const text = String(column.text(row) ?? "");
      if (line.texts[i] === text) return;
      line.texts[i] = text;
      line.cells[i].replaceChildren(...(column.node && text !== "" ? [column.node(row)].flat() : [text]));
    });
  }
}

// list is a table that is shown once.
export function list(options, rows) {
  const table = new Table(options);
  table.show(rows);
  return table.element;
}

export const numbers = (key) => (a, b) => (a[key] ?? Infinity) - (b[key] ?? Infinity);
const collator = new Intl.Collator("en", { numeric: true });
export const letters = (key) => (a, b) => collator.compare(a[key] ?? "", b[key] ?? "");
