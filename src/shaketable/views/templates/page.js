// Draws the charts of a page, and lists their numbers; says where a box scrolls; hides models;
// opens all of it for print. Without charts, or without this, all else of a page can be read.
"use strict";

const ROWS = 200; // rows of numbers that a chart lists at most
const PRINTED = 688; // pixels between the margins of a printed page, as in the style sheet
const WIDTH = 620; // pixels of a chart, as in views/drawing.py
const LETTER = 7; // pixels of a letter in a chart, on average
const { theme, models: listed } = JSON.parse(document.getElementById("page")?.textContent ?? '{"models": []}');
const hidden = new Set(); // models that the reader does not want to see
const charts = [...document.querySelectorAll("figure")].map((figure) => ({
  figure,
  plot: figure.querySelector(".plot"),
  spec: JSON.parse(figure.querySelector("script").textContent),
}));
const models = [...new Set(charts.flatMap(({ spec }) =>
  Object.values(spec.datasets ?? {}).flatMap((rows) => rows.map((row) => row.model)),
))].filter((name) => listed.some((text) => text === name || text.startsWith(`${name}, `)));

// elements of the page, made from values: texts never become markup
function make(tag, properties = {}, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

// ---- charts ----

function showRows(rows) {
  return rows.filter((row) => !hidden.has(row.model));
}

function countColumns(spec, width) {
  const texts = [JSON.stringify(spec).matchAll(/"domain": ?\[("[^\]]*")\]/g)]
    .flatMap((found) => [...found].flatMap((match) => JSON.parse(`[${match[1]}]`)));
  const longest = Math.max(8, ...texts.map((text) => String(text).length));
  return Math.max(1, Math.floor(width / Math.min(LETTER * longest + 40, width)));
}

// A chart says into how many columns its legend fits at the width it was made for.
function fitLegends(spec, width) {
  const { datasets, ...rest } = spec;
  const fit = (columns) => Math.max(1, Math.floor((columns * (width - 60)) / WIDTH));
  return JSON.parse(JSON.stringify(rest), (key, value) =>
    key === "legend" && value?.columns ? { ...value, columns: fit(value.columns) } : value);
}

// Colours repeat: a legend of many models tells nothing, and pointing at a mark names its model.
function hasLegend(chart) {
  return chart.figure.closest(".panels") === null
    && new Set(Object.values(chart.spec.datasets ?? {}).flat().map((row) => row.model)).size <= 21;
}

async function draw(chart, mends = {}) {
  const { figure, plot, spec } = chart;
  const width = plot.clientWidth;
  const label = plot.getAttribute("aria-label");
  const datasets = Object.fromEntries(
    Object.entries(spec.datasets ?? {}).map(([name, rows]) => [name, showRows(rows)]),
  );
  const shown = { ...fitLegends(spec, width), datasets };
  if (mends.height && typeof spec.height === "number") shown.height = Math.max(spec.height, mends.height);
  const room = Math.max(100, width - 90); // beside the labels of an axis
  const legend = {
    ...theme?.legend, columns: countColumns(spec, room), labelLimit: room - 30, disable: !hasLegend(chart),
  };
  const axis = { ...theme?.axis, labelLimit: Math.min(200, 0.4 * width) };
  if (!spec.config) shown.config = { ...theme, legend, axis };
  try {
    chart.drawn?.finalize();
    chart.drawn = await vegaEmbed(plot, shown, {
      mode: "vega-lite", renderer: "svg", actions: false, ast: true, defaultStyle: false,
      tooltip: { disableDefaultStyle: true }, patch: (vega) => mend(vega, mends),
    });
    plot.setAttribute("role", "img"); // a picture with its text, not hundreds of marks
    plot.setAttribute("aria-label", label);
    plot.removeAttribute("aria-roledescription");
    figure.dataset.drawn = "yes";
  } catch (error) {
    plot.textContent = `This chart could not be drawn: ${error.message}`;
    console.error(error);
  }
}

// Labels that meet, and titles that are cut: what is wrong depends on the width of the window, so
// it is measured in what was drawn, and that chart is drawn again.
async function drawWell(chart) {
  chart.plot.style.minWidth = chart.plot.dataset.least ? `${chart.plot.dataset.least}px` : "";
  await draw(chart);
  const mends = find(chart);
  if (!mends) return;
  await draw(chart, mends);
  const left = find(chart);
  if (left?.turn && left.labels > 2) {
    chart.plot.style.minWidth = `${chart.plot.clientWidth - left.width + 22 * left.labels}px`;
    await draw(chart, mends);
  }
}

function meet(a, b) {
  return Math.min(a.right, b.right) - Math.max(a.left, b.left) > 0.5
    && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 1;
}

function areTurned(texts) {
  return texts.some((text) => /rotate\(/.test(text.getAttribute("transform") ?? ""));
}

function find({ plot }) {
  const svg = plot.querySelector("svg");
  const inner = svg?.querySelector(".background")?.getBoundingClientRect();
  if (!inner) return null;
  const mends = { width: inner.width, tall: inner.height };
  for (const group of svg.querySelectorAll(".role-axis-label")) {
    const texts = [...group.querySelectorAll("text")].filter((text) => text.textContent && text.style.opacity !== "0"
      && text.getAttribute("opacity") !== "0");
    const boxes = texts.map((text) => text.getBoundingClientRect());
    const across = boxes.length > 1 && Math.abs(boxes[0].bottom - boxes[1].bottom) < Math.abs(boxes[0].right - boxes[1].right);
    const turned = areTurned(texts);
    // of turned labels the boxes overlap though the letters do not: at 45 degrees, lines need 20 pixels
    const meets = turned && across
      ? boxes.some((box, i) => i > 0 && Math.abs(box.right - boxes[i - 1].right) < 20)
      : boxes.some((box, i) => boxes.some((other, j) => j < i && meet(box, other)));
    if (meets) mends[across ? "turn" : "stretch"] = true;
    if (meets) mends.labels = Math.max(mends.labels ?? 0, boxes.length);
  }
  const outer = svg.getBoundingClientRect();
  const isOutside = (box) => box.left < outer.left - 1 || box.right > outer.right + 1
    || box.top < outer.top - 1 || box.bottom > outer.bottom + 1;
  mends.legend = [...svg.querySelectorAll(".role-legend text")].some((text) => isOutside(text.getBoundingClientRect()));
  for (const text of svg.querySelectorAll(".role-axis-title text")) {
    const box = text.getBoundingClientRect();
    if (isOutside(box)) mends[box.height > box.width ? "wrapTall" : "wrapWide"] = true;
  }
  if (mends.stretch) mends.height = 15 * mends.labels;
  return ["turn", "stretch", "legend", "wrapTall", "wrapWide"].some((name) => mends[name]) ? mends : null;
}

function mend(vega, mends) {
  for (const legend of mends.legend ? vega.legends ?? [] : []) {
    Object.assign(legend, { columns: 1, labelLimit: Math.max(60, mends.width - 24) });
  }
  const axes = [...(vega.axes ?? []), ...(vega.marks ?? []).flatMap((mark) => mark.axes ?? [])];
  const scales = [...(vega.scales ?? []), ...(vega.marks ?? []).flatMap((mark) => mark.scales ?? [])];
  for (const axis of axes) {
    const isWide = axis.orient === "bottom" || axis.orient === "top";
    if (isWide && mends.turn) {
      const scale = scales.find((one) => one.name === axis.scale);
      if (["band", "point", "ordinal"].includes(scale?.type)) {
        Object.assign(axis, {
          labelAngle: -45, labelAlign: "right", labelBaseline: "middle", labelOverlap: false, labelLimit: 150,
        });
        delete axis.encode?.labels?.update?.angle;
      } else {
        Object.assign(axis, {
          labelOverlap: "greedy", labelSeparation: 8, labelFlush: true, tickCount: Math.max(2, Math.floor(mends.width / 60)),
        });
      }
    }
    const isLong = isWide ? mends.wrapWide : mends.wrapTall;
    if (isLong && typeof axis.title === "string") {
      const room = isWide ? mends.width : mends.tall;
      Object.assign(axis, { title: wrap(axis.title, Math.max(12, Math.floor(room / LETTER))), titleLimit: room });
    }
  }
  return vega;
}

function wrap(text, letters) {
  const lines = [""];
  for (const word of text.split(" ")) {
    const longer = `${lines.at(-1)} ${word}`.trim();
    if (longer.length <= letters || !lines.at(-1)) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  return lines;
}

// Charts on the screen come first; between charts the page can be used.
async function drawAll(some = charts) {
  const near = some.map((chart) => [Math.abs(chart.figure.getBoundingClientRect().top), chart]);
  near.sort((a, b) => a[0] - b[0]);
  for (const [, chart] of near) {
    await drawWell(chart);
    markScrolling(chart.figure);
    await new Promise((go) => { setTimeout(go); });
  }
}

// ---- the numbers of a chart ----

function* listMarks(spec, data, encoding) {
  const own = spec.data?.name ?? data;
  const all = { ...encoding, ...spec.encoding };
  if (spec.mark) yield [own, all];
  for (const part of spec.layer ?? spec.vconcat ?? spec.hconcat ?? spec.concat ?? []) yield* listMarks(part, own, all);
  if (spec.spec) yield* listMarks(spec.spec, own, all);
}

function listColumns(spec) {
  const pointed = new Map();
  const drawn = new Map();
  for (const [data, { tooltip, ...channels }] of listMarks(spec, undefined, {})) {
    for (const [into, list] of [[pointed, [tooltip].flat()], [drawn, Object.values(channels)]]) {
      for (const channel of list) {
        if (!channel?.field) continue;
        if (!into.has(data)) into.set(data, new Map());
        const titles = into.get(data);
        const title = [channel.title ?? channel.axis?.title ?? channel.field].flat().join(" ");
        if (!titles.has(channel.field)) titles.set(channel.field, title);
      }
    }
  }
  return pointed.size ? pointed : drawn;
}

function write(value) {
  return typeof value === "number" ? String(Number(value.toPrecision(6))) : String(value ?? "");
}

function listNumbers({ figure, spec }) {
  const place = figure.querySelector(".numbers");
  const about = figure.querySelector(".name")?.textContent ?? "this chart";
  place.querySelectorAll(":scope > :not(summary)").forEach((old) => old.remove());
  for (const [data, columns] of listColumns(spec)) {
    const rows = showRows(spec.datasets?.[data] ?? []);
    const fields = [...columns.keys()].filter((field) => rows.some((row) => row[field] !== undefined && row[field] !== null));
    if (!rows.length || !fields.length) continue;
    const head = make("tr", {}, ...fields.map((field) => make("th", { scope: "col" }, columns.get(field))));
    const body = rows.slice(0, ROWS).map((row) =>
      make("tr", {}, ...fields.map((field) => make("td", { className: typeof row[field] === "number" ? "" : "text" }, write(row[field])))));
    const table = make("table", {}, make("thead", {}, head), make("tbody", {}, ...body));
    const box = make("div", { className: "scroll", tabIndex: 0 }, table);
    box.setAttribute("role", "region");
    box.setAttribute("aria-label", `Numbers of ${about}`);
    place.append(make("div", { className: "wide" }, box));
    if (rows.length > ROWS) place.append(make("p", { className: "quiet" }, `${rows.length - ROWS} more rows are left out.`));
    if (rows.length > 20) {
      place.append(make("p", { className: "quiet printed" }, "Of longer tables of a chart's numbers, 20 rows are printed."));
    }
  }
  markScrolling(place);
}

for (const chart of charts) {
  const numbers = make("details", { className: "numbers" }, make("summary", {}, "Numbers of this chart"));
  numbers.addEventListener("toggle", () => { if (numbers.open) listNumbers(chart); });
  chart.figure.append(numbers);
}

// ---- boxes that scroll ----

function markScrolling(within = document) {
  const boxes = [...within.querySelectorAll(":is(.scroll, .chart)")].filter((box) => box.checkVisibility());
  const found = boxes.map((box) => [box, box.scrollLeft, box.scrollWidth - box.clientWidth]);
  for (const [box, at, over] of found) { // all is read before anything is changed
    const sides = [at > 1 && "left", at < over - 1 && "right"].filter(Boolean);
    box.parentElement.dataset.more = over > 1 ? sides.join(" ") : "";
    if (over > 1) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
  }
}

document.addEventListener("scroll", ({ target }) => {
  if (target.matches?.(".scroll, .chart")) markScrolling(target.parentElement.parentElement);
}, true);
document.addEventListener("toggle", () => markScrolling(), true);
let waiting = 0;
let windowWidth = window.innerWidth;
window.addEventListener("resize", () => {
  clearTimeout(waiting);
  waiting = setTimeout(async () => {
    markScrolling();
    if (window.innerWidth !== windowWidth && !document.documentElement.dataset.printing) {
      windowWidth = window.innerWidth;
      await drawAll();
    }
  }, 200);
});

// ---- models ----

// Models that a text names as tables and cards do: "rf", "rf, training noise 0", "rf minus 1nn".
function namesHidden(text) {
  const parts = text.trim().split(/ minus | or /);
  return [...hidden].some((name) => parts.some((part) => part === name || part.startsWith(`${name}, `)));
}

function readCell(cell) {
  const inner = cell.firstElementChild;
  return (inner?.matches("a, .badge") ? inner : cell.firstChild)?.textContent ?? "";
}

function hideModels() {
  for (const row of document.querySelectorAll("section tbody tr, header tbody tr")) {
    row.hidden = [...row.querySelectorAll("th, td.wrap")].some((cell) => namesHidden(readCell(cell)));
  }
  for (const table of document.querySelectorAll("section table, header table")) {
    const away = [...table.tHead.rows[0].cells].map((cell) => namesHidden(cell.textContent));
    if (!hidden.size || away.some(Boolean)) {
      for (const row of table.rows) [...row.cells].forEach((cell, i) => { cell.hidden = away[i]; });
    }
  }
  for (const link of document.querySelectorAll("p > a:first-child")) {
    link.parentElement.hidden = namesHidden(link.textContent);
  }
  for (const card of document.querySelectorAll(".card")) {
    card.hidden = namesHidden(card.querySelector("h2, h3").textContent);
  }
  for (const entry of document.querySelectorAll(".legend li")) entry.hidden = namesHidden(entry.textContent);
  const changed = charts.filter(({ spec }) => JSON.stringify(spec.datasets ?? {}).includes('"model":'));
  for (const { figure, spec } of changed) {
    const rows = Object.values(spec.datasets).flat().filter((row) => row.model !== undefined);
    figure.hidden = rows.length > 0 && showRows(rows).length === 0;
    const numbers = figure.querySelector(".numbers");
    if (numbers.open) listNumbers(charts.find((chart) => chart.figure === figure));
  }
  markScrolling();
  return drawAll(changed.filter(({ figure }) => !figure.hidden));
}

function offerModels() {
  const place = document.getElementById("models");
  if (!place || models.length < 2) return;
  const boxes = models.map((name) => make("input", { type: "checkbox", checked: true, value: name }));
  const said = make("output", {});
  let last = Promise.resolve();
  const apply = () => {
    hidden.clear();
    boxes.filter((box) => !box.checked).forEach((box) => hidden.add(box.value));
    said.textContent = hidden.size ? `${models.length - hidden.size} of ${models.length} models are shown.` : "";
    last = last.then(hideModels);
  };
  const set = (checked) => { boxes.forEach((box) => { box.checked = checked; }); apply(); };
  const labels = boxes.map((box) => make("label", {}, box, box.value));
  const list = make("fieldset", {}, make("legend", {}, "Models shown"), ...labels);
  list.addEventListener("change", apply);
  if (models.length > 8) {
    const all = [["All", true], ["None", false]].map(([text, checked]) =>
      make("button", { type: "button", onclick: () => set(checked) }, text));
    list.prepend(...all);
    place.append(make("details", {}, make("summary", {}, `Choose among ${models.length} models`), list), said);
  } else {
    place.append(list, said);
  }
  place.hidden = false;
}

// Pointing at a mark of a model makes the others faint, in all charts.
function pointAt(model) {
  for (const mark of document.querySelectorAll(".plot .role-mark > *, .plot .faint")) {
    const other = model === undefined ? undefined : mark.__data__?.datum?.model;
    mark.classList.toggle("faint", other !== undefined && other !== model);
  }
}

if (models.length > 1) {
  let pointed;
  document.addEventListener("pointerover", ({ target }) => {
    const model = target.closest?.(".role-mark > *")?.__data__?.datum?.model;
    if (model !== pointed) pointAt(pointed = model);
  });
}

// ---- print ----

let opened = [];

function preparePrint() {
  const page = document.documentElement;
  if (page.dataset.printing) return;
  page.dataset.printing = "yes";
  opened = [...document.querySelectorAll("details:not([open]):not(#models details)")];
  for (const details of opened) details.open = true;
  for (const chart of charts) listNumbers(chart);
  for (const box of document.querySelectorAll(".scroll")) fit(box);
}

// A table that is wider than paper becomes smaller, or several with the first column repeated.
function fit(box) {
  const table = box.querySelector("table");
  const width = table.getBoundingClientRect().width;
  if (width <= PRINTED) return;
  const cells = [...table.tHead.rows[0].cells].map((cell) => cell.getBoundingClientRect().width);
  const room = PRINTED / 0.65;
  if (width <= room || cells.length < 4) {
    table.style.zoom = String(Math.max(0.4, PRINTED / width));
    return;
  }
  const parts = [[]];
  let used = cells[0];
  cells.slice(1).forEach((cell, i) => {
    if (used + cell > room && parts.at(-1).length) { parts.push([]); used = cells[0]; }
    parts.at(-1).push(i + 1);
    used += cell;
  });
  for (const part of parts) {
    const copy = table.cloneNode(true);
    copy.classList.add("part");
    for (const row of copy.rows) [...row.cells].forEach((cell, i) => { if (i && !part.includes(i)) cell.remove(); });
    const size = cells[0] + part.reduce((sum, i) => sum + cells[i], 0);
    copy.style.zoom = String(Math.min(1, PRINTED / size));
    box.append(copy);
  }
  table.classList.add("whole");
}

function endPrint() {
  delete document.documentElement.dataset.printing;
  for (const copy of document.querySelectorAll("table.part")) copy.remove();
  for (const table of document.querySelectorAll(".scroll table")) {
    table.style.zoom = "";
    table.classList.remove("whole");
  }
  for (const details of opened) details.open = false;
  markScrolling();
}

window.addEventListener("beforeprint", preparePrint);
window.addEventListener("afterprint", endPrint);

offerModels();
markScrolling();
await drawAll();
document.documentElement.dataset.ready = "yes";
