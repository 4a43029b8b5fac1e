"""The power of claims: what is promised is met on sweeps of a known effect, and no effect is not found."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

import analysis
from analysis.commands.plan import plan
from analysis.errors import AnalysisError
from analysis.measures import iqr, mean, median
from analysis.order_statistics import measured, remeasured
from analysis.power_curves import (
    Population,
    pilot_population,
    power_curve,
    read_claim,
    share_decided,
    with_effect,
)
from cluster.cli import mulex
from tests.support.analysis_tables import constant_tables, make_tables, write_sweep

BASE = Population(0.5, 0.2, 0.1)
SPEC = """
name: guess
worlds: {w5: {room_size: 5}}
search: {draws: 4, seeds: 2}
methods: {mulex: {learning_rate: {log_uniform: [1e-5, 1e-3]}}, additive: {learning_rate: 1e-4}}
"""


def synthetic(folder, lead, draws=60, seeds=3):
    """A sweep with normal scores of a known lead, and its folder."""
    rng = np.random.default_rng(5)
    scores = {
        ("w5", "mulex"): BASE.sample(1, draws, seeds, rng)[0] + lead,
        ("w5", "additive"): BASE.sample(1, draws, seeds, rng)[0],
    }
    return write_sweep(folder, *constant_tables(scores))


@pytest.mark.parametrize(("name", "direct"), [("mean", mean), ("median", median), ("iqr", iqr)])
def test_resampled_measures_are_those_of_the_resampled_runs(name, direct):
    rng = np.random.default_rng(0)
    samples, picked = rng.random((3, 6, 2)), rng.integers(0, 6, (4, 6))
    assert measured(samples, name) == pytest.approx(direct(samples.reshape(3, -1)))
    expected = [direct(samples[:, row].reshape(3, -1)) for row in picked]
    assert remeasured(samples, name, picked) == pytest.approx(np.array(expected), abs=1e-5)


def test_the_best_of_ten_is_one_of_draws():
    samples = np.repeat(np.arange(10.0)[None, :, None], 3, axis=2) + np.array([-1, 0, 1])
    assert measured(samples, "best_of_10") == pytest.approx([9.0])


@pytest.mark.parametrize("measure", ["mean", "median"])
def test_the_promised_power_is_met_within_five_points(measure):
    better = with_effect(BASE, BASE, measure, 0.15)
    curve = power_curve(better, BASE, measure, 2)
    draws, rng = curve.needed(0.8), np.random.default_rng(3)
    found = share_decided(better.sample(600, draws, 2, rng), BASE.sample(600, draws, 2, rng), measure, rng)
    assert found == pytest.approx(0.8, abs=0.05 + 2 * np.sqrt(0.8 * 0.2 / 600))


@pytest.mark.parametrize("measure", ["mean", "median", "iqr", "best_of_10"])
def test_without_an_effect_hardly_anything_is_found(measure):
    rng = np.random.default_rng(4)
    found = share_decided(BASE.sample(400, 12, 2, rng), BASE.sample(400, 12, 2, rng), measure, rng)
    assert found <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / 400)


def test_a_large_pilot_gives_the_spreads_and_the_cost(tmp_path):
    found = analysis.power(synthetic(tmp_path, 0.1), "mulex > additive", measure="mean", seeds=[1, 3])
    better, worse = found.populations
    assert [better.sd_draws, worse.sd_draws] == pytest.approx([0.2, 0.2], rel=0.25)
    assert [better.sd_seeds, worse.sd_seeds] == pytest.approx([0.1, 0.1], rel=0.2)
    assert found.effect == pytest.approx(0.1, abs=0.06)
    needed = found.needed
    assert needed["draws"].is_monotonic_decreasing and (needed["runs"] == 2 * needed["draws"] * needed["seeds"]).all()
    hours = 2 * needed["draws"][0] * 129.6 / 3600  # the mean seconds of the made-up runs
    assert needed["core_hours"][0] == pytest.approx(hours, rel=0.02)
    assert found.chart().panels[0].y.label == "Power"


def test_a_larger_effect_needs_fewer_draws():
    needs = [power_curve(with_effect(BASE, BASE, "mean", e), BASE, "mean", 1).needed(0.8) for e in (0.1, 0.2)]
    assert needs[0] / needs[1] == pytest.approx(4, rel=0.3)


def test_a_pilot_of_one_seed_cannot_tell_seeds_from_draws(tmp_path):
    runs = analysis.load(synthetic(tmp_path, 0.1, draws=8, seeds=1)).scored
    one = pilot_population(runs[runs["method"] == "mulex"])
    assert one.sd_seeds == 0.0 and one.sd_draws > 0
    with pytest.raises(AnalysisError, match="--sd-draws"):
        pilot_population(runs.head(1))


@pytest.mark.parametrize("text", ["mulex", "mulex is best", "mulex > mulex", "", "mulex >> additive"])
def test_a_claim_that_cannot_be_read_is_refused(text):
    with pytest.raises(AnalysisError, match="cannot be read; write two different methods"):
        read_claim(text, ["mulex", "additive"])


def test_claims_read_both_ways():
    assert read_claim("a<b", ["a", "b"]) == read_claim(" b > a ", ["a", "b"])
    with pytest.raises(AnalysisError, match="did you mean 'mulex'"):
        read_claim("mulez > additive", ["mulex", "additive"])


def call(*arguments):
    return CliRunner().invoke(plan, list(map(str, arguments)), standalone_mode=False)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--power", "1.2"], "use a probability above 0 and below 1"),
        (["--measure", "mode"], "unknown measure|no measure|no such measure"),
        (["--world", "w9"], "w9"),
        (["--sd-draws", "-1"], "not negative"),
        (["--seeds", "0"], "from 1 to 1000"),
        (["--figure", "x.gif"], "ends in .png"),
    ],
)
def test_bad_options_are_refused(tmp_path, options, message):
    with pytest.raises(AnalysisError, match=message):
        raise call(synthetic(tmp_path, 0.1, 5, 1), "--claim", "mulex > additive", *options).exception


def test_plan_from_guesses_and_a_spec(tmp_path):
    spec = tmp_path / "guess.yaml"
    spec.write_text(SPEC)
    guesses = ["--effect", "0.3", "--sd-draws", "0.2", "--sd-seeds", "0.1", "--seconds", "360", "--seeds", "2"]
    done = call(spec, "--claim", "mulex > additive", "--measure", "mean", *guesses, "--json")
    [row] = json.loads(done.stdout)["needed"]
    assert 6 <= row["draws"] <= 14 and row["core_hours"] == pytest.approx(row["runs"] / 10)
    with pytest.raises(AnalysisError, match="no runs yet; state guesses"):
        raise call(spec, "--claim", "mulex > additive").exception


def test_plan_prints_a_table_and_draws_a_figure(tmp_path):
    sweep = write_sweep(tmp_path / "s", *make_tables(draws=6))
    figure = tmp_path / "power.png"
    options = ["--claim", "mulex > additive", "--seeds", "1", "--figure", figure]
    done = call(sweep, *options)
    assert done.exception is None
    assert "draws of each method" in done.stdout and "pilot: 6 x 2" in done.stdout
    assert figure.read_bytes().startswith(b"\x89PNG")
    assert "plan" in CliRunner().invoke(mulex, ["--help"]).output
