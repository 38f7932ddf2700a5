// What helps on pages that stand without it: sorting, searching, models that open in their row, choices that go at once.
const query = new URLSearchParams(location.search);
const squashed = text => text.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "");
const board = document.querySelector(".board table"), rows = [...board?.querySelectorAll("tr[data-key]") ?? []];
const field = document.getElementById("find");

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
  for (const row of rows) {
    row.text ??= squashed(row.querySelector(".name").textContent + row.dataset.search);
    row.hidden = !words.every(word => row.text.includes(word));
    if (row.told) row.told.hidden = row.hidden;
  }
  const count = rows.filter(row => !row.hidden).length;
  line.hidden = !words.length;
  line.textContent = count ? `${count} of ${rows.length}` : "No model of this name here: try fewer letters, or another board";
}

// A model opens in a row of its own, with what its page shows.
async function open(key) {
  for (const row of rows) {
    row.told?.remove();
    row.told = null;
    row.classList.toggle("open", row.dataset.key === key);
    row.querySelector(".model").ariaExpanded = row.dataset.key === key;
  }
  const row = rows.find(row => row.dataset.key === key);
  if (!row) return;
  const told = row.told = document.createElement("tr"), cell = told.insertCell();
  told.className = "told";
  told.style.setProperty("--frame", board.parentNode.clientWidth + "px");
  cell.colSpan = row.cells.length;
  cell.textContent = "…";
  row.after(told);
  const page = await fetch(row.querySelector(".model").href).then(answer => answer.text()).catch(() => "");
  const part = new DOMParser().parseFromString(page, "text/html").querySelector(".model-page");
  part?.removeAttribute("id");
  if (row.told === told) cell.replaceChildren(part ?? "The server gave no answer. Try again in a moment.");
}

function restore() {
  const order = query.get("sort") || "", text = query.get("q") || "";
  if (order || board.querySelector("[aria-sort]")) sort(order);
  field.value = text;
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
  field.addEventListener("input", () => { say({ q: field.value.trim() }); find(field.value); });
  board.addEventListener("click", event => {
    const head = event.target.closest("[data-sort]"), row = event.target.closest("tr[data-key]");
    if (head) {
      const id = head.dataset.sort, current = query.get("sort") || "", first = head.parentNode.matches(".name, .words") ? "+" : "-";
      const order = id === "rank" ? "" : (current === first + id ? { "+": "-", "-": "+" }[first] : first) + id;
      say({ sort: order });
      sort(order);
    } else if (row && !event.target.matches("input") && !event.ctrlKey && !event.metaKey && !event.shiftKey && !String(getSelection())) {
      event.preventDefault();
      say({ model: query.get("model") === row.dataset.key ? "" : row.dataset.key }, true);
      open(query.get("model"));
    }
  });
}

// What is chosen comes into sight in its row or list.
document.querySelectorAll(".choices [aria-current], .list [aria-current]").forEach(link => link.scrollIntoView({ block: "nearest", inline: "nearest" }));

// A choice goes at once, with what stays in all addresses, without what is empty; another run has other filters.
let changed = "";
addEventListener("change", event => {
  if (!event.target.closest(".filters, .highlight")) return;
  changed = event.target.name;
  event.target.form.requestSubmit();
});
addEventListener("formdata", event => {
  const data = event.formData, others = ([name]) => changed === "run" && name !== "run" && name !== "tab";
  [...data].filter(pair => !pair[1] || others(pair)).forEach(([name]) => data.delete(name));
  kept.forEach(name => data.append(name, query.get(name)));
});

// The explorer: j and k go through the list, and Enter into the conversation, but where one types.
if (document.querySelector(".explorer")) {
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
