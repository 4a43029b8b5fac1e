# Everything runs from a virtual environment that the first target that needs it makes.
PYTHON ?= python3
BIN := .venv/bin
# With this set, every process compiles what it imports again; sweeps and tests start many processes.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: install check test run-tests test-slurm test-native-san sweep results coverage bench bench-peers scale chaos pictures clean

install: .venv/installed

.venv/installed: pyproject.toml constraints.txt setup.py $(foreach kind,cpp hpp inc,$(wildcard mulex/learners/dqn/native/*.$(kind)))
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $@

check: install
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/python -m tests.support.page_format --check

# The checks and the tests side by side: the tests often wait, for a Ray that starts or a worker that is killed.
test: install
	$(MAKE) --no-print-directory --jobs 2 check run-tests

run-tests: install
	$(BIN)/pytest -n 2 --dist loadfile --no-loadscope-reorder

# The native engine's tests once more, with its C++ compiled to find every wrong access and undefined operation.
SANITIZED := build/sanitized
test-native-san: install
	rm -rf $(SANITIZED) && mkdir -p $(SANITIZED)
	cp -r mulex sweeps analysis cluster tests setup.py pyproject.toml README.md $(SANITIZED)
	rm -f $(SANITIZED)/mulex/learners/dqn/native/*.so
	cd $(SANITIZED) && MULEX_SANITIZE=1 $(CURDIR)/$(BIN)/python setup.py -q build_ext --inplace
	cd $(SANITIZED) && LD_PRELOAD="$$(g++ -print-file-name=libasan.so) $$(g++ -print-file-name=libubsan.so)" \
		ASAN_OPTIONS=detect_leaks=0 MULEX_SLOW_TESTS=1 $(CURDIR)/$(BIN)/python -m pytest -n 2 -p no:cacheprovider tests/mulex/dqn/test_native*.py

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

# How often the intervals hold, by simulation: the table in docs/statistics.md.
coverage: install
	$(BIN)/python -m tests.bench.coverage_of_intervals

chaos: install
	$(BIN)/python -m tests.chaos $(or $(N),100)

bench: install
	$(BIN)/python -m tests.bench

# What sweeps of 2,000, 20,000 and 200,000 runs cost: the tables in docs/scale.md.
scale: install
	$(BIN)/python -m tests.scale

.venv/peers: .venv/installed
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[peers]'
	touch $@

bench-peers: .venv/peers
	$(BIN)/python -m tests.bench.peers

pictures: install
	$(BIN)/mulex play --map-picture docs/pictures/montezuminha.png
	$(BIN)/mulex play --map-picture docs/pictures/hard.png --hard
	$(BIN)/mulex play --map-picture docs/pictures/ghost.png --room-size 10 --ghosts 1
	$(BIN)/mulex play --map-picture docs/pictures/textured.png --textured
	$(BIN)/mulex play --policy optimal --gif docs/pictures/optimal.gif
	$(BIN)/python -m tests.support.analysis_tables

clean:
	rm -rf .venv build *.egg-info
