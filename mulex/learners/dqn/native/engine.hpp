// What the Python side passes to the engine, and the engine's interface.
//
// Everything that changes during training is in NumPy arrays that the pointers below lead into. Letters: S states,
// A actions, C frames of a stack, D numbers of a record, G ghosts, H heads, N slots of the replay, T steps.
#pragma once

#include <cstddef>
#include <cstdint>

namespace mulex {

template <class T>
struct Span {
    T* data = nullptr;
    int64_t count = 0;
    T& operator[](int64_t i) const { return data[i]; }
};

// Whole numbers: 16 bits each in a small world, 32 in a large one.
struct Records {
    void* data = nullptr;
    int64_t count = 0;
    bool wide = false;
    int32_t get(int64_t i) const {
        return wide ? static_cast<int32_t*>(data)[i] : static_cast<uint16_t*>(data)[i];
    }
    void set(int64_t i, int32_t value) const {
        if (wide)
            static_cast<int32_t*>(data)[i] = value;
        else
            static_cast<uint16_t*>(data)[i] = static_cast<uint16_t>(value);
    }
};

// A convolution with its sizes; pictures are rows x columns x channels, padded with zeros around.
struct LayerShape {
    int32_t rows, cols, channels;             // of the input, without padding
    int32_t top, left;                        // padding above and to the left
    int32_t padded_rows, padded_cols;
    int32_t out_rows, out_cols, out_channels;
    int32_t kernel, stride;
    int32_t weight, bias;                     // their offsets in the flat parameters
};

// One Q-function: a hidden layer and an output layer on top of a body.
struct HeadShape {
    int32_t hidden_weight, hidden_bias, out_weight, out_bias;
    int32_t outputs;
    int32_t atoms;   // 0 for one value per action, else the number of atoms of its distribution
    int32_t source;  // the index of the source it learns from
    int32_t body;    // the index of its body
};

// A source: a kind of batch.
struct SourceShape {
    int32_t prioritised, n_step;
};

// A count-based bonus: `index` is the class that a state is counted in.
struct BonusShape {
    Span<const int32_t> index;  // (S,)
};

struct WorldShape {
    int32_t states, actions, ghosts, cells_rows, cells_cols, glyph, kinds;
    int32_t map_cols, time_limit, ghost_kind, map_cells, item_masks;
    Span<const int32_t> next_state;   // (S, A)
    Span<const float> reward;         // (S, A)
    Span<const uint8_t> terminal;     // (S, A)
    Span<const uint8_t> cells;        // (S, rows, cols): the kind of every cell
    Span<const float> glyphs;         // (kinds, glyph, glyph): pixels, scaled
    Span<const int32_t> positions;    // (S,): the agent's cell on the map
    Span<const int32_t> corners;      // (S, 2): the map cell at row 1, column 0 of the frame
    Span<const uint8_t> parallel;     // (S,): whether the state lies in the parallel world
    Span<const int32_t> items;        // (S,): bit masks
    Span<const int32_t> ghost_moves;  // (item masks, map cells, A)
    Span<const int32_t> ghost_starts;
};

// Work that can be saved. Remembering values and skipping gradients of zero change no bit of any result. Equal stacks
// of a batch, and equal patches of its pictures, share one backward pass: their gradients are added before it instead
// of after, which may change the last bits.
enum Savings {
    kRememberValues = 1,
    kRememberTargets = 2,
    kEqualStacksOnce = 4,
    kEqualPatchesOnce = 8,
    kNonzeroOnly = 16
};

struct Settings {
    WorldShape world;
    Span<const LayerShape> layers;
    Span<const HeadShape> heads;
    Span<const float> value_limits;  // (H,): where the atoms of each head end
    Span<const SourceShape> sources;
    Span<const BonusShape> bonuses;
    int32_t bodies, body_size;  // one body for all heads or one each; floats from one body's parameters to the next
    int32_t parameters, hidden, stack, flat_picture;
    int32_t batch_size, update_every, target_period, quiet_steps, replay_size;  // no update in the first quiet_steps
    int32_t huber, bootstrap_at_limit, bonus_of_entered, bonus_at_replay, adam;
    int32_t evaluation_steps, savings;
    int32_t most_patches;  // patch ids that are kept, over all stacks and positions
    float discount, reward_clip;  // infinite: no clipping
    float decay, epsilon;               // RMSProp's
    double first_decay, second_decay;  // Adam's
    float adam_epsilon;
};

// An acting rule that looks at what happens: it chooses the head before every step. Its state is in NumPy arrays.
class Rule {
public:
    virtual ~Rule() = default;
    // The head whose largest Q-value the rule reads, or -1; and whether it reads the first bonus of the present state.
    virtual int value_head() const = 0;
    virtual bool reads_bonus() const = 0;
    // The head that acts at the next step, before which `step` steps were taken.
    virtual int64_t choose(int64_t step, double value, float bonus) = 0;
    // Take note of a step: the task's reward, whether the episode ended, and its return so far.
    virtual void observe(double reward, bool ended, double episode_return) = 0;
};

// One member: its part of every array of the pack, and the counters of the pack.
struct Member {
    Span<float> parameters, target, gradient;
    Span<float> moment_1, moment_2;  // mean gradient and mean square
    Records record, next_record;        // (N, D)
    Span<uint8_t> action, flags;        // (N,)
    Span<float> reward;                 // (N, signals)
    Records stack;                      // (C, D): the present stack, oldest first
    Span<int32_t*> counts;              // one array per bonus
    Span<Span<float>> priorities;       // levels of the tree, leaves first
    float* largest_priority = nullptr;
    int64_t* world_state = nullptr;     // then: steps in the episode, words used of the ghosts' stream
    int64_t *world_steps = nullptr, *ghost_words = nullptr;
    Span<int64_t> ghosts, directions;   // (G,)
    int64_t* age = nullptr;
    double* episode_return = nullptr;
    uint64_t replay_key = 0, ghost_key = 0;
    Span<const float> reward_weights;   // (H, signals)
    float learning_rate = 0;
    Rule* rule = nullptr;  // null if all heads are drawn in advance
    int64_t steps = 0, updates = 0, written = 0, low = 0, high = 0;  // [low, high): transitions with a priority
};

struct Tally {
    double returns = 0, bonus = 0;
    int64_t episodes = 0, updates = 0;
    Span<double> losses;  // (H,): sums over updates
};

struct Outcome {
    double mean_return, mean_length;
};

// Work done and saved, for benchmarks and tests.
struct Work {
    int64_t samples = 0, distinct = 0, target_samples = 0, target_computed = 0, acted = 0, acted_computed = 0;
    int64_t patches = 0, patches_computed = 0;  // of learning and targets, over all layers
    int64_t patch_tables_full = 0;              // how often they were cleared
    int64_t gradients = 0, gradients_computed = 0;    // of hidden layers and convolutions
};

class Engine {
public:
    virtual ~Engine() = default;
    // Train for the steps of a schedule: the acting head, which a rule writes, and the random action or -1.
    virtual void train(Member& member, Span<int64_t> head, Span<const int64_t> forced, Tally& tally) = 0;
    // Measure the greedy return of a head in new worlds, whose ghosts draw from this stream.
    virtual Outcome evaluate(const Member& member, int head, uint64_t ghost_key) = 0;
    // Write the Q-values (A,) of a head for a stack (C, D).
    virtual void values(const Member& member, int head, const int32_t* stack, float* out) = 0;
    virtual Work work() const = 0;
};

// The same engine, compiled for different processors. Only call what the processor can run.
Engine* make_plain(const Settings&);
Engine* make_avx2(const Settings&);
Engine* make_avx512(const Settings&);

}  // namespace mulex
