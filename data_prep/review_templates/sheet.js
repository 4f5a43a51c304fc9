"use strict";
// Answers live in the form itself; the browser's storage holds a copy from one visit to the next, the CSV is what is sent back.
const sheet = JSON.parse(document.getElementById("sheet").textContent);
const place = ["review", sheet.sample, sheet.language, sheet.reviewer].join("/");
const rows = [...document.querySelectorAll("article")];
const byId = (id) => document.getElementById(id);
const clock = () => new Date().toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });

const cellsOf = (row) => [...row.querySelectorAll("[data-column]")];
const isChoice = (cell) => cell.tagName === "FIELDSET";

function valueOf(cell) {
  return isChoice(cell) ? (cell.querySelector("input:checked")?.value ?? "") : cell.value;
}

function setValue(cell, value) {
  if (isChoice(cell)) {
    for (const input of cell.querySelectorAll("input")) input.checked = input.value === value;
  } else {
    cell.value = value;
    const correction = cell.closest(".correction");
    if (correction && value) correction.open = true;
  }
}

const answersOf = (row) => Object.fromEntries(cellsOf(row).map((cell) => [cell.dataset.column, valueOf(cell)]));
const unfilledIn = (row) => cellsOf(row).filter((cell) => "required" in cell.dataset && !valueOf(cell).trim());
const unfilledRows = () => rows.filter((row) => unfilledIn(row).length > 0);

function show() {
  const done = rows.length - unfilledRows().length;
  for (const row of rows) {
    const filled = unfilledIn(row).length === 0;
    row.classList.toggle("done", filled);
    row.querySelector(".state").textContent = filled ? "✓ done" : "";
    for (const cell of cellsOf(row).filter(isChoice)) cell.querySelector(".clear").hidden = !valueOf(cell);
  }
  byId("progress").value = done;
  byId("count").textContent = `${done} of ${rows.length} done`;
  byId("next").disabled = done === rows.length;
  document.title = `(${done}/${rows.length}) ${document.title.replace(/^\(\d+\/\d+\) /, "")}`;
}

let kept = true;
let waiting = 0;

function keep() {
  clearTimeout(waiting);
  waiting = 0;
  try {
    localStorage.setItem(place, JSON.stringify(Object.fromEntries(rows.map((row) => [row.dataset.row, answersOf(row)]))));
    kept = true;
    byId("kept").textContent = `Kept in this browser, ${clock()}`;
  } catch {
    kept = false;
  }
  byId("unkept").hidden = kept;
}

function changed() {
  show();
  clearTimeout(waiting);
  waiting = setTimeout(keep, 250);
}

function fill(answers) {
  for (const row of rows) {
    for (const cell of cellsOf(row)) setValue(cell, answers[row.dataset.row]?.[cell.dataset.column] ?? "");
  }
  show();
}

function restore() {
  try {
    const stored = localStorage.getItem(place);
    if (stored) {
      fill(JSON.parse(stored));
      byId("kept").textContent = "Your earlier answers are here";
    }
  } catch {
    kept = false;
    byId("unkept").hidden = false;
  }
}

// The same rule as guard and unguard in review_sheets/cells.py: no cell is run as a formula, each is read back as it was.
const formula = /^(?:'*[ \t\r\n\u00a0\ufeff]*[=+\-@＝＋－＠]|'*[\t\r\n])/;
const guard = (text) => (formula.test(text) ? `'${text}` : text);
const unguard = (cell) => (cell.startsWith("'") && formula.test(cell) ? cell.slice(1) : cell);
const quoted = (text) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

function csv() {
  const whose = { language: sheet.language, reviewer: sheet.reviewer, sample: sheet.sample };
  const lines = rows.map((row) => {
    const cells = { row: row.dataset.row, ...answersOf(row), ...whose };
    return sheet.columns.map((name) => quoted(guard(cells[name] ?? ""))).join(",");
  });
  return `\ufeff${[sheet.columns.join(","), ...lines].join("\r\n")}\r\n`;
}

function download() {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([csv()], { type: "text/csv;charset=utf-8" }));
  link.download = `${sheet.language}-${sheet.reviewer}.csv`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  keep();
  byId("kept").textContent = `Saved ${link.download}, ${clock()}`;
}

function save() {
  const left = unfilledRows();
  if (left.length === 0) return download();
  byId("unfilled-title").textContent = `${left.length} of ${rows.length} rows are not filled`;
  const items = left.slice(0, 12).map((row) => {
    const link = document.createElement("a");
    link.href = `#${row.id}`;
    link.textContent = row.id;
    link.onclick = () => byId("unfilled").close();
    const item = document.createElement("li");
    item.append(link);
    return item;
  });
  if (left.length > items.length) items.push(Object.assign(document.createElement("li"), { textContent: `and ${left.length - items.length} more` }));
  byId("unfilled-rows").replaceChildren(...items);
  return byId("unfilled").showModal();
}

function parse(text) {
  const lines = [[""]];
  let inside = false;
  for (let at = text.startsWith("\ufeff") ? 1 : 0; at < text.length; at++) {
    const mark = text[at];
    const line = lines[lines.length - 1];
    if (inside && mark === '"' && text[at + 1] === '"') line[line.length - 1] += text[++at];
    else if (mark === '"') inside = !inside;
    else if (!inside && mark === ",") line.push("");
    else if (!inside && (mark === "\n" || mark === "\r")) {
      if (mark === "\r" && text[at + 1] === "\n") at++;
      lines.push([""]);
    } else line[line.length - 1] += mark;
  }
  const [header, ...body] = lines;
  return body.map((line) => Object.fromEntries(line.map((cell, column) => [header[column], unguard(cell)])));
}

async function openFile(file) {
  const read = parse(await file.text()).filter((line) => line.row && !line.row.startsWith("#"));
  if (!read.length || read.some((line) => line.sample !== sheet.sample || line.language !== sheet.language)) {
    byId("kept").textContent = `${file.name} is not a CSV of this sheet`;
    return;
  }
  fill(Object.fromEntries(read.map((line) => [line.row, line])));
  keep();
  byId("kept").textContent = `Opened ${file.name}`;
}

function goTo(cell) {
  const article = cell.closest("article");
  const block = cell.closest(".block");
  cell.focus({ preventScroll: true });
  // The texts come before the question, and the first block of a row has the row's number above it.
  (block === article.querySelector(".block") ? article : block).scrollIntoView({ block: "start" });
}

function next(from) {
  const cells = rows.flatMap(unfilledIn);
  const after = from && cells.find((cell) => from.compareDocumentPosition(cell) & Node.DOCUMENT_POSITION_FOLLOWING);
  const cell = after ?? cells[0];
  if (cell) goTo(cell);
}

const keys = { y: "valid", n: "invalid" };

function onKey(event) {
  const cell = event.target.closest("[data-column]");
  if (!cell || event.altKey || event.metaKey) return;
  if (event.key === "Enter" && (isChoice(cell) ? event.target.tagName !== "BUTTON" : event.ctrlKey)) {
    event.preventDefault();
    next(cell);
    return;
  }
  if (!isChoice(cell) || event.ctrlKey) return;
  const clears = event.key === "Delete" || event.key === "Backspace";
  const digit = /^(?:Digit|Numpad)([1-5])$/.exec(event.code)?.[1];
  const value = clears ? "" : [keys[event.key.toLowerCase()], event.key, digit].find((word) => word && cell.querySelector(`input[value="${CSS.escape(word)}"]`));
  if (value === undefined) return;
  event.preventDefault();
  setValue(cell, value);
  answered(cell);
}

function answered(cell) {
  const correction = cell.closest(".block")?.querySelector(".correction");
  if (correction && valueOf(cell) === "invalid") correction.open = true;
  changed();
}

function onClick(event) {
  const cell = event.target.closest("fieldset[data-column]");
  if (event.target.matches(".clear")) {
    setValue(cell, "");
    cell.focus();
    changed();
  }
  if (event.target.matches(".copy")) {
    const text = event.target.closest(".correction").querySelector("textarea");
    const words = event.target.closest(".block").querySelector(`.text.${event.target.dataset.from} .words`);
    if (!text.value.trim()) text.value = words.textContent;
    text.focus();
    changed();
  }
}

document.addEventListener("input", (event) => {
  const cell = event.target.closest("[data-column]");
  if (cell) answered(cell);
});
document.addEventListener("keydown", onKey);
document.addEventListener("click", onClick);
document.addEventListener("visibilitychange", () => waiting && keep());
addEventListener("pagehide", () => waiting && keep());
addEventListener("storage", (event) => event.key === place && restore());
addEventListener("beforeunload", (event) => !kept && event.preventDefault());
byId("save").onclick = save;
byId("save-end").onclick = save;
byId("next").onclick = () => next(document.activeElement?.closest("[data-column]"));
byId("anyway").onclick = () => {
  byId("unfilled").close();
  download();
};
byId("go").onclick = () => {
  byId("unfilled").close();
  next(null);
};
byId("open").onchange = (event) => event.target.files[0] && openFile(event.target.files[0]);
restore();
show();
