// The hidden weights of a head by unit, for the backward pass: one row per hidden unit.
//
// A unit that is inactive for all samples of a batch has a gradient of zero. Nothing is computed for it, and its RMSProp
// update is postponed; this concerns a fifth to nine tenths of the units. Its averages are brought up to date when it
// is next active. The forward pass reads weights by feature, from the run's own array, which is updated after each step.
#pragma once

#include "block.hpp"
#include "optimiser.hpp"
#include "products.hpp"

namespace mulex {
namespace {

// c[row] (16 columns) += the sum over units of gradient times weights. a has the gradients of the active units alone.
struct UnitsTimesWeights {
    const float* a;
    const int32_t* a_row;
    int64_t units;
    const float* weight;
    const int32_t* weight_row;
    float* c;
    const int32_t* c_row;

    template <int kRows>
    void run(int64_t first) {
        Block sum[kRows];
        const float* row[kRows];
        MULEX_UNROLL for (int r = 0; r < kRows; ++r) {
            row[r] = a + a_row[first + r];
            sum[r] = Block{};
        }
        for (int64_t j = 0; j < units; ++j) {
            const Block w = load(weight + weight_row[j]);
            MULEX_UNROLL for (int r = 0; r < kRows; ++r) sum[r] = plus_product(sum[r], splat(row[r][j]), w);
        }
        MULEX_UNROLL for (int r = 0; r < kRows; ++r) finish<Store::kAdd>(c + c_row[first + r], sum[r]);
    }
};

// gradient[unit] (16 columns) = the sum over all rows of the unit's gradient times f[row].
struct UnitsGradient {
    const float* a;
    const int32_t* a_row;
    int64_t rows;
    const float* f;
    const int32_t* f_row;
    float* gradient;
    const int32_t* gradient_row;

    template <int kUnits>
    void run(int64_t first) {
        Block sum[kUnits];
        MULEX_UNROLL for (int r = 0; r < kUnits; ++r) sum[r] = Block{};
        for (int64_t m = 0; m < rows; ++m) {
            const float* x = a + a_row[m] + first;
            const Block w = load(f + f_row[m]);
            MULEX_UNROLL for (int r = 0; r < kUnits; ++r) sum[r] = plus_product(sum[r], splat(x[r]), w);
        }
        MULEX_UNROLL for (int r = 0; r < kUnits; ++r) store(gradient + gradient_row[first + r], sum[r]);
    }
};

class HiddenUnits {
public:
    // `begin` is the offset of the weights (features x units) in the flat parameters.
    void shape(int64_t begin, int64_t features, int64_t units) {
        begin_ = begin;
        features_ = features;
        units_ = units;
        weight_.resize(units * row());
        gradient_.resize(units * row());
        mean_.resize(units * row());
        square_.resize(units * row());
        moved_.resize(units);
        resting_.resize(units);
        offset_.resize(units);
    }
    int64_t begin() const { return begin_; }
    int64_t end() const { return begin_ + features_ * units_; }

    // Floats from one unit's row to the next: an odd number of cache lines, so that a column of blocks fits the L1
    // cache.
    int64_t row() const { return features_ / kLanes % 2 ? features_ : features_ + kLanes; }
    const float* weight() const { return weight_.data(); }
    float* gradient() { return gradient_.data(); }

    void take(const Member& m) {
        turn(m.parameters.data, weight_);
        turn(m.gradient.data, gradient_);
        turn(m.moment_1.data, mean_);
        turn(m.moment_2.data, square_);
    }
    void give(const Means& means, Member& m) {
        for (int64_t u = 0; u < units_; ++u) {
            if (!resting_[u]) continue;
            wake(means, u);
            std::memset(&gradient_[u * row()], 0, static_cast<size_t>(features_) * sizeof(float));
        }
        turn_back(gradient_, m.gradient.data);
        turn_back(mean_, m.moment_1.data);
        turn_back(square_, m.moment_2.data);
    }

    // Set the active units of the next step, in order.
    void moving(const int32_t* units, int64_t count) {
        moving_ = count;
        for (int64_t j = 0; j < count; ++j) {
            moved_[j] = units[j];
            offset_[j] = static_cast<int32_t>(units[j] * row());
        }
    }
    int64_t moving_count() const { return moving_; }
    const int32_t* moving_units() const { return moved_.data(); }
    const int32_t* moving_rows() const { return offset_.data(); }

    template <class Rule>
    void step(const Rule& rule, float* parameters) {
        for (int64_t u = 0; u < units_; ++u) ++resting_[u];
        for (int64_t j = 0; j < moving_; ++j) {
            const int64_t u = moved_[j], begin = offset_[j];
            --resting_[u];
            wake(rule, u);
            move(rule, &weight_[begin], &gradient_[begin], &mean_[begin], &square_[begin], features_);
        }
        follow(parameters);
    }

private:
    static constexpr int64_t kTogether = 8;    // units
    static constexpr int64_t kFeatures = 128;  // so few that they stay in the L1 cache

    // Apply the postponed steps of a unit.
    void wake(const Means& means, int64_t u) {
        if (!resting_[u]) return;
        fade(&mean_[u * row()], means.keep_1, resting_[u], features_);
        fade(&square_[u * row()], means.keep_2, resting_[u], features_);
        resting_[u] = 0;
    }

    // Copy the weights of updated units to the array that the forward pass reads.
    void follow(float* parameters) {
        for (int64_t k = 0; k < features_; k += kFeatures) {
            const int64_t features = features_ - k < kFeatures ? features_ - k : kFeatures;
            for (int64_t u = 0, next = 0; u < units_; u += kTogether) {
                const int64_t end = u + kTogether < units_ ? u + kTogether : units_, before = next;
                while (next < moving_ && moved_[next] < end) ++next;
                float* to = parameters + begin_ + k * units_ + u;
                if (next > before) transpose(&weight_[u * row() + k], end - u, features, to, units_, row());
            }
        }
    }
    void turn(const float* from, Array<float>& to) const {
        transpose(from + begin_, features_, units_, to.data(), row(), units_);
    }
    void turn_back(const Array<float>& from, float* to) const {
        transpose(from.data(), units_, features_, to + begin_, units_, row());
    }

    int64_t begin_ = 0, features_ = 0, units_ = 0, moving_ = 0;
    Array<float> weight_, gradient_, mean_, square_;  // (units, row)
    Array<int32_t> moved_, offset_;                   // active units, and the offsets of their rows
    Array<int64_t> resting_;                          // postponed steps of each unit
};

}  // namespace
}  // namespace mulex
