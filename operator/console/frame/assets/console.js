// What pages can do beside working: nothing here is needed to read or to act.
"use strict";

// Live rows: they stop while they are paused, and while nobody looks (hx-sse closes the stream of a hidden tab).
(() => {
  const live = document.getElementById("live");
  const tail = document.getElementById("tail");
  if (!live || !tail) return;
  const button = document.getElementById("pause");
  const state = document.getElementById("tail-state");
  const fresh = tail.cloneNode(false);
  let current = tail;
  const follow = () => {
    current = fresh.cloneNode(false);
    live.after(current);
    htmx.process(current);
  };
  const stop = () => {
    const reader = current._htmx?.sse?.reader;
    current.remove();
    reader?.cancel();
  };
  button.addEventListener("click", () => {
    const paused = button.getAttribute("aria-pressed") !== "true";
    button.setAttribute("aria-pressed", String(paused));
    button.textContent = paused ? "Follow" : "Pause";
    state.textContent = paused ? "paused" : "following";
    if (paused) stop(); else follow();
  });
  document.addEventListener("htmx:sse:before:message", (e) => {
    if (!current.isConnected) e.preventDefault();
  });
  // A stream that was connecting when the page was paused reports afterwards.
  const show = (text) => { if (current.isConnected) state.textContent = text; };
  document.addEventListener("htmx:sse:error", () => show("cut off, trying again"));
  document.addEventListener("htmx:sse:after:connection", () => show("following"));
  live.hidden = false;
})();

// What the reader opened or closed stays so when a part of the page is replaced, and a page that nobody looks at isn't loaded again.
document.addEventListener("htmx:before:morph:attr", (e) => {
  const isOpened = e.detail.attrName === "open" && e.target.matches("details");
  if (isOpened || (e.detail.attrName === "hidden" && e.target.matches("button.copy"))) e.preventDefault();
});
document.addEventListener("htmx:before:request", (e) => {
  if (document.hidden && e.target.id === "event") e.preventDefault();
});

// Buttons that copy the text before them, or the present text of a field.
if (navigator.clipboard) {
  const show = () => {
    for (const button of document.querySelectorAll("button.copy[hidden]")) button.hidden = false;
  };
  show();
  new MutationObserver(show).observe(document.body, { childList: true, subtree: true });
  document.addEventListener("click", async (e) => {
    const button = e.target.closest("button.copy");
    if (!button) return;
    const copied = button.previousElementSibling;
    await navigator.clipboard.writeText(copied.value ?? copied.textContent);
    button.textContent = "Copied";
  });
  document.addEventListener("input", (e) => {
    const button = e.target.nextElementSibling;
    if (button?.matches("button.copy")) button.textContent = "Copy";
  });
}

// JSON is colored, and what is nested can be folded. Its text stays as it was, for the clipboard.
(() => {
  const token = /("(?:[^"\\]|\\.)*")(\s*:)?|\b(?:true|false|null)\b|-?\d[\w.+-]*/g;
  const color = (line) => {
    const parts = [];
    let end = 0;
    for (const found of line.matchAll(token)) {
      const [all, text, colon] = found;
      const span = document.createElement("span");
      span.className = colon ? "name" : text ? "" : "value";
      span.textContent = text ?? all;
      parts.push(line.slice(end, found.index), span, colon ?? "");
      end = found.index + all.length;
    }
    return [...parts, line.slice(end)];
  };
  const indentOf = (line) => line.textContent.search(/\S|$/);
  const fold = (pre) => {
    let until = -1;
    for (const line of pre.children) {
      line.hidden = until >= 0 && indentOf(line) > until;
      if (line.hidden) continue;
      const button = line.querySelector("button");
      until = button?.getAttribute("aria-expanded") === "false" ? indentOf(line) : -1;
    }
  };
  const show = () => {
    for (const pre of document.querySelectorAll("pre.json")) {
      if (pre.querySelector("span.line")) continue;
      const lines = pre.textContent.split("\n");
      pre.replaceChildren(...lines.map((text, at) => {
        const line = document.createElement("span");
        line.className = "line";
        line.append(...color(text), at + 1 < lines.length ? "\n" : "");
        if (/[{[]$/.test(text)) {
          const button = document.createElement("button");
          button.type = "button";
          button.className = "fold";
          button.setAttribute("aria-expanded", "true");
          button.setAttribute("aria-label", `Show ${text.trim().split(":")[0]}`);
          line.prepend(button);
        }
        return line;
      }));
    }
  };
  show();
  new MutationObserver(show).observe(document.body, { childList: true, subtree: true });
  document.addEventListener("click", (e) => {
    const button = e.target.closest("pre.json button.fold");
    if (!button) return;
    button.setAttribute("aria-expanded", String(button.getAttribute("aria-expanded") === "false"));
    fold(button.closest("pre"));
  });
  document.addEventListener("htmx:before:morph:node", (e) => {
    if (e.target.matches("pre.json") && e.target.textContent === e.detail.newNode.textContent) e.preventDefault();
  });
})();

// Times in the reader's zone, and in UTC in the title. What is replaced later is changed as well. In lists that are ordered by time,
// a row shows its day only if the row before it has another one.
(() => {
  const pad = (n) => String(n).padStart(2, "0");
  const dateOf = (at) => `${at.getFullYear()}-${pad(at.getMonth() + 1)}-${pad(at.getDate())}`;
  const timeOf = (at) => `${pad(at.getHours())}:${pad(at.getMinutes())}:${pad(at.getSeconds())}`;
  const words = new Intl.DateTimeFormat("en-GB", { weekday: "long", day: "numeric", month: "long", year: "numeric" });
  const nameOf = (at) => {
    const days = Math.round((new Date().setHours(0, 0, 0, 0) - new Date(at).setHours(0, 0, 0, 0)) / 864e5);
    return days === 0 ? "Today" : days === 1 ? "Yesterday" : words.format(at);
  };
  const write = (time, day) => {
    const at = new Date(time.dateTime);
    const shown = day ?? dateOf(at);
    const clock = timeOf(at);
    if (time.textContent === `${shown} ${clock}`) return;
    time.title = `${at.toISOString().slice(0, 19).replace("T", " ")} UTC`;
    const span = document.createElement("span");
    span.className = "day";
    span.textContent = shown;
    time.replaceChildren(span, ` ${clock}`);
  };
  const show = () => {
    const named = new Set();
    for (const table of document.querySelectorAll("table.days")) {
      let before = "";
      for (const row of table.tBodies[0].rows) {
        const time = row.querySelector("time.clock");
        if (!time) continue;
        const day = dateOf(new Date(time.dateTime));
        row.classList.toggle("new-day", day !== before);
        before = day;
        named.add(time);
        write(time, nameOf(new Date(time.dateTime)));
      }
    }
    for (const time of document.querySelectorAll("time.clock")) if (!named.has(time)) write(time);
  };
  show();
  new MutationObserver(show).observe(document.body, { childList: true, subtree: true, characterData: true });
  const zone = document.getElementById("zone");
  if (zone) zone.textContent = `times are local (${Intl.DateTimeFormat().resolvedOptions().timeZone}), in UTC where you hover`;
})();

// On a phone the navigation scrolls: it begins at the current section.
(() => {
  const list = document.querySelector(".top nav ul");
  const current = list?.querySelector("[aria-current]");
  if (current) list.scrollLeft = current.offsetLeft - list.offsetLeft - (list.clientWidth - current.offsetWidth) / 2;
})();

// The navigation counts what a live page counts.
(() => {
  const copy = () => {
    for (const now of document.querySelectorAll("[data-counts]")) {
      const shown = document.querySelector(`.count[data-section="${now.dataset.counts}"]`);
      if (shown && shown.textContent !== now.textContent) shown.textContent = now.textContent;
    }
  };
  copy();
  new MutationObserver(copy).observe(document.getElementById("main"), { childList: true, subtree: true, characterData: true });
})();

// The panel next to a list on a wide screen shows the page of the row that j, k or a click has chosen.
const details = (() => {
  const wide = matchMedia("(min-width: 1360px)");
  let panel, link, loading, due;
  const make = () => {
    panel = document.createElement("aside");
    panel.className = "panel";
    panel.tabIndex = -1;
    panel.setAttribute("aria-label", "Details of the chosen row");
    panel.innerHTML = '<div class="actions"><a class="button">Open</a> <button type="button">Close</button></div><p class="visually-hidden" role="status"></p><div></div>';
    panel.querySelector("button").addEventListener("click", close);
    document.getElementById("main").after(panel);
  };
  const mark = (next) => {
    link?.closest("tr")?.removeAttribute("aria-current");
    link = next;
    link?.closest("tr").setAttribute("aria-current", "true");
  };
  // A part of another page: its IDs, headings and live parts would clash with those of this one.
  const prepare = (main, url) => {
    for (const part of main.querySelectorAll(":scope > .help, :scope > .flash, [hx-trigger] h2 small")) part.remove();
    for (const element of main.querySelectorAll("*")) {
      for (const { name, value } of [...element.attributes]) {
        if (name.startsWith("hx-")) element.removeAttribute(name);
        if (["id", "for", "aria-labelledby", "aria-describedby", "list"].includes(name)) {
          element.setAttribute(name, value.split(" ").map((id) => `panel-${id}`).join(" "));
        }
        if (name === "href" && /^[?#]/.test(value)) element.setAttribute(name, new URL(value, url).href);
      }
    }
    for (const heading of [...main.querySelectorAll("h1, h2, h3")]) {
      const lower = document.createElement(`h${Number(heading.localName[1]) + 1}`);
      for (const { name, value } of heading.attributes) lower.setAttribute(name, value);
      lower.append(...heading.childNodes);
      heading.replaceWith(lower);
    }
    return main.childNodes;
  };
  const load = async (url) => {
    loading = new AbortController();
    const [bar, status, content] = panel.children;
    try {
      const response = await fetch(url, { signal: loading.signal });
      const page = new DOMParser().parseFromString(await response.text(), "text/html");
      if (!response.ok || response.redirected) throw new Error(page.title);
      content.replaceChildren(...prepare(page.getElementById("main"), url));
      status.textContent = page.title.split(" · ")[0];
      const part = document.getElementById(`panel-${new URL(url).hash.slice(1)}`);
      panel.scrollTop = part ? part.offsetTop - bar.offsetHeight : 0;
    } catch (e) {
      if (e.name === "AbortError") return;
      content.textContent = "This can't be shown here. Open it.";
    }
  };
  const show = (next, pause) => {
    if (!wide.matches || (link === next && isOpen())) return;
    if (!panel) make();
    mark(next);
    panel.hidden = false;
    panel.style.top = `${document.querySelector(".top").offsetHeight}px`;
    document.body.classList.add("split");
    panel.querySelector("a").href = next.href;
    loading?.abort();
    clearTimeout(due);
    due = setTimeout(load, pause, next.href);
  };
  const isOpen = () => Boolean(panel) && !panel.hidden;
  const close = () => {
    const row = link;
    const isInside = panel.contains(document.activeElement);
    loading?.abort();
    clearTimeout(due);
    mark(null);
    panel.hidden = true;
    document.body.classList.remove("split");
    if (isInside) row.focus();
  };
  document.addEventListener("click", (e) => {
    const chosen = e.target.closest("[data-panel] tr.linked a.whole");
    const isPlain = e.button === 0 && e.detail > 0 && !e.ctrlKey && !e.metaKey && !e.shiftKey && !e.altKey;
    if (!chosen || !isPlain || !wide.matches || (chosen === link && isOpen())) return;
    e.preventDefault();
    chosen.focus();
    show(chosen, 0);
  });
  return { show, close, isOpen, row: () => link?.closest("tr"), focus: () => panel.focus() };
})();

// Dragging over the bars of a chart, or Shift and an arrow key, chooses a time range; then the list is loaded with it. Bars stay
// links, as they are without scripts.
document.querySelectorAll(".bars svg[data-list]").forEach((svg, n) => {
  const [since, step, steps] = [svg.dataset.since, svg.dataset.step, svg.dataset.steps].map(Number);
  const make = (name, properties) => Object.assign(document.createElement(name), properties);
  const brush = make("div", { className: "brush", hidden: true });
  const slider = make("div", {
    className: "range", tabIndex: 0, role: "slider", ariaLabel: "Time range", ariaValueMin: 1, ariaValueMax: steps,
  });
  const chosen = make("small", { hidden: true });
  const hint = make("small", { id: `range-${n}` });
  const keys = make("span", { className: "keys", textContent: ", or press Shift and an arrow key," });
  hint.append("Drag", keys, " to choose a time range.");
  slider.setAttribute("aria-describedby", hint.id);
  slider.append(brush);
  svg.after(slider);
  svg.closest(".chart").querySelector(".legend").append(chosen, hint);

  const at = (i) => new Date(since + i * step);
  const words = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });
  let from = steps - 1;
  let to = from;
  const ends = () => [Math.min(from, to), Math.max(from, to) + 1];
  const show = (isShown) => {
    const [first, end] = ends();
    brush.hidden = chosen.hidden = !isShown;
    hint.hidden = isShown;
    brush.style.left = `${(100 * first) / steps}%`;
    brush.style.width = `${(100 * (end - first)) / steps}%`;
    chosen.textContent = words.formatRange(at(first), at(end));
    slider.ariaValueNow = to + 1;
    slider.ariaValueText = chosen.textContent;
  };
  const choose = (one, other) => {
    [from, to] = [one, other].map((i) => Math.min(Math.max(i, 0), steps - 1));
    show(true);
  };
  const load = () => {
    const [since, until] = ends().map((i) => `${at(i).toISOString().slice(0, 16)}Z`);
    location.assign(`${svg.dataset.list}${svg.dataset.list.includes("?") ? "&" : "?"}since=${since}&until=${until}`);
  };
  show(false);

  // A pointer is down: it began at x, and may have moved so far that this is no click, or be canceled.
  let pointer = null;
  const stepOf = (e) => {
    const box = svg.getBoundingClientRect();
    return Math.floor(((e.clientX - box.left) / box.width) * steps);
  };
  svg.addEventListener("pointerdown", (e) => {
    pointer = e.button === 0 && e.isPrimary ? { x: e.clientX, from: stepOf(e) } : null;
  });
  svg.addEventListener("pointermove", (e) => {
    if (!pointer || pointer.isOver || (!pointer.hasMoved && Math.abs(e.clientX - pointer.x) < 5)) return;
    if (!pointer.hasMoved) svg.setPointerCapture(e.pointerId);
    pointer.hasMoved = true;
    choose(pointer.from, stepOf(e));
  });
  svg.addEventListener("pointerup", () => {
    if (pointer?.hasMoved && !pointer.isOver) load();
    if (pointer) pointer.isOver = true;
  });
  const cancel = () => {
    if (pointer) pointer.isOver = true;
    show(false);
  };
  svg.addEventListener("pointercancel", cancel);
  svg.addEventListener("dragstart", (e) => e.preventDefault());
  svg.addEventListener("click", (e) => {
    if (pointer?.hasMoved && e.detail > 0) e.preventDefault(); // the end of a drag
  });

  slider.addEventListener("focus", () => choose(to, to));
  slider.addEventListener("blur", () => show(false));
  slider.addEventListener("keydown", (e) => {
    const next = { ArrowLeft: to - 1, ArrowDown: to - 1, ArrowRight: to + 1, ArrowUp: to + 1, Home: 0, End: steps - 1 }[e.key];
    if (e.ctrlKey || e.metaKey || e.altKey || (next === undefined && e.key !== "Enter")) return;
    e.preventDefault();
    if (next !== undefined) choose(e.shiftKey ? from : next, next);
    else if (!brush.hidden) load();
  });
  document.addEventListener("keydown", (e) => {
    if (e.key !== "Escape" || brush.hidden) return;
    e.stopPropagation();
    cancel();
  }, true);
  addEventListener("pagehide", cancel); // the page may be shown again as it was left
});

// Rows that are picked for an action: all of a page at once, and how many they are.
(() => {
  const all = document.getElementById("page-picked");
  if (!all) return;
  const boxes = [...document.querySelectorAll("input[name=id]")];
  const picked = document.getElementById("picked");
  const count = () => {
    const n = boxes.filter((box) => box.checked).length;
    all.checked = n === boxes.length;
    all.indeterminate = n > 0 && n < boxes.length;
    const matching = document.getElementById("all");
    picked.textContent = n ? `${n} selected` : "";
    if (!n || n < boxes.length || !matching || matching.textContent.includes(` ${n} `)) return;
    const more = document.createElement("a");
    more.href = matching.href;
    more.textContent = matching.textContent.replace("Replay", "Select").trim();
    picked.append(". ", more);
  };
  all.addEventListener("change", () => {
    for (const box of boxes) box.checked = all.checked;
    count();
  });
  document.addEventListener("change", (e) => {
    if (boxes.includes(e.target)) count();
  });
  all.closest("label").hidden = false;
  count();
})();

// Keys: "/" goes to the search, or to the first filter of a page that has none; j and k choose a row, Enter opens it, x picks it, o
// goes to the panel, Escape leaves a field, the panel or the row.
document.addEventListener("keydown", (e) => {
  if (e.ctrlKey || e.metaKey || e.altKey) return;
  const field = e.target.closest("input:not([type=checkbox]), textarea, select");
  if (e.key === "Escape") {
    if (!field && details.isOpen()) details.close();
    else document.activeElement?.blur();
    return;
  }
  if (field) return;
  if (e.key === "/") {
    const search = document.getElementById("find") ?? document.querySelector(".filters input:not([type=hidden])");
    if (!search) return;
    e.preventDefault();
    search.focus();
    search.select();
  } else if (e.key === "j" || e.key === "k") {
    const rows = [...document.querySelectorAll("main table.list tbody tr")].filter((row) => row.querySelector("a") && row.checkVisibility());
    if (!rows.length) return;
    const at = rows.indexOf(rows.find((row) => row.contains(document.activeElement)) ?? details.row());
    const next = rows[Math.min(Math.max(at < 0 ? 0 : at + (e.key === "j" ? 1 : -1), 0), rows.length - 1)];
    const link = next.querySelector("a.whole") ?? next.querySelector("a");
    link.focus();
    if (next.matches("[data-panel] .linked")) details.show(link, 150);
  } else if (e.key === "o" && details.isOpen()) {
    details.focus();
  } else if (e.key === "x") {
    document.activeElement.closest("tr")?.querySelector("input[type=checkbox]")?.click();
  }
});
