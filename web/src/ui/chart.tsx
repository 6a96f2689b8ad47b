/* SPDX-License-Identifier: Apache-2.0 */
/* Lines over time.  The drawing library is fetched with the first visible chart; the box has
 * its height before that, so that the layout does not move. */
import type uPlot from "uplot";
import { useEffect, useRef } from "preact/hooks";
import type { Series } from "../lib/series";
import { summaryOf } from "../lib/series";

const HEIGHT = 200;

export interface Line {
  column: string;
  label: string;
  /* The name of a colour of the style sheet. */
  colour: string;
  /* Promises are dashed, so that they differ from uses without colour too. */
  isDashed?: boolean;
  isFilled?: boolean;
}

/* A canvas cannot use the variables of the style sheet: a hidden element resolves them. */
function colourOf(box: HTMLElement, name: string): string {
  const probe = document.createElement("i");
  probe.style.color = `var(--${name})`;
  box.append(probe);
  const colour = getComputedStyle(probe).color;
  probe.remove();
  return colour;
}

/* "rgb(1, 2, 3)" with a low opacity. */
function thin(colour: string): string {
  return colour.replace(/^rgb\((.*)\)$/, "rgba($1, 0.15)");
}

function clock(unix_s: number): string {
  return new Date(unix_s * 1000).toLocaleString("sv-SE").slice(5);
}

/* Hours and minutes; days where a step is half of one or more. */
function momentsOf(splits: number[]): string[] {
  const isDays = (splits[1] ?? 0) - (splits[0] ?? 0) >= 43200;
  return splits.map((at) => isDays ? clock(at).slice(0, 5) : clock(at).slice(6, 11));
}

/* Steps of the vertical axis: percents, and sizes in powers of two. */
const STEPS = [0.001, 0.01, 0.05, 0.1, 0.2, 0.25, 0.5, 1,
  ...Array.from({ length: 44 }, (_, power) => 2 ** (power + 1))];

function optionsOf(box: HTMLElement, lines: Line[], show: (value: number) => string,
  most: number | undefined): uPlot.Options {
  const ink = colourOf(box, "muted");
  const font = `12px ${getComputedStyle(box).fontFamily}`;
  const grid = { stroke: colourOf(box, "line"), width: 1 };

  return {
    width: Math.max(100, box.clientWidth),
    height: HEIGHT,
    cursor: { y: false },
    legend: { live: true },
    scales: { y: { range: (_u, _least, top) => [0, most ?? Math.max(top * 1.1, 1e-9)] } },
    axes: [
      { stroke: ink, font, grid, ticks: grid, space: 70, values: (_u, splits) => momentsOf(splits) },
      { stroke: ink, font, grid, ticks: grid, size: 64, incrs: [...STEPS],
        values: (_u, splits) => splits.map(show) },
    ],
    series: [
      { label: "Time", value: (_u, at) => (at === null ? "–" : clock(at)) },
      ...lines.map((line): uPlot.Series => {
        const stroke = colourOf(box, line.colour);
        return {
          label: line.label,
          stroke,
          width: 1.5,
          dash: line.isDashed ? [5, 4] : undefined,
          fill: line.isFilled ? thin(stroke) : undefined,
          points: { show: false },
          value: (_u, value) => (value === null ? "–" : show(value)),
        };
      }),
    ],
  };
}

function saidOf(title: string, lines: Line[], series: Series, show: (value: number) => string) {
  const parts = lines.map((line) => {
    const summary = summaryOf(series.columns[line.column] ?? []);
    if (!summary) return `${line.label}: no data`;
    return `${line.label}: now ${show(summary.last)}, mean ${show(summary.mean)}, ` +
      `most ${show(summary.most)}`;
  });
  return `${title}. ${parts.join("; ")}.`;
}

function dataOf(lines: Line[], series: Series): uPlot.AlignedData {
  return [series.times, ...lines.map((line) => series.columns[line.column] ??
    series.times.map(() => null))];
}

export function Chart({ title, lines, series, show, most }: {
  title: string; lines: Line[]; series: Series; show: (value: number) => string; most?: number;
}) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const newest = useRef(series);

  newest.current = series;
  useEffect(() => {
    const element = box.current!;
    let isGone = false;
    const draw = async () => {
      const { makePlot } = await import("./plot");
      if (isGone) return;
      plot.current?.destroy();
      plot.current = makePlot(optionsOf(element, lines, show, most),
        dataOf(lines, newest.current), element);
    };
    const fit = new ResizeObserver(() =>
      plot.current?.setSize({ width: Math.max(100, element.clientWidth), height: HEIGHT }));
    const redraw = () => void draw();
    const dark = matchMedia("(prefers-color-scheme: dark)");

    void draw();
    fit.observe(element);
    dark.addEventListener("change", redraw);
    addEventListener("cleave-theme", redraw);
    return () => {
      isGone = true;
      fit.disconnect();
      dark.removeEventListener("change", redraw);
      removeEventListener("cleave-theme", redraw);
      plot.current?.destroy();
      plot.current = null;
    };
  }, []);
  useEffect(() => plot.current?.setData(dataOf(lines, series)), [series]);

  return (
    <figure class="chart">
      <figcaption>{title}</figcaption>
      <p class="sr">{saidOf(title, lines, series, show)}</p>
      <div ref={box} class="chart-box" aria-hidden="true" />
    </figure>
  );
}
