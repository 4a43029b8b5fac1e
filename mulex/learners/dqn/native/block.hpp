// Blocks of sixteen floats, in as many registers as the processor needs for them, and aligned memory for them.
//
// Sums across the lanes of a block have one fixed order, so processors whose arithmetic
// agrees (AVX2 with FMA, AVX-512) give the same bits whatever the width of their registers.
//
// The standard library's templates stay out of the code that is compiled several times: the linker would keep one copy
// of each, perhaps one that this processor cannot run.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#ifndef MULEX_WIDTH
#define MULEX_WIDTH 4  // floats of a register
#endif

namespace mulex {
namespace {

constexpr int kWidth = MULEX_WIDTH;
constexpr int kLanes = 16;
constexpr int kParts = kLanes / kWidth;
// Rows of a register tile, each of kParts registers, so that some registers are left for the factors.
constexpr int kTileRows = kWidth == 16 ? 12 : kWidth == 8 ? 6 : 2;

typedef float Register __attribute__((vector_size(kWidth * 4)));
typedef float LooseRegister __attribute__((vector_size(kWidth * 4), aligned(4), may_alias));
typedef int32_t IntRegister __attribute__((vector_size(kWidth * 4)));

struct Block {
    Register part[kParts];
};

inline Register splat(float x) { return x - Register{}; }

inline Block load(const float* from) {
    Block b;
#pragma GCC unroll 4
    for (int i = 0; i < kParts; ++i) b.part[i] = *reinterpret_cast<const LooseRegister*>(from + i * kWidth);
    return b;
}

inline void store(float* to, const Block& b) {
#pragma GCC unroll 4
    for (int i = 0; i < kParts; ++i) *reinterpret_cast<LooseRegister*>(to + i * kWidth) = b.part[i];
}

// Load the first `count` floats only.
inline Block load_some(const float* from, int64_t count) {
    if (count >= kLanes) return load(from);
    alignas(64) float lane[kLanes] = {};
    std::memcpy(lane, from, static_cast<size_t>(count) * sizeof(float));
    return load(lane);
}

inline void store_some(float* to, const Block& b, int count) {
    if (count >= kLanes) {
        store(to, b);
        return;
    }
    alignas(64) float lane[kLanes];
    store(lane, b);
    std::memcpy(to, lane, static_cast<size_t>(count) * sizeof(float));
}

template <class Function>
inline Block map(const Block& a, Function f) {
    Block out;
#pragma GCC unroll 4
    for (int i = 0; i < kParts; ++i) out.part[i] = f(a.part[i]);
    return out;
}

template <class Function>
inline Block map(const Block& a, const Block& b, Function f) {
    Block out;
#pragma GCC unroll 4
    for (int i = 0; i < kParts; ++i) out.part[i] = f(a.part[i], b.part[i]);
    return out;
}

inline Block operator+(const Block& a, const Block& b) {
    return map(a, b, [](Register x, Register y) { return x + y; });
}

inline Block operator*(const Block& a, const Block& b) {
    return map(a, b, [](Register x, Register y) { return x * y; });
}

// sum + x * w, with one rounding if the processor has FMA.
inline Block plus_product(const Block& sum, Register x, const Block& w) {
    return map(sum, w, [x](Register s, Register y) { return s + x * y; });
}

// x where a is above zero, else zero. NaN passes, so that a run that diverges shows it.
inline Register where_positive(Register a, Register x) {
    return reinterpret_cast<Register>(~(a <= 0) & reinterpret_cast<IntRegister>(x));
}

// One bit per lane, set if the lane is not zero; the first lane has the lowest bit.
inline uint32_t nonzero_lanes(const Block& b) {
    uint32_t lanes = 0;
#if MULEX_WIDTH == 8 && defined(__AVX2__)
    for (int i = 0; i < kParts; ++i) {
        const __m256 differs = _mm256_cmp_ps(reinterpret_cast<__m256>(b.part[i]), _mm256_setzero_ps(), _CMP_NEQ_UQ);
        lanes |= static_cast<uint32_t>(_mm256_movemask_ps(differs)) << (i * 8);
    }
#elif MULEX_WIDTH == 16 && defined(__AVX512F__)
    lanes = _mm512_cmp_ps_mask(reinterpret_cast<__m512>(b.part[0]), _mm512_setzero_ps(), _CMP_NEQ_UQ);
#else
    alignas(64) float lane[kLanes];  // GCC's sanitizers lose track of a lane that is read from a register
    store(lane, b);
    for (int i = 0; i < kLanes; ++i) lanes |= static_cast<uint32_t>(lane[i] != 0) << i;
#endif
    return lanes;
}

inline float sum_of(const Block& b) {
    alignas(64) float lane[kLanes];
    store(lane, b);
    float total = 0;
    for (float x : lane) total += x;
    return total;
}

inline float largest_of(const float* x, int count) {
    float largest = x[0];
    for (int i = 1; i < count; ++i) largest = x[i] > largest ? x[i] : largest;
    return largest;
}

// e^x to the last bits: the series of e^r for |r| <= ln(2) / 2, times a power of two assembled from its bits.
inline Register exponential(Register x) {
    const float magic = 12582912.0f;  // 1.5 * 2^23: adding it rounds to whole numbers
    x = x < splat(-87.0f) ? splat(-87.0f) : x;
    x = x > splat(88.0f) ? splat(88.0f) : x;
    Register n = x * 1.44269504f + magic - magic;
    Register r = x - n * 0.693359375f + n * 2.12194440e-4f;  // ln(2) in two parts
    Register p = r * (1.0f / 5040) + 1.0f / 720;
    p = p * r + 1.0f / 120;
    p = p * r + 1.0f / 24;
    p = p * r + 1.0f / 6;
    p = p * r + 0.5f;
    p = p * r + 1.0f;
    p = p * r + 1.0f;
    IntRegister exponent = (__builtin_convertvector(n, IntRegister) + 127) << 23;
    return p * reinterpret_cast<Register>(exponent);
}

// Prefetch memory. Without the empty statement GCC takes a function that does nothing else for one without effects and
// drops it.
inline void fetch(const void* from) {
    __builtin_prefetch(from);
    asm volatile("");
}

constexpr int64_t padded(int64_t n) { return (n + kLanes - 1) / kLanes * kLanes; }

// Memory for a number of values, initially zero, aligned to a cache line. A large array takes memory from the system only
// where it is written.
template <class T>
class Array {
public:
    Array() = default;
    explicit Array(int64_t count) { resize(count); }
    ~Array() { std::free(memory_); }
    Array(const Array&) = delete;
    Array& operator=(const Array&) = delete;

    void resize(int64_t count) {
        std::free(memory_);
        const size_t bytes = (static_cast<size_t>(count) * sizeof(T) + 63) / 64 * 64 + 64;
        memory_ = std::calloc(1, bytes + 64);
        if (!memory_) throw std::bad_alloc();
        data_ = reinterpret_cast<T*>((reinterpret_cast<uintptr_t>(memory_) + 63) / 64 * 64);
        count_ = count;
    }
    T& operator[](int64_t i) { return data_[i]; }
    const T& operator[](int64_t i) const { return data_[i]; }
    T* data() { return data_; }
    const T* data() const { return data_; }
    int64_t count() const { return count_; }
    void clear() { std::memset(static_cast<void*>(data_), 0, static_cast<size_t>(count_) * sizeof(T)); }

private:
    void* memory_ = nullptr;
    T* data_ = nullptr;
    int64_t count_ = 0;
};

}  // namespace
}  // namespace mulex
