// The hidden layer on large pictures, position by position: what equal patches at one position give is computed once.
//
// The places of a batch whose patches at a position are equal form a group. Forward, each group's features are multiplied
// by the weights of its position, and a place's sums are those of its groups; backward, the slopes of a group's places
// are added first. In rooms of size 10 there is about one group for every three places, in rooms of 15 for every six.
#pragma once

#include "block.hpp"
#include "patches.hpp"
#include "products.hpp"
#include "slopes.hpp"
#include "units.hpp"

namespace mulex {
namespace {

constexpr int64_t kManyPositions = 32;  // with fewer, most patches of a position differ

class Groups {
public:
    void shape(int64_t places, int64_t positions, int64_t channels, int64_t hidden) {
        positions_ = positions;
        channels_ = channels;
        hidden_ = hidden;
        width_ = padded(hidden);
        const int64_t most = places * positions;
        group_.resize(most);
        begin_.resize(positions + 1);
        feature_.resize(most);
        row_.resize(most);
        for (int64_t g = 0; g < most; ++g) row_[g] = static_cast<int32_t>(g * width_);
        sums_.resize(most * width_);
        met_.resize(Patches::kMostNodes);
    }

    // Places are in a group where their numbers are equal: those of the last layer begin at `begin`. `computed` says by
    // number where the features stand.
    template <class Computed>
    void find(const int32_t* const* ids, int64_t begin, int64_t places, const Computed* computed) {
        int32_t groups = 0;
        for (int64_t at = 0; at < positions_; ++at) {
            begin_[at] = groups;
            if (++stamp_ == 0) {  // once in four thousand million times
                met_.clear();
                stamp_ = 1;
            }
            for (int64_t u = 0; u < places; ++u) {
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

    // Every place is a group of its own.
    void all_differ(int64_t places) {
        for (int64_t at = 0; at <= positions_; ++at) begin_[at] = static_cast<int32_t>(at * places);
        for (int64_t at = 0; at < positions_; ++at)
            for (int64_t u = 0; u < places; ++u) {
                group_[u * positions_ + at] = static_cast<int32_t>(at * places + u);
                feature_[at * places + u] = feature(u, at);
            }
    }

    // h[place] = ReLU(bias + f[place] * weight), where weight has padded columns.
    void forward(const float* f, const float* weight, const float* bias, const int32_t* place, int64_t count, float* h,
                 const int32_t* h_row) {
        for (int64_t at = 0; at < positions_; ++at)
            product<Store::kSet>(f, &feature_[begin_[at]], size(at), whole_row(channels_),
                                 weight + at * channels_ * width_, width_, width_ / kLanes, nullptr, sums_.data(),
                                 &row_[begin_[at]]);
        for_tiles<kSumBlocks>(width_ / kLanes, SumOfGroups{*this, place, count, bias, h, h_row});
    }

    // From d_h, which has the slopes of the moving units alone: the gradient of their weights, and each group's share of
    // d_f, added where its features stand.
    void backward(const float* f, HiddenUnits& units, const int32_t* place, int64_t count, const float* d_h,
                  const int32_t* d_h_row, float* d_f) {
        const int64_t moving = units.moving_count();
        if (!moving) return;
        std::memset(sums_.data(), 0, static_cast<size_t>(begin_[positions_] * width_) * sizeof(float));
        for_tiles<kSumBlocks>(padded(moving) / kLanes, AddToGroups{*this, place, count, d_h, d_h_row});
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
        const int32_t* place;
        int64_t count;
        const float* bias;
        float* h;
        const int32_t* h_row;

        template <int kBlocks>
        void run(int64_t first) {
            for (int64_t i = 0; i < count; ++i) {
                const int32_t* group = &groups.group_[place[i] * groups.positions_];
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
        const int32_t* place;
        int64_t count;
        const float* d_h;
        const int32_t* d_h_row;

        template <int kBlocks>
        void run(int64_t first) {
            for (int64_t i = 0; i < count; ++i) {
                const int32_t* group = &groups.group_[place[i] * groups.positions_];
                Block slope[kBlocks];
                MULEX_UNROLL for (int n = 0; n < kBlocks; ++n) slope[n] = load(d_h + d_h_row[i] + (first + n) * kLanes);
                for (int64_t at = 0; at < groups.positions_; ++at) {
                    float* row = &groups.sums_[group[at] * groups.width_ + first * kLanes];
                    MULEX_UNROLL for (int n = 0; n < kBlocks; ++n)
                        store(row + n * kLanes, load(row + n * kLanes) + slope[n]);
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
    Array<int32_t> group_;    // (places, positions): groups are counted position by position
    Array<int32_t> begin_;    // (positions + 1,): the first group of each
    Array<int32_t> feature_;  // by group: where its features stand
    Array<int32_t> row_;      // by group: where its sums stand
    Array<float> sums_;       // (groups, padded hidden units)
    Array<Met> met_;          // by the number of a patch
};

}  // namespace
}  // namespace mulex
