import { slug } from "github-slugger";
import { defineConfig } from "vitepress";
import { entryPoints } from "../entry-points.ts";
import { navigation, widePages } from "../navigation.ts";
import { repository } from "../places.ts";

const api = entryPoints().map(({ name }) => ({
  text: name.replace("@scrollback/", ""),
  link: `/reference/api/${name}`,
}));

export default defineConfig({
  title: "Scrollback",
  description: "Persistent message stores for AI agents, in TypeScript",
  lang: "en",
  head: [["link", { rel: "icon", type: "image/svg+xml", href: "/icon.svg" }]],
  srcDir: ".pages",
  outDir: "dist",
  cleanUrls: false,
  lastUpdated: false,
  metaChunk: true,
  // Pictures are files: a page loads nothing but files of the site.
  vite: { build: { assetsInlineLimit: 0, chunkSizeWarningLimit: 4_000 }, logLevel: "warn" },
  markdown: {
    // Both themes have the contrast of WCAG AA on the site's backgrounds.
    theme: { light: "github-light-high-contrast", dark: "github-dark-high-contrast" },
    // The same anchors as on GitHub, so that a link works on both.
    anchor: { slugify: slug },
  },
  transformPageData({ relativePath, frontmatter }) {
    if (widePages.has(relativePath.replace(/\.md$/, ""))) {
      frontmatter.aside = false;
      frontmatter.pageClass = "wide";
    }
  },
  themeConfig: {
    search: { provider: "local" },
    outline: [2, 3],
    nav: [
      { text: "Tutorial", link: "/tutorial/first-conversation" },
      { text: "How-to", link: "/how-to/choose-a-backend" },
      { text: "Reference", link: "/reference/options" },
      { text: "Explanation", link: "/explanation/one-atomic-commit" },
    ],
    sidebar: navigation.map(({ text, pages }) => ({
      text,
      // The heading is a link, because it contains the button that folds the group, and a button must not contain a button.
      link: `/${pages[0]?.[1]}`,
      collapsed: !["Tutorial", "How-to guides"].includes(text),
      items: pages.map(([title, place]) => ({
        text: title,
        link: `/${place}`,
        ...(place === "reference/api/index" ? { collapsed: true, items: api } : {}),
      })),
    })),
    socialLinks: [{ icon: "github", link: repository, ariaLabel: "Source code" }],
    footer: { message: "MIT licence" },
  },
});
