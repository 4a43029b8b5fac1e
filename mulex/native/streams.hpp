// Random numbers as a function of (key, place): the same words as mulex/streams.py gives.
#pragma once

#include <cstdint>

namespace mulex {
namespace {

inline uint64_t random_word(uint64_t key, uint64_t place) {
    uint64_t z = key + (place + 1) * 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

inline double random_uniform(uint64_t key, uint64_t place) {
    return static_cast<double>(random_word(key, place) >> 11) * 0x1p-53;
}

inline int64_t random_below(uint64_t word, uint64_t n) { return static_cast<int64_t>(((word & 0xFFFFFFFFu) * n) >> 32); }

}  // namespace
}  // namespace mulex
