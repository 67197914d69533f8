import { type EChartsOption, format, init } from "echarts";

const FONT = "system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif";
/** Distinguishable for colour-blind readers. */
const COLOURS = ["#0058a3", "#b84300", "#00734f", "#8a3a9e", "#59636e", "#7a5c00"];

/**
 * Draws a picture as SVG, the same text for the same options.
 *
 * @param title the text alternative.
 */
export function drawSvg(
  title: string,
  size: { readonly width: number; readonly height: number },
  option: EChartsOption,
): string {
  const chart = init(null, null, { renderer: "svg", ssr: true, ...size });
  chart.setOption({
    animation: false,
    // The picture has its own background, to be readable on dark pages.
    backgroundColor: "#ffffff",
    color: COLOURS,
    textStyle: { fontFamily: FONT },
    ...option,
  });
  const svg = chart.renderToSVGString();
  chart.dispose();
  // Hover styles have no use in a picture, and their names depend on the number of charts of the process.
  const text = svg
    .replace(/<style.*?<\/style>\s*/s, "")
    .replace(/ class="zr\d+-cls-\d+"/g, "")
    .replace(/zr\d+-/g, "zr-");
  return `${text.replace(">", () => ` role="img"><title>${format.encodeHTML(title)}</title>`)}\n`;
}
