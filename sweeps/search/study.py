"""The adaptive search of one method, as a study of Optuna's."""

from typing import TYPE_CHECKING, Any

import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import FrozenTrial, TrialState

from sweeps.search.distributions import LOGARITHMIC, WHOLE, Distribution
from sweeps.search.space import Space, Values, applies, ordered

if TYPE_CHECKING:
    from sweeps.search.adaptive import AdaptiveSearch

optuna.logging.set_verbosity(optuna.logging.WARNING)


def optuna_distribution(distribution: Distribution) -> BaseDistribution:
    """Return Optuna's equivalent of a distribution; of one with a step it is the range of the steps' indices."""
    if distribution.kind == "choice":
        return CategoricalDistribution(list(distribution.values))
    if distribution.step is not None:
        return IntDistribution(0, distribution.size - 1)
    low, high = distribution.bounds
    log = distribution.kind in LOGARITHMIC
    if distribution.kind in WHOLE:
        return IntDistribution(int(low), int(high), log=log)
    return FloatDistribution(low, high, log=log)


class Study:
    """Asks a sampler for draws of one method and tells it their scores."""

    def __init__(self, search: "AdaptiveSearch", seed: int, space: Space) -> None:
        self.space, self.order = space, ordered(space)
        self.distributions = {name: optuna_distribution(d) for name, d in space.items() if not d.is_constant}
        self._search, self._seed = search, seed
        self._study = optuna.create_study(sampler=optuna.samplers.RandomSampler(0), direction="maximize")
        self._asked: dict[int, optuna.Trial] | None = None

    def ask(self, draw: int) -> Values:
        """Return the values of a new draw."""
        if self._asked is None:
            self._asked = {}
            earlier = [trial for trial in self._study.trials if trial.state == TrialState.COMPLETE]
            self._study.sampler = self._search.sampler(self._seed, earlier)
        trial = self._asked[draw] = self._study.ask()
        values: Values = {}
        for name in self.order:
            if not applies(self.space[name], values):
                values[name] = None
            elif name in self.distributions:
                values[name] = self._value(name, self._suggest(trial, name))
            else:
                values[name] = self.space[name].at(0.0)
        return {name: values[name] for name in self.space}

    def tell(self, draw: int, values: Values, score: float | None) -> None:
        """Report the score of a draw of this launch or of an earlier one; without a score, the draw has failed."""
        state = TrialState.FAIL if score is None else TrialState.COMPLETE
        if self._asked is not None and draw in self._asked:
            self._study.tell(self._asked.pop(draw), score, state)
        else:
            self._study.add_trial(self._earlier(values, score, state))

    def _earlier(self, values: Values, score: float | None, state: TrialState) -> FrozenTrial:
        drawn = {name: d for name, d in self.distributions.items() if values[name] is not None}
        params = {name: self._param(name, values[name]) for name in drawn}
        return optuna.trial.create_trial(state=state, params=params, distributions=drawn, value=score)

    def _suggest(self, trial: optuna.Trial, name: str) -> Any:
        distribution = self.distributions[name]
        if isinstance(distribution, CategoricalDistribution):
            return trial.suggest_categorical(name, distribution.choices)
        if isinstance(distribution, IntDistribution):
            return trial.suggest_int(name, distribution.low, distribution.high, log=distribution.log)
        assert isinstance(distribution, FloatDistribution)
        return trial.suggest_float(name, distribution.low, distribution.high, log=distribution.log)

    def _value(self, name: str, param: Any) -> Any:
        """Return the value of a hyperparameter from what Optuna suggests."""
        if self.space[name].step is not None:
            return self.space[name].point(param)
        return param if isinstance(param, str | bool) else float(param)

    def _param(self, name: str, value: Any) -> Any:
        """Return what Optuna would have suggested for a value."""
        if self.space[name].step is not None:
            return self.space[name].index(value)
        return int(value) if isinstance(self.distributions[name], IntDistribution) else value
