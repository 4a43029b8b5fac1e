// Random numbers as a function of (key, index), the same as in mulex/streams.py.
#pragma once

#include <cstdint>

namespace mulex {
namespace {

inline uint64_t random_word(uint64_t key, uint64_t index) {
    uint64_t z = key + (index + 1) * 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

inline double random_uniform(uint64_t key, uint64_t index) {
    return static_cast<double>(random_word(key, index) >> 11) * 0x1p-53;
}

inline int64_t random_below(uint64_t word, uint64_t n) { return static_cast<int64_t>(((word & 0xFFFFFFFFu) * n) >> 32); }

}  // namespace
}  // namespace mulex
