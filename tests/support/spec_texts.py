"""Specs that several tests start from."""

SMALL = """\
name: study
worlds:
  w5: {room_size: 5}
  w7:
    room_size: 7
    training: {warm_up: 10, discount: 0}
training: {iterations: 40}
search: {draws: 20, seeds: 3}
methods:
  mulex:
    learning_rate: {log_uniform: [1e-5, 1e-3]}
    p_task: {uniform: [0.5, 0.9]}
  additive:
    beta: 2
execution: {checkpoint_every: 30s}
"""
OWN_METHOD = """\
  own:
    p_a: {uniform: [0.1, 0.4]}
    recipe:
      heads: {a: {reward: {task: 1}}, b: {reward: {oracle: w}, flavour: dqn}}
      acting: {probabilities: {a: p_a}}
      evaluate: [a]
      hyperparameters: {learning_rate: 1e-4, epsilon: 0.1, p_a: 0.5, w: 3}
"""
WITH_OWN_METHOD = SMALL.replace("execution:", f"{OWN_METHOD}execution:")
