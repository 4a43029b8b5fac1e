// The engine as a Python module.
#include <pybind11/stl.h>
#ifdef MULEX_X86
#include <immintrin.h>
#endif

#include <memory>
#include <string>
#include <vector>

#include "arrays.hpp"
#include "engine.hpp"
#include "rules.hpp"

namespace py = pybind11;

namespace mulex {
namespace {

struct InstructionSet {
    const char* name;
    Engine* (*make)(const Settings&);
    bool usable;
};

std::vector<InstructionSet> instruction_sets() {
    std::vector<InstructionSet> sets;
#ifdef MULEX_X86
    __builtin_cpu_init();
    const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#ifdef MULEX_WIDE_ON_AVX2
    const bool avx512 = avx2;
#else
    const bool avx512 = avx2 && __builtin_cpu_supports("avx512f");
#endif
    sets.push_back({"avx512", make_avx512, avx512});
    sets.push_back({"avx2", make_avx2, avx2});
#endif
    sets.push_back({"plain", make_plain, true});
    return sets;
}

std::vector<std::string> usable_names() {
    std::vector<std::string> names;
    for (const InstructionSet& set : instruction_sets())
        if (set.usable) names.emplace_back(set.name);
    return names;
}

Records records(const py::dict& from, const char* name, int64_t count) {
    if (py::array_t<uint16_t, py::array::c_style>::check_(entry(from, name)))
        return Records{span<uint16_t>(from, name, count).data, count, false};
    return Records{span<int32_t>(from, name, count).data, count, true};
}

WorldShape world_shape(const py::dict& d) {
    WorldShape w{};
    w.states = number<int32_t>(d, "states");
    w.actions = number<int32_t>(d, "actions");
    w.ghosts = number<int32_t>(d, "ghosts");
    w.cells_rows = number<int32_t>(d, "cells_rows");
    w.cells_cols = number<int32_t>(d, "cells_cols");
    w.glyph = number<int32_t>(d, "glyph");
    w.kinds = number<int32_t>(d, "kinds");
    w.map_cols = number<int32_t>(d, "map_cols");
    w.map_cells = number<int32_t>(d, "map_cells");
    w.item_masks = number<int32_t>(d, "item_masks");
    w.time_limit = number<int32_t>(d, "time_limit");
    w.ghost_kind = number<int32_t>(d, "ghost_kind");
    const int64_t states = w.states;
    if (w.actions < 1 || w.actions > 16 || w.ghosts < 0 || w.ghosts > 16) refuse("world", "is out of range");
    w.next_state = span<const int32_t>(d, "next_state", states * w.actions);
    w.reward = span<const float>(d, "reward", states * w.actions);
    w.terminal = span<const uint8_t>(d, "terminal", states * w.actions);
    w.cells = span<const uint8_t>(d, "cells", states * w.cells_rows * w.cells_cols);
    w.glyphs = span<const float>(d, "glyphs", static_cast<int64_t>(w.kinds) * w.glyph * w.glyph);
    w.positions = span<const int32_t>(d, "positions", states);
    w.corners = span<const int32_t>(d, "corners", states * 2);
    w.parallel = span<const uint8_t>(d, "parallel", states);
    w.items = span<const int32_t>(d, "items", states);
    const int64_t moves = w.ghosts ? static_cast<int64_t>(w.item_masks) * w.map_cells * w.actions : 0;
    w.ghost_moves = span<const int32_t>(d, "ghost_moves", moves);
    w.ghost_starts = span<const int32_t>(d, "ghost_starts", -1);
    return w;
}

Settings settings_of(const py::dict& d) {
    Settings s{};
    s.bodies = number<int32_t>(d, "bodies");
    s.body_size = number<int32_t>(d, "body_size");
    s.parameters = number<int32_t>(d, "parameters");
    s.hidden = number<int32_t>(d, "hidden");
    s.stack = number<int32_t>(d, "stack");
    s.flat_picture = number<int32_t>(d, "flat_picture");
    s.batch_size = number<int32_t>(d, "batch_size");
    s.update_every = number<int32_t>(d, "update_every");
    s.target_period = number<int32_t>(d, "target_period");
    s.quiet_steps = number<int32_t>(d, "quiet_steps");
    s.replay_size = number<int32_t>(d, "replay_size");
    s.huber = number<int32_t>(d, "huber");
    s.bootstrap_at_limit = number<int32_t>(d, "bootstrap_at_limit");
    s.bonus_of_entered = number<int32_t>(d, "bonus_of_entered");
    s.bonus_at_replay = number<int32_t>(d, "bonus_at_replay");
    s.adam = number<int32_t>(d, "adam");
    s.evaluation_steps = number<int32_t>(d, "evaluation_steps");
    s.savings = number<int32_t>(d, "savings");
    s.most_patches = number<int32_t>(d, "most_patches");
    s.discount = number<float>(d, "discount");
    s.reward_clip = number<float>(d, "reward_clip");
    s.decay = number<float>(d, "rmsprop_decay");
    s.epsilon = number<float>(d, "rmsprop_epsilon");
    s.first_decay = number<double>(d, "first_decay");
    s.second_decay = number<double>(d, "second_decay");
    s.adam_epsilon = number<float>(d, "adam_epsilon");
    if (s.parameters % 16 != 0) refuse("parameters", "must be a multiple of 16");
    return s;
}

// Rows of whole numbers as structs that have nothing but these fields.
template <class T>
std::vector<T> rows(const py::dict& d, const char* name) {
    static_assert(sizeof(T) % sizeof(int32_t) == 0);
    const Span<const int32_t> all = span<const int32_t>(d, name, -1);
    const int64_t fields = sizeof(T) / sizeof(int32_t);
    if (all.count == 0 || all.count % fields != 0) refuse(name, "has rows of another length");
    const T* first = reinterpret_cast<const T*>(all.data);
    return std::vector<T>(first, first + all.count / fields);
}

// Numbers below 1.2e-38 count as zero while this object lives. The optimiser's averages of gradients that stay at zero
// fade to such subnormal numbers, and Intel processors need many times as long for each operation with one.
class SubnormalsAreZero {
public:
#ifdef MULEX_X86
    SubnormalsAreZero() : before_(_mm_getcsr()) {
        _MM_SET_FLUSH_ZERO_MODE(_MM_FLUSH_ZERO_ON);
        _MM_SET_DENORMALS_ZERO_MODE(_MM_DENORMALS_ZERO_ON);
    }
    ~SubnormalsAreZero() { _mm_setcsr(before_); }

private:
    unsigned before_;
#else
    SubnormalsAreZero() {}
#endif
};

class Trainer {
public:
    Trainer(const py::dict& settings, const py::dict& world, const std::string& instructions)
        : keep_settings_(settings), keep_world_(world), settings_(settings_of(settings)) {
        settings_.world = world_shape(world);
        layers_ = rows<LayerShape>(settings, "layers");
        heads_ = rows<HeadShape>(settings, "heads");
        sources_ = rows<SourceShape>(settings, "sources");
        for (const py::handle index : py::cast<py::list>(settings["bonuses"])) {
            py::dict one;
            one["bonus index"] = index;
            bonuses_.push_back({span<const int32_t>(one, "bonus index", settings_.world.states)});
        }
        if (bonuses_.size() > 8) refuse("bonuses", "are more than 8");
        settings_.layers = {layers_.data(), static_cast<int64_t>(layers_.size())};
        settings_.heads = {heads_.data(), static_cast<int64_t>(heads_.size())};
        settings_.value_limits = span<const float>(settings, "value_limits", settings_.heads.count);
        settings_.sources = {sources_.data(), static_cast<int64_t>(sources_.size())};
        settings_.bonuses = {bonuses_.data(), static_cast<int64_t>(bonuses_.size())};
        for (const InstructionSet& set : instruction_sets())
            if (set.usable && set.name == instructions) engine_.reset(set.make(settings_));
        if (!engine_) refuse("instructions", "of this processor do not include " + instructions);
    }

    py::dict train(const py::dict& arrays, const py::array& head, const py::array& forced) {
        py::dict schedule;
        schedule["head"] = head;
        schedule["forced"] = forced;
        const Span<int64_t> who = span<int64_t>(schedule, "head", -1);
        const Span<const int64_t> what = span<const int64_t>(schedule, "forced", who.count);
        for (int64_t t = 0; t < who.count; ++t)
            if (who[t] < 0 || who[t] >= settings_.heads.count || what[t] >= settings_.world.actions)
                refuse("schedule", "names a head or an action that is not there");
        Holder holder = hold(arrays);
        std::vector<double> losses(heads_.size());
        Tally tally;
        tally.losses = {losses.data(), static_cast<int64_t>(losses.size())};
        {
            py::gil_scoped_release release;
            const SubnormalsAreZero guard;
            engine_->train(holder.member, who, what, tally);
        }
        const Member& m = holder.member;
        py::dict out;
        out["returns"] = tally.returns;
        out["bonus"] = tally.bonus;
        out["episodes"] = tally.episodes;
        out["updates"] = tally.updates;
        out["losses"] = losses;
        out["range"] = py::make_tuple(m.low, m.high);
        return out;
    }

    py::tuple evaluate(const py::dict& arrays, int head, uint64_t ghost_key) {
        if (head < 0 || head >= settings_.heads.count) refuse("head", "is not there");
        Holder holder = hold(arrays);
        Outcome outcome;
        {
            py::gil_scoped_release release;
            const SubnormalsAreZero guard;
            outcome = engine_->evaluate(holder.member, head, ghost_key);
        }
        return py::make_tuple(outcome.mean_return, outcome.mean_length);
    }

    py::array_t<float> values(const py::dict& arrays, int head, const py::array& stack) {
        if (head < 0 || head >= settings_.heads.count) refuse("head", "is not there");
        Holder holder = hold(arrays);
        py::dict one;
        one["stack"] = stack;
        const Span<const int32_t> seen = span<const int32_t>(one, "stack", record_numbers() * settings_.stack);
        py::array_t<float> out(settings_.world.actions);
        const SubnormalsAreZero guard;
        engine_->values(holder.member, head, seen.data, out.mutable_data());
        return out;
    }

    py::dict work() const {
        const Work work = engine_->work();
        py::dict out;
        out["samples"] = work.samples;
        out["distinct"] = work.distinct;
        out["target_samples"] = work.target_samples;
        out["target_computed"] = work.target_computed;
        out["acted"] = work.acted;
        out["acted_computed"] = work.acted_computed;
        out["patches"] = work.patches;
        out["patches_computed"] = work.patches_computed;
        out["patch_tables_full"] = work.patch_tables_full;
        out["gradients"] = work.gradients;
        out["gradients_computed"] = work.gradients_computed;
        return out;
    }

private:
    // A member, and the lists that its spans lead into.
    struct Holder {
        Member member;
        std::vector<int32_t*> counts;
        std::vector<Span<float>> priorities;
        std::unique_ptr<Rule> rule;
    };

    int64_t record_numbers() const { return 1 + settings_.world.ghosts; }

    Holder hold(const py::dict& d) const {
        Holder holder;
        Member& m = holder.member;
        const int64_t slots = settings_.replay_size, ghosts = settings_.world.ghosts;
        const int64_t signals = 1 + settings_.bonuses.count, parameters = settings_.parameters;
        m.parameters = span<float>(d, "parameters", parameters);
        m.target = span<float>(d, "target", parameters);
        m.gradient = span<float>(d, "gradient", parameters);
        m.moment_1 = span<float>(d, "moment_1", parameters);
        m.moment_2 = span<float>(d, "moment_2", parameters);
        m.record = records(d, "record", slots * record_numbers());
        m.next_record = records(d, "next_record", slots * record_numbers());
        m.action = span<uint8_t>(d, "action", slots);
        m.flags = span<uint8_t>(d, "flags", slots);
        m.reward = span<float>(d, "reward", slots * signals);
        m.stack = records(d, "stack", record_numbers() * settings_.stack);
        m.world_state = span<int64_t>(d, "state", 1).data;
        m.world_steps = span<int64_t>(d, "world_steps", 1).data;
        m.ghost_words = span<int64_t>(d, "words_used", 1).data;
        m.ghosts = span<int64_t>(d, "ghosts", ghosts);
        m.directions = span<int64_t>(d, "directions", ghosts);
        m.age = span<int64_t>(d, "age", 1).data;
        m.episode_return = span<double>(d, "episode_return", 1).data;
        m.reward_weights = span<const float>(d, "reward_weights", settings_.heads.count * signals);
        m.replay_key = number<uint64_t>(d, "replay_key");
        m.ghost_key = number<uint64_t>(d, "ghost_key");
        m.learning_rate = number<float>(d, "learning_rate");
        m.steps = number<int64_t>(d, "steps");
        m.updates = number<int64_t>(d, "updates");
        m.written = number<int64_t>(d, "written");
        hold_counts(d, holder);
        hold_priorities(d, holder);
        if (const py::dict rule = number<py::dict>(d, "rule"); !rule.empty())
            holder.rule = make_rule(rule, settings_.heads.count, settings_.bonuses.count);
        m.rule = holder.rule.get();
        return holder;
    }

    void hold_counts(const py::dict& d, Holder& holder) const {
        const py::list all = number<py::list>(d, "counts");
        if (all.size() != bonuses_.size()) refuse("counts", "must be one array a bonus");
        for (size_t k = 0; k < all.size(); ++k) {
            py::dict one;
            one["counts"] = all[k];
            const Span<int32_t> counts = span<int32_t>(one, "counts", -1);
            for (int64_t s = 0; s < settings_.world.states; ++s)
                if (bonuses_[k].index[s] < 0 || bonuses_[k].index[s] >= counts.count)
                    refuse("bonus index", "leads outside the counts");
            holder.counts.push_back(counts.data);
        }
        holder.member.counts = {holder.counts.data(), static_cast<int64_t>(holder.counts.size())};
    }

    void hold_priorities(const py::dict& d, Holder& holder) const {
        Member& m = holder.member;
        for (const py::handle level : number<py::list>(d, "priorities")) {
            py::dict one;
            one["priorities"] = level;
            holder.priorities.push_back(span<float>(one, "priorities", -1));
        }
        m.priorities = {holder.priorities.data(), static_cast<int64_t>(holder.priorities.size())};
        bool needed = false;
        for (const SourceShape& source : sources_) needed |= source.prioritised != 0;
        if (!needed) return;
        int64_t width = settings_.replay_size;
        for (const Span<float>& level : holder.priorities) {
            width = (width + 31) / 32 * 32;
            if (level.count != width) refuse("priorities", "are not a tree over the replay");
            width /= 32;
        }
        if (holder.priorities.empty()) refuse("priorities", "are missing");
        m.largest_priority = span<float>(d, "largest_priority", 1).data;
        m.low = number<int64_t>(d, "low");
        m.high = number<int64_t>(d, "high");
    }

    py::dict keep_settings_, keep_world_;  // keep the arrays alive that the settings point to
    Settings settings_;
    std::vector<LayerShape> layers_;
    std::vector<HeadShape> heads_;
    std::vector<SourceShape> sources_;
    std::vector<BonusShape> bonuses_;
    std::unique_ptr<Engine> engine_;
};

}  // namespace
}  // namespace mulex

PYBIND11_MODULE(_native, m) {
    m.doc() = "The native engine: the inner loop of a run in C++.";
    m.def("instruction_sets", &mulex::usable_names, "What this processor can run, the fastest first.");
    py::class_<mulex::Trainer>(m, "Trainer")
        .def(py::init<const py::dict&, const py::dict&, const std::string&>(), py::arg("settings"), py::arg("world"),
             py::arg("instructions"))
        .def("train", &mulex::Trainer::train)
        .def("evaluate", &mulex::Trainer::evaluate)
        .def("values", &mulex::Trainer::values)
        .def_property_readonly("work", &mulex::Trainer::work);
}
