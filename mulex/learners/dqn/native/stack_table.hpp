// A hash table from stacks of records to ids in the order they were added. Clearing it takes constant time.
#pragma once

#include "block.hpp"

namespace mulex {
namespace {

class StackTable {
public:
    // A stack has `numbers` numbers; the table has room for `most` stacks.
    void shape(int64_t numbers, int64_t most) {
        numbers_ = numbers;
        most_ = most;
        int64_t slots = 64;
        while (slots < 2 * most) slots *= 2;
        mask_ = static_cast<uint64_t>(slots - 1);
        keys_.resize(most * numbers);
        slots_.resize(slots);
        clear();
    }
    int64_t count() const { return count_; }
    bool has_room_for(int64_t more) const { return count_ + more <= most_; }

    void clear() {
        count_ = 0;
        if (++now_ == 0) {  // the counter wrapped around
            slots_.clear();
            now_ = 1;
        }
    }

    // Prefetch the memory that the next look-up of this stack reads first.
    void expect(const int32_t* stack) const { fetch(&slots_[static_cast<int64_t>(hash(stack) & mask_)]); }

    // The ids of several consecutive stacks, each as by find_or_add. Their memory is prefetched.
    void find_or_add_all(const int32_t* stacks, int64_t count, int32_t* found) {
        constexpr int64_t kTogether = 128;
        uint64_t hashes[kTogether];
        for (int64_t first = 0; first < count; first += kTogether) {
            const int64_t some = count - first < kTogether ? count - first : kTogether;
            const int32_t* stack = stacks + first * numbers_;
            for (int64_t i = 0; i < some; ++i) {
                hashes[i] = hash(stack + i * numbers_);
                fetch(&slots_[hashes[i] & mask_]);
            }
            for (int64_t i = 0; i < some; ++i) {
                const Slot slot = slots_[hashes[i] & mask_];
                if (slot.era == now_) fetch(&keys_[slot.found * numbers_]);
            }
            for (int64_t i = 0; i < some; ++i) found[first + i] = find_or_add(stack + i * numbers_, hashes[i]);
        }
    }

    // The stack's id; the stack is new if that equals the count before the call. -1 if it is new and there is no room.
    int32_t find_or_add(const int32_t* stack) { return find_or_add(stack, hash(stack)); }

private:
    struct Slot {
        uint32_t era;  // the slot is in use if this is the present era
        int32_t found;
    };

    int32_t find_or_add(const int32_t* stack, uint64_t hash) {
        uint64_t slot = hash & mask_;
        while (slots_[slot].era == now_) {
            const int32_t found = slots_[slot].found;
            if (equal(&keys_[found * numbers_], stack)) return found;
            slot = (slot + 1) & mask_;
        }
        if (count_ == most_) return -1;
        slots_[slot] = Slot{now_, static_cast<int32_t>(count_)};
        std::memcpy(&keys_[count_ * numbers_], stack, bytes());
        return static_cast<int32_t>(count_++);
    }

    bool equal(const int32_t* a, const int32_t* b) const {
        int32_t differs = 0;
        for (int64_t i = 0; i < numbers_; ++i) differs |= a[i] ^ b[i];
        return !differs;
    }
    size_t bytes() const { return static_cast<size_t>(numbers_) * sizeof(int32_t); }

    uint64_t hash(const int32_t* stack) const {
        uint64_t h = 0;
        for (int64_t i = 0; i < numbers_; ++i) h = (h ^ static_cast<uint32_t>(stack[i])) * 0x9E3779B97F4A7C15u;
        return h ^ (h >> 29);
    }

    int64_t numbers_ = 0, most_ = 0, count_ = 0;
    uint64_t mask_ = 0;
    uint32_t now_ = 0;
    Array<int32_t> keys_;
    Array<Slot> slots_;
};

}  // namespace
}  // namespace mulex
