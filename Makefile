# `make help` lists what there is.

CARGO ?= cargo
LOOM_TARGET := target/loom
FUZZ_SECONDS ?= 30

# What the tests use beyond Rust: the program, and the Debian package that has it.
TOOLS := curl:curl wget:wget cc:build-essential

.DEFAULT_GOAL := help
.PHONY: help run build test deps lint unit docs mirror loom fuzz precompress clean

help: ## List the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 14

run: build ## Build in release and serve example/ on http://127.0.0.1:8080
	target/release/salver serve example

build: ## Build the program in release: target/release/salver
	$(CARGO) build --release --locked -p salver

test: deps lint unit docs mirror loom ## Everything: lints, tests, documentation, loom

deps: ## Install what the tests need beyond Rust, or name it
	@missing=; \
	for tool in $(TOOLS); do \
		command -v "$${tool%%:*}" > /dev/null || missing="$$missing $${tool##*:}"; \
	done; \
	if [ -z "$$missing" ]; then exit 0; fi; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null; then \
		apt-get update -qq && \
		DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
			ca-certificates $$missing; \
	else \
		echo "make: the tests need$$missing: install them and try again" >&2; exit 1; \
	fi

lint: ## Formatting and lints, as errors
	$(CARGO) fmt --all --check
	$(CARGO) clippy --locked --workspace --all-targets -- -D warnings

unit: ## Unit, property, integration and documentation tests
	$(CARGO) test --locked --workspace

docs: ## The documentation, with warnings as errors
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --locked --workspace --no-deps

mirror: docs ## Fetch example/ and the documentation back through the server, by wget and curl
	$(CARGO) build --locked -p salver
	scripts/mirror target/debug/salver example /
	scripts/mirror target/debug/salver target/doc \
		$$(cd target/doc && printf '/%s/ ' salver*)

loom: ## Every interleaving of the code that shares loads
	RUSTFLAGS="--cfg loom" CARGO_TARGET_DIR=$(LOOM_TARGET) \
		$(CARGO) test --locked -p salver-assets --lib --release loom

fuzz: ## Fuzz each target for FUZZ_SECONDS (30); needs nightly Rust and cargo-fuzz
	@for target in $$(cd fuzz && $(CARGO) fuzz list); do \
		echo "fuzz: $$target"; \
		(cd fuzz && $(CARGO) +nightly fuzz run "$$target" -- \
			-max_total_time=$(FUZZ_SECONDS)) || exit 1; \
	done

precompress: ## Make the coded siblings of example/ anew; needs brotli, gzip and zstd
	@find example -type f \( -name '*.html' -o -name '*.css' -o -name '*.js' -o -name '*.svg' \) \
		-exec brotli -f -q 11 {} \; -exec gzip -f -k -n -9 {} \; -exec zstd -q -f -19 {} \;

clean: ## Remove what was built
	$(CARGO) clean
