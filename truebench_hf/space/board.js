// The leaderboard once it is in the page: sorting, search, keys, the opened row, and the address. It works on the table that
// the library drew, before the app is there; what has to be asked of the server waits for it.
window.tbBoard = (() => {
  const FILE = "truebench_leaderboard.csv";
  const squashed = text => text.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "");
  let root = null, server = null, turn = 0, dirs = {}, ready;
  const live = new Promise(done => { ready = done; });
  const query = () => new URLSearchParams(location.search);
  const here = () => { const q = query(); return (q.get("tab") || "leaderboard") === "leaderboard"; };
  const rows = () => [...root.querySelectorAll("tbody tr[data-key]")];
  const text = cell => cell.dataset.v === undefined ? (cell.classList.contains("none") ? null : cell.innerText) : +cell.dataset.v;

  // The address says all that is shown; `push` makes a step that Back undoes.
  function address(change, push) {
    const q = query();
    for (const [name, value] of Object.entries(change)) value ? q.set(name, value) : q.delete(name);
    history[push ? "pushState" : "replaceState"](null, "", q.size ? "?" + q : location.pathname);
  }
  const drawn = () => ({ board: root.dataset.board, group: root.dataset.group, view: root.dataset.view });
  const wanted = () => { const q = query(); return Object.fromEntries(["board", "group", "view"].map(n => [n, q.get(n) || ""])); };

  // Until the app is there its server functions are asked as it will ask them.
  async function early(name, what) {
    const body = { data: what, component_id: +root.dataset.part, fn_name: name, session_hash: "early" + Math.random().toString(36).slice(2) };
    const answer = await fetch(new URL("gradio_api/component_server/", document.baseURI), {
      method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body),
    });
    return answer.ok ? answer.json() : (await live, server[name](what));
  }
  async function ask(name, what) {
    const mine = ++turn;
    const answer = await (server ? server[name](what) : early(name, what)).catch(() => null);
    return mine === turn ? answer ?? null : undefined;  // null: no answer; undefined: something else was asked meanwhile
  }
  function put(html) {
    const made = document.createElement("template");
    made.innerHTML = html;
    const next = made.content.querySelector(".tb-board");
    if (!next) return;
    next.dataset.part = root.dataset.part || "";
    const focused = root.contains(document.activeElement) && document.activeElement.dataset?.go;
    root.replaceWith(next);
    root = next;
    if (focused) [...root.querySelectorAll("[data-go]")].find(b => b.dataset.go === focused)?.focus();
    listen();
  }
  let shown = null;  // what the last drawing was asked by
  async function show(again) {
    const want = wanted(), key = JSON.stringify(want);
    if (again || shown !== key) {
      root.ariaBusy = "true";  // no class: with those of Gradio's styles on [class*=...] every cell would be styled anew
      const html = await ask("show_board", want);
      root.ariaBusy = null;
      if (typeof html !== "string") return;
      shown = key;
      put(html);
    }
    const q = query();
    sort(q.get("sort") || "");
    find(q.get("q") || "");
    await open(q.get("model") || "");
  }

  function sort(said) {
    const table = root.querySelector("table");
    if (!table || (!said && !root.sorted)) return;
    root.sorted = said;
    const heads = [...table.tHead.rows[0].cells], up = said.startsWith("+"), id = said.replace(/^[+-]/, "");
    const column = heads.findIndex(head => head.firstElementChild.dataset.sort === id);
    heads.forEach((head, place) => place === column && id !== "rank" ? head.setAttribute("aria-sort", up ? "ascending" : "descending") : head.removeAttribute("aria-sort"));
    const body = table.tBodies[0], found = rows();
    found.forEach((row, place) => { row.place ??= place; });
    const keys = new Map(found.map(row => [row, column < 1 ? row.place : text(row.cells[column])]));
    const order = (a, b) => {
      const [x, y] = [keys.get(a), keys.get(b)];
      if (x === null || y === null) return (x === null) - (y === null) || a.place - b.place;
      const by = typeof x === "number" && typeof y === "number" ? x - y : String(x).localeCompare(String(y));
      return (column < 1 || up ? by : -by) || a.place - b.place;
    };
    const told = body.querySelector(".told");
    found.sort(order).forEach(row => body.append(row));
    if (told) told.of.after(told);
    if (id) dirs[id] = up ? "+" : "-";
  }
  function find(said) {
    const input = root.querySelector(".find"), words = said.split(/\s+/).map(squashed).filter(Boolean);
    if (!input || (!words.length && !root.searched)) return;
    root.searched = said;
    if (input.value.trim() !== said.trim()) input.value = said;
    let count = 0;
    const all = rows();
    for (const row of all) {
      row.found ??= squashed(row.querySelector(".name").textContent + " " + row.dataset.found);
      const hit = words.every(word => row.found.includes(word));
      if (row.hidden === hit) row.hidden = !hit;
      count += hit;
    }
    const told = root.querySelector(".told");
    if (told) told.hidden = told.of.hidden;
    const line = root.querySelector(".found");
    line.hidden = !words.length;
    line.textContent = words.length ? (count ? `${count} of ${all.length}` : "No model of this name here: try fewer letters, or another board") : "";
    rove(root.querySelector(".model[tabindex='0']"));
  }
  // One name of the table is on the way of the Tab key; arrows move among them.
  function rove(to) {
    const there = to && !to.closest("tr").hidden ? to : rows().find(row => !row.hidden)?.querySelector(".model");
    root.querySelectorAll(".model[tabindex='0']").forEach(one => { one.tabIndex = -1; });
    if (there) there.tabIndex = 0;
    return there;
  }

  function mark(row, chosen) {
    row.classList.toggle("chosen", chosen);
    row.querySelector(".model").setAttribute("aria-expanded", chosen);
  }
  async function open(key) {
    const row = key && rows().find(row => row.dataset.key === key), old = root.querySelector(".told");
    root.querySelectorAll("tr.chosen").forEach(one => mark(one, false));
    if (!row) { old?.remove(); return; }
    mark(row, true);
    if (old?.of === row) return;
    const html = await ask("open_model", { ...wanted(), model: key });
    if (html === undefined || !row.isConnected || !row.classList.contains("chosen")) return;
    root.querySelector(".told")?.remove();  // not before: the table is laid out once
    const told = document.createElement("tr"), cell = told.insertCell();
    told.className = "told";
    told.of = row;
    told.hidden = row.hidden;
    cell.colSpan = row.cells.length;
    cell.innerHTML = html ?? '<p role="alert">The server gave no answer. Close this row and open it again in a moment.</p>';
    row.after(told);
  }
  function choose(row) {
    const shutting = row.classList.contains("chosen");
    address({ model: shutting ? "" : row.dataset.key }, true);
    rove(row.querySelector(".model"));
    open(shutting ? "" : row.dataset.key);
  }

  // Two models whose boxes are chosen are compared; with a third the first one goes.
  let order = [];
  function picked() {
    const boxes = [...root.querySelectorAll("[data-pick]:checked")];
    order = [...order.filter(one => boxes.includes(one)), ...boxes.filter(one => !order.includes(one))];
    while (order.length > 2) order.shift().checked = false;
    const names = order.map(one => one.closest("tr").querySelector(".model").textContent), line = root.querySelector(".picked");
    line.hidden = !names.length;
    line.firstElementChild.textContent = names.length > 1 ? names.join(" and ") : names.length ? `${names[0]}: choose a second model to compare it with` : "";
    line.lastElementChild.hidden = names.length < 2;
  }
  function listen() {
    root.addEventListener("click", async event => {
      const at = part => event.target.closest(part);
      let part;
      if (at("[data-pick]")) {
        picked();
      } else if (at("[data-compare]")) {
        const [first, second] = [...root.querySelectorAll("[data-pick]:checked")].map(one => one.closest("tr").dataset.key);
        visit({ run: first, beside: second });
      } else if ((part = at("[data-go]"))) {
        const [[name, value]] = new URLSearchParams(part.dataset.go);
        const other = name === "board" ? { group: "", view: "", sort: "", q: "" } : {};
        address({ ...other, model: "", [name]: value }, true);
        await show();
        if (name === "group") root.scrollIntoView({ block: "start" });
      } else if ((part = at("[data-sort]"))) {
        const id = part.dataset.sort, now = query().get("sort") || "", turned = { "+": "-", "-": "+" };
        const next = id === "rank" ? "" : now.slice(1) === id ? turned[now[0]] + id : (dirs[id] || (id === "name" || part.parentNode.matches(".words") ? "+" : "-")) + id;
        address({ sort: next }, true);
        sort(next);
      } else if (at("[data-close]")) {
        const row = at(".told").of;
        choose(root.querySelector("tr.chosen"));
        rove(row.querySelector(".model")).focus();
      } else if ((part = at("[data-run]"))) {
        if (event.ctrlKey || event.metaKey || event.shiftKey) return;
        event.preventDefault();
        visit(part.dataset);
      } else if (at("[data-csv]")) {
        save(await ask("table_csv", wanted()));
      } else if (at("[data-renew]")) {
        await show(true);
      } else if ((part = at("tr[data-key]")) && !String(getSelection())) {
        choose(part);
      }
    });
    root.addEventListener("input", event => {
      if (!event.target.matches(".find")) return;
      address({ q: event.target.value.trim() });
      find(event.target.value);
    });
    root.addEventListener("keydown", event => {
      const name = event.target.closest(".model"), told = event.target.closest(".told");
      const chosen = root.querySelector("tr.chosen");
      if (event.key === "Escape" && chosen && (name || told)) {
        event.preventDefault();
        choose(chosen);
        chosen.querySelector(".model").focus();
      } else if (event.target.matches(".find") && event.key === "ArrowDown") {
        event.preventDefault();
        rove(null)?.focus();
      } else if (name && ["ArrowDown", "ArrowUp", "Home", "End"].includes(event.key)) {
        event.preventDefault();
        const shown = rows().filter(row => !row.hidden), place = shown.indexOf(name.closest("tr")), last = shown.length - 1;
        const to = { ArrowDown: Math.min(place + 1, last), ArrowUp: Math.max(place - 1, 0), Home: 0, End: last }[event.key];
        const model = shown[to].querySelector(".model");
        rove(model);
        model.focus();
      }
    });
  }
  async function visit(to) {
    await live;
    window.tbViews.go("explorer", { run: to.run, id: to.id, beside: to.beside });
  }
  function save(csv) {
    if (typeof csv !== "string") return;
    const a = document.createElement("a");
    a.href = URL.createObjectURL(new Blob(["\ufeff" + csv], { type: "text/csv;charset=utf-8" }));
    a.download = FILE;
    a.click();
    setTimeout(() => URL.revokeObjectURL(a.href), 5000);
  }
  return {
    show() { if (root && here()) show(); },
    // The table that stands in the page's first view.
    begin(node, part) {
      root = node;
      root.dataset.part = part;
      shown = JSON.stringify(wanted());
      listen();
      sort(query().get("sort") || "");
      find(query().get("q") || "");
      root.dataset.live = "1";
      open(query().get("model") || "");
    },
    // The app is there: the node moves to its place, or is asked for where the page came without one.
    async adopt(element, functions) {
      server = functions;
      const view = document.getElementById("first-view");
      if (!root) {
        root = document.createElement("div");
        element.append(root);
        ready();
        shown = null;
        await show();
        return;
      }
      const settled = () => document.querySelector(".tb-head p") && document.querySelector("#tabs [role=tab]");
      for (const end = performance.now() + 4000; !settled() && performance.now() < end;) await new Promise(requestAnimationFrame);
      const focus = document.activeElement, down = view ? view.scrollTop : 0;
      const across = root.querySelector(".frame")?.scrollLeft || 0;
      element.append(root);
      view?.remove();
      if (down) scrollTo(0, down);
      if (across) root.querySelector(".frame").scrollLeft = across;
      if (root.contains(focus)) focus.focus({ preventScroll: true });
      ready();
    },
  };
})();
