"""Stable-Baselines3's algorithms as learners: `sb3:PPO` and the others, on any Gymnasium environment.

An iteration is `steps_per_iteration` training steps, as far as the algorithm's rollouts allow: rollouts are never cut,
so that an iteration may go beyond its steps and the next ones train less. Then the deterministic policy plays
`evaluation_episodes` episodes in an environment of its own. Schedules run over all iterations together.
"""

from typing import Any

import numpy as np

from mulex.errors import UserError
from mulex.learners.contract import RawRow, Run, Saved, prefixed, under
from mulex.learners.environments import RepeatableEpisodes, make_environment
from mulex.learners.sb3_arguments import algorithm_class, constructor_arguments
from mulex.learners.sb3_state import load_model, save_model

STEPS_PER_ITERATION, EVALUATION_EPISODES = 2500, 10
_MOST_EVALUATION_STEPS = 1_000_000  # of one episode, for environments that never end
_ENVIRONMENT, _MODEL = "environment", "model."


class SB3Adapter:
    """Trains one run with an algorithm of Stable-Baselines3."""

    def __init__(self, algorithm: str, run: Run) -> None:
        self._run, self._algorithm = run, algorithm
        self._steps = int(run.training.get("steps_per_iteration") or STEPS_PER_ITERATION)
        self._episodes = int(run.training.get("evaluation_episodes") or EVALUATION_EPISODES)
        self._iterations = 0
        self._envs = [self._repeatable(f"train{i}") for i in range(int(run.values.get("n_envs", 1)))]
        self._evaluation = make_environment(run.world)
        self._model = self._make_model()

    @property
    def updates(self) -> int:
        return int(self._model._n_updates)

    def iterate(self) -> RawRow:
        """Train, then evaluate."""
        self._iterations += 1
        model = self._model
        wanted = self._iterations * self._steps - model.num_timesteps
        returns: list[float] = []
        if wanted > 0:
            model.learn(wanted, callback=_collecting(returns), reset_num_timesteps=False, log_interval=None)
        return {
            **self._evaluate(),
            "train_return": float(np.mean(returns)) if returns else None,
            "train_episodes": len(returns),
            "env_steps": model.num_timesteps,
            **self._logged(),
        }

    def save(self) -> Saved | None:
        arrays = save_model(self._model)
        if arrays is None:
            return None
        kept = prefixed(_MODEL, arrays)
        for i, env in enumerate(self._envs):
            kept |= prefixed(f"{_ENVIRONMENT}{i}.", env.save())
        return Saved(kept)

    def load(self, arrays: dict[str, np.ndarray], iterations: int) -> None:
        self._iterations = iterations
        for i, env in enumerate(self._envs):
            env.load(under(f"{_ENVIRONMENT}{i}.", arrays))
        load_model(self._model, under(_MODEL, arrays))

    def close(self) -> None:
        self._model.env.close()
        self._evaluation.close()

    def _make_model(self) -> Any:
        import torch
        from stable_baselines3.common.logger import Logger
        from stable_baselines3.common.vec_env import DummyVecEnv

        if self._run.device == "cpu":
            torch.set_num_threads(1)  # more is slower, and the order of sums must not depend on the machine
        run = self._run
        space = self._envs[0].action_space
        arguments = constructor_arguments(self._algorithm, run.values, int(np.prod(space.shape or (1,))))
        policy = arguments.pop("policy", None) or _default_policy(self._envs[0].observation_space)
        total = run.iterations * self._steps
        paced = _paced(algorithm_class(self._algorithm), total)
        worlds = DummyVecEnv([lambda env=env: env for env in self._envs])  # type: ignore[misc]
        try:
            model = paced(policy, worlds, seed=run.key % 2**31, device=run.device, **arguments)
        except (AssertionError, ValueError, TypeError, KeyError) as error:
            raise UserError(f"learner sb3:{self._algorithm}: refused by Stable-Baselines3: {error}") from None
        model.set_logger(Logger(folder=None, output_formats=[]))
        return model

    def _repeatable(self, purpose: str) -> RepeatableEpisodes:
        from stable_baselines3.common.monitor import Monitor

        return RepeatableEpisodes(Monitor(make_environment(self._run.world)), self._run.stream(purpose))

    def _evaluate(self) -> dict[str, float]:
        """The mean return and length of the deterministic policy; episode n of a run has the same seed every time."""
        seeds = np.random.SeedSequence(self._run.stream("evaluation")).generate_state(self._episodes)
        played = [self._play(int(seed) >> 1) for seed in seeds]
        returns, lengths = zip(*played, strict=True)
        return {"eval_return": float(np.mean(returns)), "eval_episode_length": float(np.mean(lengths))}

    def _play(self, seed: int) -> tuple[float, int]:
        seen, _ = self._evaluation.reset(seed=seed)
        total, length, over = 0.0, 0, False
        while not over and length < _MOST_EVALUATION_STEPS:
            action, _ = self._model.predict(seen, deterministic=True)
            action = action if action.ndim else action.item()  # environments want plain numbers
            seen, reward, terminal, truncated, _ = self._evaluation.step(action)
            total, length, over = total + float(reward), length + 1, terminal or truncated
        return total, length

    def _logged(self) -> dict[str, float]:
        """What SB3 logged of its training in this iteration, such as losses, as train_NAME."""
        values = self._model.logger.name_to_value
        found = {
            f"train_{name.removeprefix('train/')}": float(value)
            for name, value in values.items()
            if name.startswith("train/") and isinstance(value, int | float | np.number)
        }
        values.clear()
        return found


def _default_policy(space: Any) -> str:
    """The policy that suits an observation, as SB3's documentation recommends."""
    from gymnasium import spaces
    from stable_baselines3.common.preprocessing import is_image_space

    if isinstance(space, spaces.Dict):
        return "MultiInputPolicy"
    return "CnnPolicy" if is_image_space(space) and min(space.shape[:2]) >= 36 else "MlpPolicy"


def _paced(algorithm: Any, total: int) -> Any:
    """The algorithm with schedules that run over the whole run, although it learns an iteration at a time."""

    class Paced(algorithm):  # type: ignore[misc]
        def _update_current_progress_remaining(self, num_timesteps: int, total_timesteps: int) -> None:
            super()._update_current_progress_remaining(min(num_timesteps, total), total)

    Paced.__name__ = algorithm.__name__
    return Paced


def _collecting(returns: list[float]) -> Any:
    """A callback that collects the returns of training episodes as they end."""
    from stable_baselines3.common.callbacks import BaseCallback

    class Collect(BaseCallback):
        def _on_step(self) -> bool:
            returns.extend(float(info["episode"]["r"]) for info in self.locals["infos"] if "episode" in info)
            return True

    return Collect()
