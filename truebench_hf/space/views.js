// Tabs and the pages in them that the library draws: the address says what is shown, and Back undoes each step.
window.tbViews = (() => {
  // What each page says of itself in the address; on other tabs the address says nothing of it.
  const OWN = {
    leaderboard: ["board", "group", "view", "sort", "q", "model"], judges: ["set", "judge"],
    explorer: ["run", "id", "beside", "language", "category", "outcome", "failed", "part", "show"],
  };
  const views = {}, away = {};
  let quiet = "";  // the tab that is chosen by us, whose address stands already
  const query = () => new URLSearchParams(location.search);
  const write = (q, push) => history[push ? "pushState" : "replaceState"](null, "", q.size ? "?" + q : location.pathname);
  const current = () => query().get("tab") || "leaderboard";
  const button = name => document.querySelector(`#tabs [role=tab][data-tab-id="${name}"]`);

  // The address without what other tabs say, which comes back with them.
  function left(name) {
    const q = query();
    for (const [tab, names] of Object.entries(OWN)) {
      const own = names.filter(one => q.has(one)).map(one => [one, q.get(one)]);
      if (tab === name) continue;
      if (own.length) away[tab] = own;
      own.forEach(([one]) => q.delete(one));
    }
    return q;
  }
  // A tab was chosen.
  function chosen(name) {
    if (quiet === name || !window.tbFollowed) { quiet = ""; return; }
    const q = left(name), before = current();
    if (!(OWN[name] || []).some(one => q.has(one))) (away[name] || []).forEach(pair => q.set(...pair));
    q.set("tab", name);
    if ("?" + q !== location.search) write(q, before !== name);
    views[name]?.show();
  }
  // Goes to a tab and what is wanted of it, from a link on another.
  function go(name, wanted) {
    const q = left(name);
    (OWN[name] || []).forEach(one => q.delete(one));
    Object.entries({ tab: name, ...wanted }).forEach(([one, value]) => value && q.set(one, value));
    write(q, true);
    choose(name);
  }
  function choose(name) {
    const tab = button(name);
    if (tab && tab.getAttribute("aria-selected") !== "true") { quiet = name; tab.click(); }
    (name === "leaderboard" ? window.tbBoard : views[name])?.show();
  }
  // A tab that a visitor chose before the link was followed, which then went to its own, is gone back to.
  let hasty = "";
  addEventListener("click", event => {
    const tab = event.isTrusted && !window.tbFollowed && event.target.closest?.("#tabs [role=tab]");
    if (tab) hasty = tab.dataset.tabId || "";
  }, true);
  const followed = () => { if (hasty) setTimeout(() => button(hasty)?.click(), 50); };
  addEventListener("popstate", () => choose(current()));

  // A page in its tab: `draw` asks the server for its HTML, by what the address says.
  function adopt(name, element, draw) {
    const root = element;
    let turn = 0, shown = null, typing = 0;
    const wanted = () => { const q = current() === name ? query() : new Map(away[name] || []); return Object.fromEntries(OWN[name].map(one => [one, q.get(one) || ""])); };
    async function show(more = {}) {
      const want = { ...wanted(), ...more }, key = JSON.stringify(want), mine = ++turn;
      const known = key === shown && root.childElementCount;
      if (root.firstElementChild) root.firstElementChild.ariaBusy = known ? null : "true";
      if (known) return;
      const html = await draw(want).catch(() => null);
      if (mine !== turn) return;
      shown = typeof html === "string" ? key : null;
      put(typeof html === "string" ? html : '<p class="tb-board warn" role="alert">The server gave no answer. Try again in a moment.</p>');
    }
    function put(html) {
      const focus = root.contains(document.activeElement) ? document.activeElement : null;
      const held = focus && { name: focus.name, go: focus.dataset.go, value: focus.value, at: focus.selectionStart ?? null };
      const down = root.querySelector("[data-list]")?.scrollTop || 0, folds = [...root.querySelectorAll("details.others")].map(one => one.open);
      root.innerHTML = html;
      const page = root.firstElementChild, list = root.querySelector("[data-list]");
      const now = [...root.querySelectorAll("details.others")];
      if (folds.length === now.length) now.forEach((one, place) => { one.open = folds[place]; });
      if (list) {
        list.scrollTop = down;
        const row = list.querySelector("[aria-current]"), box = list.getBoundingClientRect(), at = row?.getBoundingClientRect();
        if (at && (at.top < box.top || at.bottom > box.bottom)) list.scrollTop += at.top - box.top - box.height / 3;
      }
      if (held) {
        const all = [...root.querySelectorAll("button:enabled, a, input, select")];
        const same = all.find(one => held.name ? one.name === held.name : held.go && one.dataset.go === held.go) || root.querySelector("[aria-current]");
        if (same?.matches("input")) { if (typing) same.value = held.value; same.setSelectionRange(held.at, held.at); }
        same?.focus({ preventScroll: true });
      }
      // What is drawn by default is said in the address, too, so that it can be passed on.
      const said = page?.dataset.said, q = query();
      if (said && current() === name) {
        new URLSearchParams(said).forEach((value, one) => value ? q.set(one, value) : q.delete(one));
        if ("?" + q !== location.search) write(q, false);
        shown = JSON.stringify(wanted());
      }
    }
    function step(change, push, more) {
      const q = query();
      Object.entries(change).forEach(([one, value]) => value ? q.set(one, value) : q.delete(one));
      write(q, push);
      return show(more);
    }
    // A filter shows another list: the conversation stays where it is still in it.
    const filter = (one, push) => step({ [one.name]: one.value.trim(), id: "", part: "" }, push, { near: query().get("id") || "" });
    element.addEventListener("click", async event => {
      const part = event.target.closest("[data-go]");
      if (event.target.closest("[data-copy]")) return copy(event);
      const to = event.target.closest("[data-to]");
      if (to) {
        const message = root.querySelector(`#message-${to.dataset.to}`);
        message?.scrollIntoView({ block: "center" });
        return message?.focus({ preventScroll: true });
      }
      if (!part || event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      await step(Object.fromEntries(new URLSearchParams(part.dataset.go)), true);
      const there = root.querySelector("[data-shown]");
      if (part.matches("a") && there && there.getBoundingClientRect().top > innerHeight * .6) there.scrollIntoView();
    });
    element.addEventListener("input", event => {
      if (!event.target.matches("input[name]")) return;
      clearTimeout(typing);
      const input = event.target;
      typing = setTimeout(() => { typing = 0; filter(input, false); }, 250);
    });
    element.addEventListener("change", event => {
      const one = event.target;
      if (one.name === "run") step({ run: one.value, id: "", beside: "", language: "", category: "", outcome: "", failed: "", part: "" }, true);
      else if (one.name === "beside") step({ beside: one.value, outcome: query().get("outcome") === "differ" ? "" : query().get("outcome") || "" }, true);
      else if (one.matches("select[name]")) filter(one, true);
    });
    element.addEventListener("keydown", event => {
      const rows = [...root.querySelectorAll("[data-list] a")], place = rows.indexOf(event.target.closest("[data-list] a"));
      const to = { ArrowDown: place + 1, ArrowUp: place - 1, Home: 0, End: rows.length - 1 }[event.key];
      if (place < 0 || to === undefined) return;
      event.preventDefault();
      rows[Math.min(Math.max(to, 0), rows.length - 1)].focus();
    });
    // j and k go through the list from anywhere but where one types.
    document.addEventListener("keydown", event => {
      const way = { j: "next", k: "previous" }[event.key];
      if (!way || current() !== name || event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, textarea, [contenteditable]")) return;
      root.querySelector(`button[name=${way}]:enabled`)?.click();
    });
    async function copy(event) {
      event.preventDefault();
      const q = query(), line = root.querySelector("[data-copied]");
      q.delete("__sign");  // a private Space's own key is not for others
      const address = new URL("?" + q, location.href).href;
      line.textContent = await navigator.clipboard?.writeText(address).then(() => "Link copied", () => address) ?? address;
    }
    views[name] = { show };
    show();
  }
  return { adopt, chosen, followed, go };
})();
