# frontend_core: the page and its proxy. Built from the root of the repository: docker build -f infra/images/frontend_core.Dockerfile .
# The base images are pinned by version. Pin them by digest too, if your registry mirrors them.

FROM node:22.21.1-bookworm-slim AS build
WORKDIR /build
COPY package.json package-lock.json .npmrc ./
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY frontend_core frontend_core
# The chat's panel draws a run's graph with modules of the graph page.
COPY middle_core/graph_page middle_core/graph_page
RUN npm run build

FROM node:22.21.1-bookworm-slim
ENV NODE_ENV=production \
    NEXT_TELEMETRY_DISABLED=1 \
    HOSTNAME=0.0.0.0 \
    KEEP_ALIVE_TIMEOUT=75000 \
    PORT=3000
# Milliseconds. An ingress keeps idle connections longer than Node's 5 s, and would send a request into a connection that is being closed.
WORKDIR /app
# The server, its static files, and the part of node_modules that Next found it needs (a tenth of the whole). It writes nothing.
COPY --from=build /build/frontend_core/.next/standalone ./
USER 10001
EXPOSE 3000
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s --retries=3 \
    CMD ["node", "-e", "fetch('http://127.0.0.1:' + process.env.PORT + '/').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "frontend_core/server.js"]
