
"use strict";
const sheet = JSON.parse(document.getElementById("data").textContent);
const form = document.getElementById("rows");
const state = document.getElementById("state");
const key = "gridc-audit " + sheet.about + " " + (sheet.rows.length ? sheet.rows[0].uuid : "");
let kept = {};
try { kept = JSON.parse(localStorage.getItem(key)) || {}; } catch (error) { kept = {}; }
const labels = new Map();

function put(parent, tag, text, name) {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  if (name) made.className = name;
  parent.append(made);
  return made;
}

function count() {
  state.textContent = labels.size + " of " + sheet.rows.length + " labelled";
}

function choose(row, box, label) {
  labels.set(row.uuid, label);
  box.dataset.done = "";
  try { localStorage.setItem(key, JSON.stringify(Object.fromEntries(labels))); } catch (error) { /* kept until the page closes */ }
  count();
}

sheet.rows.forEach((row, number) => {
  const box = put(form, "fieldset");
  put(box, "legend", "Response " + (number + 1));
  put(box, "div", row.question, "text");
  put(box, "div", row.response, "text response");
  const list = put(box, "div", undefined, "labels");
  row.labels.forEach((label) => {
    const line = put(list, "label");
    const button = put(line, "input");
    button.type = "radio";
    button.name = row.uuid;
    button.addEventListener("change", () => choose(row, box, label));
    line.append(" ", label);
    if (kept[row.uuid] === label) { button.checked = true; choose(row, box, label); }
  });
});
count();

const quoted = (text) => "\"" + text.replaceAll("\"", "\"\"") + "\"";
document.getElementById("save").addEventListener("click", () => {
  const open = sheet.rows.findIndex((row) => !labels.has(row.uuid));
  if (open >= 0) {
    state.textContent = "Response " + (open + 1) + " has no label yet: every one needs one.";
    form.children[open].scrollIntoView();
    return;
  }
  const cell = (row) => row.cells[row.labels.indexOf(labels.get(row.uuid))];
  const lines = sheet.rows.map((row) => quoted(row.uuid) + "," + quoted(cell(row)));
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob(["uuid,label\r\n" + lines.join("\r\n") + "\r\n"], { type: "text/csv" }));
  link.download = sheet.about + "-labels.csv";
  link.click();
  URL.revokeObjectURL(link.href);
  state.textContent = "Saved as " + link.download + ".";
});
