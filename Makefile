# Everything runs from a virtual environment that the first target that needs it makes.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: install check test test-slurm test-native-san sweep results bench bench-peers chaos pictures clean

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

# The native engine's tests once more, with its C++ compiled to find every wrong access and undefined operation.
SANITIZED := build/sanitized
test-native-san: install
	rm -rf $(SANITIZED) && mkdir -p $(SANITIZED)
	cp -r mulex sweeps analysis cluster tests setup.py pyproject.toml README.md $(SANITIZED)
	rm -f $(SANITIZED)/mulex/*.so
	cd $(SANITIZED) && MULEX_SANITIZE=1 $(CURDIR)/$(BIN)/python setup.py -q build_ext --inplace
	cd $(SANITIZED) && LD_PRELOAD="$$(g++ -print-file-name=libasan.so) $$(g++ -print-file-name=libubsan.so)" \
		ASAN_OPTIONS=detect_leaks=0 $(CURDIR)/$(BIN)/python -m pytest -n 2 -p no:cacheprovider tests/test_native*.py

test-slurm: install
	command -v slurmctld >/dev/null || (apt-get update && apt-get install --yes slurm-wlm munge)
	$(BIN)/python -m tests.slurm

sweep: install
	$(BIN)/mulex sweep quick --out out/quick
	$(BIN)/mulex plot out/quick --figure all
	$(BIN)/mulex report out/quick

# Every figure and table of docs/results.md again, from the tables in docs/results/.
results: install
	$(BIN)/python docs/results/redraw.py

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
