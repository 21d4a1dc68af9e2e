// One lint configuration for frontend_core: type-checked rules, no promise left floating, and what each folder may import:
//
//   app > knowledge_copilot > chat > contract
//   app > proxy > contract
import js from "@eslint/js";
import reactHooks from "eslint-plugin-react-hooks";
import tseslint from "typescript-eslint";

const environment = {
  selector: "MemberExpression[object.name='process'][property.name='env']",
  message: "proxy/config.ts is the only reader of the environment.",
};

/** Modules of the graph page without a screen: they run wherever JavaScript does. The first four are the chat's, too. */
const SHARED = ["run_graph", "layout", "words", "json"];
/** reading.js is named for its error type; it makes no request by itself. */
const PURE = [...SHARED, "layers", "routes", "sse", "turn", "contract", "json_answer", "problem", "delivery", "entry", "failures"];

const noProxy = { group: ["**/proxy/**", "@/proxy/**"], message: "The page runs in the browser: it knows no proxy and no setting." };
const onlySharedOfGraphPage = {
  group: ["**/graph_page/**", ...SHARED.map((name) => `!**/graph_page/${name}.js`)],
  message: "Of the graph page the chat takes the fold and the layout of a run's graph.",
};
const noRoutes = { group: ["**/app/**", "@/app/**"], message: "Routes import pages, never the other way round." };
const noProduct = { group: ["**/knowledge_copilot/**", "@/knowledge_copilot/**"], message: "The chat knows no product: chat/registry.tsx is how one adds to it." };
const aPackage = "The proxy is to become a package: it imports itself, npm packages and contract/.";

export default tseslint.config(
  { ignores: ["**/.next/**", "**/next-env.d.ts", "frontend_core/contract/**"] },
  js.configs.recommended,
  ...tseslint.configs.strictTypeChecked,
  ...tseslint.configs.stylisticTypeChecked,
  {
    languageOptions: {
      parserOptions: {
        projectService: { allowDefaultProject: ["eslint.config.mjs", "vitest.config.ts"] },
        tsconfigRootDir: import.meta.dirname,
      },
    },
    rules: {
      "@typescript-eslint/no-floating-promises": "error",
      "@typescript-eslint/no-misused-promises": "error",
      "@typescript-eslint/consistent-type-imports": "error",
      // Numbers in texts are fine; objects are not.
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
      // `async` handlers that happen not to await are part of a port's shape.
      "@typescript-eslint/require-await": "off",
      "no-console": "error",
      eqeqeq: "error",
    },
  },
  {
    files: ["frontend_core/**/*.{ts,tsx}"],
    ignores: ["frontend_core/proxy/config.ts", "frontend_core/**/*.test.{ts,tsx}", "frontend_core/**/testing/**"],
    rules: { "no-restricted-syntax": ["error", environment] },
  },
  {
    files: ["frontend_core/**/*.tsx", "frontend_core/{chat,knowledge_copilot}/**/*.ts"],
    plugins: { "react-hooks": reactHooks },
    rules: reactHooks.configs.recommended.rules,
  },
  {
    files: ["frontend_core/app/*.tsx"],
    rules: { "no-restricted-imports": ["error", { patterns: [noProxy, onlySharedOfGraphPage] }] },
  },
  {
    files: ["frontend_core/knowledge_copilot/**"],
    rules: { "no-restricted-imports": ["error", { patterns: [noProxy, noRoutes, onlySharedOfGraphPage] }] },
  },
  {
    files: ["frontend_core/chat/**"],
    rules: { "no-restricted-imports": ["error", { patterns: [noProxy, noRoutes, noProduct, onlySharedOfGraphPage] }] },
  },
  {
    files: ["frontend_core/proxy/*"],
    rules: { "no-restricted-imports": ["error", { patterns: [{ regex: String.raw`^(@/|\.\./)(?!contract(/|$))`, message: aPackage }] }] },
  },
  {
    files: ["frontend_core/proxy/*/*"],
    rules: { "no-restricted-imports": ["error", { patterns: [{ regex: String.raw`^(@/|\.\./\.\./)(?!contract(/|$))`, message: aPackage }] }] },
  },
  {
    files: ["**/*.mjs", "middle_core/graph_page/*.js"],
    extends: [tseslint.configs.disableTypeChecked],
  },
  {
    // tsc checks its types and its names, by its JSDoc: see tests/graph_page/tsconfig.json.
    files: ["middle_core/graph_page/*.js"],
    rules: { "no-undef": "off" },
  },
  {
    files: ["middle_core/graph_page/*.js", "tests/graph_page/*.ts"],
    rules: { "max-lines": ["error", 400] },
  },
  {
    files: PURE.map((name) => `middle_core/graph_page/${name}.js`),
    rules: {
      "no-restricted-globals": ["error", "document", "window", "fetch"],
      "no-restricted-imports": ["error", { patterns: [{ group: ["./*", ...PURE.map((name) => `!./${name}.js`), "!./reading.js"], message: "This module is pure: it knows no screen." }] }],
    },
  },
);
