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

for (const button of document.querySelectorAll("button.copy")) {
  if (!navigator.clipboard) break;
  button.hidden = false;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(button.previousElementSibling.textContent);
    button.textContent = "Copied";
  });
}

// Times in the reader's zone; the title keeps UTC. What is replaced later is changed as well.
(() => {
  const pad = (n) => String(n).padStart(2, "0");
  const local = (at) => `${at.getFullYear()}-${pad(at.getMonth() + 1)}-${pad(at.getDate())} ` +
    `${pad(at.getHours())}:${pad(at.getMinutes())}:${pad(at.getSeconds())}`;
  const show = () => {
    for (const time of document.querySelectorAll("time.clock")) {
      const text = local(new Date(time.dateTime));
      if (time.textContent !== text) time.textContent = text;
    }
  };
  show();
  new MutationObserver(show).observe(document.body, { childList: true, subtree: true, characterData: true });
  const zone = document.getElementById("zone");
  if (zone) zone.textContent = `times are local (${Intl.DateTimeFormat().resolvedOptions().timeZone}), in UTC where you hover`;
})();

// "/" goes to the search, or to the first filter of a page that has none.
document.addEventListener("keydown", (e) => {
  if (e.key !== "/" || e.ctrlKey || e.metaKey || e.altKey || e.target.closest("input, textarea, select")) return;
  const search = document.getElementById("find") ?? document.querySelector(".filters input:not([type=hidden])");
  if (!search) return;
  e.preventDefault();
  search.focus();
  search.select();
});
