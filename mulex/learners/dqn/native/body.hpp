// The convolutions below the heads, forward and backward, on the entries of a batch.
#pragma once

#include "engine.hpp"
#include "patches.hpp"
#include "products.hpp"
#include "sparse_gradients.hpp"

namespace mulex {
namespace {

struct Layer {
    LayerShape shape;
    Window window;
    int64_t positions, picture;     // output positions; floats of a padded input picture
    Array<int32_t> in_row, out_row;  // (entries * positions,): offsets of windows and of results
    Array<float> in, d_in;          // (entries, picture)
    Array<float> turned, turned_gradient;  // the weights and their gradient, transposed
    Array<int32_t> block_offset;    // the offset of each 16 channels in a window

    // The rows to compute: all, or one for each distinct patch; the other rows are then copied from them.
    const int32_t *rows_in, *rows_out;
    int64_t rows, copies;
    Array<int32_t> some_in, some_out, copy_to, copy_from;
    struct Met {
        uint32_t batch;
        int32_t first;
    };
    Array<Met> met;  // by patch id: the batch it was last met in, and the offset of its result
};

class Body {
public:
    Body(const Settings& settings, int64_t entries) : entries_(entries) {
        count_ = settings.layers.count;
        layers_ = new Layer[static_cast<size_t>(count_)];
        for (int64_t i = 0; i < count_; ++i) shape_layer(layers_[i], settings.layers[i]);
        features_ = last().positions * last().shape.out_channels;
        for (int64_t i = 0; i < count_; ++i) place_outputs(i);
        f_.resize(padded(entries) * features_);
        d_f_.resize(padded(entries) * features_);
        int64_t rows = 0, columns = 0;
        for (int64_t i = 0; i < count_; ++i) {
            if (entries * layers_[i].positions > rows) rows = entries * layers_[i].positions;
            if (layers_[i].shape.out_channels > columns) columns = layers_[i].shape.out_channels;
        }
        sparse_.shape(rows, columns, (settings.savings & kNonzeroOnly) != 0);
        all_columns_.resize(columns);
        for (int64_t n = 0; n < columns; ++n) all_columns_[n] = static_cast<int32_t>(n);
    }
    ~Body() { delete[] layers_; }
    Body(const Body&) = delete;
    Body& operator=(const Body&) = delete;

    // The first pixel of an entry's picture, and the distance between its rows.
    float* picture(int64_t u) {
        const LayerShape& first = layers_[0].shape;
        const int64_t inside = (first.top * first.padded_cols + first.left) * first.channels;
        return layers_[0].in.data() + u * layers_[0].picture + inside;
    }
    float* padded_picture(int64_t u) { return layers_[0].in.data() + u * layers_[0].picture; }
    int64_t picture_row() const {
        return static_cast<int64_t>(layers_[0].shape.padded_cols) * layers_[0].shape.channels;
    }

    // The features (entries, positions, channels) and their gradients.
    int64_t features() const { return features_; }
    int64_t positions() const { return last().positions; }
    int64_t channels() const { return last().shape.out_channels; }
    float* f() { return f_.data(); }
    float* d_f() { return d_f_.data(); }
    const SparseGradients& sparse() const { return sparse_; }

    // Prepare a forward pass that computes every position of the first entries.
    void take_all(int64_t entries) {
        taken_ = entries;
        for (int64_t i = 0; i < count_; ++i) {
            Layer& layer = layers_[i];
            layer.rows_in = layer.in_row.data();
            layer.rows_out = layer.out_row.data();
            layer.rows = entries * layer.positions;
            layer.copies = 0;
        }
    }

    // Prepare a forward pass that computes one of all positions with equal patch ids; `ids` has those of each entry.
    void take_distinct(const int32_t* const* ids, const Patches& patches, int64_t entries) {
        taken_ = entries;
        if (++batch_ == 0) {  // the counter wrapped around
            for (int64_t i = 0; i < count_; ++i) layers_[i].met.clear();
            batch_ = 1;
        }
        for (int64_t i = 0; i < count_; ++i) take_distinct_rows(layers_[i], ids, patches.begin(i), entries);
    }

    // Skip the copies: the heads read features where they were computed and add gradients there. Returns offsets by id.
    const Layer::Met* without_copies() {
        last().copies = 0;
        return last().met.data();
    }

    // Count the rows of all layers in the next forward pass, and those among them that it computes.
    void count_rows(int64_t* all, int64_t* computed) const {
        for (int64_t i = 0; i < count_; ++i) {
            *all += taken_ * layers_[i].positions;
            *computed += layers_[i].rows;
        }
    }

    void forward(const float* p) {
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

    // Clear d_f before gradients are added: everywhere, or only where features were computed.
    void clear_d_features(bool anywhere) {
        if (anywhere) {
            std::memset(d_f_.data(), 0, static_cast<size_t>(taken_ * features_) * sizeof(float));
            return;
        }
        for (int64_t k = 0; k < last().rows; ++k)
            std::memset(&d_f_[last().rows_out[k]], 0, static_cast<size_t>(channels()) * sizeof(float));
    }

    void backward(const float* p, float* gradient) {
        for (int64_t i = count_ - 1; i >= 0; --i) {
            Layer& layer = layers_[i];
            float* d = i + 1 < count_ ? layers_[i + 1].d_in.data() : d_f_.data();
            const float* out = i + 1 < count_ ? layers_[i + 1].in.data() : f_.data();
            const int64_t columns = layer.shape.out_channels;
            for (int64_t k = 0; k < layer.copies; ++k) add_row(d + layer.copy_from[k], d + layer.copy_to[k], columns);
            for (int64_t k = 0; k < layer.rows; ++k)
                through_relu(d + layer.rows_out[k], out + layer.rows_out[k], columns);
            row_sums(d, layer.rows_out, layer.rows, columns, gradient + layer.shape.bias);
            const bool few = layer.window.run % kLanes == 0 && sparse_.few(d, layer.rows_out, layer.rows, columns);
            sparse_.count(layer.rows * columns, few ? sparse_.found() : layer.rows * columns);
            if (few)
                backward_weights(layer, gradient + layer.shape.weight);
            else
                backward_weights_dense(layer, d, gradient + layer.shape.weight);
            if (i == 0) break;
            const int64_t inputs = layer.window.size();
            transpose(p + layer.shape.weight, inputs, columns, layer.turned.data(), inputs, columns);
            std::memset(layer.d_in.data(), 0, static_cast<size_t>(taken_ * layer.picture) * sizeof(float));
            if (few)
                backward_input(layer);
            else
                backward_input_dense(layer, d);
        }
    }

private:
    Layer& last() const { return layers_[count_ - 1]; }

    // The gradient of a convolution's weights, a few rows at a time, so that their windows stay in the L1 cache.
    void backward_weights(Layer& layer, float* gradient) {
        const int64_t columns = layer.shape.out_channels, inputs = layer.window.size();
        for (int64_t m = 0; m < layer.rows; m += kMarks) {
            sparse_.find_by_columns(m, layer.rows - m < kMarks ? layer.rows - m : kMarks);
            for_tiles<kSumBlocks>(inputs / kLanes,
                                  ColumnsTimesRows{sparse_, all_columns_.data(), columns, layer.in.data(), layer.rows_in,
                                                   layer.block_offset.data(), layer.turned_gradient.data(), inputs,
                                                   m > 0});
        }
        transpose(layer.turned_gradient.data(), columns, inputs, gradient, columns, inputs);
    }

    // Add the gradient of each window to the gradient of the layer's input.
    void backward_input(Layer& layer) {
        const int64_t inputs = layer.window.size();
        for_tiles<kSumBlocks>(inputs / kLanes,
                              SparseTimesRows{sparse_, layer.rows, layer.turned.data(), inputs, layer.d_in.data(),
                                              layer.rows_in, layer.block_offset.data()});
    }

    void backward_weights_dense(Layer& layer, const float* d, float* gradient) {
        const int64_t columns = layer.shape.out_channels;
        outer(layer.in.data(), layer.rows_in, layer.rows, layer.window, d, layer.rows_out, columns, gradient);
    }

    void backward_input_dense(Layer& layer, const float* d) {
        const int64_t columns = layer.shape.out_channels, inputs = layer.window.size();
        product<Store::kAdd>(d, layer.rows_out, layer.rows, whole_row(columns), layer.turned.data(), inputs,
                             inputs / kLanes, nullptr, layer.d_in.data(), layer.rows_in, layer.block_offset.data());
    }

    void take_distinct_rows(Layer& layer, const int32_t* const* ids, int64_t begin, int64_t entries) {
        int64_t rows = 0, copies = 0;
        for (int64_t u = 0; u < entries; ++u) {
            const int32_t* id = ids[u] + begin;
            for (int64_t at = 0; u + 1 < entries && at < layer.positions; ++at)
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
        layer.in.resize(padded(entries_ * layer.picture));
        layer.d_in.resize(padded(entries_ * layer.picture));
        layer.in_row.resize(entries_ * layer.positions);
        layer.out_row.resize(entries_ * layer.positions);
        layer.turned.resize(layer.window.size() * s.out_channels);
        layer.turned_gradient.resize(layer.window.size() * s.out_channels);
        layer.some_in.resize(entries_ * layer.positions);
        layer.some_out.resize(entries_ * layer.positions);
        layer.copy_to.resize(entries_ * layer.positions);
        layer.copy_from.resize(entries_ * layer.positions);
        layer.met.resize(Patches::kMostNodes);
        for (int64_t u = 0; u < entries_; ++u)
            for (int64_t at = 0; at < layer.positions; ++at) {
                const int64_t row = at / s.out_cols * s.stride, col = at % s.out_cols * s.stride;
                layer.in_row[u * layer.positions + at] =
                    static_cast<int32_t>(u * layer.picture + (row * s.padded_cols + col) * s.channels);
            }
        const int64_t blocks = layer.window.size() / kLanes;
        layer.block_offset.resize(blocks + 1);
        for (int64_t n = 0; n < blocks; ++n) {
            const int64_t k = n * kLanes;
            const int64_t segment = k / layer.window.run, in_segment = k % layer.window.run;
            layer.block_offset[n] = static_cast<int32_t>(segment * layer.window.stride + in_segment);
        }
    }

    void place_outputs(int64_t i) {
        Layer& layer = layers_[i];
        const LayerShape& s = layer.shape;
        for (int64_t u = 0; u < entries_; ++u)
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

    int64_t entries_, count_ = 0, features_ = 0;
    int64_t taken_ = 0;  // entries of the pass that was last prepared
    uint32_t batch_ = 0;
    Layer* layers_ = nullptr;
    SparseGradients sparse_;
    Array<float> f_, d_f_;  // (entries, features)
    Array<int32_t> all_columns_;
};

}  // namespace
}  // namespace mulex
