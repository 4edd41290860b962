# run     fetch, build and start the appliance on 127.0.0.1:8420 (ARGS="--listen 127.0.0.1:0" goes to it)
# build   bin/holdfast
# test    everything: check, unit, e2e, browser; installs what it needs
# check   format, vet, staticcheck, known vulnerabilities, the house's rules, generated files, modules
# unit    unit and property tests under the race detector          (race is another name for it)
# e2e     end to end against a real Ollama server                   browser  in a real Chromium
# bench   measure, see docs/performance.md                          soak     the long form of the crash tests
# fuzz    each fuzz target for FUZZTIME                             shots    screenshots into docs/screenshots
# generate  write generated files anew                              release  binaries and sums into dist

SHELL := bash
.DEFAULT_GOAL := build
.DELETE_ON_ERROR:
.NOTPARALLEL:
.PHONY: run build assets generate check format vet elsewhere staticcheck vulnerabilities house generated modules \
	test unit race fuzz e2e browser bench soak shots release clean

# Go and npm need a home even where a service gives none.
ifeq ($(strip $(HOME)),)
export HOME := $(shell getent passwd "$$(id -u)" | cut -d: -f6 | grep . || echo /tmp/holdfast-home-$$(id -u))
endif
HOLDFAST_CACHE ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/holdfast/tools

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
# Without git, or in somebody else's checkout, there is no commit to write into the binary; that must not stop the build.
VCS     := $(shell git status --porcelain >/dev/null 2>&1 && echo true || echo false)
LDFLAGS := -s -w -X main.version=$(VERSION)
# Templates are functions that make functions: where one is inlined into another its body is copied with it, a ninth of the binary.
GCFLAGS := -gcflags=holdfast/ui=-l -gcflags=holdfast/ui/view=-l -gcflags=holdfast/ui/gallery=-l
TAGS    := e2e,browser,bench,soak

FUZZTIME ?= 20s
# How many packages are tested at once; each is parallel within itself.
JOBS ?= 2

# $(call sha256,FILE) prints the sum alone.
sha256 = { sha256sum $(1) 2>/dev/null || shasum -a 256 $(1); } | cut -d' ' -f1

DATASTAR_VERSION := v1.0.2
DATASTAR_SHA256  := 2837d87acf6ee0ba8e4e63765926c25a98d63883b02f88be194a86b81d3fd24a
DATASTAR         := ui/static/vendor/datastar.js
AXE_VERSION      := 4.10.3
AXE_SHA256       := 880970c081707360e64f34cea25ff91892f5bc95675b0776925b9709dd8a68bb
AXE              := $(HOLDFAST_CACHE)/axe-core-$(AXE_VERSION)/axe.min.js
OLLAMA_VERSION   := v0.11.4
OLLAMA           := $(HOLDFAST_CACHE)/ollama-$(OLLAMA_VERSION)/ollama
# An MCP server of another implementation; its lock file pins every package of it by version and hash.
PEER_LOCK := tools/mcp/testdata/npm/package-lock.json
PEER      := $(HOLDFAST_CACHE)/mcp-peer-$(shell { $(call sha256,$(PEER_LOCK)); } 2>/dev/null | cut -c1-16)

# $(call need,PROGRAM,PACKAGES,WHAT FOR) installs Debian packages when root may, else says the command and stops.
need = command -v $(1) >/dev/null || { \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $(2); \
	else echo "$(3) needs $(1); install it with: sudo apt-get install -y --no-install-recommends $(2)" >&2; exit 1; fi; }
# $(call tagged,TAG) sets dirs and names to the packages and tests that only stand behind a build tag; none is an error.
tagged = files=$$(grep -rlE --include='*_test.go' '^//go:build .*\b$(1)\b' . | sort); \
	dirs=$$(for f in $$files; do dirname "$$f"; done | sort -u); \
	names=$$(cat /dev/null $$files | sed -nE 's/^func (Test[A-Za-z0-9_]*)\(.*/\1/p' | grep -vx TestMain | paste -sd'|' -); \
	[ -n "$$names" ] || { echo "there are no tests with the build tag $(1)" >&2; exit 1; }
TEST := CGO_ENABLED=1 go test -race -count=1
# What tests are told about the machine: HOLDFAST_BIN, HOLDFAST_OLLAMA_BIN, HOLDFAST_MCP, HOLDFAST_CHROMIUM, HOLDFAST_AXE, HOLDFAST_SHOTS, HOLDFAST_KILLS.
BIN      := HOLDFAST_BIN='$(CURDIR)/bin/holdfast'
CHROMIUM := HOLDFAST_CHROMIUM="$$(command -v chromium || command -v chromium-browser || command -v google-chrome)"

run: build
	@exec ./bin/holdfast serve $(ARGS)

build: assets
	@if [ -n "$$(git status --porcelain -- '*.templ' 2>/dev/null)" ]; then $(MAKE) --no-print-directory generate; fi
	CGO_ENABLED=0 go build -buildvcs=$(VCS) -trimpath $(GCFLAGS) -ldflags '$(LDFLAGS)' -o bin/holdfast .

# The browser bundle comes through the module proxy, is checked, and is never committed. Outside of the module, so that go.mod stays as it is.
assets:
	@set -eu; command -v go >/dev/null || { echo "Holdfast needs Go 1.26 or newer: https://go.dev/dl" >&2; exit 1; }; \
	if [ -f $(DATASTAR) ] && [ "$$($(call sha256,$(DATASTAR)))" = $(DATASTAR_SHA256) ]; then exit 0; fi; \
	echo "fetching Datastar $(DATASTAR_VERSION)"; \
	info=$$(cd / && GOFLAGS= GOWORK=off go mod download -json github.com/starfederation/datastar@$(DATASTAR_VERSION)); \
	dir=$$(sed -n 's/^[[:space:]]*"Dir": "\(.*\)",\{0,1\}$$/\1/p' <<<"$$info"); \
	mkdir -p $(dir $(DATASTAR)); \
	install -m 644 "$$dir/bundles/datastar.js" $(DATASTAR).new; \
	if [ "$$($(call sha256,$(DATASTAR).new))" != $(DATASTAR_SHA256) ]; then \
	  rm $(DATASTAR).new; echo "the Datastar bundle is not the one that was checked" >&2; exit 1; fi; \
	mv $(DATASTAR).new $(DATASTAR)

generate:
	@$(call need,protoc,protobuf-compiler libprotobuf-dev,make generate)
	@set -eu; templ=$$(go tool -n templ); \
	for dir in $$(find . -name '*.templ' -exec dirname {} + | sort -u); do \
	  said=$$("$$templ" generate -path "$$dir" 2>&1) || { echo "$$said" >&2; exit 1; }; done; \
	go generate ./...

check: assets format vet elsewhere staticcheck vulnerabilities house generated modules

format:
	@set -eu; bad=$$(find . -name '*.go' -not -name '*_templ.go' -not -path './.git/*' -exec gofmt -l {} +); \
	[ -z "$$bad" ] || { echo "not formatted, run gofmt -w:"; echo "$$bad"; exit 1; }; echo "format: ok"

vet: assets
	@go vet ./... && go vet -tags $(TAGS) ./... && echo "vet: ok"

# What stands beside files is to be run on other systems one day; until then it compiles for them.
elsewhere: assets
	@GOOS=windows go build ./... && GOOS=darwin go vet ./agentside/... && echo "other systems: ok"

staticcheck: assets
	@go tool staticcheck -tags $(TAGS) ./... && echo "staticcheck: ok"

# VULNDB is a local copy of vuln.go.dev; the database is not reachable everywhere, and nobody is to take silence for safety.
vulnerabilities:
	@set -eu; if [ -z "$${VULNDB:-}" ]; then echo "vulnerabilities: skipped, no database"; exit 0; fi; \
	[ -d "$$VULNDB" ] || { echo "VULNDB: $$VULNDB is no directory" >&2; exit 1; }; \
	go tool govulncheck -db "file://$$(cd "$$VULNDB" && pwd)" ./...

house:
	@set -o pipefail; go test -count=1 -v -run 'TestHouse|TestRulesFind|TestRecordsNeeded|TestBudgetsPrinted' ./engine/archtest | grep -vE '^ *(===|--- PASS)'

# Everything generated is written once more into a copy and compared; what has lost its source must be gone, too.
generated:
	@set -eu; tmp=$$(mktemp -d); trap 'rm -rf "$$tmp"' EXIT; \
	find . \( -path ./.git -o -path ./bin -o -path ./dist \) -prune -o -type f \
	  \( -name '*.go' -o -name '*.templ' -o -name '*.proto' -o -name go.mod -o -name go.sum -o -name Makefile \) -print0 | \
	  tar -c --null -T - | tar -x -C "$$tmp"; \
	list() { find . -name testdata -prune -o \( -name '*_templ.go' -o -name '*_gen.go' -o -name '*.pb.go' -o -name '*.connect.go' \) -print | sort; }; \
	here=$$(list); cd "$$tmp"; list | xargs rm -f; \
	$(MAKE) --no-print-directory generate; \
	there=$$(list); cd "$(CURDIR)"; \
	diff <(echo "$$here") <(echo "$$there") || { echo "generated files come or go: run make generate" >&2; exit 1; }; \
	for f in $$there; do cmp -s "$$f" "$$tmp/$$f" || { echo "$$f is not up to date: run make generate" >&2; exit 1; }; done; \
	echo "generated files: up to date"

modules:
	@go mod verify && go mod tidy -diff && echo "go.mod: tidy"

# The order is by what fails soonest; the last lines are go test's own.
test: check $(OLLAMA) $(PEER)/installed $(AXE) chromium
	@$(MAKE) --no-print-directory unit e2e browser

unit race: assets
	$(TEST) -p $(JOBS) -timeout 12m ./...

# Every fuzz target runs alone: go test takes one at a time.
fuzz: assets
	@set -eu; grep -rHoE --include='*_test.go' '^func Fuzz[A-Za-z0-9_]*' . | sed 's/:func /:/' | sort | while IFS=: read -r file name; do \
	  echo "$$name"; go test -run '^$$' -fuzz "^$$name\$$" -fuzztime $(FUZZTIME) "$$(dirname "$$file")"; done

e2e: build $(OLLAMA) $(PEER)/installed
	@set -eu; $(call tagged,e2e); set -x; \
	$(BIN) HOLDFAST_OLLAMA_BIN='$(OLLAMA)' HOLDFAST_MCP='$(PEER)' go test -count=1 -tags e2e -p 1 -timeout 15m -run "^($$names)\$$" $$dirs

browser: build $(AXE) chromium
	@set -eu; $(call tagged,browser); set -x; \
	$(BIN) $(CHROMIUM) HOLDFAST_AXE='$(AXE)' go test -count=1 -tags browser -p 1 -timeout 15m -run "^($$names)\$$" $$dirs

shots: build chromium
	@set -eu; $(call tagged,browser); mkdir -p docs/screenshots; set -x; \
	$(BIN) $(CHROMIUM) HOLDFAST_SHOTS='$(CURDIR)/docs/screenshots' go test -count=1 -tags browser -p 1 -timeout 15m -run '[Ss]hot' .

# First the harness with the tag bench, which writes the report, then the benchmarks of the rooms.
bench: build
	@set -eu; $(call tagged,bench); set -x; \
	$(BIN) go test -count=1 -v -tags bench -p 1 -timeout 60m -run "^($$names)\$$" $$dirs; \
	go test -count=1 -p 1 -timeout 60m -run '^$$' -bench . -benchmem \
	  $$(grep -rl --include='*_test.go' '^func Benchmark' . | xargs -n1 dirname | sort -u)

soak: build
	HOLDFAST_KILLS=500 $(TEST) -v -p 1 -timeout 120m ./kv/...
	@set -eu; $(call tagged,soak); set -x; \
	$(BIN) HOLDFAST_RESTARTING=2m go test -count=1 -v -tags soak -p 1 -timeout 30m -run "^($$names)\$$" $$dirs

.PHONY: chromium
chromium:
	@set -eu; command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null || \
	  $(call need,chromium,chromium fonts-dejavu-core fonts-liberation,make browser)

$(OLLAMA):
	@set -eu; $(call need,g++,build-essential,the Ollama server); \
	echo "building Ollama $(OLLAMA_VERSION) into $(@D), once; it takes some minutes"; \
	mkdir -p '$(@D)'; cd / && GOBIN='$(@D)' GOFLAGS= GOWORK=off CGO_ENABLED=1 go install github.com/ollama/ollama@$(OLLAMA_VERSION)

# No script of a package runs; what the lock file does not name by hash is not installed.
$(PEER)/installed:
	@set -eu; $(call need,node,nodejs,the MCP server of another implementation); $(call need,npm,npm,the MCP server of another implementation); \
	rm -rf '$(@D)'; mkdir -p '$(@D)'; cp $(dir $(PEER_LOCK))package.json $(PEER_LOCK) '$(@D)'; \
	cd '$(@D)'; npm ci --silent --ignore-scripts --no-audit --no-fund; touch installed

$(AXE):
	@set -eu; $(call need,npm,npm,the accessibility test); mkdir -p '$(@D)'; cd '$(@D)'; \
	npm pack --silent axe-core@$(AXE_VERSION) >/dev/null; \
	tar -xzf axe-core-$(AXE_VERSION).tgz package/axe.min.js package/LICENSE; rm axe-core-$(AXE_VERSION).tgz; \
	if [ "$$($(call sha256,package/axe.min.js))" != $(AXE_SHA256) ]; then echo "axe-core is not the one that was checked" >&2; exit 1; fi; \
	mv package/axe.min.js axe.min.js

RELEASES ?= linux-amd64 linux-arm64

# A release comes from the commit, not from this folder: it is built twice in two places and must be the same to the byte.
release:
	@set -eu; [ -n "$${VULNDB:-}" ] || { echo "a release is only made with a vulnerability database; set VULNDB" >&2; exit 1; }; \
	[ -z "$$(git status --porcelain)" ] || { echo "commit first: a release is built from a commit" >&2; exit 1; }; \
	$(MAKE) --no-print-directory check; \
	top=$$PWD; tmp=$$(mktemp -d); trap 'rm -rf "$$tmp"' EXIT; rm -rf dist; mkdir dist; \
	for copy in one another/two; do \
	  git clone -q "$$top" "$$tmp/$$copy"; \
	  for target in $(RELEASES); do \
	    ( cd "$$tmp/$$copy"; $(MAKE) --no-print-directory assets; \
	      CGO_ENABLED=0 GOOS=$${target%-*} GOARCH=$${target#*-} go build -trimpath -buildvcs=true $(GCFLAGS) \
	        -ldflags '$(LDFLAGS) -buildid=' -o "out/holdfast-$(VERSION)-$$target" . ); \
	  done; \
	done; \
	for f in "$$tmp"/one/out/*; do cmp "$$f" "$$tmp/another/two/out/$${f##*/}"; done; \
	install -m 755 "$$tmp"/one/out/* dist/; cp LICENSE dist/; \
	cd dist && sha256sum holdfast-* >SHA256SUMS && cat SHA256SUMS

clean:
	rm -rf bin dist
