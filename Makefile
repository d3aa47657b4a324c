# `make help` lists what there is.

CARGO ?= cargo
LOOM_TARGET := target/loom
# The programs as `make unit` builds them: with the features that the whole workspace wants of its
# dependencies. For one package alone those would be others, and minutes of compiling anew. With BUILT they are there, and
# nothing waits for Cargo, of which one at a time compiles.
BUILD_PROGRAMS := $(CARGO) build --locked --workspace --bins --examples
BUILD_TESTS := CARGO="$(CARGO)" scripts/tests.py build
BUILD := $(if $(BUILT),@:,$(BUILD_PROGRAMS))
BUILD_APART := $(if $(BUILT),@:,$(BUILD_TESTS))
FUZZ_SECONDS ?= 30
# What a change waits for, in this order; and what is looked at besides before it is merged. In brackets: side by side,
# what compiles beside what waits. What measures comes last and has the machine for itself.
STEPS := msrv bench-test format tests-build tests-run
MORE_STEPS := lint docs more-build [ doc-tests features public-types semver package-list loom fuzz-smoke windows-check frameworks-test / every-mode ui-test clients mirror h2spec settings-judges codings-judges moving-judges recipes worst in-pairs ] apart
# Test programs: those whose tests run beside each other, more than there are cores, as many of them wait; those that
# take much of the machine, which run in pairs; and those that measure time, which have it for themselves.
TOGETHER := it allocations fingerprint_corpus log memory messages serve
IN_PAIRS := huge soak reloads idle_memory descriptors
APART := cold strategies thresholds truth
TEST_THREADS ?= $(shell expr 6 '*' $$(nproc))
# The program that packages are made of: `make dist` builds it.
PROGRAM ?= target/dist/out/salver
# What releases are shown with, and how many: make deploys-test DEPLOYS=10
RELEASE_PROGRAM ?= target/release/salver
DEPLOYS ?= 50
# Passed on to bench/run.py: make bench BENCH='--quick'
BENCH ?=

# What `make test` uses beyond Rust: the program or file, and the Debian package that has it.
TOOLS := cc:build-essential python3:python3 curl:curl brotli:brotli strace:strace /etc/mime.types:media-types
# What the tests of the page use; node 20.11 or newer.
UI_TOOLS := node:nodejs npm:npm chromium:chromium openssl:openssl
# What `make test-all` uses besides.
MORE_TOOLS := wget:wget zstd:zstd fusermount3:fuse3 mkfs.ext4:e2fsprogs losetup:mount go:golang-go c++:build-essential nginx:nginx caddy:caddy ip:iproute2 $(UI_TOOLS)
# What packages are made of a program with, and tried with.
PACKAGE_TOOLS := dpkg-deb:dpkg dpkg-shlibdeps:dpkg-dev readelf:binutils rpmbuild:rpm buildah:buildah podman:podman crun:crun skopeo:skopeo umoci:umoci mmdebstrap:mmdebstrap lintian:lintian systemd-analyze:systemd jq:jq curl:curl python3:python3
UI_TESTS := crates/salver-bench/ui-tests
# Where `make install` puts the program: into bin/ of it.
PREFIX ?= /usr/local

.DEFAULT_GOAL := help
# What is compiled is compiled before it is run.
.NOTPARALLEL: unit test-all
.PHONY: help run build install dist reproducible packages-deps packages packages-test test test-all more-tests in-pairs apart msrv features package public-types semver deps ui-deps ui-test ui-screenshot format lint unit tests-build more-build tests-run doc-tests every-mode docs mirror h2spec clients worst loom fuzz fuzz-smoke frameworks-test settings-judges codings-judges log-judges admin-judges kubernetes-judges object-store-judges rules-judges moving-judges recipes site site-test npm-package wheel action-test nix-test trust install-test precompress bench bench-deps bench-embedded bench-cost bench-profile bench-protocols bench-test httparena cold soak huge reloads releases-deps deploys-test rollback-test storage-test truth windows windows-check windows-test clean

help: ## List the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 18

run: build ## Build in release and serve example/ on http://127.0.0.1:8080
	target/release/salver serve example

build: ## Build the program in release: target/release/salver
	$(CARGO) build --release --locked -p salver

install: ## Copy the program that was built to PREFIX/bin (PREFIX: /usr/local)
	@test -x target/release/salver || { echo "make: nothing is built yet: make build" >&2; exit 1; }
	install -D -m 755 target/release/salver "$(DESTDIR)$(PREFIX)/bin/salver"

dist: ## Build the program for others, static: target/dist/out/salver, and salver.debug, which gives backtraces their names
	CARGO="$(CARGO)" packaging/binary.sh

reproducible: ## Build the last commit in two new folders, and compare the bytes (twice the time of make dist)
	packaging/reproducible.sh

packages-deps: # What packages are made and tried with.
	$(call need,$(PACKAGE_TOOLS))

packages: packages-deps dist ## Make the Debian package, the RPM and the image: target/packages
	@for kind in deb rpm oci; do packaging/$$kind/build.sh target/dist/out/salver target/packages || exit 1; done

# Another one: make packages-test PROGRAM=target/dist/out/salver
packages-test: PROGRAM = target/debug/salver
packages-test: packages-deps ## Install, upgrade under load and remove each package in an empty system, as root; PROGRAM=…
	@test -x "$(PROGRAM)" || $(BUILD)
	packaging/test.sh $(PROGRAM)

test: test-deps ## What a change waits for: formatting and tests
	@scripts/steps.py "$(MAKE)" $(STEPS)

test-all: deps test more-tests ## All that can be tested: besides, lints, a browser, other clients, every interleaving, a moment of fuzzing

more-tests: deps # What `make test-all` adds.
	@BUILT=1 scripts/steps.py "$(MAKE)" $(MORE_STEPS)

# Installs the packages of a list of PROGRAM:PACKAGE whose program, or file, is not there, or names them.
define need
	@missing=; \
	for tool in $(1); do \
		command -v "$${tool%%:*}" > /dev/null || test -e "$${tool%%:*}" || missing="$$missing $${tool##*:}"; \
	done; \
	if [ -z "$$missing" ]; then exit 0; fi; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null; then \
		apt-get update -qq && \
		DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
			ca-certificates $$missing; \
	else \
		echo "make: the tests need$$missing: install them and try again" >&2; exit 1; \
	fi
endef

test-deps: ## Install what `make test` needs beyond Rust, or name it
	$(call need,$(TOOLS))

# All of it at once: who may not install learns of the last one before an hour of compiling.
deps: ## Install what `make test-all` needs beyond Rust, or name it
	$(call need,$(TOOLS) $(MORE_TOOLS))

ui-deps: ## Install what the tests of the page need: node, npm, chromium
	$(call need,$(UI_TOOLS))
	cd $(UI_TESTS) && npm ci --no-audit --no-fund

ui-test: ui-deps ## The pages of `salver bench ui` and of the admin listener in a headless Chromium
	$(BUILD)
	cd $(UI_TESTS) && CHROMIUM="$$(command -v chromium)" npm test

ui-screenshot: ui-deps build ## Measure with the page, and make docs/ui.png of it (2 minutes)
	cd $(UI_TESTS) && CHROMIUM="$$(command -v chromium)" npm run screenshot

format: ## Formatting, as an error
	$(CARGO) fmt --all --check
	rustfmt --check --edition 2024 scripts/object_store/zipf_store.rs

lint: format ## Formatting and lints, as errors
	$(CARGO) clippy --locked --workspace --all-targets --features salver/object-store -- -D warnings

unit: tests-build tests-run doc-tests ## Unit, property, integration and documentation tests, but for those that measure

tests-build: # Compiles the programs and these tests.
	$(BUILD_PROGRAMS)
	$(BUILD_TESTS) units $(TOGETHER)

more-build: # Compiles the programs, and the tests that do not run beside others.
	$(BUILD_PROGRAMS)
	$(BUILD_TESTS) it $(IN_PAIRS) $(APART)

tests-run: # Runs what was compiled.
	RUST_TEST_THREADS=$(TEST_THREADS) scripts/tests.py run 3 units $(TOGETHER)

doc-tests: ## Blocks of code of the documents
	$(CARGO) test --locked --workspace --doc

every-mode: ## The exchange table in every mode over TLS, too
	$(BUILD)
	$(BUILD_APART) it
	scripts/tests.py run 1 it -- in_every_mode --include-ignored

in-pairs: ## Integration tests that take much of the machine, two at a time: a huge file, torn answers, reloads, memory, descriptors
	$(BUILD)
	$(BUILD_APART) $(IN_PAIRS)
	scripts/tests.py run 2 $(IN_PAIRS) -- --test-threads=1

apart: ## Integration tests that measure time, one at a time: slow disks, a writer that never rests, the load generator, ways to send
	$(BUILD)
	$(BUILD_APART) it $(APART)
	scripts/tests.py run 1 $(APART) -- --test-threads=1
	scripts/tests.py run 1 it -- what_never_rests --ignored

reloads: ## A thousand reloads and twenty upgrades under load over HTTP/1.1 and HTTP/2: no request fails
	RELOADS=1000 UPGRADES=20 $(CARGO) test --locked --workspace --test reloads -- --nocapture

releases-deps: ui-deps # What the application that is deployed is built with.
	cd scripts/releases && npm ci --no-audit --no-fund --ignore-scripts --loglevel=error
	@test -x "$(RELEASE_PROGRAM)" || $(CARGO) build --release --locked -p salver

deploys-test: releases-deps ## DEPLOYS (50) of a Vite application beside open tabs and load: nothing is missing; by rsync and nginx, much is (10 minutes)
	$(call need,nginx:nginx rsync:rsync)
	CHROMIUM="$$(command -v chromium)" scripts/releases/run.mjs $(RELEASE_PROGRAM) deploys --deploys $(DEPLOYS)

rollback-test: releases-deps ## The time until a rollback is seen, under load: p99 below a second of 200
	$(call need,taskset:util-linux)
	scripts/releases/run.mjs $(RELEASE_PROGRAM) rollbacks

storage-test: releases-deps ## What 20 releases of that application take beside one, with pictures and fonts: at most 1.5
	scripts/releases/run.mjs $(RELEASE_PROGRAM) storage

msrv: ## Whether the oldest Rust that is stated can be true, and this is it
	scripts/msrv.py

features: ## Every combination of features that can be left out compiles without a warning
	CARGO="$(CARGO)" scripts/features.py

public-types: ## The crates whose types are in the public API are those that docs/library.md names
	scripts/public_types.py

package-list: ## Make the packages, without building them: no warning, and nothing in them that is no use
	CARGO="$(CARGO)" scripts/package.sh --no-verify

package: ## Make the packages, and build each from what is in it (5 minutes)
	CARGO="$(CARGO)" scripts/package.sh

semver: ## Compare the public API with that of the newest version in CHANGELOG.md, or of revision SINCE
	CARGO="$(CARGO)" scripts/semver.py $(SINCE)

docs: ## The documentation, with warnings as errors
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --locked --workspace --no-deps

mirror: docs ## Mirror example/ and the documentation through the server by wget; compare by hash
	$(BUILD)
	scripts/mirror.sh target/debug/salver example 15
	scripts/mirror.sh target/debug/salver target/doc 1500
	scripts/codings.sh target/debug/salver example
	if [ -d ../shared/arena-static ]; then \
		scripts/codings.sh target/debug/salver ../shared/arena-static; \
	fi

h2spec: deps ## h2spec, the conformance test of HTTP/2, in the clear and over TLS
	$(BUILD)
	scripts/h2spec.sh target/debug/salver

# Those that Go builds share a folder, so that what several are made of is compiled once; `make clean` can remove it.
h2spec clients worst: export GOCACHE := $(CURDIR)/target/go/build
h2spec clients worst: export GOMODCACHE := $(CURDIR)/target/go/modules
h2spec clients worst: export GOFLAGS := $(GOFLAGS) -modcacherw

clients: deps ui-deps ## Clients of other make (Go, Node, Python, curl, wget, nghttp) over every version of HTTP
	$(BUILD)
	scripts/clients/run.py target/debug/salver --quick

# The memory is what counts here: times are those of a program that is not optimised, which answers more slowly than
# this crowd asks: beside the 56 MiB that are allowed and the 80 that it has by itself, the bound has room for what waits.
worst: deps ## Hundreds of connections that do the worst they may: the memory that they cost
	$(BUILD)
	scripts/worst/run.py target/debug/salver worst --connections 500 --seconds 3 --bound 256 \
		--only h1-pipeline --only tls-large --only h2-stalled-tls --only h3-stalled -- \
		--connection-memory 40MiB --cache-size 16MiB --max-connections-per-client 1000

soak: ## Files change in all ways while clients ask: no torn answer among a million (release; SALVER_SOAK_ANSWERS=N)
	$(CARGO) test --release --locked --workspace --test soak -- --ignored --nocapture

cold: deps ## Cold files on slow disks beside a hot one, as root: latency, with and without the check
	SALVER_TESTS_SKIP_NOTHING=1 $(CARGO) test --locked --release --workspace --test cold -- --ignored --nocapture

truth: ## The load generator against servers of known behaviour, the slow ones too (1 minute)
	$(CARGO) test --locked --workspace --test truth -- --include-ignored

huge: ## Start-up and memory over 1,000,000 files (10 minutes)
	$(CARGO) test --locked --release --workspace --test huge -- --ignored --nocapture

loom: ## Every interleaving of the code that shares loads, and of the queues of the access log
	RUSTFLAGS="--cfg loom" CARGO_TARGET_DIR=$(LOOM_TARGET) \
		$(CARGO) test --locked -p salver-coalesce -p salver-access-log --lib --profile loom

# In the folder and with the profile of the rest, so that what both depend on is compiled once.
frameworks-test: ## The examples of docs/frameworks.md: hyper, actix, poem, tonic and warp, started and asked
	mkdir -p "$${CARGO_TARGET_DIR:-target}"
	sed -n '/^\[profile\.dev/,$$p' Cargo.toml > "$${CARGO_TARGET_DIR:-target}/profile.toml"
	CARGO_TARGET_DIR="$${CARGO_TARGET_DIR:-$(CURDIR)/target}" $(CARGO) test --locked \
		--config "$${CARGO_TARGET_DIR:-target}/profile.toml" --manifest-path examples/frameworks/Cargo.toml

settings-judges: ## The manual page by mandoc, completions by their shells, the schema by Python's jsonschema
	$(call need,mandoc:mandoc zsh:zsh fish:fish jsonschema:python3-jsonschema)
	$(BUILD)
	scripts/settings.sh target/debug/salver

codings-judges: ## Made codings by brotli, zstd and gzip, while files change, servers are killed and the disk is full
	$(call need,brotli:brotli zstd:zstd gzip:gzip curl:curl wget:wget python3:python3)
	$(BUILD)
	scripts/codings_judge.py target/debug/salver 20

log-judges: ## Access logs by GoAccess and fail2ban, clients behind proxies by HAProxy and Python's proxy-protocol
	$(call need,goaccess:goaccess fail2ban-regex:fail2ban haproxy:haproxy)
	crates/salver-access-log/judges/run.sh
	crates/salver-forwarded/judges/run.sh

admin-judges: ## Metrics by promtool and prometheus-client, alert rules and the dashboard by what the server tells
	$(call need,curl:curl python3:python3 promtool:prometheus)
	$(BUILD)
	crates/salver-admin/judges/run.sh target/debug/salver

# Another one: make kubernetes-judges PROGRAM=target/dist/out/salver
kubernetes-judges: PROGRAM = target/debug/salver
kubernetes-judges: ## The chart by Helm and the types of the Kubernetes API; what its pods would start is started and asked
	$(call need,go:golang-go)
	$(if $(filter target/debug/salver,$(PROGRAM)),$(BUILD))
	packaging/kubernetes/judge/run.sh $(PROGRAM)

# Another script beside it: make object-store-judges SCRIPT=faults.py (SECONDS=600), cold.py, long.py, cpu.py, fleet.py (NODES=4,
# SWITCHES=100, TOLD=100)
object-store-judges: SCRIPT = judge.py
object-store-judges: ## Buckets by moto and versitygw, S3 servers of others: the suite for sources, the exchange table, the program; SCRIPT=…
	$(call need,python3:python3-venv go:golang-go valgrind:valgrind)
	$(CARGO) build --locked -p salver --features object-store
	scripts/object_store/run.sh target/debug/salver $(SCRIPT)

rules-judges: ui-deps ## `_headers`, `_redirects` and imports by the hosts' own programs, which npm installs
	crates/salver-rules/judges/run.sh

moving-judges: ## What docs/from-*.md say, as root: each command of theirs and of ours is run, and both are asked the same
	$(call need,nginx:nginx caddy:caddy node:nodejs npm:npm openssl:openssl ip:iproute2 python3:python3)
	cd scripts/moving && npm ci --no-audit --no-fund --ignore-scripts --loglevel=error
	$(BUILD)
	scripts/moving/run.py target/debug/salver

recipes: ## What docs/deploy.md and docs/operate.md have for the ports of the web, as root: rights, keys, renewal, a proxy
	$(call need,nginx:nginx openssl:openssl ip:iproute2 setpriv:util-linux python3:python3)
	$(BUILD)
	scripts/recipes/run.py target/debug/salver

npm-package: ## The packages for npm of the program PROGRAM, installed from their files and tried
	$(call need,node:nodejs npm:npm python3:python3)
	packaging/npm/test.sh $(PROGRAM)

wheel: ## The wheel for PyPI of the program PROGRAM, installed from its file and tried
	$(call need,python3:python3-venv)
	packaging/pypi/test.sh $(PROGRAM)

action-test: ## The action for GitHub, by its schema and over sites, with the program PROGRAM
	packaging/action/test.sh $(PROGRAM)

nix-test: ## The flake for Nix: read, and evaluated over stand-ins for Nixpkgs
	$(call need,nix-instantiate:nix-bin python3:python3)
	packaging/nix/test.sh $(PROGRAM)

trust: ## Licences, sources and bans of dependencies by cargo-deny; licences and components of the program, judged
	@command -v cargo-deny > /dev/null || { echo "make: cargo-deny is not there: cargo install --locked cargo-deny" >&2; exit 2; }
	$(CARGO) deny --locked --all-features check bans licenses sources
	CARGO="$(CARGO)" packaging/licences.sh
	CARGO="$(CARGO)" packaging/sbom.sh

install-test: ## `cargo install salver` from the packed crates and vendored dependencies, offline (minutes)
	CARGO="$(CARGO)" packaging/install-test.sh

site: ## The documents as a site, by mdbook: target/site, for `salver serve target/site --listing`
	scripts/site/build.py

site-test: ui-deps site ## Links of the site by linkchecker, its pages in Chromium, its conventions by Salver
	$(call need,linkchecker:linkchecker curl:curl)
	$(BUILD)
	scripts/site/check.sh target/debug/salver

fuzz: ## Fuzz each target for FUZZ_SECONDS (30)
	fuzz/run.sh $(FUZZ_SECONDS)

fuzz-smoke: ## Fuzz each target for a moment
	CARGO_PROFILE_RELEASE_DEBUG=none fuzz/run.sh 2

precompress: ## Make the coded siblings of example/ anew; needs brotli, gzip and zstd
	@find example -type f \( -name '*.html' -o -name '*.css' -o -name '*.js' -o -name '*.svg' \) \
		-exec brotli -f -q 11 {} \; -exec gzip -f -k -n -9 {} \; -exec zstd -q -f -19 {} \;

bench: bench-deps build ## Compare with other servers (half an hour); rewrite its results in bench/results and BENCHMARKS.md
	bench/run.py servers cached --write $(BENCH)

bench-deps: ## Install or build what the comparison needs, into target/bench/
	bench/run.py deps

bench-embedded: bench-deps build ## Compare libraries within a program, by CPU time and by allocations (half an hour); rewrite its results
	bench/run.py embedded allocations --write $(BENCH)

bench-cost: ## What libraries and features of ours add to a program: packages and compile time (half an hour); rewrite its results
	bench/run.py cost --write

bench-protocols: bench-deps build ## Compare with other servers over TLS, HTTP/2 and HTTP/3 (15 minutes); rewrite its results
	bench/run.py protocols --write $(BENCH)

bench-test: ## What makes the tables of bench/results and BENCHMARKS.md, and the charts of the site, without measuring
	python3 -m unittest discover -s bench
	python3 -m unittest discover -s scripts/site
	python3 -m unittest discover -s scripts -p 'test_*.py'

httparena: build ## What HttpArena checks and loads, over every protocol, without Docker
	contrib/httparena/run.py

bench-profile: dist ## System calls and instructions per request; rewrite its results
	bench/run.py profile --salver target/dist/out/salver --write $(BENCH)

windows: ## The program for Windows as a zip in target/windows, cross-compiled
	$(call need,x86_64-w64-mingw32-gcc:gcc-mingw-w64-x86-64 zip:zip)
	CARGO="$(CARGO)" packaging/windows/build.sh

# In a folder of its own: another compiler has nothing in common with what is built beside it.
windows-check: ## Whether the program, salver-tower and salver-embed still compile for Windows
	exports=$$(CARGO="$(CARGO)" packaging/windows/toolchain.sh check) && eval "$$exports" && \
		CARGO_TARGET_DIR="$${CARGO_TARGET_DIR:-target}/windows-check" \
		$(CARGO) check --locked --target x86_64-pc-windows-gnu -p salver-tower -p salver-embed -p salver

windows-test: ## The tests of Windows under wine, the exchange table among them
	$(call need,x86_64-w64-mingw32-gcc:gcc-mingw-w64-x86-64 wine:wine python3:python3 curl:curl openssl:openssl)
	CARGO="$(CARGO)" packaging/windows/test.sh

clean: ## Remove what was built
	$(CARGO) clean
