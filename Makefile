# Copyright The profiletometrics Authors
# SPDX-License-Identifier: Apache-2.0

# Needs Go, make and git; everything else is fetched at the version pinned here.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help
MAKEFLAGS += --no-builtin-rules --no-print-directory

OCB_VERSION      := v0.161.0
LINT_VERSION     := v2.15.0
# The generators' versions stand in a go.mod of their own.
tool-version = $(shell awk '$$1 == "$(1)" && $$2 ~ /^v/ { print $$2 }' internal/tools/go.mod)
MDATAGEN_VERSION  := $(call tool-version,go.opentelemetry.io/collector/cmd/mdatagen)
GOIMPORTS_VERSION := $(call tool-version,golang.org/x/tools)

# How long each fuzz target runs.
FUZZTIME ?= 10s
# Which benchmarks run, and how often; benchstat wants ten runs or more.
BENCH ?= .
BENCHCOUNT ?= 1
# -short measures so briefly that the numbers say nothing.
SIZINGFLAGS ?=
# More flags for the collector that `make run` starts, e.g. RUNFLAGS=--set=...
RUNFLAGS ?=

export GOWORK := off
# No VCS stamp: it needs a checkout that git trusts, and makes every commit a rebuild.
export GOFLAGS := $(GOFLAGS) -buildvcs=false

# Tools live outside the checkout, so that `make clean` and a second clone keep them.
CACHE     := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/profiletometrics
OCB       := $(CACHE)/builder-$(OCB_VERSION)/builder
MDATAGEN  := $(CACHE)/mdatagen-$(MDATAGEN_VERSION)/mdatagen
GOIMPORTS := $(CACHE)/goimports-$(GOIMPORTS_VERSION)/goimports
LINT      := $(CACHE)/golangci-lint-$(LINT_VERSION)/golangci-lint

NAME := otelcol-profiletometrics
DIST := dist/$(NAME)
FULL := dist-full/$(NAME)
LOAD := dist/parca-load
# The container image's name; FULL_IMAGE has all components.
IMAGE      ?= $(NAME):$(shell build/version.sh)
FULL_IMAGE ?= $(NAME)-full:$(shell build/version.sh)
# An image that is there, for `make docker-test`.
TEST_IMAGE ?=

# The directories that hold code; those of them that exist.
CODE := $(wildcard cmd connector extension internal receiver)
# The files of directories that end up in a binary. A directory is newer when a file in it came or went.
sources = $(shell find $(1) -not -path '*/testdata*' \( -type d -o -name '*.go' -not -name '*_test.go' \)) \
	go.mod go.sum
SOURCES := $(call sources,$(filter-out cmd,$(CODE)))
# What the tests with a Kubernetes API server find in the environment.
KUBERNETES = KUBERNETES_BIN="$$(test/tools/kubernetes.sh $(CACHE))" OPERATOR_CRDS="$$(test/tools/operator-crds.sh)"

.PHONY: help
help: ## List the targets (this is the default)
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: build
build: $(DIST) ## Build the distribution: dist/otelcol-profiletometrics

$(DIST): builder-config.yaml $(SOURCES) | $(OCB)
	$(OCB) --config $<
	@touch $@

.PHONY: run
run: $(DIST) ## Build if needed and start the collector with config.yaml
	exec $(DIST) --config config.yaml --feature-gates=+service.profilesSupport $(RUNFLAGS)

.PHONY: full
full: $(FULL) ## Build the distribution with all components: dist-full/otelcol-profiletometrics

$(FULL): builder-config.full.yaml $(SOURCES) | $(OCB)
	$(OCB) --config $<
	@touch $@

.PHONY: parca-load
parca-load: $(LOAD) ## Build the load tool for Parca: dist/parca-load

$(LOAD): $(call sources,cmd/parca-load internal/parcaapi)
	CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o $@ ./cmd/parca-load

.PHONY: docker
docker: ## Build the container image IMAGE with docker, podman or buildah
	build/image.sh $(IMAGE)

.PHONY: docker-full
docker-full: ## Build the container image FULL_IMAGE, with all components
	MANIFEST=builder-config.full.yaml build/image.sh $(FULL_IMAGE)

.PHONY: docker-test
docker-test: ## Run TEST_IMAGE hardened, else an image built without a registry (with buildah and podman)
	test/tools/image-test.sh $(TEST_IMAGE)

.PHONY: k8s-test
k8s-test: $(DIST) ## Check the manifests in k8s; OTELCOL_FULL_BIN adds the overlay that needs all components
	kubernetes="$$(test/tools/kubernetes.sh $(CACHE))" && \
		PATH="$$kubernetes:$$PATH" OTELCOL_BIN="$(abspath $(DIST))" go -C test/k8s test -count=1 ./...

.PHONY: k8s-server-test
k8s-server-test: ## Apply the manifests to a real API server and use them there; part of e2e
	$(KUBERNETES) go test -tags e2e -count=1 -v -run '^TestKubernetes$$' ./test/e2e

.PHONY: k8s-test-full
k8s-test-full: $(FULL) ## k8s-test and k8s-server-test, with the distribution with all components as well
	OTELCOL_FULL_BIN="$(abspath $(FULL))" $(MAKE) k8s-test k8s-server-test

.PHONY: release
release: | $(OCB) ## Archives, bills of materials and checksums of VERSION for PLATFORMS, in dist-release
	OCB=$(OCB) build/release.sh dist-release
	test/tools/release-test.sh dist-release

.PHONY: test
test: ## Everything CI does: check-generated, vet, lint, unit, fuzz, docs-test, e2e; docker-test where it can run
	@for target in check-generated vet lint unit fuzz docs-test e2e docker-test; do \
		echo "==> make $$target"; \
		DOCKER_TEST=optional $(MAKE) "$$target"; \
	done

.PHONY: unit
unit: cc ## Unit, golden and component tests, with the race detector; allocations without
	go test -race -timeout 20m ./...
	go test -run 'Allocat' ./connector/...
	go -C build/sbom test ./...

.PHONY: fuzz
fuzz: ## Run every fuzz target for FUZZTIME (10s)
	test/tools/fuzz.sh $(FUZZTIME) $(CODE)

.PHONY: e2e
e2e: $(DIST) $(LOAD) ## Run the distribution against real Prometheus, Parca, Kubernetes and programs; k8s-test
	PROMETHEUS_BIN="$$(test/tools/prometheus.sh $(CACHE))" PARCA_BIN="$$(test/tools/parca.sh $(CACHE))" \
		OTELCOL_BIN="$(abspath $(DIST))" PARCA_LOAD_BIN="$(abspath $(LOAD))" \
		NODE_PATH="$$(test/tools/node-modules.sh $(CACHE) test/programs/nodebusy)" $(KUBERNETES) \
		CHROMIUM_BIN="$$(test/tools/browser.sh chromium)" W3M_BIN="$$(test/tools/browser.sh w3m)" \
		go test -tags e2e -count=1 -timeout 20m -v ./test/e2e/...
	$(MAKE) k8s-test

.PHONY: bench
bench: ## Run the benchmarks that BENCH (.) matches
	go test -run '^$$' -bench '$(BENCH)' -count $(BENCHCOUNT) ./...

.PHONY: sizing
sizing: $(DIST) ## Measure what docs/deployment/sizing.md says, and write it there (on an idle machine)
	PROMETHEUS_BIN="$$(test/tools/prometheus.sh $(CACHE))" OTELCOL_BIN="$(abspath $(DIST))" \
		go test -tags 'e2e sizing' -count=1 -timeout 30m -v -run '^TestSizing$$' $(SIZINGFLAGS) ./test/e2e

.PHONY: lint
lint: | $(LINT) ## Run golangci-lint
	$(LINT) run ./...
	cd build/sbom && $(LINT) run ./...
	cd test/k8s && $(LINT) run ./...

.PHONY: vet
vet: ## Run go vet on everything, the end-to-end tests included
	go vet -tags 'e2e sizing' ./...

.PHONY: fmt
fmt: | $(LINT) ## Format the code
	$(LINT) fmt

.PHONY: generate
generate: | $(MDATAGEN) $(GOIMPORTS) ## Regenerate what mdatagen writes from the metadata.yaml files
	PATH="$(dir $(MDATAGEN)):$(dir $(GOIMPORTS)):$$PATH" go generate ./...

.PHONY: check-generated
check-generated: ## Fail if `make generate` changes anything
	test/tools/check-unchanged.sh "$(CODE)" $(MAKE) generate

.PHONY: tidy
tidy: ## Tidy go.mod and go.sum
	go mod tidy
	cd internal/tools && go mod tidy
	cd build/sbom && go mod tidy
	cd test/k8s && go mod tidy
	cd test/kubernetes && go mod tidy
	cd test/parca && go mod tidy

.PHONY: tools
tools: $(OCB) $(MDATAGEN) $(GOIMPORTS) $(LINT) ## Install the pinned tools into the cache
	test/tools/prometheus.sh $(CACHE)
	test/tools/parca.sh $(CACHE)
	test/tools/kubernetes.sh $(CACHE)
	test/tools/node-modules.sh $(CACHE) test/programs/nodebusy

.PHONY: docs
docs: ## Build the documentation into site/, with Debian's mkdocs
	test/tools/docs.sh

.PHONY: docs-test
docs-test: ## Check that the documentation builds, where there is mkdocs or it can be installed
	test/tools/docs.sh check

.PHONY: screenshots
screenshots: $(DIST) ## Make the documentation's images of real data anew; MINUTES (16) of it
	OTELCOL_BIN="$(abspath $(DIST))" test/tools/screenshots.sh $(CACHE)

.PHONY: clean
clean: ## Remove what was built; the tools stay in the cache
	rm -rf dist dist-* site

.PHONY: cc
cc:
	@test/tools/require-cc.sh

$(OCB):
	test/tools/install.sh $@ go install go.opentelemetry.io/collector/cmd/builder@$(OCB_VERSION)

$(MDATAGEN):
	test/tools/install.sh $@ go -C internal/tools install go.opentelemetry.io/collector/cmd/mdatagen

$(GOIMPORTS):
	test/tools/install.sh $@ go -C internal/tools install golang.org/x/tools/cmd/goimports

$(LINT):
	test/tools/install.sh $@ go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(LINT_VERSION)
