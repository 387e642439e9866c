// Tables that sort by the headers' buttons: numbers by size, the greatest first
// where that is what one looks for, words by the alphabet, what is missing last.
(() => {
  const text = new Intl.Collator("en", { numeric: true });
  function sort(table, column, descending) {
    const body = table.tBodies[0];
    const key = (row) => {
      const cell = row.cells[column];
      if (!cell.classList.contains("n")) return cell.textContent;
      return cell.dataset.v === undefined ? NaN : Number(cell.dataset.v);
    };
    const rows = [...body.rows].map((row) => ({ row, key: key(row) }));
    rows.sort((a, b) => {
      if (typeof a.key === "string") return (descending ? -1 : 1) * text.compare(a.key, b.key);
      const empty = Number(Number.isNaN(a.key)) - Number(Number.isNaN(b.key));
      return empty || (descending ? b.key - a.key : a.key - b.key) || 0;
    });
    body.append(...rows.map((r) => r.row));
  }
  prepare((root) => root.querySelectorAll("table.sortable").forEach((table) => {
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      head.querySelector("button").addEventListener("click", () => {
        const descending = head.getAttribute("aria-sort") === "ascending";
        for (const other of table.tHead.rows[0].cells) other.setAttribute("aria-sort", "none");
        head.setAttribute("aria-sort", descending ? "descending" : "ascending");
        sort(table, column, descending);
      });
    });
  }));
})();
