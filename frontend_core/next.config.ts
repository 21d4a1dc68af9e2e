import type { NextConfig } from "next";

/**
 * The whole policy of what the page may load and who may frame it. Scripts and styles need `unsafe-inline`: Next
 * writes its hydration data as inline scripts and CopilotKit its styles as style attributes.
 */
const contentSecurityPolicy = [
  "default-src 'self'",
  "script-src 'self' 'unsafe-inline'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data: blob:",
  "font-src 'self' data:",
  "connect-src 'self'",
  "object-src 'none'",
  "base-uri 'self'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join("; ");

const config: NextConfig = {
  poweredByHeader: false,
  // Compression belongs to the hop in front; here it would hold back the event stream (vercel/next.js#9965).
  compress: false,
  reactStrictMode: true,
  // One server for the image, for `make run` and for the tests, with what it needs of node_modules. `npm run build` adds its static files.
  output: "standalone",
  // Left to Node as they are: the proxy's own HTTP client, and a runtime whose import order matters (telemetry).
  serverExternalPackages: ["undici", "@copilotkit/runtime"],
  turbopack: { root: new URL("..", import.meta.url).pathname },
  headers: () =>
    Promise.resolve([
      {
        source: "/:path*",
        headers: [
          { key: "Content-Security-Policy", value: contentSecurityPolicy },
          { key: "X-Content-Type-Options", value: "nosniff" },
          { key: "X-Frame-Options", value: "DENY" },
          { key: "Referrer-Policy", value: "same-origin" },
          { key: "Permissions-Policy", value: "camera=(), microphone=(), geolocation=()" },
        ],
      },
    ]),
};

export default config;
