// Keys, and the size of a figure. Every page works without this file.
"use strict";
// The question is at the end of a prompt, behind its exemplars.
addEventListener("DOMContentLoaded", () => {
  for (const prompt of document.querySelectorAll("pre.prompt")) prompt.scrollTop = prompt.scrollHeight;
});
addEventListener("toggle", (event) => {
  for (const prompt of event.target.querySelectorAll("pre.prompt")) prompt.scrollTop = prompt.scrollHeight;
}, true);
addEventListener("keydown", (event) => {
  const typing = event.target.closest("input, select, textarea");
  if (event.ctrlKey || event.metaKey || event.altKey || typing) {
    if (typing && event.key === "Escape") event.target.blur();
    return;
  }
  const follow = (rel) => document.querySelector(`a[rel="${rel}"]`)?.click();
  const step = (by) => {
    const rows = [...document.querySelectorAll("a.row, .surface td a")];
    const now = rows.indexOf(document.activeElement);
    const next = now < 0 ? (by > 0 ? 0 : rows.length - 1) : Math.min(Math.max(now + by, 0), rows.length - 1);
    rows[next]?.focus();
    rows[next]?.scrollIntoView({ block: "nearest" });
  };
  const keys = {
    j: () => step(1),
    k: () => step(-1),
    n: () => follow("next"),
    p: () => follow("prev"),
    u: () => follow("up"),
    "/": () => document.getElementById("find")?.focus(),
  };
  if (event.key in keys) {
    event.preventDefault();
    keys[event.key]();
  }
});
// The figure of a curve: buttons, Ctrl with the wheel or a pinch make it larger, dragging moves it.
for (const box of document.querySelectorAll(".zoomed")) {
  const drawing = box.querySelector("svg");
  const drawn = { width: drawing.width.baseVal.value, height: drawing.height.baseVal.value };
  let scale = 1;
  const zoom = (to, x, y) => {
    const by = Math.min(Math.max(to, 0.25), 24) / scale;
    const at = [(box.scrollLeft + x) * by - x, (box.scrollTop + y) * by - y];
    scale *= by;
    for (const side in drawn) drawing.setAttribute(side, drawn[side] * scale);
    box.scrollTo(...at);
  };
  const buttons = document.querySelector(".zooms");
  buttons.hidden = false;
  buttons.addEventListener("click", (event) => {
    const by = event.target.dataset.by;
    if (by) zoom(scale * by || 1, box.clientWidth / 2, 0);
  });
  box.addEventListener("wheel", (event) => {
    if (!event.ctrlKey) return;
    event.preventDefault();
    const { left, top } = box.getBoundingClientRect();
    zoom(scale * Math.exp(-event.deltaY / 300), event.clientX - left, event.clientY - top);
  }, { passive: false });
  let held = null, moved = false;
  box.addEventListener("dragstart", (event) => event.preventDefault());
  box.addEventListener("pointerdown", (event) => {
    moved = false;
    held = event.pointerType === "mouse" && event.button === 0
      ? [event.clientX + box.scrollLeft, event.clientY + box.scrollTop] : null;
  });
  addEventListener("pointerup", () => { held = null; });
  box.addEventListener("pointermove", (event) => {
    if (!held || !(event.buttons & 1)) return;
    const to = [held[0] - event.clientX, held[1] - event.clientY];
    moved ||= Math.hypot(to[0] - box.scrollLeft, to[1] - box.scrollTop) > 4;
    if (moved) box.scrollTo(...to);
  });
  box.addEventListener("click", (event) => { if (moved) event.preventDefault(); }, true);
  const choose = () => {
    for (const link of box.querySelectorAll("svg a")) {
      if (location.hash && link.getAttribute("href") === location.hash) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
  };
  addEventListener("hashchange", choose);
  choose();
}
