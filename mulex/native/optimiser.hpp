// The two optimisers of mulex/optimiser.py, in one pass over the flat parameters, whose number is a multiple of 16.
#pragma once

#include <cmath>

#include "block.hpp"
#include "engine.hpp"

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

// Every weight moves by what `change` makes of its gradient and the moving means of that and of its square.
template <class Change>
inline void move_weights(const Settings& s, Member& m, double decay_1, double decay_2, Change change) {
    const float keep_1 = static_cast<float>(decay_1), fresh_1 = static_cast<float>(1 - decay_1);
    const float keep_2 = static_cast<float>(decay_2), fresh_2 = static_cast<float>(1 - decay_2);
    const auto at = [](float* x) -> LooseRegister& { return *reinterpret_cast<LooseRegister*>(x); };
    float *p = m.parameters.data, *moment_1 = m.moment_1.data, *moment_2 = m.moment_2.data;
    for (int64_t i = 0, count = s.parameters; i < count; i += kWidth) {
        const Register g = at(m.gradient.data + i);
        const Register mean = at(moment_1 + i) * keep_1 + g * fresh_1;
        const Register square = at(moment_2 + i) * keep_2 + (g * g) * fresh_2;
        at(moment_1 + i) = mean;
        at(moment_2 + i) = square;
        at(p + i) -= change(g, mean, square);
    }
}

// TensorFlow's centred RMSProp: epsilon inside the square root.
inline void rmsprop(const Settings& s, Member& m) {
    const float epsilon = s.epsilon, rate = m.learning_rate;
    move_weights(s, m, s.decay, s.decay, [=](Register g, Register mean, Register square) {
        return g / square_root(square - mean * mean + epsilon) * rate;
    });
}

// TensorFlow's Adam: the bias correction is in the step size.
inline void adam(const Settings& s, Member& m, int64_t steps) {
    const double t = static_cast<double>(steps);
    const double correction = std::sqrt(1 - std::pow(s.second_decay, t)) / (1 - std::pow(s.first_decay, t));
    const float rate = static_cast<float>(static_cast<double>(m.learning_rate) * correction), epsilon = s.adam_epsilon;
    move_weights(s, m, s.first_decay, s.second_decay, [=](Register, Register mean, Register square) {
        return mean / (square_root(square) + epsilon) * rate;
    });
}

}  // namespace
}  // namespace mulex
