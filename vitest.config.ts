import { defineConfig } from "vitest/config";

const alias = { "@": new URL("./frontend_core", import.meta.url).pathname };

/** Three kinds of tests: the proxy's run in Node, the page's in a DOM, both beside their source; and those of middle_core's graph page. */
export default defineConfig({
  test: {
    projects: [
      {
        resolve: { alias },
        test: {
          name: "proxy",
          environment: "node",
          include: ["frontend_core/**/*.test.ts"],
          exclude: ["frontend_core/{chat,knowledge_copilot}/**", "**/node_modules/**", "**/.next/**"],
          testTimeout: 20_000,
        },
      },
      {
        resolve: { alias },
        esbuild: { jsx: "automatic" },
        test: {
          name: "page",
          environment: "jsdom",
          include: ["frontend_core/{chat,knowledge_copilot}/**/*.test.{ts,tsx}"],
          testTimeout: 20_000,
        },
      },
      {
        test: {
          name: "graph page",
          environment: "node",
          include: ["tests/graph_page/**/*.test.ts"],
          testTimeout: 20_000,
        },
      },
    ],
  },
});
