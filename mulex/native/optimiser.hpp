// The two optimisers of mulex/optimiser.py, in one pass over the flat parameters, whose number is a multiple of 16.
#pragma once

#include <cmath>

#include "block.hpp"
#include "engine.hpp"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

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

// TensorFlow's centred RMSProp: epsilon inside the square root.
inline void rmsprop(const Settings& s, Member& m) {
    const float keep = s.decay, fresh = 1 - s.decay, epsilon = s.epsilon, rate = m.learning_rate;
    for (int64_t i = 0; i < s.parameters; i += kWidth) {
        auto at = [i](Span<float> x) -> LooseRegister& { return *reinterpret_cast<LooseRegister*>(x.data + i); };
        const Register g = at(m.gradient);
        const Register mean = at(m.moment_1) * keep + g * fresh;
        const Register square = at(m.moment_2) * keep + (g * g) * fresh;
        at(m.moment_1) = mean;
        at(m.moment_2) = square;
        at(m.parameters) -= g / square_root(square - mean * mean + epsilon) * rate;
    }
}

// TensorFlow's Adam: the bias correction is in the step size.
inline void adam(const Settings& s, Member& m, int64_t steps) {
    const double t = static_cast<double>(steps);
    const double first = s.first_decay, second = s.second_decay;
    const double correction = std::sqrt(1 - std::pow(second, t)) / (1 - std::pow(first, t));
    const float rate = static_cast<float>(static_cast<double>(m.learning_rate) * correction), epsilon = s.adam_epsilon;
    const float keep_1 = static_cast<float>(first), keep_2 = static_cast<float>(second);
    const float fresh_1 = static_cast<float>(1 - first), fresh_2 = static_cast<float>(1 - second);
    for (int64_t i = 0; i < s.parameters; i += kWidth) {
        auto at = [i](Span<float> x) -> LooseRegister& { return *reinterpret_cast<LooseRegister*>(x.data + i); };
        const Register g = at(m.gradient);
        const Register mean = at(m.moment_1) * keep_1 + g * fresh_1;
        const Register square = at(m.moment_2) * keep_2 + (g * g) * fresh_2;
        at(m.moment_1) = mean;
        at(m.moment_2) = square;
        at(m.parameters) -= mean / (square_root(square) + epsilon) * rate;
    }
}

}  // namespace
}  // namespace mulex
