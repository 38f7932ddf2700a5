// Rows of a table in the order of a column, on a click at its head; blank cells come last.
for (const head of document.querySelectorAll(".tb-table th")) head.addEventListener("click", () => {
  const body = head.closest("table").tBodies[0], place = head.cellIndex, turn = head.ariaSort === "descending" ? 1 : -1;
  const key = tr => { const td = tr.cells[place], v = td.dataset.v; return v === undefined ? td.textContent.trim() || null : v === "" ? null : +v; };
  const rows = [...body.rows].map(tr => [key(tr), tr]);
  rows.sort(([a], [b]) => a === b ? 0 : a === null ? 1 : b === null ? -1 : turn * (typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b))));
  for (const th of head.parentNode.cells) th.removeAttribute("aria-sort");
  head.ariaSort = turn > 0 ? "ascending" : "descending";
  body.append(...rows.map(([, tr]) => tr));
});
const q = document.getElementById("q"), s = document.getElementById("s"), all = [...document.querySelectorAll("#rows > details")];
let texts, wait;
function show() {
  const t = q.value.toLowerCase(); let n = 0;
  if (t) texts ??= all.map(d => d.textContent.toLowerCase()); // once, and only for those who search
  all.forEach((d, i) => { const on = (!s.value || d.dataset.s === s.value) && (!t || texts[i].includes(t)); if (d.hidden === on) d.hidden = !on; n += on; });
  document.getElementById("n").textContent = n + " of " + all.length;
}
if (q) {
  q.addEventListener("input", () => { clearTimeout(wait); wait = setTimeout(show, 150); }); // when the typing pauses
  s.addEventListener("change", show); show();
}
