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

// Tables of models: search by name, sort by a column, and save as CSV.
for (const field of document.querySelectorAll("[data-find]")) {
  const shown = field.closest(".lookup");
  shown.hidden = false;
  field.addEventListener("input", () => {
    const wanted = field.value.trim().toLowerCase(), rows = [...document.getElementById(field.dataset.find).tBodies[0].rows];
    for (const row of rows) row.hidden = !row.querySelector(".name").textContent.toLowerCase().includes(wanted);
    const found = rows.filter(row => !row.hidden).length;
    shown.querySelector("output").textContent = wanted ? `${found} of ${rows.length}` : "";
  });
}
for (const table of document.querySelectorAll("table[data-sort]")) {
  const heads = [...table.tHead.rows[0].cells], menu = document.querySelector(`[data-order="${table.id}"]`);
  const sort = (at, down) => {
    heads.forEach(head => head.removeAttribute("aria-sort"));
    heads[at].setAttribute("aria-sort", down ? "descending" : "ascending");
    const value = row => row.cells[at].dataset.value;
    const by = (a, b) => value(a) ? value(a) - value(b) : a.cells[at].textContent.localeCompare(b.cells[at].textContent, "en", { numeric: true });
    table.tBodies[0].append(...[...table.tBodies[0].rows].sort((a, b) => down ? by(b, a) : by(a, b)));
    menu.value = at;
  };
  heads.forEach((head, at) => {
    if (head.dataset.fixed !== undefined) return;
    menu.add(new Option(head.textContent, at));
    const other = { ascending: true, descending: false }, first = head.dataset.down !== undefined;
    const made = button("", () => sort(at, other[head.getAttribute("aria-sort")] ?? first));
    made.append(...head.childNodes);
    head.append(made);
  });
  menu.addEventListener("change", () => sort(Number(menu.value), heads[menu.value].dataset.down !== undefined));
}
// A spreadsheet takes a text that begins so for a formula: a quote before it makes it a text.
const cell = value => `"${String(value ?? "").replace(typeof value === "number" ? /$^/ : /^[=+@-]/, "'$&").replaceAll('"', '""')}"`;
for (const made of document.querySelectorAll("[data-save]")) {
  made.addEventListener("click", () => {
    const table = document.getElementById(made.dataset.save), lines = [table, ...table.tBodies[0].rows];
    const text = lines.map(line => JSON.parse(line.dataset.csv).map(cell).join(",") + "\r\n").join("");
    save("data:text/csv;charset=utf-8," + encodeURIComponent(text), made.dataset.save + ".csv");
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
