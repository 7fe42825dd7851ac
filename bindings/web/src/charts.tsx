// Bars and lines as SVG. Names of models are text of elements, never markup.

import type { ComponentChildren } from "preact";

export interface Bar { name: string; from: number; to: number; label: string; other?: boolean }
export type Point = [number, number];
export interface Line { name: string; points: Point[]; other: boolean }

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

/** Bars from `from` to `to` at names. */
export function BarChart({ title, description, rows }: { title: string; description: string; rows: Bar[] }) {
  const left = Math.min(300, 20 + Math.max(110, ...rows.map((r) => 6.6 * r.name.length))), width = 760, right = 150, step = 24;
  const ends = [...rows.flatMap((r) => [r.from, r.to]), 0].filter(Number.isFinite);
  const low = Math.min(...ends), high = Math.max(...ends, low + 1e-300);
  const x = (v: number) => left + ((v - low) / (high - low)) * (width - left - right);
  return (
    <Canvas width={width} height={rows.length * step + 12} title={title} description={description}>
      {rows.filter((r) => Number.isFinite(r.from) && Number.isFinite(r.to)).map((r, i) => {
        const y = i * step + 4, a = Math.min(x(r.from), x(r.to)), b = Math.max(x(r.from), x(r.to));
        return (
          <g>
            <text x={left - 8} y={y + 13} text-anchor="end">{r.name}</text>
            <rect x={a} y={y} width={Math.max(b - a, 0.7)} height="17" class={r.other ? "b" : "a"} />
            <text x={b + 5} y={y + 13}>{r.label}</text>
          </g>
        );
      })}
      <line x1={x(0)} x2={x(0)} y1="0" y2={rows.length * step} class="axis" />
    </Canvas>
  );
}

function ticks(low: number, high: number, logarithmic: boolean): number[] {
  const out: number[] = [];
  if (logarithmic) {
    for (let d = Math.floor(Math.log10(low)); d <= Math.ceil(Math.log10(high)); d += 1)
      for (const m of [1, 2, 5]) if (m * 10 ** d >= low * 0.999 && m * 10 ** d <= high * 1.001) out.push(m * 10 ** d);
    return out.length > 10 ? out.filter((t) => Math.abs(Math.log10(t) % 1) < 1e-9) : out;
  }
  const rough = (high - low) / 5 || 1, size = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((m) => m * size).find((v) => v >= rough) ?? 10 * size;
  for (let t = Math.ceil(low / step) * step; t <= high * (1 + 1e-9); t += step) out.push(t);
  return out;
}

/** Lines through points; points that are no numbers are left out. */
export function LineChart(p: { title: string; description: string; x: string; y: string; lines: Line[]; logX: boolean }) {
  const width = 760, height = 360, left = 70, top = 34, bottom = 46, right = 20;
  const known = (points: Point[]) => points.filter((q) => q.every(Number.isFinite));
  const all = p.lines.flatMap((l) => known(l.points));
  if (!all.length) return <Canvas width={width} height={60} title={p.title} description={p.description}><text x="20" y="40">nothing fits here</text></Canvas>;
  const span = (k: 0 | 1) => [Math.min(...all.map((q) => q[k])), Math.max(...all.map((q) => q[k]))] as const;
  const [x0, x1] = span(0), [y0, y1] = span(1), logY = y0 > 0 && y1 / y0 > 30;
  const at = (v: number, a: number, b: number, log: boolean) => (a === b ? 0.5 : log ? Math.log(v / a) / Math.log(b / a) : (v - a) / (b - a));
  const x = (v: number) => left + at(v, x0, x1, p.logX) * (width - left - right);
  const y = (v: number) => height - bottom - at(v, y0, y1, logY) * (height - bottom - top);
  return (
    <Canvas width={width} height={height} title={p.title} description={p.description}>
      {ticks(x0, x1, p.logX).map((t) => <text x={x(t)} y={height - bottom + 18} text-anchor="middle" class="quiet">{+t.toPrecision(4)}</text>)}
      {ticks(y0, y1, logY).map((t) => <text x={left - 6} y={y(t) + 4} text-anchor="end" class="quiet">{+t.toPrecision(4)}</text>)}
      <path d={`M${left} ${top}V${height - bottom}H${width - right}`} class="axis" />
      <text x={(left + width) / 2} y={height - 8} text-anchor="middle">{p.x}</text>
      <text x="14" y={height / 2} transform={`rotate(-90 14 ${height / 2})`} text-anchor="middle">{p.y}</text>
      {p.lines.map((l, i) => (
        <g>
          <polyline points={known(l.points).map((q) => `${x(q[0]).toFixed(2)},${y(q[1]).toFixed(2)}`).join(" ")} class={l.other ? "lb" : "la"} />
          <line x1={left + i * 220} x2={left + 26 + i * 220} y1="14" y2="14" class={l.other ? "lb" : "la"} />
          <text x={left + 32 + i * 220} y="18">{l.name}</text>
        </g>
      ))}
    </Canvas>
  );
}
