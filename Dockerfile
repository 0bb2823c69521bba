# One image for every entry: what runs is the argument. By default it serves a directory of manifests:
#   docker run -v ./manifests:/manifests:ro -p 8787:8787 IMAGE operator/embedded.ts --manifests /manifests
# In a cluster the chart in helm/ runs operator/main.ts and gateway/main.ts.
# It runs as nobody, on a read-only root; only /data is written to, and that by operator/embedded.ts alone.

FROM node:22-bookworm-slim AS dependencies
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --omit=dev --no-audit --no-fund && rm -rf node_modules/node/node_modules

FROM debian:bookworm-slim
RUN apt-get update && apt-get install -y --no-install-recommends libatomic1 && rm -rf /var/lib/apt/lists/*
WORKDIR /app
COPY --from=dependencies /app/node_modules node_modules
COPY package.json LICENSE ./
COPY crds crds
COPY gateway gateway
COPY operator operator
RUN mkdir /data && chown 65532:65532 /data
ENV NODE_ENV=production MODEL_GATEWAY_HOST=0.0.0.0 MODEL_GATEWAY_DATA=/data
VOLUME /data
EXPOSE 8787 8788 8789
USER 65532:65532
ENTRYPOINT ["/app/node_modules/node/bin/node"]
CMD ["operator/embedded.ts"]
