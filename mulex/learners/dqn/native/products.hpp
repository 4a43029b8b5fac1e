// The three matrix products of a network, on rows that need not be contiguous: a table has each row's offset.
//
// So a convolution is a product on the pictures themselves: the row of an output position begins where its window
// begins, and goes on for `segments` kernel rows of `run` numbers, `stride` apart. Each product works on a tile of
// kTileRows x 16 sums that stay in registers. A row's result never depends on which rows it is computed with.
#pragma once

#include "block.hpp"

namespace mulex {
namespace {

struct Window {
    int32_t segments, run;
    int64_t stride;
    int64_t size() const { return static_cast<int64_t>(segments) * run; }
};

inline Window whole_row(int64_t inputs) { return Window{1, static_cast<int32_t>(inputs), 0}; }

enum class Store { kSet, kRelu, kAdd };

// All loops over a tile's rows must be unrolled; otherwise the sums are kept in memory.
#define MULEX_UNROLL _Pragma("GCC unroll 16")

template <Store kStore>
__attribute__((always_inline)) inline void finish(float* to, const Block& sum) {
    if (kStore == Store::kRelu)
        store(to, map(sum, [](Register x) { return where_positive(x, x); }));
    else
        store(to, kStore == Store::kAdd ? sum + load(to) : sum);
}

// c[row] (16 columns) = bias + a[row] * b, stored as Store says.
template <int kRows, Store kStore>
inline void product_tile(const float* a, const int32_t* a_row, Window window, const float* b,
                         int64_t b_stride, const float* bias, float* c, const int32_t* c_row) {
    Block sum[kRows];
    const float* row[kRows];
    const Block start = bias ? load(bias) : Block{};
    MULEX_UNROLL for (int r = 0; r < kRows; ++r) {
        row[r] = a + a_row[r];
        sum[r] = start;
    }
    for (int s = 0; s < window.segments; ++s) {
        for (int64_t j = 0; j < window.run; ++j, b += b_stride) {
            const Block w = load(b);
            MULEX_UNROLL for (int r = 0; r < kRows; ++r) sum[r] = plus_product(sum[r], splat(row[r][j]), w);
        }
        MULEX_UNROLL for (int r = 0; r < kRows; ++r) row[r] += window.stride;
    }
    MULEX_UNROLL for (int r = 0; r < kRows; ++r) finish<kStore>(c + c_row[r], sum[r]);
}

// The same for one row and several blocks of columns at a time, whose sums are independent.
template <int kBlocks, Store kStore>
inline void row_product(const float* row, Window window, const float* b, int64_t b_stride, const float* bias,
                        float* to) {
    Block sum[kBlocks];
    MULEX_UNROLL for (int n = 0; n < kBlocks; ++n) sum[n] = bias ? load(bias + n * kLanes) : Block{};
    for (int s = 0; s < window.segments; ++s, row += window.stride)
        for (int64_t j = 0; j < window.run; ++j, b += b_stride) {
            const Register x = splat(row[j]);
            MULEX_UNROLL for (int n = 0; n < kBlocks; ++n) sum[n] = plus_product(sum[n], x, load(b + n * kLanes));
        }
    MULEX_UNROLL for (int n = 0; n < kBlocks; ++n) finish<kStore>(to + n * kLanes, sum[n]);
}

// d[0..kRows) (16 columns) = the sum over all rows of a[row][0..kRows) times g[row]; with `more`, the result is added to d.
template <int kRows>
inline void outer_tile(const float* a, const int32_t* a_row, int64_t rows, const float* g, const int32_t* g_row,
                       float* d, int64_t d_stride, int columns, bool more) {
    Block sum[kRows];
    MULEX_UNROLL for (int r = 0; r < kRows; ++r) sum[r] = more ? load_some(d + r * d_stride, columns) : Block{};
    for (int64_t m = 0; m < rows; ++m) {
        const float* x = a + a_row[m];
        const Block w = load(g + g_row[m]);
        MULEX_UNROLL for (int r = 0; r < kRows; ++r) sum[r] = plus_product(sum[r], splat(x[r]), w);
    }
    MULEX_UNROLL for (int r = 0; r < kRows; ++r) store_some(d + r * d_stride, sum[r], columns);
}

// Call work.run<R>(first) on tiles of nearly equal height R, kMost or less, that cover `rows`.
template <int kRows, class Work>
inline void run_tiles(int64_t height, int64_t first, int64_t tiles, Work& work) {
    if constexpr (kRows > 0) {
        if (height == kRows)
            for (int64_t t = 0; t < tiles; ++t) work.template run<kRows>(first + t * kRows);
        else
            run_tiles<kRows - 1>(height, first, tiles, work);
    }
}

template <int kMost, class Work>
inline void for_tiles(int64_t rows, Work work) {
    if (rows <= 0) return;
    const int64_t tiles = (rows + kMost - 1) / kMost, height = rows / tiles, higher = rows % tiles;
    run_tiles<kMost>(height + 1, 0, higher, work);
    run_tiles<kMost>(height, higher * (height + 1), tiles - higher, work);
}

template <Store kStore>
struct ProductWork {
    const float* a;
    const int32_t* a_row;
    Window window;
    const float* b;
    int64_t b_stride;
    const float* bias;
    float* c;
    const int32_t* c_row;

    template <int kRows>
    void run(int64_t first) {
        product_tile<kRows, kStore>(a, a_row + first, window, b, b_stride, bias, c, c_row + first);
    }
};

// c = a * b (+ bias) for `blocks` times 16 columns of b; block n of c is at its offset, or after block n - 1.
template <Store kStore>
__attribute__((noinline)) void product(const float* a, const int32_t* a_row, int64_t rows, Window window, const float* b,
                                       int64_t b_stride, int64_t blocks, const float* bias, float* c,
                                       const int32_t* c_row, const int32_t* c_block = nullptr) {
    constexpr int kWide = kWidth == 4 ? 2 : 4;  // blocks whose sums fit in the registers
    if (rows == 1 && blocks % kWide == 0 && kStore != Store::kAdd && !c_block) {
        for (int64_t n = 0; n < blocks; n += kWide)
            row_product<kWide, kStore>(a + a_row[0], window, b + n * kLanes, b_stride,
                                       bias ? bias + n * kLanes : nullptr, c + c_row[0] + n * kLanes);
        return;
    }
    for (int64_t n = 0; n < blocks; ++n) {
        float* to = c + (c_block ? c_block[n] : n * kLanes);
        const float* from = bias ? bias + n * kLanes : nullptr;
        const float* column = b + n * kLanes;
        for_tiles<kTileRows>(rows, ProductWork<kStore>{a, a_row, window, column, b_stride, from, to, c_row});
    }
}

struct OuterWork {
    const float* a;
    const int32_t* a_row;
    int64_t rows;
    const float* g;
    const int32_t* g_row;
    float* d;
    int64_t d_stride;
    int columns;
    bool more;

    template <int kRows>
    void run(int64_t first) {
        outer_tile<kRows>(a + first, a_row, rows, g, g_row, d + first * d_stride, d_stride, columns, more);
    }
};

constexpr int64_t kRowsAtOnce = 96;  // so few that they stay in the L1 cache for all tiles

// d (window.size() x columns) = transposed a * g: the gradient of a weight matrix.
__attribute__((noinline)) void outer(const float* a, const int32_t* a_row, int64_t rows, Window window, const float* g,
                  const int32_t* g_row, int64_t columns, float* d) {
    for (int64_t m = 0; m < rows; m += kRowsAtOnce) {
        const int64_t some = rows - m < kRowsAtOnce ? rows - m : kRowsAtOnce;
        for (int64_t n = 0; n < columns; n += kLanes) {
            const int width = static_cast<int>(columns - n < kLanes ? columns - n : kLanes);
            for (int s = 0; s < window.segments; ++s) {
                float* to = d + static_cast<int64_t>(s) * window.run * columns + n;
                for_tiles<kTileRows>(window.run, OuterWork{a + s * window.stride, a_row + m, some, g + n, g_row + m, to,
                                                           columns, width, m > 0});
            }
        }
    }
}

// sum[0..columns) = the sum over rows of g: the gradient of a bias. Four partial sums take every fourth row.
inline void row_sums(const float* g, const int32_t* g_row, int64_t rows, int64_t columns, float* sum) {
    for (int64_t n = 0; n < columns; n += kLanes) {
        Block part[4] = {};
        for (int64_t m = 0; m < rows; m += 4)
            for (int64_t i = 0; i < 4; ++i)
                if (m + i < rows) part[i] = part[i] + load(g + g_row[m + i] + n);
        const Block total = (part[0] + part[1]) + (part[2] + part[3]);
        store_some(sum + n, total, static_cast<int>(columns - n < kLanes ? columns - n : kLanes));
    }
}

// Set gradients to zero where a ReLU was not active.
inline void through_relu(float* d, const float* activation, int64_t count) {
    for (int64_t i = 0; i < count; i += kLanes) store(d + i, map(load(activation + i), load(d + i), where_positive));
}

inline void add_row(float* to, const float* from, int64_t columns) {
    for (int64_t c = 0; c < columns; c += kLanes) store(to + c, load(to + c) + load(from + c));
}

typedef float Quad __attribute__((vector_size(16), aligned(4), may_alias));
typedef float Eight __attribute__((vector_size(32), aligned(4), may_alias));

// Transpose eight rows of four columns: rows 0 and 4, 1 and 5, ... share a register, and each half is transposed.
inline void transpose_eight(const float* from, int64_t from_stride, float* to, int64_t to_stride) {
    Eight row[4];
    for (int i = 0; i < 4; ++i) {
        const Quad upper = *reinterpret_cast<const Quad*>(from + i * from_stride);
        const Quad lower = *reinterpret_cast<const Quad*>(from + (i + 4) * from_stride);
        row[i] = __builtin_shufflevector(upper, lower, 0, 1, 2, 3, 4, 5, 6, 7);
    }
    const Eight a = __builtin_shufflevector(row[0], row[1], 0, 8, 1, 9, 4, 12, 5, 13);
    const Eight b = __builtin_shufflevector(row[2], row[3], 0, 8, 1, 9, 4, 12, 5, 13);
    const Eight c = __builtin_shufflevector(row[0], row[1], 2, 10, 3, 11, 6, 14, 7, 15);
    const Eight d = __builtin_shufflevector(row[2], row[3], 2, 10, 3, 11, 6, 14, 7, 15);
    *reinterpret_cast<Eight*>(to) = __builtin_shufflevector(a, b, 0, 1, 8, 9, 4, 5, 12, 13);
    *reinterpret_cast<Eight*>(to + to_stride) = __builtin_shufflevector(a, b, 2, 3, 10, 11, 6, 7, 14, 15);
    *reinterpret_cast<Eight*>(to + 2 * to_stride) = __builtin_shufflevector(c, d, 0, 1, 8, 9, 4, 5, 12, 13);
    *reinterpret_cast<Eight*>(to + 3 * to_stride) = __builtin_shufflevector(c, d, 2, 3, 10, 11, 6, 7, 14, 15);
}

// to (columns x to_stride) = from (rows x columns, from_stride apart), transposed.
inline void transpose(const float* from, int64_t rows, int64_t columns, float* to, int64_t to_stride,
                      int64_t from_stride) {
#if defined(__has_builtin) && __has_builtin(__builtin_shufflevector)
    const int64_t whole_rows = rows / 8 * 8, whole_columns = columns / 4 * 4;
#else
    const int64_t whole_rows = 0, whole_columns = 0;
#endif
    const int64_t rows_at_once = rows > columns ? 8 : whole_rows;  // the outer loop runs over the longer side, for the cache
    for (int64_t first = 0; first < whole_rows; first += rows_at_once)
        for (int64_t j = 0; j < whole_columns; j += 4)
            for (int64_t i = first; i < first + rows_at_once; i += 8)
                transpose_eight(from + i * from_stride + j, from_stride, to + j * to_stride + i, to_stride);
    for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = i < whole_rows ? whole_columns : 0; j < columns; ++j)
            to[j * to_stride + i] = from[i * from_stride + j];
}

}  // namespace
}  // namespace mulex
