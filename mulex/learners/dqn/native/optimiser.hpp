// The optimisers of mulex/learners/dqn/torch/optimiser.py, in one pass over the flat parameters, whose number is a
// multiple of 16.
#pragma once

#include <cmath>

#include "block.hpp"
#include "engine.hpp"
#include "products.hpp"

namespace mulex {
namespace {

inline Register square_root(Register x) {
#if MULEX_WIDTH == 8 && defined(__AVX2__)
    return reinterpret_cast<Register>(_mm256_sqrt_ps(reinterpret_cast<__m256>(x)));
#elif MULEX_WIDTH == 16 && defined(__AVX512F__)
    return reinterpret_cast<Register>(_mm512_sqrt_ps(reinterpret_cast<__m512>(x)));
#else
    for (int i = 0; i < kWidth; ++i) x[i] = std::sqrt(x[i]);
    return x;
#endif
}

// The moving averages of a gradient and of its square.
struct Means {
    Means(double decay_1, double decay_2)
        : keep_1(static_cast<float>(decay_1)),
          fresh_1(static_cast<float>(1 - decay_1)),
          keep_2(static_cast<float>(decay_2)),
          fresh_2(static_cast<float>(1 - decay_2)) {}
    float keep_1, fresh_1, keep_2, fresh_2;
};

// TensorFlow's centred RMSProp: epsilon inside the square root.
struct RMSProp : Means {
    RMSProp(const Settings& s, const Member& m)
        : Means(s.decay, s.decay), epsilon(s.epsilon), rate(m.learning_rate) {}
    Register change(Register g, Register mean, Register square) const {
        return g / square_root(square - mean * mean + epsilon) * rate;
    }
    float epsilon, rate;
};

// TensorFlow's Adam: the bias correction is in the step size.
struct Adam : Means {
    Adam(const Settings& s, const Member& m) : Means(s.first_decay, s.second_decay), epsilon(s.adam_epsilon) {
        const double t = static_cast<double>(m.updates);
        const double correction = std::sqrt(1 - std::pow(s.second_decay, t)) / (1 - std::pow(s.first_decay, t));
        rate = static_cast<float>(static_cast<double>(m.learning_rate) * correction);
    }
    Register change(Register, Register mean, Register square) const {
        return mean / (square_root(square) + epsilon) * rate;
    }
    float epsilon, rate = 0;
};

inline LooseRegister& at(float* x) { return *reinterpret_cast<LooseRegister*>(x); }

// Update weights by a rule from their gradients and averages; `count` is a multiple of 16.
template <class Rule>
inline void move(const Rule& rule, float* p, float* gradient, float* moment_1, float* moment_2, int64_t count) {
    for (int64_t i = 0; i < count; i += kWidth) {
        const Register g = at(gradient + i);
        const Register mean = at(moment_1 + i) * rule.keep_1 + g * rule.fresh_1;
        const Register square = at(moment_2 + i) * rule.keep_2 + (g * g) * rule.fresh_2;
        at(moment_1 + i) = mean;
        at(moment_2 + i) = square;
        at(p + i) -= rule.change(g, mean, square);
    }
}

// Apply a number of steps with gradients of zero to an average, one by one, so that it is rounded as often.
inline void fade(float* mean, float keep, int64_t steps, int64_t count) {
    constexpr int kChains = 8;  // independent chains of operations
    int64_t i = 0;
    for (; i + kChains * kWidth <= count; i += kChains * kWidth) {
        Register x[kChains];
        MULEX_UNROLL for (int n = 0; n < kChains; ++n) x[n] = at(mean + i + n * kWidth);
        for (int64_t s = 0; s < steps; ++s)
            MULEX_UNROLL for (int n = 0; n < kChains; ++n) x[n] = x[n] * keep + Register{};
        MULEX_UNROLL for (int n = 0; n < kChains; ++n) at(mean + i + n * kWidth) = x[n];
    }
    for (; i < count; i += kWidth)
        for (int64_t s = 0; s < steps; ++s) at(mean + i) = at(mean + i) * keep + Register{};
}

}  // namespace
}  // namespace mulex
