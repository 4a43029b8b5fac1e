// Some columns of a matrix, kept side by side, and how they are put back in their places among zeros.
#pragma once

#include "block.hpp"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace mulex {
namespace {

class Spread {
public:
    void shape(int64_t columns) {
        list_.resize(columns);
        first_.resize(padded(columns));
        lane_.resize(padded(columns));
        keep_.resize(padded(columns));
    }

    // Choose the columns whose mark is not zero, or all: gives how many they are.
    int64_t choose(const float* mark, int64_t columns, bool all) {
        int64_t chosen = 0;
        for (int64_t j = 0; j < columns; ++j) {
            if (j % kWidth == 0) first_[j / kWidth] = static_cast<int32_t>(chosen);
            const bool keep = all || is_marked(mark[j]);
            lane_[j] = keep ? static_cast<int32_t>(chosen) - first_[j / kWidth] : 0;
            keep_[j] = keep ? -1 : 0;
            list_[chosen] = static_cast<int32_t>(j);
            chosen += keep;
        }
        return chosen;
    }

    // The chosen columns, in order.
    const int32_t* list() const { return list_.data(); }

    // to (rows x columns) = the chosen columns of `from`, whose rows are `stride` apart, in their places; the rest zero.
    void rows(const float* from, int64_t stride, int64_t rows, float* to, int64_t columns) const {
        const int64_t whole = columns / kWidth * kWidth;
        for (int64_t k = 0; k < rows; ++k, from += stride, to += columns) {
            for (int64_t j = 0; j < whole; j += kWidth)
                *reinterpret_cast<LooseRegister*>(to + j) = lanes(from + first_[j / kWidth], j);
            for (int64_t j = whole; j < columns; ++j) to[j] = keep_[j] ? from[first_[j / kWidth] + lane_[j]] : 0;
        }
    }

private:
    static bool is_marked(float mark) {
        int32_t bits;
        std::memcpy(&bits, &mark, sizeof bits);
        return bits != 0;
    }

    Register lanes(const float* from, int64_t j) const {
        const IntRegister lane = *reinterpret_cast<const LooseInts*>(&lane_[j]);
        const IntRegister keep = *reinterpret_cast<const LooseInts*>(&keep_[j]);
        Register out;
#if MULEX_WIDTH == 8 && defined(__AVX2__)
        out = reinterpret_cast<Register>(_mm256_permutevar8x32_ps(_mm256_loadu_ps(from), reinterpret_cast<__m256i>(lane)));
#elif MULEX_WIDTH == 16 && defined(__AVX512F__)
        out = reinterpret_cast<Register>(_mm512_permutexvar_ps(reinterpret_cast<__m512i>(lane), _mm512_loadu_ps(from)));
#else
        for (int i = 0; i < kWidth; ++i) out[i] = from[lane[i]];
#endif
        return reinterpret_cast<Register>(reinterpret_cast<IntRegister>(out) & keep);
    }

    Array<int32_t> list_;
    Array<int32_t> first_;         // by register: the place of its first column that was chosen
    Array<int32_t> lane_, keep_;  // by column: its place after that, and whether it was chosen (all bits or none)
};

}  // namespace
}  // namespace mulex
