"""Tests that `make test` leaves out because they take long; `MULEX_SLOW_TESTS=1 make test` runs them too."""

import os

import pytest

SLOW = pytest.mark.skipif(not os.environ.get("MULEX_SLOW_TESTS"), reason="takes long; set MULEX_SLOW_TESTS=1")
