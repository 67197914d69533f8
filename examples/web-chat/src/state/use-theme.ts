import { useCallback, useState } from "react";
import { useMediaQuery } from "./use-media-query.ts";

export type Theme = "light" | "dark";

function chosenTheme(): Theme | undefined {
  const { theme } = document.documentElement.dataset;
  return theme === "light" || theme === "dark" ? theme : undefined;
}

/** The theme on the screen: the chosen one, else the system's. */
export function useTheme() {
  const isSystemDark = useMediaQuery("(prefers-color-scheme: dark)");
  const [chosen, setChosen] = useState(chosenTheme);
  const theme = chosen ?? (isSystemDark ? "dark" : "light");
  const toggle = useCallback(() => {
    const next = theme === "dark" ? "light" : "dark";
    document.documentElement.dataset.theme = next;
    localStorage.setItem("theme", next);
    setChosen(next);
  }, [theme]);
  return { theme, toggle };
}
