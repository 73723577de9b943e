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

// Buttons that copy the text before them.
if (navigator.clipboard) {
  const show = () => {
    for (const button of document.querySelectorAll("button.copy[hidden]")) button.hidden = false;
  };
  show();
  new MutationObserver(show).observe(document.body, { childList: true, subtree: true });
  document.addEventListener("click", async (e) => {
    const button = e.target.closest("button.copy");
    if (!button) return;
    await navigator.clipboard.writeText(button.previousElementSibling.textContent);
    button.textContent = "Copied";
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

// Keys: "/" goes to the search, or to the first filter of a page that has none; j and k choose a row, Enter opens it, Escape
// leaves a field or the row.
document.addEventListener("keydown", (e) => {
  if (e.ctrlKey || e.metaKey || e.altKey) return;
  const field = e.target.closest("input, textarea, select");
  if (e.key === "Escape") {
    document.activeElement?.blur();
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
    const rows = [...document.querySelectorAll("table.list tbody tr")].filter((row) => row.querySelector("a") && row.offsetParent);
    if (!rows.length) return;
    const at = rows.indexOf(document.activeElement.closest("tr"));
    const next = rows[Math.min(Math.max(at < 0 ? 0 : at + (e.key === "j" ? 1 : -1), 0), rows.length - 1)];
    (next.querySelector("a.whole") ?? next.querySelector("a")).focus();
  }
});
