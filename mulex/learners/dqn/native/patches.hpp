// Ids of patches, so that a convolution computes each distinct patch once.
//
// Two positions of a layer have the same id if and only if everything they depend on is equal: in the first layer the
// pixels of their windows, in the others the ids of the positions in their windows. Pictures repeat their rooms, so
// most windows of the first layer occur again in the same batch.
#pragma once

#include "engine.hpp"
#include "stack_table.hpp"

namespace mulex {
namespace {

class Patches {
public:
    void shape(const Settings& s) {
        layers_ = s.layers;
        frames_ = s.stack;
        numbers_ = (1 + s.world.ghosts) * s.stack;
        from_ = new int64_t[static_cast<size_t>(layers_.count) + 1];
        from_[0] = 0;
        for (int64_t l = 0; l < layers_.count; ++l)
            from_[l + 1] = from_[l] + static_cast<int64_t>(layers_[l].out_rows) * layers_[l].out_cols;
        int64_t most = s.most_patches / from_[layers_.count];
        most = most > kMostStacks ? kMostStacks : most;
        stacks_.shape(numbers_, most);
        known_.resize(most * from_[layers_.count]);
        most = s.most_patches / from_[1];
        most = most > s.world.states ? s.world.states : most;
        states_.shape(1, most);
        windows_of_.resize(most * from_[1]);
        windows_.shape(area(0), kMostWindows);
        nodes_ = new StackTable[static_cast<size_t>(layers_.count)];
        for (int64_t l = 0; l < layers_.count; ++l) nodes_[l].shape(l ? area(l) : frames_, kMostNodes);
        int64_t widest = from_[1] * frames_;
        for (int64_t l = 0; l < layers_.count; ++l) {
            const int64_t numbers = (from_[l + 1] - from_[l]) * area(l);
            widest = numbers > widest ? numbers : widest;
        }
        key_.resize(widest);
        frame_windows_.resize(frames_);
    }
    Patches() = default;
    ~Patches() {
        delete[] nodes_;
        delete[] from_;
    }
    Patches(const Patches&) = delete;
    Patches& operator=(const Patches&) = delete;

    static constexpr int64_t kMostNodes = 1 << 19;  // per layer

    // The index of the first id of a layer in the result of `of`.
    int64_t begin(int64_t layer) const { return from_[layer]; }
    int64_t last() const { return from_[layers_.count - 1]; }

    // Forget everything; earlier ids become invalid.
    void clear() {
        stacks_.clear();
        states_.clear();
        windows_.clear();
        for (int64_t l = 0; l < layers_.count; ++l) nodes_[l].clear();
        full_ = false;
    }

    void expect(const int32_t* stack) const { stacks_.expect(stack); }

    // The ids of all positions of all layers for a stack whose padded picture has been drawn; nullptr if full.
    const int32_t* of(const int32_t* stack, const float* picture) {
        const int64_t before = stacks_.count();
        const int64_t found = full_ ? -1 : stacks_.find_or_add(stack);
        if (found < 0) {
            full_ = true;
            return nullptr;
        }
        int32_t* ids = &known_[found * from_[layers_.count]];
        for (int64_t i = 0; i < from_[layers_.count]; i += kLanes) fetch(ids + i);
        if (found == before) {
            number_first(stack, picture, ids);
            for (int64_t l = 1; l < layers_.count; ++l) number_above(l, ids);
        }
        return full_ ? nullptr : ids;
    }

private:
    static constexpr int64_t kMostStacks = 1 << 18;
    static constexpr int64_t kMostWindows = 1 << 14;

    int64_t area(int64_t l) const { return static_cast<int64_t>(layers_[l].kernel) * layers_[l].kernel; }

    // A window of the first layer is made of one window per frame. A frame depends on its state alone, so it is read once.
    void number_first(const int32_t* stack, const float* picture, int32_t* ids) {
        for (int64_t c = 0; c < frames_; ++c) {
            const int64_t before = states_.count();
            const int64_t found = states_.find_or_add(stack + c);
            full_ |= found < 0;
            if (full_) return;
            frame_windows_[c] = &windows_of_[found * from_[1]];
            if (found == before) number_windows(picture + c, &windows_of_[found * from_[1]]);
        }
        for (int64_t at = 0; at < from_[1]; ++at)
            for (int64_t c = 0; c < frames_; ++c) key_[at * frames_ + c] = frame_windows_[c][at];
        number(0, ids);
    }

    void number_windows(const float* frame, int32_t* windows) {
        const LayerShape& s = layers_[0];
        for (int64_t at = 0; at < from_[1]; ++at) {
            const float* corner = frame + (at / s.out_cols * s.padded_cols + at % s.out_cols) * s.stride * s.channels;
            int64_t n = 0;
            for (int64_t i = 0; i < s.kernel; ++i)
                for (int64_t j = 0; j < s.kernel; ++j)
                    std::memcpy(&key_[n++], corner + (i * s.padded_cols + j) * s.channels, sizeof(float));
            windows[at] = windows_.find_or_add(key_.data());
            full_ |= windows[at] < 0;
        }
    }

    void number_above(int64_t l, int32_t* ids) {
        const LayerShape& s = layers_[l];
        int64_t n = 0;
        for (int64_t at = 0; at < from_[l + 1] - from_[l]; ++at) {
            const int64_t row = at / s.out_cols * s.stride - s.top, col = at % s.out_cols * s.stride - s.left;
            for (int64_t i = row; i < row + s.kernel; ++i)
                for (int64_t j = col; j < col + s.kernel; ++j) {
                    const bool inside = i >= 0 && i < s.rows && j >= 0 && j < s.cols;
                    key_[n++] = inside ? ids[from_[l - 1] + i * s.cols + j] : -1;
                }
        }
        number(l, ids);
    }

    // Give ids to all positions of a layer by their keys in key_.
    void number(int64_t l, int32_t* ids) {
        nodes_[l].find_or_add_all(key_.data(), from_[l + 1] - from_[l], ids + from_[l]);
        for (int64_t at = from_[l]; at < from_[l + 1]; ++at) full_ |= ids[at] < 0;
    }

    Span<const LayerShape> layers_;
    int64_t frames_ = 0, numbers_ = 0;
    int64_t* from_ = nullptr;
    bool full_ = false;
    StackTable stacks_, states_, windows_;
    StackTable* nodes_ = nullptr;
    Array<int32_t> known_, key_;
    Array<int32_t> windows_of_;            // (states met, positions): the ids of a frame's windows
    Array<const int32_t*> frame_windows_;  // of the present stack
};

}  // namespace
}  // namespace mulex
