const q = document.getElementById("q"), s = document.getElementById("s"), all = [...document.querySelectorAll("#rows > details")];
let texts, wait;
function show() {
  const t = q.value.toLowerCase(); let n = 0;
  if (t) texts ??= all.map(d => d.textContent.toLowerCase()); // once, and only for those who search
  all.forEach((d, i) => { const on = (!s.value || d.dataset.s === s.value) && (!t || texts[i].includes(t)); if (d.hidden === on) d.hidden = !on; n += on; });
  document.getElementById("n").textContent = n + " of " + all.length;
}
q.addEventListener("input", () => { clearTimeout(wait); wait = setTimeout(show, 150); }); // when the typing pauses
s.addEventListener("change", show); show();
