"""The paper's claims against sweeps made up so that each of them holds, falls, or cannot be told."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from scipy.stats import binomtest

import analysis
from analysis.commands.claims import claims
from analysis.errors import AnalysisError
from analysis.estimates import Estimate
from analysis.study.claims import CLAIMS, check_claims, findings
from analysis.study.claims_table import claim_rows
from analysis.study.evidence import (
    FALL,
    NOT_REPRODUCED,
    REPRODUCED,
    RISE,
    TOO_FEW,
    TURN,
    Evidence,
    judge,
    mean_of,
    share_of_runs,
    wilson,
)
from analysis.study.samples import ITERATIONS, NEARLY
from analysis.study.speed import speed_by_share, speed_of_the_best
from analysis.tables import load_tables
from tests.support.analysis_tables import constant_tables, fail, made, make_tables, write_starts, write_sweep

RNG = np.random.default_rng(0)
LEVELS = {"epsilon_greedy": 0.2, "additive": 0.4, "mulex": 0.7}


def around(middle, draws=12, width=0.02):
    """Scores of draws with one seed each."""
    return np.clip(middle + width * RNG.uniform(-1, 1, size=(draws, 1)), 0, 1)


def flat_sweep(folder, name, scores, iterations=ITERATIONS):
    """A sweep of this name with flat curves: {(world, method): scores (draws, seeds)}."""
    runs, curves = constant_tables(scores, iterations)
    return write_sweep(
        folder / name, runs.assign(sweep=name, run=name + runs["run"]), curves.assign(run=name + curves["run"])
    )


def three(levels=None, world="w5", width=0.02, **sizes):
    return {(world, method): around(level, width=width, **sizes) for method, level in (levels or LEVELS).items()}


def verdicts(*places):
    """By what the paper says."""
    loaded = [load_tables([place]) for place in places]
    return {found.claim.says: found.verdict for found in findings({t.sweeps[0].name: t for t in loaded})}


def one_verdict(says, *places):
    found = [verdict for text, verdict in verdicts(*places).items() if says in text]
    assert len(found) == 1
    return found[0]


class TestVerdicts:
    @pytest.mark.parametrize(
        ("low", "high", "above", "verdict"),
        [
            (0.1, 0.2, True, REPRODUCED),
            (-0.2, -0.1, True, NOT_REPRODUCED),
            (-0.1, 0.1, True, TOO_FEW),
            (0.0, 0.1, True, TOO_FEW),
            (-0.2, -0.1, False, REPRODUCED),
            (0.1, 0.2, False, NOT_REPRODUCED),
            (np.nan, np.nan, True, TOO_FEW),
        ],
    )
    def test_the_whole_interval_is_on_one_side(self, low, high, above, verdict):
        assert Evidence("x", Estimate((low + high) / 2, low, high), 0.0, above).verdict == verdict

    def test_few_draws_say_nothing(self):
        assert Evidence("x", Estimate(1, 1, 1), 0.0, draws=4).verdict == TOO_FEW
        assert Evidence("x", Estimate(1, 1, 1), 0.0, draws=5).verdict == REPRODUCED

    @pytest.mark.parametrize(
        ("low", "high", "may_yet", "verdict"),
        [
            (0.1, 0.2, RISE, REPRODUCED),
            (0.1, 0.2, FALL, TOO_FEW),
            (-0.2, -0.1, RISE, TOO_FEW),
            (-0.2, -0.1, FALL, NOT_REPRODUCED),
            (0.1, 0.2, TURN, TOO_FEW),
            (-0.2, -0.1, TURN, TOO_FEW),
        ],
    )
    def test_a_number_that_may_yet_cross_the_boundary_says_nothing(self, low, high, may_yet, verdict):
        assert Evidence("x", Estimate(0, low, high), 0.0, may_yet=may_yet).verdict == verdict

    def test_a_claim_needs_all_its_parts(self):
        holds, falls, open_ = (Evidence("x", Estimate(0, *at), 0.0) for at in ((1, 2), (-2, -1), (-1, 1)))
        assert judge([holds, holds]) == REPRODUCED
        assert judge([holds, open_]) == TOO_FEW
        assert judge([holds, open_, falls]) == NOT_REPRODUCED

    def test_runs_that_all_agree_leave_some_doubt(self):
        """Wilson's interval of 8 of 8 begins at 8 / (8 + 1.96^2)."""
        found = share_of_runs("x", np.ones(8, dtype=bool), np.arange(8), 0.9).estimate
        assert (found.value, found.high) == (1.0, 1.0)
        assert found.low == pytest.approx(8 / (8 + 1.96**2), abs=1e-3)

    @pytest.mark.parametrize(("k", "n"), [(0, 5), (1, 1), (3, 8), (11, 12), (200, 200)])
    def test_with_one_seed_a_draw_a_share_has_the_interval_of_scipy(self, k, n):
        exact = binomtest(k, n).proportion_ci(method="wilson")
        found = share_of_runs("x", np.arange(n) < k, np.arange(n), 0.9).estimate
        assert (found.value, found.low, found.high) == pytest.approx((k / n, exact.low, exact.high), abs=1e-12)

    def test_more_seeds_make_no_more_draws(self):
        """Four draws of ten seeds are four: of a share, and of a mean."""
        draws = np.repeat(np.arange(4), 10)
        share = share_of_runs("x", np.ones(40, dtype=bool), draws, 0.5)
        assert share.estimate == share_of_runs("x", np.ones(4, dtype=bool), np.arange(4), 0.5).estimate
        gain = mean_of("x", draws + np.tile([0.5, 1.5], 20), 0.0, True, "x", draws)
        assert (share.draws, gain.draws) == (4, 4)
        assert (share.verdict, gain.verdict) == (TOO_FEW, TOO_FEW)
        alone = mean_of("x", np.arange(1.0, 5.0), 0.0, True, "x").estimate
        assert gain.estimate.value == alone.value == 2.5
        assert gain.estimate.high - gain.estimate.low == pytest.approx(alone.high - alone.low, abs=0.3)

    def test_a_draw_with_more_seeds_counts_no_more(self):
        draws, values = np.array([0, 1, 1, 1]), np.array([0.0, 1.0, 1.0, 1.0])
        assert share_of_runs("x", values > 0, draws, 0.5).estimate.value == 0.5
        assert mean_of("x", values, 0.0, True, "x", draws).estimate.value == 0.5


class TestMain:
    def test_a_clear_sweep(self, tmp_path):
        place = flat_sweep(tmp_path, "main", three() | {("w5", "additive"): around(0.4, width=0.3)})
        found = verdicts(place)
        assert found["The mean over all MuleX runs is higher than Additive's"] == REPRODUCED
        assert found["MuleX's scores are clearly higher than those of the others"] == REPRODUCED
        assert found["MuleX's scores are tighter than Additive's"] == REPRODUCED

    def test_a_sweep_that_says_the_opposite(self, tmp_path):
        turned = {"epsilon_greedy": 0.8, "additive": 0.6}
        place = flat_sweep(tmp_path, "main", three(turned) | {("w5", "mulex"): around(0.3, width=0.25)})
        found = verdicts(place)
        assert found["The mean over all MuleX runs is higher than Additive's"] == NOT_REPRODUCED
        assert found["MuleX's scores are clearly higher than those of the others"] == NOT_REPRODUCED
        assert found["MuleX's scores are tighter than Additive's"] == NOT_REPRODUCED

    def test_a_sweep_of_three_draws_says_nothing(self, tmp_path):
        assert set(verdicts(flat_sweep(tmp_path, "main", three(draws=3))).values()) == {TOO_FEW}

    def test_a_method_that_is_not_there_leaves_its_claims_out(self, tmp_path):
        place = flat_sweep(tmp_path, "main", {("w5", "mulex"): around(0.5)})
        assert verdicts(place) == {}

    @pytest.mark.parametrize(("fast", "slow", "verdict"), [(5, 10, REPRODUCED), (10, 5, NOT_REPRODUCED)])
    def test_the_best_reach_the_top_sooner(self, tmp_path, fast, slow, verdict):
        place = self.stairs(tmp_path, {"additive": slow, "mulex": fast})
        assert one_verdict("twice as fast", place) == verdict
        tables = load_tables([place])
        found = next(f for f in findings({"main": tables}) if "twice" in f.claim.says).evidence[0].estimate
        assert found.value == pytest.approx(slow / fast)

    def test_nobody_reaches_the_top(self, tmp_path):
        place = flat_sweep(tmp_path, "main", three())
        assert one_verdict("twice as fast", place) == TOO_FEW

    def test_the_other_never_reaches_the_top(self, tmp_path):
        place = self.stairs(tmp_path, {"additive": 1000, "mulex": 5})
        assert one_verdict("twice as fast", place) == REPRODUCED

    def stairs(self, folder, top_at):
        """Every run earns nothing, and the ideal from an iteration on."""
        scores = {("w5", method): around(0.5) for method in top_at}
        runs, curves = constant_tables(scores, ITERATIONS)
        top = curves["iteration"] >= curves["method"].map(top_at)
        curves = curves.assign(normalised_return=top * (NEARLY + 0.01), eval_return=top * 4.0)
        return write_sweep(folder / "main", runs.assign(sweep="main"), curves)

    def test_start_states(self, tmp_path):
        place = made(tmp_path / "main", name="main", iterations=ITERATIONS)
        assert not [text for text in verdicts(place) if "exit" in text]
        write_starts(tmp_path / "main", name="main")
        assert one_verdict("straight to the exit", place) == REPRODUCED
        alone = made(tmp_path / "start_states", name="start_states", iterations=ITERATIONS)
        write_starts(tmp_path / "start_states", name="start_states")
        assert one_verdict("straight to the exit", alone) == REPRODUCED

    def test_policies_of_one_draw_are_not_many(self, tmp_path):
        runs, curves = make_tables(draws=10, seeds=1, name="main", iterations=ITERATIONS)
        write_starts(tmp_path, name="main")
        assert one_verdict("straight to the exit", write_sweep(tmp_path, runs, curves)) == REPRODUCED
        runs = runs.assign(seed=runs["draw"], draw=0)
        assert one_verdict("straight to the exit", write_sweep(tmp_path, runs, curves)) == TOO_FEW


class TestOthers:
    def test_a_head_that_never_acts(self, tmp_path):
        runs, curves = constant_tables({("w5", "heads"): around(0.5, draws=8)}, ITERATIONS)
        runs = runs.assign(sweep="acting", p_1=[0.0, 1.0] * 4)
        acts = curves["draw"] % 2 == 1  # the first head, where p_1 is 1
        earned = {"eval_return_first": np.where(acts, 3.0, 1.0), "eval_return_second": np.where(acts, 1.0, 3.0)}
        place = write_sweep(tmp_path / "a", runs, curves.assign(**earned))
        assert verdicts(place) == {"A head that never acts learns badly": REPRODUCED}
        turned = dict(zip(earned, reversed(earned.values()), strict=True))
        place = write_sweep(tmp_path / "b", runs, curves.assign(**turned))
        assert verdicts(place) == {"A head that never acts learns badly": NOT_REPRODUCED}
        few = runs.assign(draw=runs["draw"] % 2, seed=runs["draw"] // 2)
        place = write_sweep(tmp_path / "c", few, curves.assign(**earned))
        assert verdicts(place) == {"A head that never acts learns badly": TOO_FEW}, "two draws of four seeds"

    def test_rooms(self, tmp_path):
        large = {"epsilon_greedy": 0.1, "additive": 0.3, "mulex": 0.6}
        grown = flat_sweep(tmp_path, "rooms", three() | three(large, "w10") | three(large, "w15"))
        assert set(verdicts(grown).values()) == {REPRODUCED}
        assert len(verdicts(grown)) == 2
        same = flat_sweep(tmp_path / "two", "rooms", three(large) | three(world="w10"))
        assert verdicts(same) == {"Over ε-greedy, MuleX's median improves as rooms grow": NOT_REPRODUCED}

    def test_rooms_of_five_may_be_those_of_main(self, tmp_path):
        large = {"epsilon_greedy": 0.1, "additive": 0.4, "mulex": 0.7}
        says = "Over ε-greedy, MuleX's median improves as rooms grow"
        rooms = flat_sweep(tmp_path, "rooms", three(large, "w10"))
        assert says not in verdicts(rooms)
        assert verdicts(rooms, flat_sweep(tmp_path, "main", three()))[says] == REPRODUCED
        assert (
            verdicts(rooms, flat_sweep(tmp_path / "other", "main", three(large | {"mulex": 0.9})))[says]
            == NOT_REPRODUCED
        )

    def test_the_rooms_that_main_has_too_are_those_with_more_draws(self, tmp_path):
        large = {"epsilon_greedy": 0.1, "additive": 0.4, "mulex": 0.7}
        says = "Over ε-greedy, MuleX's median improves as rooms grow"
        rooms = flat_sweep(tmp_path, "rooms", three() | three(large, "w10"))
        assert verdicts(rooms)[says] == REPRODUCED
        main = three(large | {"mulex": 0.9}, draws=20)
        assert verdicts(rooms, flat_sweep(tmp_path / "more", "main", main))[says] == NOT_REPRODUCED
        fewer = three(large | {"mulex": 0.9}, draws=8)
        assert verdicts(rooms, flat_sweep(tmp_path / "fewer", "main", fewer))[says] == REPRODUCED

    def test_rooms_where_epsilon_greedy_earns_nothing(self, tmp_path):
        nothing = {("w10", "epsilon_greedy"): np.zeros((12, 1))}
        place = flat_sweep(tmp_path, "rooms", three() | three(world="w10") | nothing)
        assert verdicts(place) == {"Over ε-greedy, MuleX's median improves as rooms grow": TOO_FEW}

    def test_rooms_with_few_draws_of_epsilon_greedy_say_nothing(self, tmp_path):
        large = three({"additive": 0.3, "mulex": 0.6}, "w10") | three({"epsilon_greedy": 0.1}, "w10", draws=4)
        place = flat_sweep(tmp_path, "rooms", three() | large)
        assert verdicts(place) == {"Over ε-greedy, MuleX's median improves as rooms grow": TOO_FEW}

    def test_hard(self, tmp_path):
        levels = {"epsilon_greedy": 0.0, "additive": 0.4, "mulex": 0.99}
        found = flat_sweep(tmp_path, "hard", three(levels, width=0.005, draws=40))
        assert set(verdicts(found).values()) == {REPRODUCED}
        fewer = flat_sweep(tmp_path / "fewer", "hard", three(levels, width=0.005, draws=8))
        assert one_verdict("fails", fewer) == TOO_FEW
        seeds = {key: np.repeat(table, 5, axis=1) for key, table in three(levels, width=0.005, draws=8).items()}
        assert one_verdict("fails", flat_sweep(tmp_path / "seeds", "hard", seeds)) == TOO_FEW

    def test_ghost(self, tmp_path):
        low = {"epsilon_greedy": 0.1, "additive": 0.2, "mulex": 0.3}
        assert verdicts(flat_sweep(tmp_path, "ghost", three(low))) == {
            "With a ghost MuleX is best": REPRODUCED,
            "With a ghost all struggle": REPRODUCED,
        }
        assert verdicts(flat_sweep(tmp_path / "high", "ghost", three()))["With a ghost all struggle"] == NOT_REPRODUCED

    def test_textured(self, tmp_path):
        levels = {"additive": 0.5, "mulex": 0.99}
        assert (
            one_verdict("textures", flat_sweep(tmp_path, "textured", three(levels, width=0.005, draws=20)))
            == REPRODUCED
        )
        seeds = {key: np.repeat(table, 5, axis=1) for key, table in three(levels, width=0.005, draws=6).items()}
        assert one_verdict("textures", flat_sweep(tmp_path / "seeds", "textured", seeds)) == TOO_FEW

    def test_short_runs_say_nothing_that_longer_ones_may_turn(self, tmp_path):
        low = {"epsilon_greedy": 0.1, "additive": 0.2, "mulex": 0.3}
        short = {
            name: flat_sweep(tmp_path, name, three(low, draws=40), iterations=40)
            for name in ("hard", "ghost", "textured")
        }
        assert {verdict for place in short.values() for verdict in verdicts(place).values()} == {TOO_FEW}
        high = flat_sweep(tmp_path / "high", "ghost", three(draws=40), iterations=40)
        assert one_verdict("struggle", high) == NOT_REPRODUCED
        long = flat_sweep(tmp_path / "long", "textured", three(low, draws=40))
        assert set(verdicts(long).values()) == {NOT_REPRODUCED}

    def test_only_sweeps_of_one_length_are_compared(self, tmp_path):
        main = flat_sweep(tmp_path, "main", three())
        others = [flat_sweep(tmp_path, "rainbow", three(), 40), flat_sweep(tmp_path, "rooms", three(world="w10"), 40)]
        assert verdicts(main, *others).keys() == verdicts(main).keys()

    def test_rainbow_needs_main(self, tmp_path):
        main = flat_sweep(tmp_path, "main", three())
        better = {"epsilon_greedy": 0.3, "additive": 0.5, "mulex": 0.95}
        rainbow = flat_sweep(tmp_path, "rainbow", three(better))
        assert verdicts(rainbow) == {}
        found = verdicts(main, rainbow)
        assert found["All methods gain by Rainbow"] == REPRODUCED
        assert found["By Rainbow MuleX's worst runs gain most"] == REPRODUCED
        worse = flat_sweep(tmp_path / "worse", "rainbow", three({**better, "additive": 0.3}))
        assert verdicts(main, worse)["All methods gain by Rainbow"] == NOT_REPRODUCED


def climbing(folder, firsts, draws=20):
    """A sweep in which run k of a method is at the ideal from a known iteration on: (method, k) -> iteration."""
    runs, curves = constant_tables({("w5", m): np.full((draws, 1), 0.5) for m in ("additive", "mulex")}, ITERATIONS)
    runs = runs.assign(sweep="main")
    for row, run in runs.iterrows():
        returns = np.where(np.arange(1, ITERATIONS + 1) >= firsts(run["method"], run["draw"]), 4.0, 0.0)
        here = curves["run"] == run["run"]
        curves.loc[here, "eval_return"], curves.loc[here, "normalised_return"] = returns, returns / 4
        runs.loc[row, ["auc", "normalised_auc"]] = returns.mean(), returns.mean() / 4
    return write_sweep(folder / "main", runs, curves)


class TestSpeed:
    """Run k of MuleX is at the ideal from iteration 10 + k on, run k of Additive from 20 + 2 k on."""

    def evidence(self, folder, draws):
        place = climbing(folder, lambda method, k: (10 + k) * (2 if method == "additive" else 1), draws)
        loaded = load_tables([place])
        return speed_of_the_best(loaded, {}), speed_by_share(loaded, {})

    def test_the_ratio_is_that_of_the_slowest_of_the_best(self, tmp_path):
        """A mean of 0-1 curves is at 95 % of the ideal when 95 % of the runs are there: here when all are."""
        (ten,), (one, five, tenth) = self.evidence(tmp_path, 100)
        assert ten.estimate.value == pytest.approx(2.0)  # run 9: 38 / 19
        assert "(38 / 19)" in ten.what
        assert "(20 / 10)" in one.what
        assert "the best 1 % (1 run)" in one.what
        assert "(28 / 14)" in five.what
        assert tenth.estimate == ten.estimate  # a tenth of 100 runs is ten runs

    def test_a_share_of_less_than_one_run_says_so(self, tmp_path):
        _, (one, five, tenth) = self.evidence(tmp_path, 20)
        assert one.what == "the best 1 % of 20 runs is less than one run; 100 runs are needed"
        assert one.verdict == TOO_FEW
        assert np.isnan(one.estimate.value)
        assert "(20 / 10)" in five.what
        assert "(22 / 11)" in tenth.what


class TestCommand:
    def call(self, *arguments):
        return CliRunner().invoke(claims, [str(argument) for argument in arguments], catch_exceptions=False)

    def test_a_page_has_a_row_for_each_claim_and_sweep(self, tmp_path):
        places = [flat_sweep(tmp_path, name, three()) for name in ("main", "main-discount-0.99")]
        lines = self.call(*places, "--markdown").stdout.splitlines()
        needs_more = ("From", "With")  # start states, or test runs
        of_main = [c for c in CLAIMS if c.experiment == "main" and not c.says.startswith(needs_more)]
        assert len(lines) == 2 + 2 * len(of_main)
        assert {line.count("|") for line in lines} == {6}
        assert "| main-discount-0.99 | 12 x 1 |" in "\n".join(lines)
        assert "claimed above 0 | reproduced |" in "\n".join(lines)

    def test_short_runs_are_said_to_be_short(self, tmp_path):
        low = {"epsilon_greedy": 0.1, "additive": 0.2, "mulex": 0.3}
        best, struggle = self.call(flat_sweep(tmp_path, "ghost", three(low), 40), "--markdown").stdout.splitlines()[2:]
        assert best.endswith("claimed above 0.5, may turn in longer runs | not enough runs (first 40 iterations) |")
        assert struggle.endswith("claimed below 0.5, may rise in longer runs | not enough runs (first 40 iterations) |")

    def test_worlds_of_other_lengths_lend_a_claim_no_iterations(self, tmp_path):
        low = {"epsilon_greedy": 0.1, "additive": 0.2, "mulex": 0.3}
        short, long = (constant_tables(three(low, world), n) for world, n in (("w10", 40), ("w5", ITERATIONS)))
        runs, curves = (pd.concat(both, ignore_index=True) for both in zip(short, long, strict=True))
        ghost = write_sweep(tmp_path / "a", runs.assign(sweep="ghost"), curves)
        best, struggle = self.call(ghost, "--markdown").stdout.splitlines()[2:]
        assert best.endswith("may turn in longer runs | not enough runs (first 40 iterations) |")
        assert struggle.endswith("may rise in longer runs | not enough runs (first 40 iterations) |")
        [grown] = findings({"rooms": load_tables([ghost])})
        assert (grown.iterations, grown.runs) == (40, "12 x 1")
        turned = runs.iloc[::-1].assign(sweep="ghost")
        assert "first" not in self.call(write_sweep(tmp_path / "b", turned, curves), "--markdown").stdout

    def test_a_sweep_that_is_not_whole_is_said_to_be(self, tmp_path):
        runs, curves = constant_tables(three(draws=12), ITERATIONS)
        more = constant_tables({key: table[:3] for key, table in three().items()}, ITERATIONS)
        runs = pd.concat([runs, more[0].assign(seed=1, run=more[0]["run"] + "b")], ignore_index=True)
        runs, curves = fail(
            runs.assign(sweep="main"), pd.concat([curves, more[1].assign(run=more[1]["run"] + "b")]), [0]
        )
        done = self.call(write_sweep(tmp_path, runs, curves, planned=(200, 5)), "--markdown")
        lines = done.stdout.splitlines()
        assert {line.split(" | ")[1] for line in lines[2:]} == {"14 of 12 x 2 or 15 of 12 x 2"}
        assert {line.count("|") for line in lines} == {6}
        assert done.stderr == "not complete: main: 44 of 3,000 runs (1 failed)\n"
        whole = flat_sweep(tmp_path / "whole", "main", three())
        assert self.call(whole).stderr == ""

    def test_a_terminal(self, tmp_path):
        assert "reproduced" in self.call(flat_sweep(tmp_path, "main", three())).stdout

    def test_sweeps_that_the_paper_does_not_know(self, tmp_path):
        with pytest.raises(
            AnalysisError, match="no claim of the paper is about other; they are about main, start_states"
        ):
            self.call(flat_sweep(tmp_path, "other", three()))

    def test_a_world_without_an_ideal_return(self, tmp_path):
        runs, curves = constant_tables(three())
        runs, curves = runs.assign(sweep="main", normalised_auc=np.nan), curves.assign(normalised_return=np.nan)
        with pytest.raises(AnalysisError, match=r"about main, .*, in worlds with an ideal return"):
            self.call(write_sweep(tmp_path, runs, curves))

    def test_two_sweeps_of_one_name(self, tmp_path):
        places = [flat_sweep(tmp_path / folder, "main", three()) for folder in ("a", "b")]
        with pytest.raises(AnalysisError, match="main: several sweeps have this name"):
            self.call(*places)


def test_every_experiment_of_a_claim_is_shipped():
    shipped = {path.stem for path in Path("sweeps/specs").glob("*.yaml")}
    assert {claim.experiment for claim in CLAIMS} <= shipped


def test_a_diverged_run_counts_and_a_failed_one_does_not(tmp_path):
    runs, curves = constant_tables(three())
    runs = runs.assign(sweep="main")
    runs.loc[runs["method"] == "mulex", "status"] = "failed"
    kept = curves[curves["method"] != "mulex"]
    assert verdicts(write_sweep(tmp_path / "a", runs, pd.DataFrame(kept))) == {}
    runs.loc[runs["method"] == "mulex", "status"] = "diverged"
    assert len(verdicts(write_sweep(tmp_path / "b", runs, curves))) == 5


class TestDrawsNeeded:
    """How many draws would be expected to decide an open claim."""

    def test_a_number_needs_more_draws_the_nearer_it_is_to_its_boundary(self):
        near, far = (Evidence("x", Estimate(value, value - 0.3, value + 0.3), 0.0, draws=9) for value in (0.1, 0.2))
        # The standard error is 0.3 / t(8) = 0.13, and 9 x (2.80 x 0.13 / 0.1)^2 = 119.4.
        assert near.draws_needed == 120
        assert far.draws_needed == 30

    def test_what_more_draws_cannot_decide_has_no_number(self):
        assert Evidence("x", Estimate(0.1, -0.2, 0.4), 0.0, draws=9, may_yet="turn").draws_needed is None
        assert Evidence("x", Estimate(0.1, np.nan, np.nan), 0.0, draws=1).draws_needed is None
        assert Evidence("x", Estimate(0.0, -0.2, 0.2), 0.0, draws=9).draws_needed is None

    def pair(self, seed, lead, draws=12):
        """Normal scores of methods of which one leads another by so much."""
        rng = np.random.default_rng(seed)
        return {
            ("w5", method): np.clip(rng.normal(centre, 0.15, (draws, 1)), 0, 1)
            for method, centre in (("additive", 0.5), ("mulex", 0.5 + lead), ("epsilon_greedy", 0.4))
        }

    @pytest.mark.parametrize("lead", [0.06, -0.02])
    def test_a_difference_of_means_is_simulated_as_mulex_plan_does(self, lead, tmp_path):
        runs, curves = constant_tables(self.pair(1, lead), iterations=800)
        folder = write_sweep(tmp_path / "main", runs.assign(sweep="main"), curves)
        (found,) = [f for f in check_claims([load_tables([folder])]) if f.claim.says.startswith("The mean over all")]
        assert found.verdict == TOO_FEW
        (one,) = found.evidence
        claim = "mulex > additive" if one.estimate.value > 0 else "additive > mulex"
        planned = analysis.power(folder, claim, measure="mean", seeds=[1]).needed["draws"][0]
        assert found.need == (max(planned, 13), "simulated")
        assert found.plain()["needed_by"] == "simulated"
        assert claim_rows([found])[0][-1].endswith("draws would be expected to decide it (simulated)")

    def test_a_share_is_counted(self):
        """Wilson's interval of n draws that all succeed begins at n / (n + 3.84), which is above 0.8 from 16 on."""
        everything = share_of_runs("x", np.ones(8, dtype=bool), np.arange(8), 0.8)
        assert everything.need == (16, "binomial")
        holds = np.arange(20) < 12
        need = share_of_runs("x", holds, np.arange(20), 0.5).need.draws
        counts = np.random.default_rng(0).binomial(need, 0.6, 20_000) / need
        assert 0.79 < np.mean(wilson(counts, need)[0] > 0.5) < 0.83

    def test_a_probability_goes_by_the_rule(self):
        one = Evidence("x", Estimate(0.6, 0.4, 0.8), 0.5, draws=12)
        assert one.need.method == "square-root rule"
