import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { isKey, type KeyLike } from "./keys";

const pressed = (event: Partial<KeyLike>): KeyLike => ({ key: "Enter", keyCode: 13, isComposing: false, ...event });

it("is the key that the person means for the page", () => {
  expect(isKey(pressed({ keyCode: 13 }), "Enter")).toBe(true);
  expect(isKey(pressed({ key: "Escape", keyCode: 27 }), "Escape")).toBe(true);
  expect(isKey(pressed({ keyCode: 13 }), "Escape")).toBe(false);
});

it("is not the key that an input method has used, in the order of any browser", () => {
  expect(isKey(pressed({ isComposing: true, keyCode: 13 }), "Enter")).toBe(false);
  expect(isKey(pressed({ keyCode: 229 }), "Enter")).toBe(false);
  expect(isKey(pressed({ key: "Escape", keyCode: 229 }), "Escape")).toBe(false);
});

it("is asked wherever the page looks at Enter or Escape", () => {
  const root = join(process.cwd(), "frontend_core");
  const sources = ["chat", "knowledge_copilot"].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: "utf8" }).map((path) => join(root, folder, path)),
  );
  const own = sources.filter((path) => /\.tsx?$/.test(path) && !path.includes(".test."));
  expect(own.length).toBeGreaterThan(50);
  const strays = own.filter((path) => /\.key [!=]== "(Enter|Escape)"/.test(readFileSync(path, "utf8")));
  expect(strays).toEqual([]);
});
