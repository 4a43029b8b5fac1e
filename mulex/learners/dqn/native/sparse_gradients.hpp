// The two matrix products of the backward pass through a layer, with only the gradients that are not zero: ReLUs leave
// a tenth to a half of them. Each product is a sum of whole rows, each times one gradient. Zeros would add nothing, and
// the others are added in the order of the dense products, so the result has the same bits.
#pragma once

#include "block.hpp"
#include "products.hpp"

namespace mulex {
namespace {

constexpr int kSumBlocks = kWidth == 16 ? 12 : kWidth == 8 ? 6 : 3;  // blocks whose sums fit in the registers
constexpr int64_t kMarks = 64;  // bits of a word

// Marks the gradients of a layer that are not zero, one bit each: by rows, and by columns for some rows.
class SparseGradients {
public:
    // `looked_for` says whether zeros are to be skipped; otherwise nothing is marked.
    void shape(int64_t rows, int64_t columns, bool looked_for) {
        looked_for_ = looked_for;
        row_marks_.resize(rows * words_of(columns));
        column_marks_.resize(padded(columns));
    }

    // Mark the gradients that are not zero; true if there are so few that skipping the zeros pays.
    bool few(const float* d, const int32_t* d_row, int64_t rows, int64_t columns) {
        found_ = looked_for_ ? find(d, d_row, rows, columns) : rows * columns;
        return 2 * found_ < rows * columns;
    }
    int64_t found() const { return found_; }

    // Count the gradients met, and those among them that were computed with.
    void count(int64_t met, int64_t used) {
        met_ += met;
        used_ += used;
    }
    int64_t met() const { return met_; }
    int64_t used() const { return used_; }

    // Mark by columns for at most 64 rows.
    void find_by_columns(int64_t first, int64_t rows) {
        first_ = first;
        const int64_t half = kMarks / 2, lower = rows < half ? rows : half;
        for (int64_t n = 0; n < columns_; n += kLanes) {
            mark_columns(n, first, first + lower, 0);
            mark_columns(n, first + lower, first + rows, half);
        }
    }

    // Write the columns with a nonzero gradient in any of the marked rows to `to`, in order; returns their number.
    int64_t columns_met(int64_t rows, int32_t* to) const {
        int64_t count = 0;
        for (int64_t w = 0; w < words_; ++w) {
            uint64_t marks = 0;
            for (int64_t m = 0; m < rows; ++m) marks |= row_marks_[m * words_ + w];
            for (; marks; marks &= marks - 1) to[count++] = static_cast<int32_t>(w * kMarks + __builtin_ctzll(marks));
        }
        return count;
    }

    // Call work(column, gradient) for the marked gradients of a row.
    template <class Work>
    __attribute__((always_inline)) void for_row(int64_t m, Work work) const {
        const float* row = d_ + d_row_[m];
        for (int64_t w = 0; w < words_; ++w)
            for (uint64_t marks = row_marks_[m * words_ + w]; marks; marks &= marks - 1) {
                const int64_t k = w * kMarks + __builtin_ctzll(marks);
                work(k, row[k]);
            }
    }

    // Call work(row, gradient) for the marked gradients of a column.
    template <class Work>
    __attribute__((always_inline)) void for_column(int64_t k, Work work) const {
        for (uint64_t marks = column_marks_[k]; marks; marks &= marks - 1) {
            const int64_t m = first_ + __builtin_ctzll(marks);
            work(m, d_[d_row_[m] + k]);
        }
    }

private:
    // Rows are read in whole blocks of 16; what follows the columns is ignored. Returns the number of nonzero gradients.
    int64_t find(const float* d, const int32_t* d_row, int64_t rows, int64_t columns) {
        d_ = d;
        d_row_ = d_row;
        columns_ = columns;
        words_ = words_of(columns);
        int64_t found = 0;
        for (int64_t m = 0; m < rows; ++m)
            for (int64_t w = 0; w < words_; ++w) {
                const uint64_t marks = marks_of(d + d_row[m] + w * kMarks, columns - w * kMarks);
                row_marks_[m * words_ + w] = marks;
                found += __builtin_popcountll(marks);
            }
        return found;
    }

    static int64_t words_of(int64_t columns) { return (columns + kMarks - 1) / kMarks; }

    static uint64_t marks_of(const float* x, int64_t count) {
        uint64_t marks = 0;
        for (int64_t n = 0; n < count && n < kMarks; n += kLanes)
            marks |= static_cast<uint64_t>(nonzero_lanes(load(x + n))) << n;
        return count < kMarks ? marks & ((uint64_t{1} << count) - 1) : marks;
    }

    // Write the marks of at most 32 rows in 16 columns to bits `shift` and above.
    void mark_columns(int64_t n, int64_t begin, int64_t end, int64_t shift) {
        IntRegister marks[kParts] = {};
        for (int64_t m = end - 1; m >= begin; --m) {
            const Block x = load(d_ + d_row_[m] + n);
            MULEX_UNROLL for (int i = 0; i < kParts; ++i) marks[i] = marks[i] + marks[i] - (x.part[i] != 0);
        }
        for (int64_t i = 0; i < kLanes; ++i) {
            const uint64_t word = static_cast<uint64_t>(static_cast<uint32_t>(marks[i / kWidth][i % kWidth])) << shift;
            column_marks_[n + i] = shift ? column_marks_[n + i] | word : word;
        }
    }

    const float* d_ = nullptr;
    const int32_t* d_row_ = nullptr;
    bool looked_for_ = false;
    int64_t columns_ = 0, words_ = 0, first_ = 0, found_ = 0, met_ = 0, used_ = 0;
    Array<uint64_t> row_marks_, column_marks_;
};

// c[row] += d[row] * b, where b has a row of `stride` floats for each column of d. The last row comes first: for pixels
// that several windows share, this is the order of the dense product, which goes by the pixel's offset in the window.
struct SparseTimesRows {
    const SparseGradients& sparse;
    int64_t rows;
    const float* b;
    int64_t stride;
    float* c;
    const int32_t *c_row, *c_block;

    template <int kBlocks>
    void run(int64_t first) {
        const float* from = b + first * kLanes;
        for (int64_t m = rows - 1; m >= 0; --m) {
            Block sum[kBlocks];
            MULEX_UNROLL for (int n = 0; n < kBlocks; ++n) sum[n] = Block{};
            sparse.for_row(m, [&](int64_t k, float value) {
                const float* row = from + k * stride;
                const Register x = splat(value);
                MULEX_UNROLL for (int n = 0; n < kBlocks; ++n) sum[n] = plus_product(sum[n], x, load(row + n * kLanes));
            });
            MULEX_UNROLL for (int n = 0; n < kBlocks; ++n) {
                float* to = c + c_row[m] + c_block[first + n];
                store(to, sum[n] + load(to));
            }
        }
    }
};

// c[k] = (column k of the gradients of some rows) * b, for each k of `column`. Row m of b begins at b_row[m], and its
// block n at b_block[n] from there; with `more`, the result is added to c.
struct ColumnsTimesRows {
    const SparseGradients& sparse;
    const int32_t* column;
    int64_t columns;
    const float* b;
    const int32_t *b_row, *b_block;
    float* c;
    int64_t c_stride;
    bool more;

    template <int kBlocks>
    void run(int64_t first) {
        const float* from[kBlocks];
        MULEX_UNROLL for (int n = 0; n < kBlocks; ++n) from[n] = b + b_block[first + n];
        for (int64_t i = 0; i < columns; ++i) {
            const int64_t k = column[i];
            float* to = c + k * c_stride + first * kLanes;
            Block sum[kBlocks];
            MULEX_UNROLL for (int n = 0; n < kBlocks; ++n) sum[n] = more ? load(to + n * kLanes) : Block{};
            sparse.for_column(k, [&](int64_t m, float value) {
                const int64_t at = b_row[m];
                const Register x = splat(value);
                MULEX_UNROLL for (int n = 0; n < kBlocks; ++n) sum[n] = plus_product(sum[n], x, load(from[n] + at));
            });
            MULEX_UNROLL for (int n = 0; n < kBlocks; ++n) store(to + n * kLanes, sum[n]);
        }
    }
};

}  // namespace
}  // namespace mulex
