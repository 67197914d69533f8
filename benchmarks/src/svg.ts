import { type EChartsOption, format, init } from "echarts";

const FONT = "system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif";
/** Told apart by the colour-blind too. */
const COLOURS = ["#0058a3", "#b84300", "#00734f", "#8a3a9e", "#59636e", "#7a5c00"];

/**
 * Draws a picture as SVG, the same text for the same options.
 *
 * @param title what it shows, for those who cannot see it.
 */
export function drawSvg(
  title: string,
  size: { readonly width: number; readonly height: number },
  option: EChartsOption,
): string {
  const chart = init(null, null, { renderer: "svg", ssr: true, ...size });
  chart.setOption({
    animation: false,
    // It brings its own paper, to be readable on dark pages.
    backgroundColor: "#ffffff",
    color: COLOURS,
    textStyle: { fontFamily: FONT },
    ...option,
  });
  const svg = chart.renderToSVGString();
  chart.dispose();
  // Styles of what the pointer is over are of no use in a picture, and their names count all charts of the process.
  const text = svg
    .replace(/<style.*?<\/style>\s*/s, "")
    .replace(/ class="zr\d+-cls-\d+"/g, "")
    .replace(/zr\d+-/g, "zr-");
  return `${text.replace(">", () => ` role="img"><title>${format.encodeHTML(title)}</title>`)}\n`;
}
