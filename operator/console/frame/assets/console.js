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
  document.addEventListener("htmx:sse:error", () => { state.textContent = "cut off, trying again"; });
  document.addEventListener("htmx:sse:after:connection", () => { state.textContent = "following"; });
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
