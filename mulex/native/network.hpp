// The Q-network: convolutions that all heads share, then two dense layers a head; forward, and backward by hand.
//
// Every picture of a batch has a place u in the buffers; heads may be run on some of the places only.
#pragma once

#include "engine.hpp"
#include "groups.hpp"
#include "patches.hpp"
#include "products.hpp"
#include "slopes.hpp"
#include "units.hpp"

namespace mulex {
namespace {

// A dense layer's weights with columns in whole blocks, made anew when weights have changed.
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

struct Layer {
    LayerShape shape;
    Window window;
    int64_t positions, picture;     // output positions, and floats of a padded input picture
    Array<int32_t> in_row, out_row;  // (places * positions,): where windows begin, and where results go
    Array<float> in, d_in;          // (places, picture)
    Array<float> turned, turned_gradient;  // the weights and their gradient, transposed
    Array<int32_t> block_offset;    // where in a window each 16 channels stand

    // The rows that are computed: all, or one for each distinct patch; then the others are copies of one of them.
    const int32_t *rows_in, *rows_out;
    int64_t rows, copies;
    Array<int32_t> some_in, some_out, copy_to, copy_from;
    struct Met {
        uint32_t batch;
        int32_t first;
    };
    Array<Met> met;                 // by the number of a patch: the batch it was last met in, and where its result stands
};

struct Head {
    HeadShape shape;
    Dense hidden, out;
    Array<float> h, d_h, o, d_o;  // (places, width)
    Array<float> out_turned;      // the output weights, transposed
    HiddenUnits units;
};

class Network {
public:
    Network(const Settings& settings, int64_t places, bool equal_patches) : places_(places), hidden_(settings.hidden) {
        count_ = settings.layers.count;
        layers_ = new Layer[static_cast<size_t>(count_)];
        heads_count_ = settings.heads.count;
        heads_ = new Head[static_cast<size_t>(heads_count_)];
        for (int64_t i = 0; i < count_; ++i) shape_layer(layers_[i], settings.layers[i]);
        const Layer& last = layers_[count_ - 1];
        features_ = last.positions * last.shape.out_channels;
        f_.resize(padded(places) * features_);
        d_f_.resize(padded(places) * features_);
        slopes_only_ = settings.savings & kSlopesOnly;
        rests_ = slopes_only_ && !settings.adam;
        by_position_ = equal_patches && last.positions >= kManyPositions;
        if (by_position_) groups_.shape(places, last.positions, last.shape.out_channels, hidden_);
        shape_slopes();
        for (int64_t i = 0; i < count_; ++i) place_outputs(i);
        for (int64_t h = 0; h < heads_count_; ++h) shape_head(heads_[h], settings.heads[h]);
        const int64_t tables = places * 4;
        rows_.resize(tables);
    }
    ~Network() {
        delete[] layers_;
        delete[] heads_;
    }
    Network(const Network&) = delete;
    Network& operator=(const Network&) = delete;

    int64_t places() const { return places_; }
    const int32_t* everyone() const { return everyone_.data(); }
    // Where the picture of a place begins, with its padding and without.
    float* padded_picture(int64_t u) { return layers_[0].in.data() + u * layers_[0].picture; }
    float* picture(int64_t u) {
        const LayerShape& first = layers_[0].shape;
        return padded_picture(u) + (first.top * first.padded_cols + first.left) * first.channels;
    }
    int64_t picture_row() const { return static_cast<int64_t>(layers_[0].shape.padded_cols) * layers_[0].shape.channels; }
    const float* out(int64_t h, int64_t u) const { return heads_[h].o.data() + u * heads_[h].out.width(); }
    float* d_out(int64_t h, int64_t u) { return &heads_[h].d_o[u * heads_[h].out.width()]; }

    // Before a forward pass of the first place alone, and nothing back.
    void take_one() {
        take_rows(1);
        grouped_ = false;
    }

    // Before a forward pass: every position of the first places is computed.
    void take_all(int64_t places) {
        take_rows(places);
        grouped_ = by_position_;
        if (grouped_) groups_.all_differ(places);
    }

    void take_rows(int64_t places) {
        taken_ = places;
        for (int64_t i = 0; i < count_; ++i) {
            Layer& layer = layers_[i];
            layer.rows_in = layer.in_row.data();
            layer.rows_out = layer.out_row.data();
            layer.rows = places * layer.positions;
            layer.copies = 0;
        }
    }

    // Before a forward pass: of positions with equal numbers only one is computed. `ids` has those of each place.
    void take_distinct(const int32_t* const* ids, const Patches& patches, int64_t places) {
        taken_ = places;
        if (++batch_ == 0) {  // once in four thousand million times
            for (int64_t i = 0; i < count_; ++i) layers_[i].met.clear();
            batch_ = 1;
        }
        for (int64_t i = 0; i < count_; ++i) take_distinct_rows(layers_[i], ids, patches.begin(i), places);
        grouped_ = by_position_;
        if (!grouped_) return;
        Layer& last = layers_[count_ - 1];
        last.copies = 0;  // groups read a patch's features where they were computed
        groups_.find(ids, patches.begin(count_ - 1), places, last.met.data());
    }

    // Rows of all layers that the next forward pass gives, and how many of them it computes.
    void count_rows(int64_t* all, int64_t* computed) const {
        for (int64_t i = 0; i < count_; ++i) {
            *all += taken_ * layers_[i].positions;
            *computed += layers_[i].rows;
        }
    }

    void forward_body(const float* p) {
        for (int64_t i = 0; i < count_; ++i) {
            Layer& layer = layers_[i];
            float* to = i + 1 < count_ ? layers_[i + 1].in.data() : f_.data();
            const int64_t columns = layer.shape.out_channels;
            product<Store::kRelu>(layer.in.data(), layer.rows_in, layer.rows, layer.window, p + layer.shape.weight,
                                  columns, columns / kLanes, p + layer.shape.bias, to, layer.rows_out);
            for (int64_t k = 0; k < layer.copies; ++k)
                for (int64_t c = 0; c < columns; c += kLanes)
                    store(to + layer.copy_to[k] + c, load(to + layer.copy_from[k] + c));
        }
    }

    void forward_head(const float* p, int64_t h, const int32_t* place, int64_t count) {
        Head& head = heads_[h];
        head.hidden.take(p + head.shape.hidden_weight, p + head.shape.hidden_bias);
        head.out.take(p + head.shape.out_weight, p + head.shape.out_bias);
        const Rows rows = rows_of(head, place, count);
        if (grouped_)
            groups_.forward(f_.data(), head.hidden.weight(), head.hidden.bias(), place, count, head.h.data(), rows.hidden);
        else
            product<Store::kRelu>(f_.data(), rows.feature, count, dense_window(features_), head.hidden.weight(),
                                  head.hidden.width(), head.hidden.blocks(), head.hidden.bias(), head.h.data(),
                                  rows.hidden);
        product<Store::kSet>(head.h.data(), rows.hidden, count, dense_window(hidden_), head.out.weight(),
                             head.out.width(), head.out.blocks(), head.out.bias(), head.o.data(), rows.out);
    }

    void clear_d_out(int64_t h, int64_t places) {
        std::memset(heads_[h].d_o.data(), 0, static_cast<size_t>(places * heads_[h].out.width()) * sizeof(float));
    }

    // Where the slopes of features will be added.
    void clear_d_features() {
        if (!grouped_) {
            std::memset(d_f_.data(), 0, static_cast<size_t>(taken_ * features_) * sizeof(float));
            return;
        }
        const Layer& last = layers_[count_ - 1];
        for (int64_t k = 0; k < last.rows; ++k)
            std::memset(&d_f_[last.rows_out[k]], 0, static_cast<size_t>(last.shape.out_channels) * sizeof(float));
    }

    // The gradients of a head's weights, and its share in the features' gradient, added to those of the other heads.
    void backward_head(const float* p, int64_t h, const int32_t* place, int64_t count, float* gradient) {
        Head& head = heads_[h];
        const Rows rows = rows_of(head, place, count);
        const int64_t outputs = head.shape.outputs;
        outer(head.h.data(), rows.hidden, count, dense_window(hidden_), head.d_o.data(), rows.out, outputs,
              gradient + head.shape.out_weight);
        row_sums(head.d_o.data(), rows.out, count, outputs, gradient + head.shape.out_bias);
        transpose(p + head.shape.out_weight, hidden_, outputs, head.out_turned.data(), head.hidden.width(), outputs);
        product<Store::kSet>(head.d_o.data(), rows.out, count, dense_window(outputs), head.out_turned.data(),
                             head.hidden.width(), head.hidden.blocks(), nullptr, head.d_h.data(), rows.hidden);
        for (int64_t i = 0; i < count; ++i)
            through_relu(&head.d_h[rows.hidden[i]], &head.h[rows.hidden[i]], head.hidden.width());
        row_sums(head.d_h.data(), rows.hidden, count, hidden_, gradient + head.shape.hidden_bias);
        const bool few = few_slopes(head.d_h.data(), rows.hidden, count, hidden_) && !grouped_;
        if (rests_)
            head.units.moving(moving_.data(), slopes_.columns_met(count, moving_.data()));
        else
            head.units.moving(everyone_.data(), hidden_);
        if (few)
            backward_hidden(head, rows, count);
        else
            backward_moving_units(head, rows, place, count);
        count_slopes(count * hidden_, few ? slopes_found_ : count * head.units.moving_count());
    }

    // The hidden weights by unit, when a member's training begins and ends.
    void take_units(const Member& m) {
        for (int64_t h = 0; h < heads_count_; ++h) heads_[h].units.take(m);
    }
    void give_units(const Means& means, Member& m) {
        for (int64_t h = 0; h < heads_count_; ++h) heads_[h].units.give(means, m);
    }

    // Move all weights of a member by a rule.
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

    void backward_body(const float* p, float* gradient) {
        for (int64_t i = count_ - 1; i >= 0; --i) {
            Layer& layer = layers_[i];
            float* d = i + 1 < count_ ? layers_[i + 1].d_in.data() : d_f_.data();
            const float* out = i + 1 < count_ ? layers_[i + 1].in.data() : f_.data();
            const int64_t columns = layer.shape.out_channels;
            for (int64_t k = 0; k < layer.copies; ++k) add_rows(d + layer.copy_from[k], d + layer.copy_to[k], columns);
            for (int64_t k = 0; k < layer.rows; ++k)
                through_relu(d + layer.rows_out[k], out + layer.rows_out[k], columns);
            row_sums(d, layer.rows_out, layer.rows, columns, gradient + layer.shape.bias);
            const bool some = layer.window.run % kLanes == 0 && few_slopes(d, layer.rows_out, layer.rows, columns);
            count_slopes(layer.rows * columns, some ? slopes_found_ : layer.rows * columns);
            if (some)
                backward_weights(layer, gradient + layer.shape.weight);
            else
                backward_weights_dense(layer, d, gradient + layer.shape.weight);
            if (i == 0) break;
            const int64_t inputs = layer.window.size();
            transpose(p + layer.shape.weight, inputs, columns, layer.turned.data(), inputs, columns);
            std::memset(layer.d_in.data(), 0, static_cast<size_t>(taken_ * layer.picture) * sizeof(float));
            if (some)
                backward_input(layer);
            else
                backward_input_dense(layer, d);
        }
    }

    // Slopes that the gradients of weights were made of, and how many of them were computed with.
    int64_t slopes_met() const { return slopes_met_; }
    int64_t slopes_used() const { return slopes_used_; }

private:
    struct Rows {
        const int32_t *feature, *hidden, *out;
    };

    static Window dense_window(int64_t inputs) { return Window{1, static_cast<int32_t>(inputs), 0}; }

    Rows rows_of(const Head& head, const int32_t* place, int64_t count) {
        int32_t *feature = rows_.data(), *hidden = feature + places_, *out = hidden + places_;
        for (int64_t i = 0; i < count; ++i) {
            feature[i] = static_cast<int32_t>(place[i] * features_);
            hidden[i] = static_cast<int32_t>(place[i] * head.hidden.width());
            out[i] = static_cast<int32_t>(place[i] * head.out.width());
        }
        return Rows{feature, hidden, out};
    }

    // Whether enough slopes of a layer are zero that it pays to leave each of them out; slopes_ has the others.
    bool few_slopes(const float* d, const int32_t* d_row, int64_t rows, int64_t columns) {
        const int64_t all = rows * columns;
        slopes_found_ = slopes_only_ ? slopes_.find(d, d_row, rows, columns) : all;
        return 2 * slopes_found_ < all;
    }
    void count_slopes(int64_t met, int64_t used) {
        slopes_met_ += met;
        slopes_used_ += used;
    }

    void backward_hidden(Head& head, const Rows& rows, int64_t count) {
        const int64_t blocks = features_ / kLanes;
        HiddenUnits& units = head.units;
        for_tiles<kSumBlocks>(blocks, SlopesTimesRows{slopes_, count, units.weight(), units.row(), d_f_.data(),
                                                      rows.feature, in_line_.data()});
        for (int64_t m = 0; m < count; m += kMarks) {
            slopes_.find_by_columns(m, count - m < kMarks ? count - m : kMarks);
            for_tiles<kSumBlocks>(blocks, ColumnsTimesRows{slopes_, units.moving_units(), units.moving_count(), f_.data(),
                                                           rows.feature, in_line_.data(), units.gradient(), units.row(),
                                                           m > 0});
        }
    }

    // The same with all slopes of the units that have one anywhere; they are put side by side first.
    void backward_moving_units(Head& head, const Rows& rows, const int32_t* place, int64_t count) {
        HiddenUnits& units = head.units;
        const int64_t moving = units.moving_count(), width = padded(moving);
        int32_t* side_by_side = rows_.data() + 3 * places_;
        for (int64_t i = 0; i < count; ++i) {
            side_by_side[i] = static_cast<int32_t>(i * width);
            const float* from = &head.d_h[rows.hidden[i]];
            float* to = &d_moving_[i * width];
            for (int64_t j = 0; j < moving; ++j) to[j] = from[units.moving_units()[j]];
            for (int64_t j = moving; j < width; ++j) to[j] = 0;
        }
        if (grouped_) {
            groups_.backward(f_.data(), units, place, count, d_moving_.data(), side_by_side, d_f_.data());
            return;
        }
        for (int64_t n = 0; n < features_; n += kLanes) {
            for_tiles<kTileRows>(count, UnitsTimesWeights{d_moving_.data(), side_by_side, moving, units.weight() + n,
                                                          units.moving_rows(), d_f_.data() + n, rows.feature});
            for_tiles<kTileRows>(moving, UnitsGradient{d_moving_.data(), side_by_side, count, f_.data() + n, rows.feature,
                                                       units.gradient() + n, units.moving_rows()});
        }
    }

    // The gradient of a convolution's weights, some rows at a time, so few that their windows stay in the fastest cache.
    void backward_weights(Layer& layer, float* gradient) {
        const int64_t columns = layer.shape.out_channels, inputs = layer.window.size();
        for (int64_t m = 0; m < layer.rows; m += kMarks) {
            slopes_.find_by_columns(m, layer.rows - m < kMarks ? layer.rows - m : kMarks);
            for_tiles<kSumBlocks>(inputs / kLanes, ColumnsTimesRows{slopes_, everyone_.data(), columns, layer.in.data(), layer.rows_in,
                                                                    layer.block_offset.data(),
                                                                    layer.turned_gradient.data(), inputs, m > 0});
        }
        transpose(layer.turned_gradient.data(), columns, inputs, gradient, columns, inputs);
    }

    // Each window's share of what its input should have been, added where the window lay.
    void backward_input(Layer& layer) {
        const int64_t inputs = layer.window.size();
        for_tiles<kSumBlocks>(inputs / kLanes,
                              SlopesTimesRows{slopes_, layer.rows, layer.turned.data(), inputs, layer.d_in.data(),
                                              layer.rows_in, layer.block_offset.data()});
    }

    void backward_weights_dense(Layer& layer, const float* d, float* gradient) {
        const int64_t columns = layer.shape.out_channels;
        outer(layer.in.data(), layer.rows_in, layer.rows, layer.window, d, layer.rows_out, columns, gradient);
    }

    void backward_input_dense(Layer& layer, const float* d) {
        const int64_t columns = layer.shape.out_channels, inputs = layer.window.size();
        product<Store::kAdd>(d, layer.rows_out, layer.rows, dense_window(columns), layer.turned.data(), inputs,
                             inputs / kLanes, nullptr, layer.d_in.data(), layer.rows_in, layer.block_offset.data());
    }

    static void through_relu(float* d, const float* activation, int64_t count) {
        for (int64_t i = 0; i < count; i += kLanes)
            store(d + i, map(load(activation + i), load(d + i), where_positive));
    }

    static void add_rows(float* to, const float* from, int64_t columns) {
        for (int64_t c = 0; c < columns; c += kLanes)
            store(to + c, load(to + c) + load(from + c));
    }

    void take_distinct_rows(Layer& layer, const int32_t* const* ids, int64_t begin, int64_t places) {
        int64_t rows = 0, copies = 0;
        for (int64_t u = 0; u < places; ++u) {
            const int32_t* id = ids[u] + begin;
            for (int64_t at = 0; u + 1 < places && at < layer.positions; ++at)
                fetch(&layer.met[ids[u + 1][begin + at]]);
            const int32_t *in = &layer.in_row[u * layer.positions], *out = &layer.out_row[u * layer.positions];
            for (int64_t at = 0; at < layer.positions; ++at) {
                Layer::Met& met = layer.met[id[at]];
                if (met.batch == batch_) {
                    layer.copy_to[copies] = out[at];
                    layer.copy_from[copies++] = met.first;
                } else {
                    met = Layer::Met{batch_, out[at]};
                    layer.some_in[rows] = in[at];
                    layer.some_out[rows++] = out[at];
                }
            }
        }
        layer.rows_in = layer.some_in.data();
        layer.rows_out = layer.some_out.data();
        layer.rows = rows;
        layer.copies = copies;
    }

    void shape_layer(Layer& layer, const LayerShape& s) {
        layer.shape = s;
        layer.window = Window{s.kernel, s.kernel * s.channels, static_cast<int64_t>(s.padded_cols) * s.channels};
        layer.positions = static_cast<int64_t>(s.out_rows) * s.out_cols;
        layer.picture = static_cast<int64_t>(s.padded_rows) * s.padded_cols * s.channels;
        layer.in.resize(padded(places_ * layer.picture));
        layer.d_in.resize(padded(places_ * layer.picture));
        layer.in_row.resize(places_ * layer.positions);
        layer.out_row.resize(places_ * layer.positions);
        layer.turned.resize(layer.window.size() * s.out_channels);
        layer.turned_gradient.resize(layer.window.size() * s.out_channels);
        layer.some_in.resize(places_ * layer.positions);
        layer.some_out.resize(places_ * layer.positions);
        layer.copy_to.resize(places_ * layer.positions);
        layer.copy_from.resize(places_ * layer.positions);
        layer.met.resize(Patches::kMostNodes);
        for (int64_t u = 0; u < places_; ++u)
            for (int64_t at = 0; at < layer.positions; ++at) {
                const int64_t row = at / s.out_cols * s.stride, col = at % s.out_cols * s.stride;
                layer.in_row[u * layer.positions + at] =
                    static_cast<int32_t>(u * layer.picture + (row * s.padded_cols + col) * s.channels);
            }
        const int64_t blocks = layer.window.size() / kLanes;
        layer.block_offset.resize(blocks + 1);
        for (int64_t n = 0; n < blocks; ++n) {
            const int64_t k = n * kLanes;
            layer.block_offset[n] = static_cast<int32_t>(k / layer.window.run * layer.window.stride + k % layer.window.run);
        }
    }

    void place_outputs(int64_t i) {
        Layer& layer = layers_[i];
        const LayerShape& s = layer.shape;
        for (int64_t u = 0; u < places_; ++u)
            for (int64_t at = 0; at < layer.positions; ++at) {
                int64_t offset = u * features_ + at * s.out_channels;
                if (i + 1 < count_) {
                    const Layer& next = layers_[i + 1];
                    const int64_t row = at / s.out_cols + next.shape.top, col = at % s.out_cols + next.shape.left;
                    offset = u * next.picture + (row * next.shape.padded_cols + col) * next.shape.channels;
                }
                layer.out_row[u * layer.positions + at] = static_cast<int32_t>(offset);
            }
    }

    void shape_slopes() {
        int64_t rows = places_, columns = hidden_;
        for (int64_t i = 0; i < count_; ++i) {
            const Layer& layer = layers_[i];
            if (places_ * layer.positions > rows) rows = places_ * layer.positions;
            if (layer.shape.out_channels > columns) columns = layer.shape.out_channels;
        }
        slopes_.shape(rows, columns);
        everyone_.resize(places_ > columns ? places_ : columns);
        for (int64_t n = 0; n < everyone_.count(); ++n) everyone_[n] = static_cast<int32_t>(n);
        moving_.resize(hidden_);
        d_moving_.resize(places_ * padded(hidden_));
        in_line_.resize(features_ / kLanes);
        for (int64_t n = 0; n < in_line_.count(); ++n) in_line_[n] = static_cast<int32_t>(n * kLanes);
    }

    void shape_head(Head& head, const HeadShape& shape) {
        head.shape = shape;
        head.hidden.shape(features_, hidden_);
        head.out.shape(hidden_, shape.outputs);
        head.h.resize(places_ * head.hidden.width());
        head.d_h.resize(places_ * head.hidden.width());
        head.o.resize(places_ * head.out.width());
        head.d_o.resize(places_ * head.out.width());
        head.out_turned.resize(shape.outputs * head.hidden.width());
        head.units.shape(shape.hidden_weight, features_, hidden_);
    }

    int64_t places_, hidden_, count_ = 0, heads_count_ = 0, features_ = 0;
    Layer* layers_ = nullptr;
    Head* heads_ = nullptr;
    uint32_t batch_ = 0;
    bool slopes_only_ = false, rests_ = false, by_position_ = false, grouped_ = false;
    int64_t taken_ = 0;  // places of the pass that was last prepared
    int64_t slopes_found_ = 0, slopes_met_ = 0, slopes_used_ = 0;
    Slopes slopes_;
    Groups groups_;
    Array<float> f_, d_f_;                         // (places, features)
    Array<float> d_moving_;  // (places, moving units): slopes
    Array<int32_t> rows_, everyone_, in_line_, moving_;
};

}  // namespace
}  // namespace mulex
