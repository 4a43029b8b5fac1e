# Everything runs from a virtual environment that the first target that needs it makes.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: install check test sweep bench bench-peers chaos pictures clean

install: .venv/installed

.venv/installed: pyproject.toml constraints.txt setup.py $(wildcard mulex/native/*)
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $@

check: install
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

test: check
	$(BIN)/pytest -n 2 --dist loadgroup

sweep: install
	$(BIN)/mulex sweep quick --out out/quick
	$(BIN)/mulex plot out/quick --figure all
	$(BIN)/mulex report out/quick

chaos: install
	$(BIN)/python -m tests.chaos $(or $(N),100)

bench: install
	$(BIN)/python -m tests.bench

.venv/peers: .venv/installed
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[peers]'
	touch $@

bench-peers: .venv/peers
	$(BIN)/python -m tests.bench.peers

pictures: install
	$(BIN)/mulex play --map docs/pictures/montezuminha.png
	$(BIN)/mulex play --map docs/pictures/hard.png --hard
	$(BIN)/mulex play --map docs/pictures/ghost.png --room-size 10 --ghosts 1
	$(BIN)/mulex play --map docs/pictures/textured.png --textured
	$(BIN)/mulex play --policy optimal --gif docs/pictures/optimal.gif
	$(BIN)/python -m tests.analysis_tables

clean:
	rm -rf .venv build *.egg-info
