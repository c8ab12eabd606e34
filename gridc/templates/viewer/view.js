// Keys. Every page works without this file.
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
    "?": () => {
      const keys = document.getElementById("keys");
      if (keys) { keys.open = !keys.open; keys.scrollIntoView({ block: "end" }); }
    },
  };
  if (event.key in keys) {
    event.preventDefault();
    keys[event.key]();
  }
});
