# `make` alone lists the targets.
ENV ?= dev
PYTHON ?= python3
RUN := .venv/bin/python -m
# Each run is dozens of short Python processes: without bytecode every one compiles the program anew.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help rehearse rehearse-stop test test-slow lint format docs preview up bench toolchain bootstrap clean

help:
	@echo "make TARGET [ENV=dev]"
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-15s %s\n", $$1, $$2}' Makefile

rehearse: bootstrap ## Bring up ENV on this machine, no account (KEEP=1, JSON=1)
	@exec .venv/bin/fleet rehearse $(ENV) $(if $(KEEP),--keep) $(if $(JSON),--json)

rehearse-stop: bootstrap ## End a kept rehearsal of ENV
	@exec .venv/bin/fleet rehearse-stop $(ENV)

test: lint ## Check format, style and types, then run all tests
	@exec $(RUN) toolchain
	@exec $(RUN) pytest -n 2 --dist loadscope tests/unit tests/conformance
	@exec $(RUN) pytest -n 3 --dist loadscope tests/sweeps tests/engine tests/rehearsal

test-slow: bootstrap ## Run the tests that `make test` leaves out, and write docs/test-slow.md
	@exec $(RUN) toolchain
	@exec $(RUN) pytest -n 2 --dist loadscope -m slow --result=docs/test-slow.md tests

lint: bootstrap ## Check format, style, types and import contracts
	@exec .venv/bin/ruff format --check .
	@exec .venv/bin/ruff check .
	@exec .venv/bin/lint-imports --no-logo
	@exec .venv/bin/mypy

format: bootstrap ## Format the code and apply ruff's fixes
	@exec .venv/bin/ruff check --fix .
	@exec .venv/bin/ruff format .

docs: bootstrap ## Write docs/policies.md, the page of all rules, and docs/rule-accuracy.md
	@exec $(RUN) policies.docs_page
	@exec $(RUN) tests.accuracy

preview: bootstrap ## Show what `make up` would change, and its cost (JSON=1)
	@exec .venv/bin/fleet preview $(ENV) $(if $(JSON),--json) \
	  $(if $(MARKDOWN),--markdown $(MARKDOWN)) $(if $(SARIF),--sarif $(SARIF)) \
	  $(if $(REHEARSAL),--rehearsal $(REHEARSAL)) $(if $(DOCS),--docs $(DOCS))

up: .preview/policies-$(ENV).json ## Update the accounts of ENV; Pulumi asks first
	@exec $(RUN) toolchain exec pulumi up --stack $(ENV) --policy-pack policies --policy-pack-config $<

bench: bootstrap ## Measure previews, boot data and rehearsals, as ratios
	@exec $(RUN) benchmarks

toolchain: bootstrap ## Build missing programs, or take ARCHIVE=FILE with SHA256=SUM
	@exec $(RUN) toolchain $(if $(ARCHIVE),take "$(ARCHIVE)" "$(SHA256)")

clean: ## Stop kept rehearsals, delete everything that make created
	@for kept in .rehearsal/*/; do \
	  if [ -d "$$kept" ] && [ -x .venv/bin/fleet ]; then \
	    .venv/bin/fleet rehearse-stop "$$(basename "$$kept")" || exit 1; \
	  fi; \
	done
	@rm -rf .rehearsal .preview .toolchain .venv .import_linter_cache .mypy_cache .pytest_cache .ruff_cache .hypothesis

bootstrap: ## Make .venv with the locked packages and the command `fleet`
	@command -v $(PYTHON) > /dev/null || \
	  { echo "There is no $(PYTHON) on PATH: install Python 3.11 or newer." >&2; exit 1; }
	@exec $(PYTHON) toolchain/bootstrap.py

# Always made anew: the settings of the rules are part of the stack file.
.preview/policies-%.json: bootstrap
	@mkdir -p .preview
	@.venv/bin/fleet policy-config $* > $@
