"use strict";
// Nothing on the page needs this: it opens what a link points into, and saves figures.
const button = (text, act) => {
  const made = document.createElement("button");
  made.type = "button";
  made.textContent = text;
  made.addEventListener("click", act);
  return made;
};
const reveal = () => {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!target) return;
  for (let at = target.closest("details"); at; at = at.parentElement.closest("details")) at.open = true;
  target.scrollIntoView();
};
addEventListener("hashchange", reveal);
reveal();

const all = document.querySelectorAll("main details:not(.differing *)");
const tools = document.createElement("p");
tools.className = "tools";
tools.append(
  button("Open everything", () => all.forEach(fold => { fold.open = true; })),
  button("Fold everything", () => all.forEach(fold => { fold.open = false; })),
);
document.querySelector("nav").append(tools);

// An address of the viewer is copied, not followed: nothing answers there unless `gridc view` runs.
const viewer = document.querySelector("main").dataset.viewer;
for (const made of document.querySelectorAll("[data-at]")) {
  made.hidden = false;
  made.title = "The address for `gridc view`";
  made.addEventListener("click", () => {
    if (made.nextElementSibling?.tagName === "CODE") return made.nextElementSibling.remove();
    const shown = document.createElement("code");
    shown.textContent = viewer + made.dataset.at;
    made.after(shown);
    navigator.clipboard?.writeText(shown.textContent).catch(() => {});
  });
}

// A page from disk may not write to the clipboard: then the text is selected, to be copied by hand.
for (const made of document.querySelectorAll("[data-copy]")) {
  made.hidden = false;
  made.addEventListener("click", () => {
    const done = () => { made.textContent = "copied"; };
    const select = () => { getSelection().selectAllChildren(made.parentElement.querySelector("q")); };
    if (navigator.clipboard) navigator.clipboard.writeText(made.dataset.copy).then(done, select);
    else select();
  });
}

const save = (address, name) => {
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
};
const address = svg => {
  const copy = svg.cloneNode(true);
  copy.removeAttribute("style");
  const text = new XMLSerializer().serializeToString(copy);
  return "data:image/svg+xml;charset=utf-8," + encodeURIComponent(text);
};
const asPng = (svg, name) => {
  const image = new Image(), { width, height } = svg.viewBox.baseVal, scale = 3;
  image.onload = () => {
    const canvas = document.createElement("canvas");
    canvas.width = width * scale;
    canvas.height = height * scale;
    const paint = canvas.getContext("2d");
    paint.fillStyle = "#ffffff";
    paint.fillRect(0, 0, canvas.width, canvas.height);
    paint.drawImage(image, 0, 0, canvas.width, canvas.height);
    save(canvas.toDataURL("image/png"), name);
  };
  image.src = address(svg);
};
for (const drawn of document.querySelectorAll("[data-name]")) {
  const svg = drawn.querySelector("svg"), name = drawn.dataset.name;
  const row = document.createElement("div");
  row.className = "save";
  for (const [kind, act] of [["SVG", () => save(address(svg), name + ".svg")], ["PNG", () => asPng(svg, name + ".png")]]) {
    const made = button(kind, act);
    made.setAttribute("aria-label", `Save ${name} as ${kind}`);
    row.append(made);
  }
  drawn.after(row);
}
