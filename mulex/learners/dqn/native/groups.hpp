// The hidden layer on large pictures, position by position: equal patches at one position are computed once.
//
// The entries of a batch whose patches at a position are equal form a group. Forward, each group's features are
// multiplied by the weights of its position, and an entry sums the results of its groups. Backward, the gradients of a
// group's entries are added first. Rooms of size 10 have about one group for three entries, rooms of 15 one for six.
#pragma once

#include "block.hpp"
#include "patches.hpp"
#include "products.hpp"
#include "sparse_gradients.hpp"
#include "units.hpp"

namespace mulex {
namespace {

constexpr int64_t kManyPositions = 32;  // with fewer positions, most patches of a position differ

class Groups {
public:
    void shape(int64_t entries, int64_t positions, int64_t channels, int64_t hidden) {
        positions_ = positions;
        channels_ = channels;
        hidden_ = hidden;
        width_ = padded(hidden);
        const int64_t most = entries * positions;
        group_.resize(most);
        begin_.resize(positions + 1);
        feature_.resize(most);
        row_.resize(most);
        for (int64_t g = 0; g < most; ++g) row_[g] = static_cast<int32_t>(g * width_);
        sums_.resize(most * width_);
        met_.resize(Patches::kMostNodes);
    }

    // Group the entries with equal patch ids; those of the last layer begin at `begin`. `computed` has, by patch id, the
    // offset of the features.
    template <class Computed>
    void find(const int32_t* const* ids, int64_t begin, int64_t entries, const Computed* computed) {
        int32_t groups = 0;
        for (int64_t at = 0; at < positions_; ++at) {
            begin_[at] = groups;
            if (++stamp_ == 0) {  // the counter wrapped around
                met_.clear();
                stamp_ = 1;
            }
            for (int64_t u = 0; u < entries; ++u) {
                const int32_t id = ids[u][begin + at];
                Met& met = met_[id];
                if (met.stamp != stamp_) {
                    met = Met{stamp_, groups};
                    feature_[groups++] = computed[id].first;
                }
                group_[u * positions_ + at] = met.group;
            }
        }
        begin_[positions_] = groups;
    }

    // Make every entry a group of its own.
    void all_differ(int64_t entries) {
        for (int64_t at = 0; at <= positions_; ++at) begin_[at] = static_cast<int32_t>(at * entries);
        for (int64_t at = 0; at < positions_; ++at)
            for (int64_t u = 0; u < entries; ++u) {
                group_[u * positions_ + at] = static_cast<int32_t>(at * entries + u);
                feature_[at * entries + u] = feature(u, at);
            }
    }

    // h[entry] = ReLU(bias + f[entry] * weight), where weight has padded columns.
    void forward(const float* f, const float* weight, const float* bias, const int32_t* entry, int64_t count, float* h,
                 const int32_t* h_row) {
        for (int64_t at = 0; at < positions_; ++at)
            product<Store::kSet>(f, &feature_[begin_[at]], size(at), whole_row(channels_),
                                 weight + at * channels_ * width_, width_, width_ / kLanes, nullptr, sums_.data(),
                                 &row_[begin_[at]]);
        for_tiles<kSumBlocks>(width_ / kLanes, SumOfGroups{*this, entry, count, bias, h, h_row});
    }

    // From d_h, the gradients of the active units alone, compute the gradient of their weights and add each group's part
    // of d_f at the offset of its features.
    void backward(const float* f, HiddenUnits& units, const int32_t* entry, int64_t count, const float* d_h,
                  const int32_t* d_h_row, float* d_f) {
        const int64_t moving = units.moving_count();
        if (!moving) return;
        std::memset(sums_.data(), 0, static_cast<size_t>(begin_[positions_] * width_) * sizeof(float));
        for_tiles<kSumBlocks>(padded(moving) / kLanes, AddToGroups{*this, entry, count, d_h, d_h_row});
        const int32_t* unit = units.moving_rows();
        for (int64_t at = 0; at < positions_; ++at) {
            const int32_t *feature = &feature_[begin_[at]], *row = &row_[begin_[at]];
            for (int64_t n = at * channels_; n < (at + 1) * channels_; n += kLanes) {
                const int64_t in_group = n - at * channels_;
                for_tiles<kTileRows>(size(at), UnitsTimesWeights{sums_.data(), row, moving, units.weight() + n, unit,
                                                                 d_f + in_group, feature});
                for_tiles<kTileRows>(moving, UnitsGradient{sums_.data(), row, size(at), f + in_group, feature,
                                                           units.gradient() + n, unit});
            }
        }
    }

private:
    struct Met {
        uint32_t stamp;
        int32_t group;
    };

    struct SumOfGroups {
        const Groups& groups;
        const int32_t* entry;
        int64_t count;
        const float* bias;
        float* h;
        const int32_t* h_row;

        template <int kBlocks>
        void run(int64_t first) {
            for (int64_t i = 0; i < count; ++i) {
                const int32_t* group = &groups.group_[entry[i] * groups.positions_];
                Block sum[kBlocks];
                MULEX_UNROLL for (int n = 0; n < kBlocks; ++n) sum[n] = load(bias + (first + n) * kLanes);
                for (int64_t at = 0; at < groups.positions_; ++at) {
                    const float* row = &groups.sums_[group[at] * groups.width_ + first * kLanes];
                    MULEX_UNROLL for (int n = 0; n < kBlocks; ++n) sum[n] = sum[n] + load(row + n * kLanes);
                }
                float* to = h + h_row[i] + first * kLanes;
                MULEX_UNROLL for (int n = 0; n < kBlocks; ++n) finish<Store::kRelu>(to + n * kLanes, sum[n]);
            }
        }
    };

    struct AddToGroups {
        Groups& groups;
        const int32_t* entry;
        int64_t count;
        const float* d_h;
        const int32_t* d_h_row;

        template <int kBlocks>
        void run(int64_t first) {
            for (int64_t i = 0; i < count; ++i) {
                const int32_t* group = &groups.group_[entry[i] * groups.positions_];
                Block value[kBlocks];
                MULEX_UNROLL for (int n = 0; n < kBlocks; ++n) value[n] = load(d_h + d_h_row[i] + (first + n) * kLanes);
                for (int64_t at = 0; at < groups.positions_; ++at) {
                    float* row = &groups.sums_[group[at] * groups.width_ + first * kLanes];
                    MULEX_UNROLL for (int n = 0; n < kBlocks; ++n)
                        store(row + n * kLanes, load(row + n * kLanes) + value[n]);
                }
            }
        }
    };

    int32_t feature(int64_t u, int64_t at) const {
        return static_cast<int32_t>((u * positions_ + at) * channels_);
    }
    int64_t size(int64_t at) const { return begin_[at + 1] - begin_[at]; }

    int64_t positions_ = 0, channels_ = 0, hidden_ = 0, width_ = 0;
    uint32_t stamp_ = 0;
    Array<int32_t> group_;    // (entries, positions): groups are numbered position by position
    Array<int32_t> begin_;    // (positions + 1,): the first group of each
    Array<int32_t> feature_;  // by group: the offset of its features
    Array<int32_t> row_;      // by group: the offset of its sums
    Array<float> sums_;       // (groups, padded hidden units)
    Array<Met> met_;          // by patch id
};

}  // namespace
}  // namespace mulex
