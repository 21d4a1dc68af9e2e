import { expect, it } from "vitest";
import { nextTheme, readTheme } from "./theme";

it("goes round the three appearances", () => {
  expect(nextTheme(nextTheme(nextTheme("system")))).toBe("system");
  expect(readTheme("dark")).toBe("dark");
  expect(readTheme("<script>")).toBe("system");
  expect(readTheme(null)).toBe("system");
});
