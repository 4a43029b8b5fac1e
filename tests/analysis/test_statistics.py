"""Statistics against brute force and hand-computed cases."""

import itertools

import numpy as np
import pytest
from scipy.stats import t, trim_mean

from analysis import measures
from analysis.bootstrap import by_draw, generator, interval, resample, resample_some, resampled_means, weights
from analysis.probability import newcombe
from analysis.statistics import compute_statistics
from analysis.statistics_tables import sections
from analysis.tables import load_tables
from tests.bench import coverage_of_intervals as coverage
from tests.support.analysis_tables import constant_tables, fail, made, make_tables, write_sweep


def gaps(values, width):
    """A row of a sample with fewer values than others."""
    return np.concatenate([values, np.full(width - len(values), np.nan)])


@pytest.mark.parametrize("n", [1, 2, 3, 4, 7, 10, 11, 25])
def test_measures_are_those_of_numpy_and_scipy_also_with_gaps(n):
    values = np.random.default_rng(n).random(n)
    sample = np.stack([gaps(values, n + 5), gaps(values[::-1], n + 5)])
    expected = {
        "iqm": trim_mean(values, 0.25),
        "median": np.median(values),
        "worst_decile": np.sort(values)[: int(np.ceil(n / 10))].mean(),
        "best": values.max(),
        "worst": values.min(),
    }
    for name, value in expected.items():
        assert measures.MEASURES[name](sample) == pytest.approx([value, value])


def test_beats_counts_pairs_and_halves_ties():
    one, other = np.array([1.0, 2.0, 3.0]), np.array([2.0, 2.0, 0.0, 5.0])
    pairs = [(a > b) + 0.5 * (a == b) for a, b in itertools.product(one, other)]
    assert measures.beats(one[None], other[None]) == pytest.approx([np.mean(pairs)])
    assert measures.beats(other[None], one[None]) == pytest.approx([1 - np.mean(pairs)])


def test_variance_parts_by_hand():
    draws, scores = np.array([0, 0, 1, 1]), np.array([1.0, 3.0, 7.0, 9.0])
    # within: each draw has squares 1 + 1 with 1 degree of freedom; between: means 2 and 8, mean square 36, (36-2)/2
    assert measures.variance_parts(draws, scores) == (17.0, 2.0)
    assert measures.variance_parts(draws, np.array([1.0, 3.0, 1.0, 3.0])) == (0.0, 2.0)
    assert measures.variance_parts(np.array([0, 1]), np.array([1.0, 2.0])) == (None, None)
    assert measures.variance_parts(np.array([0, 0]), np.array([1.0, 2.0])) == (None, None)


def test_unequal_seeds_give_unbiased_parts():
    rng = np.random.default_rng(0)
    parts = []
    for _ in range(400):
        draws = np.repeat(np.arange(30), rng.integers(1, 5, 30))
        scores = rng.normal(0, 2, 30)[draws] + rng.normal(0, 1, len(draws))
        parts.append(measures.variance_parts(draws, scores))
    assert np.mean(parts, axis=0) == pytest.approx([4, 1], rel=0.08)


def test_first_at_ideal_is_censored_where_it_never_is():
    curves = np.array([[0, 1.0, 0.5], [0, 0.5, 0.9], [1.0, 1, 1]])
    assert measures.first_at_ideal(curves).tolist() == [2.0, np.inf, 1.0]


def test_by_draw_holds_each_run_once():
    draws = np.array([7, 3, 7, 7, 3, 9])
    table, seeds = by_draw(draws)
    assert seeds.tolist() == [2, 3, 1]
    assert [sorted(row[row >= 0].tolist()) for row in table] == [[1, 4], [0, 2, 3], [5]]


def test_resampled_runs_have_the_frequencies_of_every_possibility():
    """Three draws of unequal seeds have 3^3 equally likely replicates: enumerate them all."""
    draws, scores = np.array([0, 0, 1, 1, 2]), np.array([0.0, 1.0, 5.0, 9.0, 20.0])
    table = [scores[:2], scores[2:4], scores[4:]]
    exact = [np.concatenate([table[d] for d in picked]).mean() for picked in itertools.product(range(3), repeat=3)]
    rows = resample(draws, 40_000, generator(0))
    means = weights(rows, len(scores)) @ scores
    values, counts = np.unique(np.round(exact, 9), return_counts=True)
    found = [np.isclose(means, value).mean() for value in values]
    assert sum(found) == pytest.approx(1)
    assert found == pytest.approx((counts / len(exact)).tolist(), abs=0.01)


def test_resampling_keeps_seeds_with_their_draw():
    draws = np.array([0, 0, 0, 1, 2, 2])
    rows = resample(draws, 500, generator(1))
    for replicate in rows[:50]:
        for slot in replicate:
            known = slot[slot >= 0]
            assert len(set(draws[known])) == 1
            assert len(known) == (draws == draws[known[0]]).sum()


def test_weights_give_the_mean_of_a_replicate():
    draws, scores = np.array([0, 0, 0, 1, 2, 2]), np.arange(6.0)
    rows = resample(draws, 100, generator(2))
    direct = [scores[replicate[replicate >= 0]].mean() for replicate in rows]
    assert weights(rows, 6) @ scores == pytest.approx(direct)


def test_same_seed_same_intervals_and_another_seed_others(tmp_path):
    tables = load_tables([made(tmp_path)])
    first, again, other = (compute_statistics(tables, seed).plain() for seed in (0, 0, 1))
    assert first == again
    assert first["methods"][0]["iqm"]["value"] == other["methods"][0]["iqm"]["value"]
    assert first["methods"][0]["iqm"] != other["methods"][0]["iqm"]


def test_a_methods_intervals_do_not_depend_on_the_others(tmp_path):
    runs, curves = make_tables()
    whole = compute_statistics(load_tables([write_sweep(tmp_path / "a", runs, curves)]))
    alone = compute_statistics(load_tables([write_sweep(tmp_path / "b", runs[runs["method"] == "mulex"], curves)]))
    assert alone.methods == [method for method in whole.methods if method.method == "mulex"]
    assert alone.comparisons == []


def test_statistics_of_known_scores(tmp_path):
    low, high = [[0.1, 0.3], [0.2, 0.4]], [[0.9, 0.7], [1.0, 1.0]]
    folder = write_sweep(tmp_path, *constant_tables({("w5", "additive"): low, ("w5", "mulex"): high}))
    found = compute_statistics(load_tables([folder]))
    additive, mulex = found.methods
    assert (additive.runs, additive.draws, additive.best_runs) == (4, 2, 4)
    assert additive.measures["median"].value == pytest.approx(0.25)
    assert additive.measures["worst_decile"].value == pytest.approx(0.1)
    assert mulex.measures["best"].value == pytest.approx(1.0)
    assert mulex.measures["iqm"].value == pytest.approx(0.95)
    assert 0.1 <= additive.measures["iqm"].low <= 0.25 <= additive.measures["iqm"].high <= 0.4
    assert additive.variance_seeds == pytest.approx(0.02)
    assert additive.iterations_to_ideal.plain() == {"value": None, "low": None, "high": None}
    [pair] = found.comparisons
    assert (pair.method, pair.other) == ("mulex", "additive")
    assert (pair.probability.value, pair.probability.high) == (1.0, 1.0)
    assert 0.2 < pair.probability.low < 0.5  # two draws of each say little, although all of one are ahead


def test_the_best_ten_reach_the_ideal_at_a_known_iteration(tmp_path):
    runs, curves = constant_tables({("w5", "mulex"): [[1.0]] * 12}, iterations=6)
    early = curves["run"].isin(runs["run"][:10]) & (curves["iteration"] < 4)
    curves.loc[early, ["eval_return", "normalised_return"]] = [2.0, 0.5]
    runs.loc[:9, "normalised_auc"] = 1.1  # these are the best ten
    found = compute_statistics(load_tables([write_sweep(tmp_path, runs, curves)])).methods[0]
    assert found.iterations_to_ideal.value == 4
    assert found.best_runs == 10


def test_runs_that_do_not_count_are_counted_and_named(tmp_path):
    runs, curves = fail(*make_tables(draws=4), [0, 1])
    runs, curves = fail(runs, curves, [2], "stopped")
    runs, curves = fail(runs, curves, [3], "diverged")
    runs.loc[8, "normalised_auc"] = np.nan
    found = compute_statistics(load_tables([write_sweep(tmp_path, runs, curves, planned=(5, 2))]))
    assert [run["outcome"] for run in found.unscored] == ["failed", "failed", "stopped", "nan"]
    assert found.unscored[0]["error"] == "worker died"
    first, second = found.counts.to_dict("records")[:2]
    assert {key: first[key] for key in ("planned", "done", "diverged", "failed", "stopped", "nan", "missing")} == {
        "planned": 10, "done": 4, "diverged": 1, "failed": 2, "stopped": 1, "nan": 0, "missing": 2,
    }  # fmt: skip
    assert second["nan"] == 1
    assert [method.runs for method in found.methods] == [5, 7, 8]


def test_several_worlds_are_kept_apart(tmp_path):
    scores = {("w5", "mulex"): [[0.8]] * 3, ("w10", "mulex"): [[0.2]] * 3}
    found = compute_statistics(load_tables([write_sweep(tmp_path, *constant_tables(scores))])).methods
    assert {method.world: method.measures["median"].value for method in found} == pytest.approx({"w5": 0.8, "w10": 0.2})


def test_values_are_those_of_rliables_definitions_by_hand():
    """IQM: a quarter of the values is cut off at each end. Gap: 1 - mean of min(score, 1). Ties count half."""
    scores = np.array([0.0, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.5])
    assert measures.iqm(scores) == pytest.approx([(0.2 + 0.4 + 0.6 + 0.8) / 4])
    assert measures.optimality_gap(scores) == pytest.approx([1 - (0.1 + 0.2 + 0.4 + 0.6 + 0.8 + 1.0 + 1.0) / 8])
    assert measures.beats(np.array([[1.0, 2.0]]), np.array([[1.0, 0.0]])) == pytest.approx([(0.5 + 1 + 1 + 1) / 4])


def test_the_optimality_gap_needs_an_ideal(tmp_path):
    runs, curves = make_tables(draws=3)
    with_ideal = compute_statistics(load_tables([write_sweep(tmp_path / "a", runs, curves)])).methods[0]
    none = curves.assign(normalised_return=np.nan)
    without = load_tables([write_sweep(tmp_path / "b", runs.assign(normalised_auc=np.nan), none)])
    gap, mean = with_ideal.measures["optimality_gap"], with_ideal.measures["mean"]
    assert gap.value == pytest.approx(1 - mean.value)
    assert "optimality_gap" not in compute_statistics(without).methods[0].measures


@pytest.mark.parametrize("seeds", [1, 3])
def test_one_draw_has_no_interval(tmp_path, seeds):
    scores = np.linspace(0.2, 0.4, seeds)[None].tolist()
    tables = load_tables([write_sweep(tmp_path, *constant_tables({("w", "a"): scores, ("w", "b"): scores}))])
    found = compute_statistics(tables)
    assert all(np.isnan([one.low, one.high]).all() for one in found.methods[0].measures.values())
    assert np.isnan(found.comparisons[0].probability.low)
    assert found.plain()["methods"][0]["median"]["low"] is None
    assert sections(found)[0].rows[0][3] == "0.300 [-]" if seeds > 1 else "0.200 [-]"
    assert found.frame()[["low", "high"]].isna().all(axis=None)


def test_the_interval_is_as_wide_as_students_for_normal_means():
    """For a mean of normal values the interval should be that of Student's t."""
    rng = np.random.default_rng(0)
    for n in (5, 10, 40):
        values = rng.standard_normal(n)
        samples = values[rng.integers(0, n, (20_000, n))].mean(axis=1)
        low, high = interval(samples, n)
        expected = t.interval(0.95, n - 1, values.mean(), values.std(ddof=1) / np.sqrt(n))
        assert high - low == pytest.approx(expected[1] - expected[0], rel=0.12)


@pytest.mark.parametrize(("share", "n"), [(1.0, 5), (0.8, 5), (0.5, 12), (0.0, 8)])
def test_newcombes_interval_has_a_width_everywhere(share, n):
    low, high = newcombe(share, n, n)
    assert 0 <= low <= share <= high <= 1
    assert high - low > 0.2
    assert newcombe(1 - share, n, n) == pytest.approx((1 - high, 1 - low))
    assert np.subtract(*newcombe(share, 100, 100)[::-1]) < (high - low) / 2


@pytest.mark.parametrize("name", ["mean", "IQM", "median"])
def test_the_interval_holds_for_skewed_scores_of_eight_draws(name):
    """At least nine of ten intervals contain the truth, and more than of the plain percentile interval do."""
    truth, n = coverage.true_value(name, coverage.skewed), 8

    def sample(rng):
        return coverage.of_measure(coverage.skewed(rng, (coverage.CHUNK, n)), name, rng)

    held = coverage.shares_of(sample, truth, n, samples=400)
    assert held["expanded percentile"] >= max(held["percentile"], 0.9)


def with_until(folder, first, most):
    """Let a sweep's spec look at its draws from the first number on, doubling up to the most."""
    spec = folder / "spec.yaml"
    looked = f"until: {{width: 0.1, max_draws: {most}, first: {first}}}, draws:"
    spec.write_text(spec.read_text().replace("draws:", looked, 1))


def test_a_sweep_that_looked_several_times_has_wider_intervals_and_says_so(tmp_path):
    """They are those that the launch stops by: with three planned looks each has the level 1 - 0.05 / 3."""
    usual, looked = tmp_path / "usual", tmp_path / "looked"
    for folder in (usual, looked):
        made(folder, draws=12, planned=(12, 2))
    with_until(looked, 6, 24)
    before, after = (compute_statistics(load_tables([str(folder)])) for folder in (usual, looked))
    assert (before.level, after.level) == (0.95, pytest.approx(1 - 0.05 / 3))
    assert after.frame().attrs["level"] == after.plain()["level"] == after.level
    one, other = (
        found.frame().fillna({"other": "-"}).set_index(["method", "measure", "other"]).sort_index()
        for found in (before, after)
    )
    assert one["value"].equals(other["value"])
    widths = [
        (frame["high"] - frame["low"]).loc[:, ["median", "mean", "probability_to_beat"]] for frame in (one, other)
    ]
    assert (widths[1] >= widths[0]).all()
    assert (widths[1].loc[:, ["mean", "probability_to_beat"]] > widths[0].loc[:, ["mean", "probability_to_beat"]]).all()
    tables = load_tables([str(looked)])
    (world, method, runs), *_ = tables.groups()
    rows = resample(runs["draw"].to_numpy(), 2000, generator(0, world, method))
    samples = measures.median(np.where(rows >= 0, runs["score"].to_numpy()[rows], np.nan).reshape(2000, -1))
    low, high = interval(samples, 12, level=1 - 0.05 / 3)
    found = other.loc[(method, "median", "-")]
    assert (found["low"], found["high"]) == (pytest.approx(float(low)), pytest.approx(float(high)))
    assert "looks" not in sections(before)[0].title
    assert "(each with level 98.33 %: search.until plans 3 looks at the draws)" in sections(after)[0].title
    assert load_tables([str(usual), str(looked)]).level == after.level


def test_replicates_in_small_pieces_give_the_same_numbers(tmp_path, monkeypatch):
    """A sample that is too large to be resampled at once has the intervals that it would have had."""
    tables = load_tables([made(tmp_path)])
    at_once = compute_statistics(tables).plain()
    monkeypatch.setattr("analysis.bootstrap.AT_ONCE", 100)
    sizes = {len(rows) for rows in resample_some(np.arange(7), 60, generator(0))}
    assert sizes == {14, 4}
    assert compute_statistics(tables).plain() == at_once


def test_the_rows_of_pieces_are_those_of_the_whole(monkeypatch):
    draws = np.repeat(np.arange(9), 3)
    whole = resample(draws, 50, generator(3))
    values = np.random.default_rng(0).random((len(draws), 4))
    means = resampled_means(draws, values, 50, generator(3))
    monkeypatch.setattr("analysis.bootstrap.AT_ONCE", 27 * 4)
    assert (resample(draws, 50, generator(3)) == whole).all()
    assert resampled_means(draws, values, 50, generator(3)) == pytest.approx(means)
    assert means == pytest.approx(weights(whole, len(draws)) @ values)
