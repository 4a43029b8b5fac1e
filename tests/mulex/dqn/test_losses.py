"""Losses and their targets: against torch's own, hand-made cases and brute-force twins."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils._python_dispatch import TorchDispatchMode

from mulex.config import GridWorldConfig, GymWorldConfig, HeadConfig
from mulex.errors import UserError
from mulex.learners.dqn.replay import Batch
from mulex.learners.dqn.torch.engine import TorchEngine
from mulex.learners.dqn.torch.learner import Learner
from mulex.learners.dqn.torch.losses import C51Head, DQNHead, Target, huber, project, squared
from mulex.methods import TWO_TASK_HEADS
from tests.support.agents import FLAVOURS, METHOD_NAMES, Case, Watch, check_targets, more, train

CPU = torch.device("cpu")
MEMBERS, BATCH, ACTIONS, ATOMS = 3, 6, 4, 11


def random_target(seed):
    rng = np.random.default_rng(seed)
    numbers = rng.normal(size=(3, MEMBERS, BATCH))
    return Target(
        action=torch.from_numpy(rng.integers(0, ACTIONS, (MEMBERS, BATCH))),
        reward=torch.from_numpy(numbers[0] * 2),
        follow=torch.from_numpy(np.where(numbers[1] > 1, 0.0, 0.97)),
    )


def random_outputs(seed, width):
    rng = np.random.default_rng(seed)
    return tuple(torch.from_numpy(rng.normal(size=(MEMBERS, BATCH, width)) * 2) for _ in range(2))


@pytest.mark.parametrize("is_huber", [False, True])
def test_dqn_loss_and_gradient_are_torchs(is_huber):
    target = random_target(0)
    out, target_out = random_outputs(1, ACTIONS)
    twin = out.clone().requires_grad_()
    found = DQNHead(ACTIONS, huber if is_huber else squared).loss(out.requires_grad_(), target_out.clone(), target)
    aim = target.reward + target.follow * target_out.max(2).values
    taken = twin.gather(2, target.action[..., None])[..., 0]
    rule = torch.nn.functional.huber_loss if is_huber else torch.nn.functional.mse_loss
    losses = rule(taken, aim, reduction="none")
    torch.testing.assert_close(found, losses)
    found.sum().backward()
    losses.sum().backward()
    torch.testing.assert_close(out.grad, twin.grad)
    errors = (taken - aim).abs()
    assert (errors > 1).any()
    assert (errors < 1).any()


def brute_projection(chances, reward, follow, support):
    """The C51 paper's algorithm 1, one atom at a time."""
    low, high, atoms = support[0], support[-1], len(support)
    width = (high - low) / (atoms - 1)
    aim = [0.0] * atoms
    for chance, atom in zip(chances, support, strict=True):
        moved = min(max(reward + follow * atom, low), high)
        place = (moved - low) / width
        below, above = math.floor(place), math.ceil(place)
        if below == above:
            aim[below] += chance
        else:
            aim[below] += chance * (above - place)
            aim[above] += chance * (place - below)
    return aim


def projected(chances, reward, follow, support):
    """`project` for one distribution."""
    double = torch.float64
    return project(
        torch.tensor([[chances]], dtype=double),
        torch.tensor([[reward]], dtype=double),
        torch.tensor([[follow]], dtype=double),
        torch.tensor([[support]], dtype=double),
    )[0, 0].tolist()


@given(
    weights=st.lists(st.floats(0, 1), min_size=2, max_size=12),
    reward=st.floats(-30, 30) | st.sampled_from([0.0, 1.0, -10.0, 10.0, 20.0]),
    follow=st.sampled_from([0.0, 1.0, 0.97, 0.97**3]) | st.floats(0, 1),
    limit=st.sampled_from([1.0, 10.0]),
)
@settings(max_examples=200, deadline=None)
def test_projection_against_a_brute_force_twin(weights, reward, follow, limit):
    support = np.linspace(-limit, limit, len(weights)).tolist()
    chances = [(w + 1e-3) / sum(w + 1e-3 for w in weights) for w in weights]
    found = projected(chances, reward, follow, support)
    np.testing.assert_allclose(found, brute_projection(chances, reward, follow, support), atol=1e-9)
    assert sum(found) == pytest.approx(1)


@pytest.mark.parametrize(
    ("chances", "reward", "follow", "expected"),
    [
        ([0.2, 0.3, 0.1, 0.3, 0.1], 0.0, 1.0, [0.2, 0.3, 0.1, 0.3, 0.1]),  # nothing moves
        ([0.2, 0.3, 0.1, 0.3, 0.1], 1.0, 1.0, [0.0, 0.2, 0.3, 0.1, 0.4]),  # one atom up, the last one stays
        ([0.2, 0.3, 0.1, 0.3, 0.1], -9.0, 1.0, [1.0, 0.0, 0.0, 0.0, 0.0]),  # all below the first
        ([0.2, 0.3, 0.1, 0.3, 0.1], 9.0, 0.97, [0.0, 0.0, 0.0, 0.0, 1.0]),  # all above the last
        ([0.2, 0.3, 0.1, 0.3, 0.1], 1.0, 0.0, [0.0, 0.0, 0.0, 1.0, 0.0]),  # terminal: the reward, on an atom
        ([0.2, 0.3, 0.1, 0.3, 0.1], 0.25, 0.0, [0.0, 0.0, 0.75, 0.25, 0.0]),  # terminal: between two atoms
        ([0.2, 0.3, 0.1, 0.3, 0.1], 2.0, 0.0, [0.0, 0.0, 0.0, 0.0, 1.0]),  # terminal: on the last atom
        ([0.0, 0.0, 0.0, 0.0, 1.0], 0.0, 0.75, [0.0, 0.0, 0.0, 0.5, 0.5]),  # discounted to half way
    ],
)
def test_projection_by_hand(chances, reward, follow, expected):
    """Atoms at -2, -1, 0, 1, 2."""
    found = projected(chances, reward, follow, [-2.0, -1.0, 0.0, 1.0, 2.0])
    assert found == pytest.approx(expected, abs=1e-12)


def double_c51(limit=10.0):
    head = C51Head(ACTIONS, ATOMS, [limit] * MEMBERS, CPU)
    head.support = torch.linspace(-limit, limit, ATOMS, dtype=torch.float64).expand(MEMBERS, 1, ATOMS)
    return head


def test_c51_loss_is_torchs_cross_entropy():
    """Cross entropy with the brute-force projection of the target network's best action."""
    head, target = double_c51(), random_target(2)
    out, target_out = random_outputs(3, ACTIONS * ATOMS)
    found = head.loss(out, target_out, target)
    atoms = head.support[0, 0]
    support = atoms.tolist()
    losses = torch.zeros(MEMBERS, BATCH, dtype=torch.float64)
    for p in range(MEMBERS):
        for b in range(BATCH):
            chances = target_out[p, b].view(ACTIONS, ATOMS).softmax(1)
            best = max(range(ACTIONS), key=lambda a, c=chances: float(c[a] @ atoms))
            reward, follow = float(target.reward[p, b]), float(target.follow[p, b])
            aim = torch.tensor(brute_projection(chances[best].tolist(), reward, follow, support))
            logits = out[p, b].view(ACTIONS, ATOMS)[target.action[p, b]]
            losses[p, b] = torch.nn.functional.cross_entropy(logits, aim.double())
    torch.testing.assert_close(found, losses)


def test_c51_values_are_means_of_the_distribution():
    head = C51Head(2, 3, [10.0], CPU)
    even, sharp = [0.0, 0.0, 0.0], [-50.0, -50.0, 50.0]
    values = head.values(torch.tensor([[even + sharp, [*sharp, 0.0, 0.0, -90.0]]]))
    torch.testing.assert_close(values, torch.tensor([[[0.0, 10.0], [10.0, -5.0]]]))


@pytest.mark.parametrize("of_error", [squared, huber])
def test_other_actions_get_no_gradient(of_error):
    target = random_target(4)
    for head, width in ((DQNHead(ACTIONS, of_error), 1), (double_c51(), ATOMS)):
        out, target_out = random_outputs(5, ACTIONS * width)
        head.loss(out.requires_grad_(), target_out, target).sum().backward()
        by_action = out.grad.view(MEMBERS, BATCH, ACTIONS, width).abs().sum(3) > 0
        assert torch.equal(by_action, torch.nn.functional.one_hot(target.action, ACTIONS).bool())


BRIEF = {"batch_size": 5, "hidden": 4, "update_every": 8}  # the twin is slow
SHORT_EPISODES = GridWorldConfig(map="two_rooms", room_size=3, time_limit=9)


@pytest.mark.parametrize("flavour", FLAVOURS)
@pytest.mark.parametrize("method", METHOD_NAMES)
def test_targets_against_a_brute_force_twin(method, flavour):
    """Rewards of n steps that stop at an episode's end; each head on its own signal; the ring wraps."""
    watch = check_targets(Case(method, SHORT_EPISODES, training=BRIEF | {"flavour": flavour}))
    assert len(watch.steps) > watch.engine.replay.size
    assert len(watch.updates) > 10


@pytest.mark.parametrize("flavour", FLAVOURS)
@pytest.mark.parametrize("at_limit", [False, True])
def test_the_time_limit_follows_its_option(at_limit, flavour):
    training = BRIEF | {"flavour": flavour, "bootstrap_at_time_limit": at_limit}
    watch = check_targets(Case("epsilon_greedy", SHORT_EPISODES, training=training))
    follows = np.concatenate([update.targets[0].follow.numpy().ravel() for update in watch.updates])
    ends = [step.outcome.truncated.any() for step in watch.steps]
    assert any(ends)
    assert not any(step.outcome.terminal.any() for step in watch.steps)
    assert (follows == 0).any() == (not at_limit)


@pytest.mark.parametrize("at_limit", [False, True])
def test_a_terminal_never_bootstraps(at_limit):
    """In the corridor episodes end at the exit, where the only reward is."""
    world = GridWorldConfig(map="corridor", room_size=3, time_limit=200)
    training = BRIEF | {"body": "mlp", "bootstrap_at_time_limit": at_limit}
    watch = check_targets(Case("epsilon_greedy", world, training=training))
    targets = [update.targets[0] for update in watch.updates]
    rewards = np.concatenate([target.reward.numpy().ravel() for target in targets])
    follows = np.concatenate([target.follow.numpy().ravel() for target in targets])
    assert (rewards == 1).any()
    np.testing.assert_array_equal(follows == 0, rewards == 1)


@pytest.mark.parametrize("n_step", [1, 2, 5])
def test_returns_of_other_lengths(n_step):
    check_targets(Case("additive", SHORT_EPISODES, training=BRIEF | {"flavour": "rainbow", "n_step": n_step}))


def test_rewards_are_clipped_where_asked():
    world = GridWorldConfig(map="corridor", room_size=3)
    watch = check_targets(Case("epsilon_greedy", world, training=BRIEF | {"body": "mlp", "reward_clip": 0.25}))
    assert max(float(update.targets[0].reward.max()) for update in watch.updates) == 0.25
    assert max(float(step.outcome.reward.max()) for step in watch.steps) == 1


def test_the_target_network_is_what_bootstraps():
    """An online network of zeros and a target network of sevens: the loss is (reward + follow * 7) squared."""
    engine, _ = train(Case("epsilon_greedy", training={"batch_size": 3}).members(2), 1)
    learner = engine.learner
    learner.parameters.zero_()
    learner.target.zero_()
    learner.target_weights["head.0.out.bias"].fill_(7.0)
    batch = engine.replay.batch(np.array([[3, 8, 30], [5, 9, 24]]), 1, False, False)
    batch = Batch(**{**vars(batch), "terminal": np.array([[False, True, False], [True, False, False]])})
    batch.rewards[..., 0] = np.array([[0.0, 0.0, 1.0], [1.0, 2.0, 0.0]])[..., None]
    loss = learner.update([batch], [None])[0]
    gamma = engine.run.discount
    expected = [[gamma * 7, 0.0, 1 + gamma * 7], [1.0, 2 + gamma * 7, gamma * 7]]
    np.testing.assert_allclose(loss, np.square(expected), rtol=1e-5)


class NoCopies(TorchDispatchMode):
    """Fails where a number of a tensor is asked for, which on another device waits for it and copies it."""

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        assert operation.overloadpacket not in (torch.ops.aten._local_scalar_dense, torch.ops.aten.nonzero), operation
        return operation(*args, **kwargs or {})


@pytest.mark.parametrize("optimiser", ["rmsprop", "adam"])
@pytest.mark.parametrize("flavour", FLAVOURS)
def test_an_update_asks_for_no_number_of_a_tensor(flavour, optimiser):
    """So on a GPU nothing waits inside an update. The copies at its beginning, from the host, do not wait."""
    case = Case("mulex", training={"flavour": flavour, "optimiser": optimiser})
    engine = TorchEngine(case.members(2))
    watch = Watch(engine)
    more(engine, 1)
    batches = watch.updates[-1].batches
    with NoCopies():
        engine.learner.update(batches, [np.ones(batch.action.shape, dtype=np.float32) for batch in batches])
    with NoCopies(), pytest.raises(AssertionError):
        float(engine.learner.parameters[0, 0])


@pytest.mark.parametrize("flavour", FLAVOURS)
@pytest.mark.parametrize("share_body", [True, False])
def test_an_update_never_copies_to_the_host(flavour, share_body):
    """On torch's device without memory, where every copy to the host fails, and with it every tensor left behind."""
    engine = TorchEngine(Case("mulex", training={"flavour": flavour, "share_body": share_body}).members(2))
    watch = Watch(engine)
    more(engine, 1)
    batches = watch.updates[-1].batches
    learner = Learner(engine.runs, engine.worlds, engine.stack, torch.device("meta"))
    losses = learner.update(batches, [np.ones(batch.action.shape, dtype=np.float32) for batch in batches])
    learner.copy_to_target()
    assert [loss.device.type for loss in losses] == ["meta", "meta"]
    with pytest.raises(NotImplementedError):
        learner.values(engine.stacks.records)


def test_heads_are_what_the_settings_say():
    training = {"flavour": "rainbow", "atoms": 7, "value_limit": 3.0, "loss": "huber"}
    task, explore = TorchEngine([Case("mulex", training=training).run()]).learner.heads
    assert task.support[0, 0].tolist() == [-3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0]
    assert explore.of_error is huber
    assert all(head.of_error is squared for head in TorchEngine([Case("mulex").run()]).learner.heads)


def test_value_limits_by_head_or_from_the_bounds_of_the_rewards():
    """In two rooms of 3 the task pays 2 in all; a bonus is at most 1 a step, so at most 1 / (1 - discount) in all."""
    training = {"flavour": "rainbow", "value_limit": "auto", "discount": 0.9, "atoms": 3}
    case = Case("additive", training=training)
    engine = TorchEngine([case.run(beta=beta) for beta in (0.0, 0.5, 4.0)])
    assert engine.worlds.ideal_return == 2
    assert engine.learner.heads[0].support[:, 0, -1].tolist() == pytest.approx([2.001, 7.0, 42.0])
    heads = {"first": HeadConfig(reward={"task": 1.0}, value_limit=3.0), "second": HeadConfig(reward={"task": 1.0})}
    composed = TWO_TASK_HEADS.model_copy(update={"heads": heads})
    learner = TorchEngine([Case("two_task_heads", composed=composed, training={"flavour": "rainbow"}).run()]).learner
    assert [float(head.support[0, 0, -1]) for head in learner.heads] == [3.0, 10.0]
    with pytest.raises(UserError, match="rnd has no bound"):
        TorchEngine([Case("additive", bonus="rnd", training=training).run()])
    with pytest.raises(UserError, match="set reward_clip"):
        TorchEngine([Case("epsilon_greedy", GymWorldConfig(id="CartPole-v1"), training=training).run()])


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_when_it_learns_and_when_the_target_is_copied(flavour, monkeypatch):
    """Every 5th step after a warm-up of 25; what bootstraps is the network as it was after the latest 17th step."""
    training = {"flavour": flavour, "warm_up": 25, "update_every": 5, "target_period": 17}
    engine = TorchEngine(Case("mulex", training=training).members(2))
    learner, update, seen = engine.learner, engine.learner.update, []

    def spying_update(*given):
        seen.append((engine.steps, learner.parameters.numpy().copy(), learner.target.numpy().copy()))
        return update(*given)

    monkeypatch.setattr(learner, "update", spying_update)
    more(engine, 2)
    assert [step for step, _, _ in seen] == list(range(30, 121, 5))
    for step, _, target in seen:
        copied = (step - 1) // 17 * 17
        as_it_was = next(parameters for later, parameters, _ in seen if later > copied)
        np.testing.assert_array_equal(target, as_it_was)
    assert len({target.tobytes() for _, _, target in seen}) == 7  # as it started, and after 34, 51, ... 119 steps


def loss_at(engine: TorchEngine, batches: list[Batch], importance: list[np.ndarray], parameters) -> np.ndarray:
    """(P,): the sum over heads of each batch's weighted mean loss; the engine is left as it was."""
    arrays, learner = engine.save(), engine.learner
    learner.parameters.copy_(parameters)
    losses = learner.update(batches, importance)
    engine.load(arrays)
    weights = {h: weight for s, weight in zip(learner.sources, importance, strict=True) for h in s.heads}
    return sum((loss.numpy() * weights[h]).mean(axis=1) for h, loss in enumerate(losses))


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_the_gradient_is_that_of_all_heads_losses_together(flavour):
    """Central differences of the whole loss along the gradient of the body and of each head: one or two batches."""
    engine = TorchEngine(Case("mulex", training={"flavour": flavour}).members(3))
    watch = Watch(engine)
    more(engine, 1)
    batches, learner = watch.updates[-1].batches, engine.learner
    rng = np.random.default_rng(0)
    importance = [rng.random(batch.action.shape, dtype=np.float32) for batch in batches]
    start = learner.parameters.clone()
    loss_at(engine, batches, importance, start)
    gradient = learner.gradient.clone()
    for part in ("body.", "head.0.", "head.1."):
        way = torch.zeros_like(gradient)
        for name, view in learner.shape.views(way).items():
            if name.startswith(part):
                view.copy_(learner.shape.views(gradient)[name])
        size = way.norm(dim=1, keepdim=True)
        up, down = (loss_at(engine, batches, importance, start + step * way / size) for step in (2e-3, -2e-3))
        np.testing.assert_allclose((up - down) / 4e-3, size[:, 0].numpy(), rtol=0.05, err_msg=part)


def gradient_with(engine: TorchEngine, batches: list[Batch], signal: int, size: float) -> dict[str, np.ndarray]:
    """The gradients of an update in which a signal's rewards are changed; the engine is left as it was."""
    arrays = engine.save()
    changed = [Batch(**{**vars(batch), "rewards": batch.rewards.copy()}) for batch in batches]
    for batch in changed:
        batch.rewards[..., signal] += np.float32(size)
    engine.learner.update(changed, [None] * len(changed))
    gradients = {
        name: view.numpy().copy() for name, view in engine.learner.shape.views(engine.learner.gradient).items()
    }
    engine.load(arrays)
    return gradients


@pytest.mark.parametrize("flavour", FLAVOURS)
@pytest.mark.parametrize(("signal", "blind"), [(0, 1), (1, 0)], ids=["task", "bonus"])
def test_no_head_sees_the_others_signal(signal, blind, flavour):
    """MuleX: any change of one signal leaves the other head's gradients as they are, bit for bit."""
    engine = TorchEngine(Case("mulex", training={"flavour": flavour}).members(3))
    watch = Watch(engine)
    more(engine, 1)
    batches = watch.updates[-1].batches
    plain, changed = (gradient_with(engine, batches, signal, size) for size in (0.0, 3e4))
    for name in plain:
        if name.startswith("head."):
            same = np.array_equal(plain[name], changed[name])
            assert same == name.startswith(f"head.{blind}."), name
    assert np.abs(plain[f"head.{blind}.out"]).max() > 0


def test_the_additive_head_sees_both_signals():
    engine = TorchEngine(Case("additive").members(3))
    watch = Watch(engine)
    more(engine, 1)
    batches = watch.updates[-1].batches
    plain, task, bonus = (
        gradient_with(engine, batches, signal, size) for signal, size in ((0, 0.0), (0, 1.0), (1, 1.0))
    )
    assert not np.array_equal(plain["head.0.out"], task["head.0.out"])
    assert not np.array_equal(task["head.0.out"], bonus["head.0.out"])
