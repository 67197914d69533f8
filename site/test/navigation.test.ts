import { expect, test } from "vitest";
import { navigation } from "../navigation.ts";
import { sitePages } from "../stage.ts";

const places = navigation.flatMap(({ pages }) => pages.map(([, place]) => place));

test("the sidebar has every page of the documentation once", () => {
  expect(new Set(places).size).toBe(places.length);
  const pages = [...sitePages().values()].map((place) => place.replace(/\.md$/, ""));
  // Every page links to the home page at its top, and TypeDoc writes the API reference.
  expect([...places].sort()).toEqual(
    [...pages.filter((place) => place !== "index"), "reference/api/index"].sort(),
  );
});
