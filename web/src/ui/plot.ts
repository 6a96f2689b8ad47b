/* SPDX-License-Identifier: Apache-2.0 */
/* The library for charts, in a chunk of its own that is fetched with the first chart. */
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";

export function makePlot(options: uPlot.Options, data: uPlot.AlignedData, box: HTMLElement): uPlot {
  return new uPlot(options, data, box);
}
