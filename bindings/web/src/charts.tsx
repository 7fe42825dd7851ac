// Bars and lines as SVG. Names of models are text of elements, never markup.

import type { ComponentChildren } from "preact";
import { cap, digits } from "./parts";

const LETTER = 6.5;  // width of a letter in units of the picture

/** A bar, or two at one name; `whole` marks sums and what is only compared with, `low` and `high` an interval. */
export interface Bar { name: string; from: number; to: number; label: string; other?: boolean; whole?: boolean; low?: number; high?: number; second?: { to: number; label: string } }
export type Point = [number, number];
export interface Line {
  name: string; points: Point[]; other: boolean;
  band?: [low: Point, high: Point][];        // about each of some points
  dots?: Point[];                            // what was measured
  marks?: { at: Point; words: string }[];    // where something changes
}

/** Letters keep their size on a telephone, where pictures are narrower. */
export const telephone = matchMedia("(max-width: 46em)");
export const narrow = () => telephone.matches;

function Canvas(p: { width: number; height: number; title: string; description: string; children: ComponentChildren }) {
  return (
    <div class="wide"><svg viewBox={`0 0 ${p.width} ${p.height}`} role="img" class="chart">
      <title>{p.title}</title>
      <desc>{p.description}</desc>
      <defs>
        <pattern id="hatch" width="7" height="7" patternUnits="userSpaceOnUse"><path d="M0 7l7 -7M-2 2l4 -4M5 9l4 -4" class="hatch" /></pattern>
      </defs>
      {p.children}
    </svg></div>
  );
}

const STEP = 30, THICK = 18;
/** Bars from `from` to `to` at names. A row with a second bar has one to each side of zero, with their labels beyond them. */
export function BarChart({ title, description, rows }: { title: string; description: string; rows: Bar[] }) {
  const width = narrow() ? 330 : 760, known = rows.filter((r) => Number.isFinite(r.from) && Number.isFinite(r.to));
  const widest = (words: string[], letter: number) => Math.max(0, ...words.map((w) => letter * w.length));
  // Two bars on one side of zero share the row, and their labels stand behind the longer one.
  const beside = (r: Bar) => r.second !== undefined && r.to * r.second.to > 0, behind = (r: Bar) => (beside(r) ? `${r.label}, ${r.second!.label}` : r.label);
  const left = Math.min(0.42 * width, 16 + widest(known.map((r) => r.name), LETTER)), right = 14 + widest(known.map(behind), LETTER);
  const before = known.some((r) => r.second || r.to < 0) ? 14 + widest(known.flatMap((r) => [behind(r), r.second?.label ?? ""]), LETTER) : 0;
  const ends = [...known.flatMap((r) => [r.from, r.to, r.second?.to ?? 0, r.high ?? 0]), 0].filter(Number.isFinite);
  const low = Math.min(...ends), high = Math.max(...ends, low + 1e-300);
  const x = (v: number) => left + before + ((v - low) / (high - low)) * (width - left - right - before);
  const most = Math.floor(left / LETTER) - 2, cut = (name: string) => (name.length > most ? `${name.slice(0, most - 1)}\u2026` : name);
  const piece = (from: number, to: number, y: number, kind: string, height = THICK) => {
    const [a, b] = [Math.min(x(from), x(to)), Math.max(x(from), x(to))];
    return <rect x={a} y={y} width={Math.max(b - a, 1)} height={height} rx="2" class={kind} />;
  };
  const said = (v: number, text: string, y: number, less: boolean) => <text x={x(v) + (less ? -7 : 7)} y={y} text-anchor={less ? "end" : "start"} class="value">{text}</text>;
  return (
    <Canvas width={width} height={known.length * STEP + 8} title={title} description={description}>
      {known.map((r, i) => {
        const y = i * STEP + 6, text = y + 13.5, less = r.to < 0 || (r.to < r.from && r.second !== undefined);
        return (
          <g>
            <text x={left - 10} y={text} text-anchor="end">{cap(cut(r.name))}<title>{r.name}</title></text>
            {piece(r.from, r.to, y, r.whole ? "t" : r.other ? "b" : "a", beside(r) ? THICK / 2 : THICK)}
            {r.second && (beside(r) ? piece(0, r.second.to, y + THICK / 2, "b", THICK / 2) : piece(0, r.second.to, y, "b"))}
            {r.low !== undefined && Number.isFinite(r.high) && <path d={`M${x(r.low)} ${y + THICK / 2}H${x(r.high!)}m0 -5v10M${x(r.low)} ${y + THICK / 2 - 5}v10`} class="whisker" />}
            {beside(r) ? said(less ? Math.min(r.to, r.second!.to) : Math.max(r.to, r.second!.to), behind(r), text, less)
              : said(less ? r.to : Math.max(r.from, r.to, Number.isFinite(r.high) ? r.high! : -Infinity), r.label, text, less)}
            {r.second && !beside(r) && said(r.second.to, r.second.label, text, r.second.to < 0 || (r.second.to === 0 && !less))}
          </g>
        );
      })}
      <line x1={x(0)} x2={x(0)} y1="0" y2={known.length * STEP + 6} class="axis" />
    </Canvas>
  );
}

function ticks(low: number, high: number, logarithmic: boolean): number[] {
  const out: number[] = [];
  if (logarithmic) {
    for (let d = Math.floor(Math.log10(low)); d <= Math.ceil(Math.log10(high)); d += 1)
      for (const m of [1, 2, 5]) if (m * 10 ** d >= low * 0.999 && m * 10 ** d <= high * 1.001) out.push(m * 10 ** d);
    return out.length > (narrow() ? 6 : 10) ? out.filter((t) => Math.abs(Math.log10(t) % 1) < 1e-9) : out;
  }
  const rough = (high - low) / (narrow() ? 5 : 8) || 1, size = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((m) => m * size).find((v) => v >= rough) ?? 10 * size;
  for (let t = Math.ceil(low / step) * step; t <= high * (1 + 1e-9); t += step) out.push(t);
  return out;
}

const ROW = 15;
interface Place { x: number; y: number; words: string; below: boolean; end: boolean }
/** Words beside their places, on the side away from the lines, moved on until none lies on another. */
function placed(all: Place[], left: number, right: number): Place[] {
  const out: Place[] = [], from = (q: Place) => q.x - (q.end ? LETTER * q.words.length : 0);
  for (const { x, y, words, below, end: wanted } of [...all].sort((a, b) => a.x - b.x)) {
    const wide = LETTER * words.length, end = x + wide > right || (wanted && x - wide > left);
    const q = { x: x + (end ? -8 : 8), y: y + (below ? ROW : -8), words, below, end };
    const lies = () => out.some((o) => Math.abs(o.y - q.y) < ROW && from(q) < from(o) + LETTER * o.words.length && from(o) < from(q) + wide);
    while (lies()) q.y += below ? ROW : -ROW;
    out.push(q);
  }
  return out;
}

/** Lines through points, with their bands, measured dots and named places; points that are no numbers are left out. */
export function LineChart(p: { title: string; description: string; x: string; y: string; lines: Line[]; logX: boolean }) {
  const [width, height] = narrow() ? [330, 300] : [760, 380], beside = 0.29 * width, left = 62, top = 38, bottom = 46, right = 20;
  const known = (points: Point[]) => points.filter((q) => q.every(Number.isFinite));
  const all = p.lines.flatMap((l) => [...known(l.points), ...known(l.dots ?? []), ...known((l.band ?? []).flat())]);
  if (!all.length) return <Canvas width={width} height={60} title={p.title} description={p.description}><text x="20" y="40">Nothing fits here.</text></Canvas>;
  const span = (k: 0 | 1) => [Math.min(...all.map((q) => q[k])), Math.max(...all.map((q) => q[k]))] as const;
  const [x0, x1] = span(0), [y0, y1] = span(1), logY = y0 > 0 && y1 / y0 > 30;
  const at = (v: number, a: number, b: number, log: boolean) => (a === b ? 0.5 : log ? Math.log(v / a) / Math.log(b / a) : (v - a) / (b - a));
  const x = (v: number) => left + at(v, x0, x1, p.logX) * (width - left - right);
  const y = (v: number) => height - bottom - at(v, y0, y1, logY) * (height - bottom - top);
  const near = (l: Line, at: number) => known(l.points).reduce((a, b) => (Math.abs(b[0] - at) < Math.abs(a[0] - at) ? b : a), [Infinity, -Infinity]);
  const placeOf = ({ at, words }: { at: Point; words: string }, l: Line): Place => {
    const below = p.lines.some((other) => other !== l && near(other, at[0])[1] > at[1]), next = known(l.points).find((q) => q[0] > at[0]) ?? at;
    return { x: x(at[0]), y: y(at[1]), words, below, end: next[1] >= at[1] !== below };
  };
  return (
    <Canvas width={width} height={height} title={p.title} description={p.description}>
      {ticks(y0, y1, logY).map((t) => <line x1={left} x2={width - right} y1={y(t)} y2={y(t)} class="grid" />)}
      {ticks(x0, x1, p.logX).map((t) => <text x={x(t)} y={height - bottom + 18} text-anchor="middle" class="quiet">{digits(t)}</text>)}
      {ticks(y0, y1, logY).map((t) => <text x={left - 6} y={y(t) + 4} text-anchor="end" class="quiet">{digits(t)}</text>)}
      <path d={`M${left} ${top}V${height - bottom}H${width - right}`} class="axis" />
      <text x={(left + width) / 2} y={height - 8} text-anchor="middle">{p.x}</text>
      <text x="14" y={height / 2} transform={`rotate(-90 14 ${height / 2})`} text-anchor="middle">{p.y}</text>
      {p.lines.map((l, i) => (
        <g>
          {!!l.band?.length && <polygon points={[...l.band.map(([low]) => low), ...l.band.map(([, high]) => high).reverse()].map((q) => `${x(q[0]).toFixed(2)},${y(q[1]).toFixed(2)}`).join(" ")} class={l.other ? "bb" : "ba"} />}
          {known(l.dots ?? []).map((q) => (l.other ? <path d={`M${x(q[0]).toFixed(1)} ${(y(q[1]) - 4.5).toFixed(1)}l4 8h-8z`} class="db" /> : <circle cx={x(q[0]).toFixed(1)} cy={y(q[1]).toFixed(1)} r="3.5" class="da" />))}
          <polyline points={known(l.points).map((q) => `${x(q[0]).toFixed(2)},${y(q[1]).toFixed(2)}`).join(" ")} class={l.other ? "lb" : "la"} />
          <line x1={left + i * beside} x2={left + 26 + i * beside} y1="14" y2="14" class={l.other ? "lb" : "la"} />
          <text x={left + 32 + i * beside} y="18">{l.name}</text>
          {l.marks?.map((m) => <circle cx={x(m.at[0])} cy={y(m.at[1])} r="4.5" class={l.other ? "kb" : "ka"} />)}
        </g>
      ))}
      {placed(p.lines.flatMap((l) => (l.marks ?? []).map((m) => placeOf(m, l))), left, width - right)
        .map((q) => <text x={q.x} y={q.y} text-anchor={q.end ? "end" : "start"} class="note">{q.words}</text>)}
    </Canvas>
  );
}
