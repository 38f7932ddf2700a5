// What helps on pages that stand without it: sorting, searching, models that open in their row, choices that go at once.
const query = new URLSearchParams(location.search);
const all = (selector, root = document) => [...root.querySelectorAll(selector)];
const squashed = text => text.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "");
const board = document.querySelector(".board table"), rows = board ? all("tr[data-key]", board) : [];

// The theme of a frame, and a private Space's key, stay in all addresses of the page.
const kept = ["__theme", "__sign"].filter(name => query.has(name));
addEventListener("click", event => {
  const link = event.target.closest("a[href^='?']:not([data-copy])");
  if (!link) return;
  const address = new URL(link.href);
  if (link.closest(".tools") && query.has("model")) address.searchParams.set("model", query.get("model"));
  kept.forEach(name => address.searchParams.set(name, query.get(name)));
  link.href = address;
}, true);

// The address says all that is shown of the table; `push` makes a step that Back undoes.
function say(change, push) {
  for (const [name, value] of Object.entries(change)) value ? query.set(name, value) : query.delete(name);
  history[push ? "pushState" : "replaceState"](null, "", query.size ? "?" + query : location.pathname);
}

function sort(order) {
  const id = order.slice(1), up = order[0] === "+", heads = [...board.tHead.rows[0].cells];
  const column = heads.findIndex(head => head.firstElementChild.dataset.sort === id);
  heads.forEach(head => head.removeAttribute("aria-sort"));
  board.classList.toggle("sorted", column >= 0);
  if (column >= 0) heads[column].ariaSort = up ? "ascending" : "descending";
  const key = row => {
    const cell = row.cells[column];
    return cell?.classList.contains("none") ? null : cell?.dataset.v ? +cell.dataset.v : cell?.innerText ?? 0;
  };
  const keyed = rows.map((row, place) => [key(row), place, row]);
  keyed.sort(([a, first], [b, second]) => {
    if (a === null || b === null) return (a === null) - (b === null) || first - second;
    const by = typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b));
    return (up ? by : -by) || first - second;
  });
  keyed.forEach(([, , row]) => board.tBodies[0].append(...row.told ? [row, row.told] : [row]));
}

function find(text) {
  const words = text.split(/\s+/).map(squashed).filter(Boolean), line = document.getElementById("found");
  let count = 0;
  for (const row of rows) {
    row.text ??= squashed(row.querySelector(".name").textContent + row.dataset.search);
    row.hidden = !words.every(word => row.text.includes(word));
    if (row.told) row.told.hidden = row.hidden;
    count += !row.hidden;
  }
  line.hidden = !words.length;
  line.textContent = count ? `${count} of ${rows.length}` : "No model of this name here: try fewer letters, or another board";
}

// A model opens in a row of its own, with what its page shows.
async function open(key) {
  for (const row of rows.filter(row => row.told)) {
    row.told.remove();
    row.told = null;
    row.classList.remove("open");
    row.querySelector(".model").ariaExpanded = "false";
  }
  const row = rows.find(row => row.dataset.key === key), link = row?.querySelector(".model");
  if (!row) return;
  const told = row.told = document.createElement("tr"), cell = told.insertCell();
  told.className = "told";
  row.classList.add("open");
  link.ariaExpanded = "true";
  cell.colSpan = row.cells.length;
  cell.textContent = "…";
  row.after(told);
  told.style.setProperty("--frame", board.parentNode.clientWidth + "px");
  const page = await fetch(link.href).then(answer => answer.text()).catch(() => "");
  const part = new DOMParser().parseFromString(page, "text/html").querySelector(".model-page");
  part?.removeAttribute("id");
  if (row.told === told) cell.replaceChildren(part ?? "The server gave no answer. Try again in a moment.");
}
const toggle = key => {
  const next = query.get("model") === key ? "" : key;
  say({ model: next }, true);
  open(next);
};

// Two models whose boxes are chosen are compared; with a third the first goes.
let picked = [];
function pick(box) {
  picked = box.checked ? [...picked, box].slice(-2) : picked.filter(other => other !== box);
  all("[data-pick]").forEach(other => { other.checked = picked.includes(other); });
  const lines = picked.map(other => other.closest("tr")), names = lines.map(row => row.querySelector(".model").textContent);
  const line = document.getElementById("picked"), link = line.querySelector("a");
  line.hidden = !names.length;
  line.firstElementChild.textContent = names.length > 1 ? names.join(" and ") : `${names[0]}: choose a second model to compare it with`;
  link.hidden = names.length < 2;
  if (names.length > 1) link.href = "?" + new URLSearchParams({ tab: "explorer", run: lines[0].dataset.key, beside: lines[1].dataset.key });
}

function restore() {
  const order = query.get("sort") || "", text = query.get("q") || "";
  if (order || board.querySelector("[aria-sort]")) sort(order);
  document.getElementById("find").value = text;
  find(text);
  open(query.get("model") || "");
}
if (board) {
  restore();
  addEventListener("popstate", () => {
    [...query.keys()].forEach(name => query.delete(name));
    new URLSearchParams(location.search).forEach((value, name) => query.set(name, value));
    restore();
  });
  const field = document.getElementById("find");
  field.addEventListener("input", () => { say({ q: field.value.trim() }); find(field.value); });
  board.addEventListener("click", event => {
    const head = event.target.closest("[data-sort]"), row = event.target.closest("tr[data-key]");
    if (event.target.matches("[data-pick]")) pick(event.target);
    else if (head) {
      const id = head.dataset.sort, current = query.get("sort") || "", first = head.parentNode.matches(".name, .words") ? "+" : "-";
      const order = id === "rank" ? "" : (current === first + id ? { "+": "-", "-": "+" }[first] : first) + id;
      say({ sort: order });
      sort(order);
    } else if (row && !event.ctrlKey && !event.metaKey && !event.shiftKey && !String(getSelection())) {
      event.preventDefault();
      toggle(row.dataset.key);
    }
  });
  board.addEventListener("keydown", event => {
    const at = event.target.closest("tr"), names = rows.filter(row => !row.hidden).map(row => row.querySelector(".model"));
    names.sort((a, b) => a.compareDocumentPosition(b) & 2 ? 1 : -1);
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key], place = names.indexOf(event.target);
    if (step && place >= 0) {
      event.preventDefault();
      names[Math.min(Math.max(place + step, 0), names.length - 1)].focus();
    } else if (event.key === "Escape" && query.get("model") && (place >= 0 || at?.matches(".told"))) {
      const row = rows.find(row => row.told);
      toggle(query.get("model"));
      row?.querySelector(".model").focus();
    }
  });
}

// A chosen tab that lies outside of its row comes into sight.
all(".choices [aria-current]").forEach(link => link.scrollIntoView({ block: "nearest", inline: "nearest" }));

// Sends a form with what stays in all addresses, without what is empty.
function go(form) {
  kept.forEach(name => form.append(Object.assign(document.createElement("input"), { type: "hidden", name, value: query.get(name) })));
  [...form.elements].filter(field => !field.value).forEach(field => { field.disabled = true; });
  form.submit();
}
const highlight = document.querySelector(".highlight");
if (highlight) {
  highlight.querySelector("button").hidden = true;
  highlight.addEventListener("change", () => go(highlight));
}

// The explorer: a choice goes at once; j and k go through the list, and Enter into the conversation, but where one types.
const form = document.querySelector(".filters");
if (form) {
  form.addEventListener("change", event => {
    const others = [...form.elements].filter(field => field.name && field !== event.target && field.name !== "tab");
    if (event.target.name === "run") others.forEach(field => { field.disabled = true; });
    go(form);
  });
  document.querySelector(".list [aria-current]")?.scrollIntoView({ block: "nearest" });
  addEventListener("keydown", event => {
    const way = { j: "next", k: "prev" }[event.key];
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, textarea")) return;
    if (way) document.querySelector(`.bar a[rel=${way}][href]`)?.click();
    else if (event.key === "Enter" && !event.target.closest("a, button, summary")) document.querySelector("article")?.focus();
  });
  document.querySelector("[data-copy]")?.addEventListener("click", async event => {
    event.preventDefault();
    const address = new URL(event.target.getAttribute("href"), location.href).href;
    const done = await navigator.clipboard?.writeText(address).then(() => "Link copied", () => address) ?? address;
    event.target.nextElementSibling.textContent = done;
  });
}
