// What a chart draws.
import type { EChartsCoreOption } from "echarts/core";

export type Option = EChartsCoreOption;

/** A drawing with axes. */
export interface Figure {
  /** Height in pixels, by the width there is. */
  height: (width: number) => number;
  /** Built anew whenever width or colours change. */
  option: (width: number) => Option;
}
