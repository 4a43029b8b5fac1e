// The losses of the heads and their gradients, as in mulex/learners/dqn/torch/losses.py.
#pragma once

#include <cmath>

#include "network.hpp"
#include "replay.hpp"

namespace mulex {
namespace {

// A head with one Q-value per action.
class ValueHead {
public:
    static float best(const float* values, int actions) {
        float best = values[0];
        for (int a = 1; a < actions; ++a)
            if (values[a] > best || values[a] != values[a]) best = values[a];
        return best;
    }

    // Returns the loss of a sample and adds its gradient to that of the outputs.
    static float learn(const float* out, int action, float aim, float scale, bool huber, float* d_out) {
        const float error = out[action] - aim;
        float d_error = error * 2;
        if (huber) d_error = error > 1 ? 1.0f : error < -1 ? -1.0f : error;
        d_out[action] += d_error * scale;
        return huber ? d_error * (error - d_error * 0.5f) : error * error;
    }
};

// A head with a distribution of the return over atoms between -limit and limit for each action.
class AtomHead {
public:
    void shape(int atoms, float limit) {
        atoms_ = atoms;
        limit_ = limit;
        width_ = padded(atoms);
        support_.resize(width_);
        chance_.resize(width_);
        aim_.resize(width_);
        for (int z = 0; z < atoms; ++z) support_[z] = -limit + 2 * limit * static_cast<float>(z) / static_cast<float>(atoms - 1);
    }

    void values(const float* out, int actions, float* to) {
        for (int a = 0; a < actions; ++a) {
            chances(out + a * atoms_);
            Block sum{};
            for (int64_t z = 0; z < width_; z += kLanes) sum = sum + load(&chance_[z]) * load(&support_[z]);
            to[a] = sum_of(sum);
        }
    }

    // The probabilities (Z,) of the atoms for the greedy action.
    void best(const float* out, int actions, float* q, float* to) {
        values(out, actions, q);
        int best = 0;
        for (int a = 1; a < actions; ++a)
            if (q[a] > q[best]) best = a;
        chances(out + best * atoms_);
        std::memcpy(to, chance_.data(), static_cast<size_t>(atoms_) * sizeof(float));
    }

    float learn(const float* out, int action, const float* next, float reward, float follow, float scale, float* d_out) {
        project(next, reward, follow);
        const float* logits = out + action * atoms_;
        const float log_sum = chances(logits);
        float loss = 0;
        for (int z = 0; z < atoms_; ++z) {
            loss -= aim_[z] * (logits[z] - log_sum);
            d_out[action * atoms_ + z] += (chance_[z] - aim_[z]) * scale;
        }
        return loss;
    }

private:
    // Write the softmax of the logits to chance_; returns the logarithm of its denominator.
    float chances(const float* logits) {
        const float largest = largest_of(logits, atoms_);
        for (int64_t z = 0; z < width_; ++z) chance_[z] = z < atoms_ ? logits[z] - largest : -1e9f;
        Block sum{};
        for (int64_t z = 0; z < width_; z += kLanes) {
            const Block e = map(load(&chance_[z]), [](Register x) { return exponential(x); });
            store(&chance_[z], e);
        }
        for (int64_t z = atoms_; z < width_; ++z) chance_[z] = 0;
        for (int64_t z = 0; z < width_; z += kLanes) sum = sum + load(&chance_[z]);
        const float total = sum_of(sum), share = 1.0f / total;
        for (int64_t z = 0; z < width_; ++z) chance_[z] *= share;
        return largest + std::log(total);
    }

    // Project the distribution of reward + follow * atom back on the atoms, into aim_.
    void project(const float* next, float reward, float follow) {
        aim_.clear();
        const float scale = static_cast<float>(atoms_ - 1) / (2 * limit_);
        for (int z = 0; z < atoms_; ++z) {
            float moved = follow * support_[z] + reward;
            moved = moved < -limit_ ? -limit_ : moved > limit_ ? limit_ : moved;
            const float position = (moved + limit_) * scale;
            int below = static_cast<int>(position);
            below = below < 0 ? 0 : below > atoms_ - 2 ? atoms_ - 2 : below;
            const float share = position - static_cast<float>(below);
            aim_[below] += next[z] * (1 - share);
            aim_[below + 1] += next[z] * share;
        }
    }

    int atoms_ = 0;
    float limit_ = 0;
    int64_t width_ = 0;
    Array<float> support_, chance_, aim_;
};

}  // namespace
}  // namespace mulex
