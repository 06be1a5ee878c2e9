# `make` alone lists the targets.
ENV ?= dev
PYTHON ?= python3 python3.13 python3.12 python3.11 python3.14
RUN := .venv/bin/python -m
# Each run is dozens of short Python processes: without bytecode every one compiles the program anew.
unexport PYTHONDONTWRITEBYTECODE

ifeq ($(wildcard toolchain/bootstrap.py),)
$(error run this Makefile in its own folder: make -C $(dir $(lastword $(MAKEFILE_LIST))))
endif

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help rehearse rehearse-stop test test-slow lint format docs preview up bench gangs toolchain bootstrap clean

help:
	@echo "make TARGET [ENV=dev]"
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-15s %s\n", $$1, $$2}' Makefile

rehearse: bootstrap ## Bring up ENV on this machine, no account (ALL=1, KEEP=1, AGAIN=1, JSON=1, FROM=REF, JOBS=FILE)
	@exec .venv/bin/fleet rehearse $(ENV) $(if $(ALL),--all) $(if $(KEEP),--keep) $(if $(AGAIN),--again) $(if $(JSON),--json) \
	  $(if $(FROM),--from "$(FROM)") $(if $(JOBS),--jobs "$(JOBS)")

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

docs: bootstrap ## Write the generated pages: rules, their accuracy, the stack file and its schema, gangs
	@$(RUN) policies.docs_page
	@$(RUN) fleet.reference
	@$(RUN) benchmarks.gangs --page
	@exec $(RUN) tests.accuracy

preview: bootstrap ## Show what `make up` would change, and its cost (JSON=1)
	@exec .venv/bin/fleet preview $(ENV) $(if $(JSON),--json) \
	  $(if $(MARKDOWN),--markdown $(MARKDOWN)) $(if $(SARIF),--sarif $(SARIF)) \
	  $(if $(REHEARSAL),--rehearsal $(REHEARSAL)) $(if $(DOCS),--docs $(DOCS))

up: .preview/policies-$(ENV).json ## Update the accounts of ENV; Pulumi asks first
	@exec $(RUN) toolchain exec pulumi up --stack $(ENV) --policy-pack policies --policy-pack-config $<

bench: bootstrap ## Measure previews, boot data and rehearsals, as ratios
	@exec $(RUN) benchmarks

gangs: bootstrap ## Run gangs with Volcano, Kueue and native gangs beside Karpenter (ONLY=SCHEDULER)
	@exec $(RUN) benchmarks.gangs $(ONLY)

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
	@for python in $(PYTHON); do \
	  if $$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2> /dev/null; then \
	    exec $$python toolchain/bootstrap.py; \
	  fi; \
	done; \
	echo "There is no Python 3.11 or newer on PATH (looked for $(PYTHON)): install one." >&2; exit 1

# Always made anew: the settings of the rules are part of the stack file.
.preview/policies-%.json: bootstrap
	@mkdir -p .preview
	@.venv/bin/fleet policy-config $* > $@
