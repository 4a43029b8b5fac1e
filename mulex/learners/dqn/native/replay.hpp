// Batches from a member's replay: their slots, their rewards, and the stacks before and after.
#pragma once

#include <cmath>

#include "block.hpp"
#include "engine.hpp"
#include "streams.hpp"

namespace mulex {
namespace {

constexpr uint8_t kTerminal = 4, kTruncated = 8, kAge = 3;  // flags, as in mulex/learners/dqn/replay.py
constexpr int kFanout = 32;
constexpr int kMostSteps = 100;  // steps of a return
constexpr float kSmallestLoss = 1e-10f;

// Prioritised sampling: a shallow tree of sums, as in mulex/learners/dqn/priorities.py.
class Priorities {
public:
    explicit Priorities(Member& member) : member_(member) {}

    void set(int64_t slot, float priority) {
        member_.priorities[0][slot] = priority;
        for (int64_t level = 1; level < member_.priorities.count; ++level) {
            slot /= kFanout;
            const float* family = &member_.priorities[level - 1][slot * kFanout];
            Block low = load(family), high = load(family + kLanes);
            member_.priorities[level][slot] = sum_of(low + high);
        }
    }

    // Move to the usable range [low, high): slots that left get priority 0, new slots the largest so far.
    void follow(int64_t low, int64_t high, int64_t size) {
        const int64_t gone = low < member_.high ? low : member_.high;
        for (int64_t t = member_.low; t < gone; ++t) set(t % size, 0);
        for (int64_t t = member_.high > low ? member_.high : low; t < high; ++t)
            set(t % size, *member_.largest_priority);
        member_.low = low;
        member_.high = high;
    }

    void learned(int64_t slot, float priority) {
        if (priority > *member_.largest_priority) *member_.largest_priority = priority;
        set(slot, priority);
    }

    double total() const {
        const Span<float>& top = member_.priorities[member_.priorities.count - 1];
        double sum = 0;
        for (int64_t i = 0; i < top.count; ++i) sum += static_cast<double>(top[i]);
        return sum;
    }

    int64_t find(double mass, int64_t size) const {
        int64_t node = 0;
        for (int64_t level = member_.priorities.count - 1; level >= 0; --level) {
            const float* family = &member_.priorities[level][node * kFanout];
            int child = 0, last = kFanout - 1;
            while (last > 0 && !(family[last] > 0)) --last;
            double before = 0;
            while (child < last && before + static_cast<double>(family[child]) <= mass)
                before += static_cast<double>(family[child++]);
            mass -= before;
            node = node * kFanout + child;
        }
        return node < size ? node : size - 1;
    }

private:
    Member& member_;
};

// The batch of one source that heads learn from; stacks are (B, C * D).
struct Batch {
    Array<int64_t> slot;
    Array<int32_t> stack, next_stack, action, entry, next;  // entry, next: the indices of their outputs
    Array<float> reward, follow, weight;                    // reward is (H, B)

    void shape(int64_t size, int64_t heads, int64_t numbers) {
        slot.resize(size);
        stack.resize(size * numbers);
        next_stack.resize(size * numbers);
        action.resize(size);
        entry.resize(size);
        next.resize(size);
        reward.resize(size * heads);
        follow.resize(size);
        weight.resize(size);
    }
};

class Replay {
public:
    Replay(const Settings& settings, Member& member) : s_(settings), m_(member) {
        numbers_ = 1 + s_.world.ghosts;
        signals_ = 1 + s_.bonuses.count;
        double power = 1;
        for (float& p : power_) {
            p = static_cast<float>(power);
            power *= static_cast<double>(s_.discount);
        }
    }

    void add(const int32_t* before, int64_t action, const float* reward, const int32_t* after, uint8_t flags) {
        const int64_t slot = m_.written++ % s_.replay_size;
        for (int64_t d = 0; d < numbers_; ++d) {
            m_.record.set(slot * numbers_ + d, before[d]);
            m_.next_record.set(slot * numbers_ + d, after[d]);
        }
        m_.action[slot] = static_cast<uint8_t>(action);
        m_.flags[slot] = flags;
        for (int64_t k = 0; k < signals_; ++k) m_.reward[slot * signals_ + k] = reward[k];
    }

    void usable(int64_t n_step, int64_t written, int64_t* low, int64_t* high) const {
        *low = written > s_.replay_size ? written - s_.replay_size + s_.stack - 1 : 0;
        *high = written - (n_step - 1);
    }

    // Draw the slots of a source's batch for the update of this number, with their importance weights.
    void sample(int source, int64_t update, Batch& batch) {
        const SourceShape& shape = s_.sources[source];
        int64_t low, high;
        usable(shape.n_step, m_.written, &low, &high);
        if (shape.prioritised) {
            sample_prioritised(source, update, low, high, batch);
            return;
        }
        for (int64_t i = 0; i < s_.batch_size; ++i) batch.slot[i] = even_slot(source, update, i, low, high);
    }

    // Prefetch the memory of the next update's slots.
    void foresee(int source, int64_t update) const {
        const SourceShape& shape = s_.sources[source];
        if (shape.prioritised) return;
        int64_t low, high;
        usable(shape.n_step, m_.written + s_.update_every, &low, &high);
        const int64_t bytes = m_.record.wide ? 4 : 2;
        for (int64_t i = 0; i < s_.batch_size; ++i) {
            const int64_t slot = even_slot(source, update, i, low, high);
            const int64_t first = slot >= 3 ? slot - 3 : 0;
            fetch(static_cast<char*>(m_.record.data) + first * numbers_ * bytes);
            fetch(static_cast<char*>(m_.next_record.data) + slot * numbers_ * bytes);
            fetch(&m_.action[slot]);
            fetch(&m_.flags[slot]);
            fetch(&m_.reward[slot * signals_]);
        }
    }

    void fill(int source, Batch& batch) const {
        const int64_t size = numbers_ * s_.stack;
        for (int64_t i = 0; i < s_.batch_size; ++i) {
            const int64_t slot = batch.slot[i];
            const int64_t steps = steps_of_return(slot, s_.sources[source].n_step);
            const int64_t last = wrapped(slot + steps - 1);
            batch.action[i] = m_.action[slot];
            gather(slot, s_.stack, &batch.stack[i * size]);
            gather(last, s_.stack - 1, &batch.next_stack[i * size]);
            for (int64_t d = 0; d < numbers_; ++d)
                batch.next_stack[i * size + (s_.stack - 1) * numbers_ + d] = m_.next_record.get(last * numbers_ + d);
            const uint8_t flags = m_.flags[last];
            const bool over = s_.bootstrap_at_limit ? (flags & kTerminal) != 0 : flags >= kTerminal;
            batch.follow[i] = over ? 0.0f : power_[steps];
            for (int64_t h = 0; h < s_.heads.count; ++h)
                if (s_.heads[h].source == source) batch.reward[h * s_.batch_size + i] = discounted(h, slot, steps);
        }
    }

    float bonus_at(int64_t k, int32_t state) const {
        const int32_t count = m_.counts[k][s_.bonuses[k].index[state]];
        return static_cast<float>(1.0 / std::sqrt(static_cast<double>(count > 1 ? count : 1)));
    }

private:
    // Wrap a slot that may be past the end of the ring by less than its size.
    int64_t wrapped(int64_t slot) const { return slot < s_.replay_size ? slot : slot - s_.replay_size; }

    int64_t even_slot(int source, int64_t update, int64_t i, int64_t low, int64_t high) const {
        const double u = random_uniform(m_.replay_key, first_index(source, update) + static_cast<uint64_t>(i));
        return (low + static_cast<int64_t>(u * static_cast<double>(high - low))) % s_.replay_size;
    }

    uint64_t first_index(int source, int64_t update) const {
        return static_cast<uint64_t>((update * s_.sources.count + source) * s_.batch_size);
    }

    void sample_prioritised(int source, int64_t update, int64_t low, int64_t high, Batch& batch) {
        Priorities priorities(m_);
        priorities.follow(low, high, s_.replay_size);
        const double total = priorities.total();
        const uint64_t first = first_index(source, update);
        float largest = 0;
        for (int64_t i = 0; i < s_.batch_size; ++i) {
            const double u = random_uniform(m_.replay_key, first + static_cast<uint64_t>(i));
            batch.slot[i] = priorities.find((static_cast<double>(i) + u) / s_.batch_size * total, s_.replay_size);
            batch.weight[i] = 1.0f / std::sqrt(m_.priorities[0][batch.slot[i]] + kSmallestLoss);
            if (batch.weight[i] > largest) largest = batch.weight[i];
        }
        for (int64_t i = 0; i < s_.batch_size; ++i) batch.weight[i] /= largest;
    }

    int64_t steps_of_return(int64_t slot, int64_t n_step) const {
        int64_t steps = 1;
        while (steps < n_step && m_.flags[wrapped(slot + steps - 1)] < kTerminal) ++steps;
        return steps;
    }

    float discounted(int64_t h, int64_t slot, int64_t steps) const {
        float total = 0;
        for (int64_t i = steps - 1; i >= 0; --i) {
            const int64_t at = wrapped(slot + i);
            float reward = 0;
            for (int64_t k = 0; k < signals_; ++k) reward += signal(k, at) * m_.reward_weights[h * signals_ + k];
            total = total * s_.discount + reward;
        }
        return total;
    }

    float signal(int64_t k, int64_t slot) const {
        if (k == 0 || !s_.bonus_at_replay) return m_.reward[slot * signals_ + k];
        return bonus_at(k - 1, (s_.bonus_of_entered ? m_.next_record : m_.record).get(slot * numbers_));
    }

    // Copy the last `frames` records up to a slot, never from before the episode's first.
    void gather(int64_t slot, int64_t frames, int32_t* to) const {
        const int64_t age = m_.flags[slot] & kAge;
        for (int64_t c = 0; c < frames; ++c) {
            const int64_t behind = frames - 1 - c < age ? frames - 1 - c : age;
            const int64_t at = wrapped(slot - behind + s_.replay_size);
            for (int64_t d = 0; d < numbers_; ++d) to[c * numbers_ + d] = m_.record.get(at * numbers_ + d);
        }
    }

    const Settings& s_;
    Member& m_;
    int64_t numbers_, signals_;
    float power_[kMostSteps + 1];  // powers of the discount
};

}  // namespace
}  // namespace mulex
