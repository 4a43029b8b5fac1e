// A world that is stepped by its tables, and the drawing of its frames.
#pragma once

#include "block.hpp"
#include "engine.hpp"
#include "streams.hpp"

namespace mulex {
namespace {

constexpr int kMostGhosts = 16;

struct Step {
    float reward;
    bool terminal, truncated;
};

// The changing part of one world.
class World {
public:
    World(const WorldShape& shape, uint64_t ghost_key) : shape_(shape), key_(ghost_key) {}

    // Begin the first episode, as a new WorldPack does.
    void begin() {
        word_ = 0;
        restart();
    }
    void take(const Member& member) {
        state_ = static_cast<int32_t>(*member.world_state);
        steps_ = *member.world_steps;
        word_ = *member.ghost_words;
        for (int g = 0; g < shape_.ghosts; ++g) {
            ghost_[g] = static_cast<int32_t>(member.ghosts[g]);
            direction_[g] = static_cast<int32_t>(member.directions[g]);
        }
    }
    void give(Member& member) const {
        *member.world_state = state_;
        *member.world_steps = steps_;
        *member.ghost_words = word_;
        for (int g = 0; g < shape_.ghosts; ++g) {
            member.ghosts[g] = ghost_[g];
            member.directions[g] = direction_[g];
        }
    }

    void restart() {
        state_ = 0;
        steps_ = 0;
        for (int g = 0; g < shape_.ghosts; ++g) {
            const uint64_t word = random_word(key_, static_cast<uint64_t>(word_++));
            ghost_[g] = shape_.ghost_starts[random_below(word, static_cast<uint64_t>(shape_.ghost_starts.count))];
            direction_[g] = static_cast<int32_t>(word >> 62);
        }
    }

    Step step(int64_t action) {
        const int64_t at = static_cast<int64_t>(state_) * shape_.actions + action;
        const int32_t before = state_;
        state_ = shape_.next_state[at];
        ++steps_;
        Step outcome{shape_.reward[at], shape_.terminal[at] != 0, false};
        if (shape_.ghosts && move_ghosts(before)) outcome = Step{0, true, false};
        outcome.truncated = steps_ >= shape_.time_limit && !outcome.terminal;
        return outcome;
    }

    // The record (D,): the state's id and the ghosts' cells.
    void observe(int32_t* record) const {
        record[0] = state_;
        for (int g = 0; g < shape_.ghosts; ++g) record[1 + g] = ghost_[g];
    }

private:
    // Move all ghosts; true if the agent met one, on the same cell or by swapping cells.
    bool move_ghosts(int32_t before) {
        const int64_t items = shape_.items[state_];
        const int32_t here = shape_.positions[state_], there = shape_.positions[before];
        const bool was_real = !shape_.parallel[before];
        bool met = false;
        for (int g = 0; g < shape_.ghosts; ++g) {
            const uint64_t word = random_word(key_, static_cast<uint64_t>(word_++));
            if (word >> 62 == 0) direction_[g] = static_cast<int32_t>((word >> 60) & 3);
            const int32_t old = ghost_[g];
            ghost_[g] = shape_.ghost_moves[(items * shape_.map_cells + old) * shape_.actions + direction_[g]];
            met |= ghost_[g] == here || (ghost_[g] == there && old == here && was_real);
        }
        return met && !shape_.parallel[state_];
    }

    const WorldShape& shape_;
    uint64_t key_;
    int32_t state_ = 0, ghost_[kMostGhosts] = {}, direction_[kMostGhosts] = {};
    int64_t steps_ = 0, word_ = 0;
};

// Draws stacks of records as the network's input.
class Sight {
public:
    Sight(const WorldShape& world, int stack, bool flat) : world_(world), stack_(stack), flat_(flat) {
        cells_ = static_cast<int64_t>(world.cells_rows) * world.cells_cols;
        with_ghosts_.resize(cells_ * stack);
    }

    // The picture begins at `to`, its rows are `row` floats apart; channel c is frame c, the newest last.
    void draw(const int32_t* stack, float* to, int64_t row) {
        const int64_t numbers = 1 + world_.ghosts, t = world_.glyph;
        const int64_t pixel = flat_ ? 1 : stack_, line = flat_ ? world_.cells_cols * t : row;
        if (t == 1 && stack_ == 4 && !flat_) {
            draw_four(stack, to, row);
            return;
        }
        for (int c = 0; c < stack_; ++c) {
            const uint8_t* kinds = frame(stack + c * numbers, c);
            float* begin = flat_ ? to + c * cells_ * t * t : to + c;
            if (t == 1)
                draw_cells(kinds, begin, pixel, line);
            else
                draw_glyphs(kinds, begin, pixel, line);
        }
    }

private:
    const uint8_t* frame(const int32_t* record, int c) {
        const int32_t state = record[0];
        const uint8_t* kinds = world_.cells.data + state * cells_;
        if (!world_.ghosts) return kinds;
        uint8_t* own = &with_ghosts_[c * cells_];
        std::memcpy(own, kinds, static_cast<size_t>(cells_));
        if (world_.parallel[state]) return own;
        for (int g = 0; g < world_.ghosts; ++g) {
            const int32_t row = record[1 + g] / world_.map_cols - world_.corners[2 * state];
            const int32_t col = record[1 + g] % world_.map_cols - world_.corners[2 * state + 1];
            if (row >= 0 && row < world_.cells_rows - 1 && col >= 0 && col < world_.cells_cols)
                own[(1 + row) * world_.cells_cols + col] = static_cast<uint8_t>(world_.ghost_kind);
        }
        return own;
    }

    // The usual case in one loop: four frames of one pixel per cell.
    void draw_four(const int32_t* stack, float* to, int64_t row) {
        const int64_t numbers = 1 + world_.ghosts;
        const uint8_t* kinds[4];
        for (int c = 0; c < 4; ++c) kinds[c] = frame(stack + c * numbers, c);
        const float* shade = world_.glyphs.data;
        for (int64_t r = 0, i = 0; r < world_.cells_rows; ++r)
            for (float *at = to + r * row, *end = at + 4 * world_.cells_cols; at < end; at += 4, ++i)
                for (int c = 0; c < 4; ++c) at[c] = shade[kinds[c][i]];
    }

    void draw_cells(const uint8_t* kinds, float* to, int64_t pixel, int64_t line) const {
        const float* shade = world_.glyphs.data;
        for (int64_t r = 0; r < world_.cells_rows; ++r)
            for (int64_t c = 0; c < world_.cells_cols; ++c)
                to[r * line + c * pixel] = shade[kinds[r * world_.cells_cols + c]];
    }

    void draw_glyphs(const uint8_t* kinds, float* to, int64_t pixel, int64_t line) const {
        const int64_t t = world_.glyph;
        for (int64_t r = 0; r < world_.cells_rows * t; ++r)
            for (int64_t c = 0; c < world_.cells_cols; ++c) {
                const int64_t kind = kinds[r / t * world_.cells_cols + c];
                const float* glyph = world_.glyphs.data + (kind * t + r % t) * t;
                for (int64_t i = 0; i < t; ++i) to[r * line + (c * t + i) * pixel] = glyph[i];
            }
    }

    const WorldShape& world_;
    int stack_;
    bool flat_;
    int64_t cells_;
    Array<uint8_t> with_ghosts_;
};

}  // namespace
}  // namespace mulex
