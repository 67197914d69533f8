import { useState } from "react";
import { useMediaQuery } from "./use-media-query.ts";

/** The theme on the screen: the chosen one, else the system's. */
export function useTheme() {
  const isSystemDark = useMediaQuery("(prefers-color-scheme: dark)");
  const [chosen, setChosen] = useState(document.documentElement.dataset.theme);
  const theme = chosen ?? (isSystemDark ? "dark" : "light");
  const toggle = () => {
    const next = theme === "dark" ? "light" : "dark";
    document.documentElement.dataset.theme = next;
    localStorage.setItem("theme", next);
    setChosen(next);
  };
  return { theme, toggle };
}
