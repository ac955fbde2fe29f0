# Copyright The profiletometrics Authors
# SPDX-License-Identifier: Apache-2.0

# The distribution as a container image; `make docker` builds it, docs/deployment/docker.md explains
# it. Written for BuildKit, podman and buildah alike: no heredocs, no COPY --link, one ARG a line.

# Compiles: any image with Go, a POSIX shell and a CA bundle.
ARG GO_IMAGE=docker.io/library/golang:1.26-bookworm
# Runs: distroless, or `scratch` for an image without a time zone database and /etc/passwd.
ARG RUNTIME_IMAGE=gcr.io/distroless/static-debian12:nonroot

# On the machine's own platform: Go compiles for the others faster than an emulator runs Go.
FROM --platform=${BUILDPLATFORM} ${GO_IMAGE} AS build
ARG TARGETOS
ARG TARGETARCH
# builder-config.full.yaml makes the image with all components.
ARG MANIFEST=builder-config.yaml
# The version to stamp; default: the manifest's.
ARG VERSION
# Where Go modules come from; default: Go's.
ARG GOPROXY

ENV CGO_ENABLED=0
WORKDIR /src
COPY . .
RUN --mount=type=cache,target=/go/pkg/mod \
    --mount=type=cache,target=/root/.cache/go-build \
    set -eu; \
    version=$(VERSION="${VERSION}" sh build/version.sh); \
    GOBIN=/ocb go install "go.opentelemetry.io/collector/cmd/builder@$(sed -n 's/^OCB_VERSION *:= *//p' Makefile)"; \
    OCB=/ocb/builder sh build/generate.sh "${MANIFEST}" "${version}" dist-image; \
    GOOS="${TARGETOS:-linux}" GOARCH="${TARGETARCH}" \
        go build -C dist-image -trimpath -ldflags '-s -w' -o /image/otelcol-profiletometrics .
# A place for the file_storage extension, which the collector's user may write.
RUN mkdir -p /image/var/lib/otelcol

FROM ${RUNTIME_IMAGE}
ARG VERSION
ARG REVISION

LABEL org.opencontainers.image.title="otelcol-profiletometrics" \
      org.opencontainers.image.description="OpenTelemetry Collector that turns continuous-profiling data into metrics" \
      org.opencontainers.image.source="https://github.com/profiletometrics/profiletometrics" \
      org.opencontainers.image.documentation="https://github.com/profiletometrics/profiletometrics/blob/main/docs/deployment/docker.md" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"

# For TLS to the outside, also where the runtime image has none.
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /image/otelcol-profiletometrics /otelcol-profiletometrics
COPY --from=build --chown=65532:65532 /image/var/lib/otelcol /var/lib/otelcol
COPY LICENSE /licenses/LICENSE
COPY docker/config.yaml /etc/otelcol-profiletometrics/config.yaml

# By number: Kubernetes cannot tell whether a name is root.
USER 65532:65532
# OTLP by gRPC and HTTP, the collector's own metrics, the metrics, health.
EXPOSE 4317 4318 8888 9464 13133

# Profiles are an alpha signal, off by default. The last --feature-gates to name a gate wins, so that
# an argument can turn it off again; arguments replace CMD only.
ENTRYPOINT ["/otelcol-profiletometrics", "--feature-gates=+service.profilesSupport"]
CMD ["--config=/etc/otelcol-profiletometrics/config.yaml"]
