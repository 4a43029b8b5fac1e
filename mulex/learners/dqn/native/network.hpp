// The Q-network: a body that all heads share or one for each, then two dense layers per head, with a hand-written
// backward pass. Bodies are computed one after another in the same buffers.
//
// Every picture of a batch is an entry u of the buffers; a head may be run on some of the entries only.
#pragma once

#include "body.hpp"
#include "engine.hpp"
#include "groups.hpp"
#include "patches.hpp"
#include "products.hpp"
#include "sparse_gradients.hpp"
#include "units.hpp"

namespace mulex {
namespace {

// A dense layer's weights with columns padded to whole blocks, rebuilt when the weights have changed.
class Dense {
public:
    void shape(int64_t inputs, int64_t outputs) {
        inputs_ = inputs;
        outputs_ = outputs;
        if (width() != outputs) weight_.resize(inputs * width());
        bias_.resize(width());
    }
    int64_t width() const { return padded(outputs_); }
    int64_t blocks() const { return width() / kLanes; }
    const float* weight() const { return now_; }
    const float* bias() const { return bias_.data(); }

    void take(const float* weight, const float* bias) {
        std::memcpy(bias_.data(), bias, static_cast<size_t>(outputs_) * sizeof(float));
        now_ = weight;
        if (width() == outputs_) return;
        for (int64_t k = 0; k < inputs_; ++k)
            std::memcpy(&weight_[k * width()], weight + k * outputs_, static_cast<size_t>(outputs_) * sizeof(float));
        now_ = weight_.data();
    }

private:
    int64_t inputs_ = 0, outputs_ = 0;
    const float* now_ = nullptr;
    Array<float> weight_, bias_;
};

struct Head {
    HeadShape shape;
    Dense hidden, out;
    Array<float> h, d_h, o, d_o;  // (entries, width)
    Array<float> out_turned;      // the output weights, transposed
    HiddenUnits units;
};

class Network {
public:
    Network(const Settings& settings, int64_t entries, bool equal_patches)
        : body(settings, entries), entries_(entries), hidden_(settings.hidden), features_(body.features()) {
        heads_count_ = settings.heads.count;
        heads_ = new Head[static_cast<size_t>(heads_count_)];
        for (int64_t h = 0; h < heads_count_; ++h) shape_head(heads_[h], settings.heads[h]);
        const bool nonzero_only = (settings.savings & kNonzeroOnly) != 0;
        rests_ = nonzero_only && !settings.adam;
        sparse_.shape(entries, hidden_, nonzero_only);
        by_position_ = equal_patches && body.positions() >= kManyPositions;
        if (by_position_) groups_.shape(entries, body.positions(), body.channels(), hidden_);
        rows_.resize(entries * 4);
        moving_.resize(hidden_);
        d_moving_.resize(entries * padded(hidden_));
        everyone_.resize(entries > hidden_ ? entries : hidden_);
        for (int64_t n = 0; n < everyone_.count(); ++n) everyone_[n] = static_cast<int32_t>(n);
        in_line_.resize(features_ / kLanes);
        for (int64_t n = 0; n < in_line_.count(); ++n) in_line_[n] = static_cast<int32_t>(n * kLanes);
    }
    ~Network() { delete[] heads_; }
    Network(const Network&) = delete;
    Network& operator=(const Network&) = delete;

    Body body;

    int64_t entries() const { return entries_; }
    const int32_t* everyone() const { return everyone_.data(); }
    const float* out(int64_t h, int64_t u) const { return heads_[h].o.data() + u * heads_[h].out.width(); }
    float* d_out(int64_t h, int64_t u) { return &heads_[h].d_o[u * heads_[h].out.width()]; }

    // Prepare a forward pass of the first entry alone, without a backward pass.
    void take_one() {
        body.take_all(1);
        grouped_ = false;
    }
    void take_all(int64_t entries) {
        body.take_all(entries);
        grouped_ = by_position_;
        if (grouped_) groups_.all_differ(entries);
    }
    void take_distinct(const int32_t* const* ids, const Patches& patches, int64_t entries) {
        body.take_distinct(ids, patches, entries);
        grouped_ = by_position_;
        if (grouped_) groups_.find(ids, patches.last(), entries, body.without_copies());
    }

    void forward_head(const float* p, int64_t h, const int32_t* entry, int64_t count) {
        Head& head = heads_[h];
        head.hidden.take(p + head.shape.hidden_weight, p + head.shape.hidden_bias);
        head.out.take(p + head.shape.out_weight, p + head.shape.out_bias);
        const Rows rows = rows_of(head, entry, count);
        if (grouped_)
            groups_.forward(body.f(), head.hidden.weight(), head.hidden.bias(), entry, count, head.h.data(),
                            rows.hidden);
        else
            product<Store::kRelu>(body.f(), rows.feature, count, whole_row(features_), head.hidden.weight(),
                                  head.hidden.width(), head.hidden.blocks(), head.hidden.bias(), head.h.data(),
                                  rows.hidden);
        product<Store::kSet>(head.h.data(), rows.hidden, count, whole_row(hidden_), head.out.weight(),
                             head.out.width(), head.out.blocks(), head.out.bias(), head.o.data(), rows.out);
    }

    void clear_d_out(int64_t h, int64_t entries) {
        std::memset(heads_[h].d_o.data(), 0, static_cast<size_t>(entries * heads_[h].out.width()) * sizeof(float));
    }

    // Compute the gradients of a head's weights, and add its part of the features' gradient.
    void backward_head(const float* p, int64_t h, const int32_t* entry, int64_t count, float* gradient) {
        Head& head = heads_[h];
        const Rows rows = rows_of(head, entry, count);
        const int64_t outputs = head.shape.outputs;
        outer(head.h.data(), rows.hidden, count, whole_row(hidden_), head.d_o.data(), rows.out, outputs,
              gradient + head.shape.out_weight);
        row_sums(head.d_o.data(), rows.out, count, outputs, gradient + head.shape.out_bias);
        transpose(p + head.shape.out_weight, hidden_, outputs, head.out_turned.data(), head.hidden.width(), outputs);
        product<Store::kSet>(head.d_o.data(), rows.out, count, whole_row(outputs), head.out_turned.data(),
                             head.hidden.width(), head.hidden.blocks(), nullptr, head.d_h.data(), rows.hidden);
        for (int64_t i = 0; i < count; ++i)
            through_relu(&head.d_h[rows.hidden[i]], &head.h[rows.hidden[i]], head.hidden.width());
        row_sums(head.d_h.data(), rows.hidden, count, hidden_, gradient + head.shape.hidden_bias);
        const bool few = sparse_.few(head.d_h.data(), rows.hidden, count, hidden_) && !grouped_;
        if (rests_)
            head.units.moving(moving_.data(), sparse_.columns_met(count, moving_.data()));
        else
            head.units.moving(everyone_.data(), hidden_);
        if (few)
            backward_hidden(head, rows, count);
        else
            backward_moving_units(head, rows, entry, count);
        sparse_.count(count * hidden_, few ? sparse_.found() : count * head.units.moving_count());
    }

    // Call before the first head's backward pass.
    void clear_d_features() { body.clear_d_features(!grouped_); }

    // Copy the hidden weights by unit when a member's training begins, and back when it ends.
    void take_units(const Member& m) {
        for (int64_t h = 0; h < heads_count_; ++h) heads_[h].units.take(m);
    }
    void give_units(const Means& means, Member& m) {
        for (int64_t h = 0; h < heads_count_; ++h) heads_[h].units.give(means, m);
    }

    // Update all weights of a member by a rule.
    template <class Rule>
    void step(const Rule& rule, Member& m) {
        const auto move_some = [&](int64_t begin, int64_t end) {
            move(rule, m.parameters.data + begin, m.gradient.data + begin, m.moment_1.data + begin,
                 m.moment_2.data + begin, end - begin);
        };
        int64_t done = 0;
        for (int64_t h = 0; h < heads_count_; ++h) {
            HiddenUnits& units = heads_[h].units;
            move_some(done, units.begin());
            units.step(rule, m.parameters.data);
            done = units.end();
        }
        move_some(done, m.parameters.count);
    }

    // The gradients met in the backward passes, and those among them that were computed with.
    int64_t gradients_met() const { return sparse_.met() + body.sparse().met(); }
    int64_t gradients_used() const { return sparse_.used() + body.sparse().used(); }

private:
    struct Rows {
        const int32_t *feature, *hidden, *out;
    };

    Rows rows_of(const Head& head, const int32_t* entry, int64_t count) {
        int32_t *feature = rows_.data(), *hidden = feature + entries_, *out = hidden + entries_;
        for (int64_t i = 0; i < count; ++i) {
            feature[i] = static_cast<int32_t>(entry[i] * features_);
            hidden[i] = static_cast<int32_t>(entry[i] * head.hidden.width());
            out[i] = static_cast<int32_t>(entry[i] * head.out.width());
        }
        return Rows{feature, hidden, out};
    }

    void backward_hidden(Head& head, const Rows& rows, int64_t count) {
        const int64_t blocks = features_ / kLanes;
        HiddenUnits& units = head.units;
        for_tiles<kSumBlocks>(blocks, SparseTimesRows{sparse_, count, units.weight(), units.row(), body.d_f(),
                                                      rows.feature, in_line_.data()});
        for (int64_t m = 0; m < count; m += kMarks) {
            sparse_.find_by_columns(m, count - m < kMarks ? count - m : kMarks);
            for_tiles<kSumBlocks>(blocks, ColumnsTimesRows{sparse_, units.moving_units(), units.moving_count(), body.f(),
                                                           rows.feature, in_line_.data(), units.gradient(), units.row(),
                                                           m > 0});
        }
    }

    // The same with all gradients of the units that have one anywhere; they are copied side by side first.
    void backward_moving_units(Head& head, const Rows& rows, const int32_t* entry, int64_t count) {
        HiddenUnits& units = head.units;
        const int64_t moving = units.moving_count(), width = padded(moving);
        int32_t* side_by_side = rows_.data() + 3 * entries_;
        for (int64_t i = 0; i < count; ++i) {
            side_by_side[i] = static_cast<int32_t>(i * width);
            const float* from = &head.d_h[rows.hidden[i]];
            float* to = &d_moving_[i * width];
            for (int64_t j = 0; j < moving; ++j) to[j] = from[units.moving_units()[j]];
            for (int64_t j = moving; j < width; ++j) to[j] = 0;
        }
        if (grouped_) {
            groups_.backward(body.f(), units, entry, count, d_moving_.data(), side_by_side, body.d_f());
            return;
        }
        for (int64_t n = 0; n < features_; n += kLanes) {
            for_tiles<kTileRows>(count, UnitsTimesWeights{d_moving_.data(), side_by_side, moving, units.weight() + n,
                                                          units.moving_rows(), body.d_f() + n, rows.feature});
            for_tiles<kTileRows>(moving, UnitsGradient{d_moving_.data(), side_by_side, count, body.f() + n, rows.feature,
                                                       units.gradient() + n, units.moving_rows()});
        }
    }

    void shape_head(Head& head, const HeadShape& shape) {
        head.shape = shape;
        head.hidden.shape(features_, hidden_);
        head.out.shape(hidden_, shape.outputs);
        head.h.resize(entries_ * head.hidden.width());
        head.d_h.resize(entries_ * head.hidden.width());
        head.o.resize(entries_ * head.out.width());
        head.d_o.resize(entries_ * head.out.width());
        head.out_turned.resize(shape.outputs * head.hidden.width());
        head.units.shape(shape.hidden_weight, features_, hidden_);
    }

    int64_t entries_, hidden_, features_, heads_count_ = 0;
    Head* heads_ = nullptr;
    bool rests_ = false, by_position_ = false, grouped_ = false;
    SparseGradients sparse_;
    Groups groups_;
    Array<float> d_moving_;  // (entries, active units): gradients
    Array<int32_t> rows_, everyone_, in_line_, moving_;
};

}  // namespace
}  // namespace mulex
