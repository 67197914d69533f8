import { type ComponentProps, memo, useRef } from "react";
import ReactMarkdown, { type Components } from "react-markdown";
import remarkGfm from "remark-gfm";
import { CopyButton } from "./CopyButton.tsx";

const PLUGINS = [remarkGfm];
const COMPONENTS: Components = {
  a: ({ href, children }) => (
    <a href={href} target="_blank" rel="noopener noreferrer">
      {children}
    </a>
  ),
  // A picture from another server would tell that server what the user reads.
  img: ({ src, alt }) => (
    <a href={typeof src === "string" ? src : ""} target="_blank" rel="noopener noreferrer">
      {alt || "picture"}
    </a>
  ),
  // Wide content has its own scroll bar, and can be scrolled by keyboard.
  table: ({ children }) => (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls
    <figure className="table-scroller" tabIndex={0}>
      <table>{children}</table>
    </figure>
  ),
  pre: CodeBlock,
};

/** An answer's text. HTML in it is shown as text, never rendered. */
export const Markdown = memo(function Markdown({ text }: { readonly text: string }) {
  return (
    <div className="markdown">
      <ReactMarkdown remarkPlugins={PLUGINS} components={COMPONENTS}>
        {text}
      </ReactMarkdown>
    </div>
  );
});

function CodeBlock({ children }: ComponentProps<"pre">) {
  const code = useRef<HTMLPreElement>(null);
  return (
    <figure className="code-block">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls */}
      <pre ref={code} tabIndex={0}>
        {children}
      </pre>
      <CopyButton text={() => code.current?.textContent ?? ""} label="Copy the code" />
    </figure>
  );
}
