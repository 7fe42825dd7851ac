// Bars and lines as SVG. Everything is made with createElementNS: a name of a model is text, never markup.
"use strict";

function svg(tag, attributes, parent, words) {
  const e = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [k, v] of Object.entries(attributes)) e.setAttribute(k, v);
  if (words !== undefined) e.textContent = words;
  if (parent) parent.append(e);
  return e;
}

function canvas(width, height, title, description) {
  const s = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img" });
  svg("title", {}, s, title);
  svg("desc", {}, s, description);
  const defs = svg("defs", {}, s);
  const pattern = svg("pattern", { id: "hatch", width: 7, height: 7, patternUnits: "userSpaceOnUse" }, defs);
  svg("path", { d: "M0 7l7 -7M-2 2l4 -4M5 9l4 -4", class: "hatch" }, pattern);
  return s;
}

/** Bars from `from` to `to` at names. rows: {name, from, to, label, other} */
function barChart(title, description, rows) {
  const left = 210, width = 760, right = 150, step = 24;
  const s = canvas(width, rows.length * step + 12, title, description);
  const ends = rows.flatMap((r) => [r.from, r.to, 0]).filter(Number.isFinite);
  const low = Math.min(...ends), high = Math.max(...ends, low + 1e-300);
  const x = (v) => left + ((v - low) / (high - low)) * (width - left - right);
  rows.forEach((r, i) => {
    const y = i * step + 4, a = Math.min(x(r.from), x(r.to)), b = Math.max(x(r.from), x(r.to));
    svg("text", { x: left - 8, y: y + 13, "text-anchor": "end" }, s, r.name);
    svg("rect", { x: a, y, width: Math.max(b - a, 0.7), height: 17, class: r.other ? "b" : "a" }, s);
    svg("text", { x: b + 5, y: y + 13 }, s, r.label);
  });
  svg("line", { x1: x(0), x2: x(0), y1: 0, y2: rows.length * step, class: "axis" }, s);
  return s;
}

function ticks(low, high, logarithmic) {
  const out = [];
  if (logarithmic) {
    for (let d = Math.floor(Math.log10(low)); d <= Math.ceil(Math.log10(high)); d += 1)
      for (const m of [1, 2, 5]) if (m * 10 ** d >= low * 0.999 && m * 10 ** d <= high * 1.001) out.push(m * 10 ** d);
    return out.length > 10 ? out.filter((t) => Math.abs(Math.log10(t) % 1) < 1e-9) : out;
  }
  const rough = (high - low) / 5 || 1, size = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((m) => m * size).find((v) => v >= rough);
  for (let t = Math.ceil(low / step) * step; t <= high * (1 + 1e-9); t += step) out.push(t);
  return out;
}

/** Lines through points. lines: {name, points: [[x, y]], other} */
function lineChart(title, description, xTitle, yTitle, lines, logX) {
  const width = 760, height = 360, left = 70, top = 34, bottom = 46, right = 20;
  const s = canvas(width, height, title, description);
  const all = lines.flatMap((l) => l.points).filter((p) => p.every(Number.isFinite));
  if (!all.length) { svg("text", { x: 20, y: 40 }, s, "nothing fits here"); return s; }
  const span = (k) => [Math.min(...all.map((p) => p[k])), Math.max(...all.map((p) => p[k]))];
  const [x0, x1] = span(0), [y0, y1] = span(1), logY = y0 > 0 && y1 / y0 > 30;
  const at = (v, a, b, log) => (a === b ? 0.5 : log ? Math.log(v / a) / Math.log(b / a) : (v - a) / (b - a));
  const x = (v) => left + at(v, x0, x1, logX) * (width - left - right);
  const y = (v) => height - bottom - at(v, y0, y1, logY) * (height - bottom - top);
  for (const t of ticks(x0, x1, logX)) svg("text", { x: x(t), y: height - bottom + 18, "text-anchor": "middle", class: "quiet" }, s, +t.toPrecision(4));
  for (const t of ticks(y0, y1, logY)) svg("text", { x: left - 6, y: y(t) + 4, "text-anchor": "end", class: "quiet" }, s, +t.toPrecision(4));
  svg("path", { d: `M${left} ${top}V${height - bottom}H${width - right}`, class: "axis" }, s);
  svg("text", { x: (left + width) / 2, y: height - 8, "text-anchor": "middle" }, s, xTitle);
  svg("text", { x: 14, y: height / 2, transform: `rotate(-90 14 ${height / 2})`, "text-anchor": "middle" }, s, yTitle);
  lines.forEach((l, i) => {
    const points = l.points.filter((p) => p.every(Number.isFinite)).map((p) => `${x(p[0]).toFixed(2)},${y(p[1]).toFixed(2)}`);
    svg("polyline", { points: points.join(" "), class: l.other ? "lb" : "la" }, s);
    svg("line", { x1: left + i * 220, x2: left + 26 + i * 220, y1: 14, y2: 14, class: l.other ? "lb" : "la" }, s);
    svg("text", { x: left + 32 + i * 220, y: 18 }, s, l.name);
  });
  return s;
}
