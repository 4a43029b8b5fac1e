// The acting rules of mulex/learners/dqn/acting/, for one member. The same decisions follow from the same numbers, so
// this file is compiled without fused multiply-add.
#include "rules.hpp"

#include <cmath>
#include <limits>
#include <vector>

#include "arrays.hpp"
#include "streams.hpp"

namespace py = pybind11;

namespace mulex {
namespace {

// Draws heads by their probabilities, among all heads or among explorers or the others only.
class Heads {
public:
    Heads(const py::dict& d, int64_t heads)
        : explorers_(span<const uint8_t>(d, "explorers", heads)),
          probabilities_(span<const double>(d, "probabilities", heads)),
          key_(number<uint64_t>(d, "switching_key")) {}

    bool explores(int64_t head) const { return head >= 0 && explorers_[head]; }
    int first_of_task() const {
        int head = 0;
        while (head + 1 < explorers_.count && explorers_[head]) ++head;
        return head;
    }

    // One of the two random numbers of a step; the first is for whether to switch.
    double uniform(int64_t step, int which) const {
        return random_uniform(key_, static_cast<uint64_t>(2 * step + which));
    }

    int64_t draw(double uniform) const {
        return draw(uniform, [&](int64_t h) { return probabilities_[h]; });
    }
    int64_t draw_among(bool explorer, double uniform) const {
        const auto fits = [&](int64_t h) { return (explorers_[h] != 0) == explorer; };
        double sum = 0;
        for (int64_t h = 0; h < explorers_.count; ++h) sum += fits(h) ? probabilities_[h] : 0;
        return draw(uniform, [&](int64_t h) { return !fits(h) ? 0.0 : sum > 0 ? probabilities_[h] : 1.0; });
    }

private:
    template <class Weight>
    int64_t draw(double uniform, Weight weight) const {
        double total = 0, cumulative = 0;
        for (int64_t h = 0; h < explorers_.count; ++h) total += weight(h);
        int64_t drawn = 0;
        for (int64_t h = 0; h + 1 < explorers_.count; ++h) {
            cumulative += weight(h);
            drawn += uniform * total >= cumulative;
        }
        return drawn;
    }

    Span<const uint8_t> explorers_;
    Span<const double> probabilities_;
    uint64_t key_;
};

// What all rules have: the heads and the last choice, which must be one of them, or -1 before the first.
class HeadRule : public Rule {
public:
    HeadRule(const py::dict& d, int64_t heads) : heads_(d, heads), head_(span<int64_t>(d, "head", 1)[0]) {
        if (head_ < -1 || head_ >= heads) refuse("head", "is not there");
    }
    int value_head() const override { return -1; }
    bool reads_bonus() const override { return false; }

protected:
    const Heads heads_;
    int64_t& head_;
};

class EpisodeRule final : public HeadRule {
public:
    EpisodeRule(const py::dict& d, int64_t heads) : HeadRule(d, heads), fresh_(span<bool>(d, "fresh", 1)[0]) {}

    int64_t choose(int64_t step, double, float) override {
        if (fresh_) head_ = heads_.draw(heads_.uniform(step, 1));
        return head_;
    }
    void observe(double, bool ended, double) override { fresh_ = ended; }

private:
    bool& fresh_;
};

class NoveltyRule final : public HeadRule {
public:
    NoveltyRule(const py::dict& d, int64_t heads)
        : HeadRule(d, heads), threshold_(static_cast<float>(1.0 / std::sqrt(number<double>(d, "visits")))) {}

    bool reads_bonus() const override { return true; }
    int64_t choose(int64_t step, double, float bonus) override {
        const bool explorer = bonus >= threshold_;
        if (head_ < 0 || heads_.explores(head_) != explorer)
            head_ = heads_.draw_among(explorer, heads_.uniform(step, 1));
        return head_;
    }
    void observe(double, bool, double) override {}

private:
    const float threshold_;
};

// Turns a signal of any scale into switches of a given mean rate: the larger the signal, the likelier.
class Homeostasis {
public:
    explicit Homeostasis(const py::dict& d)
        : rate_(number<double>(d, "rate")),
          count_(span<double>(d, "count", 1)[0]),
          mean_(span<double>(d, "mean", 1)[0]),
          variance_(span<double>(d, "variance", 1)[0]),
          level_(span<double>(d, "level", 1)[0]) {}

    // The probability of a switch; the means follow where there is a signal.
    double chance(double signal, bool there) {
        count_ += there;
        const double memory = kMemory / rate_, known = count_ < memory ? count_ : memory;
        const double share = there ? 1 / (known > 1 ? known : 1) : 0.0;
        mean_ += share * (signal - mean_);
        variance_ += share * ((signal - mean_) * (signal - mean_) - variance_);
        const double deviation = std::sqrt(variance_);
        double scaled = deviation > 0 ? (signal - mean_) / deviation : 0.0;
        scaled = scaled < -50 ? -50 : scaled > 50 ? 50 : scaled;
        const double positive = std::exp(scaled);
        level_ += share * (positive - level_);
        const double chance = rate_ * positive / (level_ > 0 ? level_ : 1.0);
        return !there ? 0.0 : chance > 1 ? 1.0 : chance;
    }

private:
    static constexpr double kMemory = 100;  // expected numbers of switches
    const double rate_;
    double &count_, &mean_, &variance_, &level_;
};

class SurpriseRule final : public HeadRule {
public:
    SurpriseRule(const py::dict& d, int64_t heads)
        : HeadRule(d, heads),
          homeostasis_(d),
          discount_(number<double>(d, "discount")),
          steps_(static_cast<int64_t>(number<double>(d, "steps"))),
          values_(span<double>(d, "values", -1)),
          rewards_(span<double>(d, "rewards", values_.count)),
          age_(span<int64_t>(d, "age", 1)[0]) {
        if (steps_ < 1 || steps_ > values_.count) refuse("values", "are fewer than the steps");
        if (age_ < 0) refuse("age", "is negative");
    }

    int value_head() const override { return heads_.first_of_task(); }
    int64_t choose(int64_t step, double value, float) override {
        const bool old = age_ >= steps_;
        const double chance = homeostasis_.chance(old ? discrepancy(value) : 0.0, old);
        const bool switches = heads_.uniform(step, 0) < chance;
        if (switches || head_ < 0)
            head_ = heads_.draw_among(heads_.explores(head_) != switches, heads_.uniform(step, 1));
        values_[age_ % steps_] = value;
        return head_;
    }
    void observe(double reward, bool ended, double) override {
        rewards_[age_ % steps_] = reward;
        age_ = ended ? 0 : age_ + 1;
    }

private:
    // |promised - received|; the slot that is written next holds the oldest step.
    double discrepancy(double value) const {
        for (int64_t back = 1; back <= steps_; ++back) value = rewards_[(age_ - back) % steps_] + discount_ * value;
        return std::abs(values_[age_ % steps_] - value);
    }

    Homeostasis homeostasis_;
    const double discount_;
    const int64_t steps_;
    const Span<double> values_, rewards_;  // rings by the step in the episode
    int64_t& age_;
};

class BanditRule final : public HeadRule {
public:
    BanditRule(const py::dict& d, int64_t heads)
        : HeadRule(d, heads),
          key_(number<uint64_t>(d, "bandit_key")),
          stay_(number<double>(d, "stay")),
          exploration_(number<double>(d, "exploration")),
          random_(number<double>(d, "random")),
          arms_(static_cast<int64_t>(number<double>(d, "arms"))),
          window_(static_cast<int64_t>(number<double>(d, "window"))),
          chosen_(span<int64_t>(d, "chosen", -1)),
          returns_(span<double>(d, "returns", chosen_.count)),
          arm_(span<int64_t>(d, "arm", 1)[0]),
          episodes_(span<int64_t>(d, "episodes", 1)[0]),
          fresh_(span<bool>(d, "fresh", 1)[0]) {
        if (arms_ < 1 || arm_ < 0 || arm_ >= arms_) refuse("arm", "is not there");
        if (window_ < 1 || window_ > chosen_.count || episodes_ < 0) refuse("chosen", "is shorter than the window");
        for (int64_t i = 0; i < chosen_.count; ++i)
            if (chosen_[i] < 0 || chosen_[i] >= arms_) refuse("chosen", "names an arm that is not there");
    }

    int64_t choose(int64_t step, double, float) override {
        if (fresh_) arm_ = pull(step);
        const double task = (static_cast<double>(arm_) + 0.5) / static_cast<double>(arms_);
        const double uniform = heads_.uniform(step, 1);
        const bool explorer = uniform >= task;
        if (fresh_ || heads_.uniform(step, 0) >= stay_)
            head_ = heads_.draw_among(explorer, explorer ? (uniform - task) / (1 - task) : uniform / task);
        return head_;
    }
    void observe(double, bool ended, double episode_return) override {
        fresh_ = ended;
        if (!ended) return;
        chosen_[episodes_ % window_] = arm_;
        returns_[episodes_ % window_] = episode_return;
        ++episodes_;
    }

private:
    // The arm of the next episode.
    int64_t pull(int64_t step) const {
        if (episodes_ < arms_) return episodes_;
        const uint64_t index = static_cast<uint64_t>(2 * step);
        if (random_uniform(key_, index) < random_)
            return random_below(random_word(key_, index + 1), static_cast<uint64_t>(arms_));
        std::vector<double> times(static_cast<size_t>(arms_)), totals(static_cast<size_t>(arms_));
        for (int64_t i = 0; i < episodes_ && i < window_; ++i) {
            times[static_cast<size_t>(chosen_[i])] += 1;
            totals[static_cast<size_t>(chosen_[i])] += returns_[i];
        }
        int64_t best = 0;
        double largest = -std::numeric_limits<double>::infinity();
        for (size_t a = 0; a < times.size(); ++a) {
            if (times[a] == 0) return static_cast<int64_t>(a);
            const double score = totals[a] / times[a] + exploration_ / std::sqrt(times[a]);
            if (score > largest) {
                largest = score;
                best = static_cast<int64_t>(a);
            }
        }
        return best;
    }

    const uint64_t key_;
    const double stay_, exploration_, random_;
    const int64_t arms_, window_;
    const Span<int64_t> chosen_;  // rings by episode
    const Span<double> returns_;
    int64_t &arm_, &episodes_;
    bool& fresh_;
};

}  // namespace

std::unique_ptr<Rule> make_rule(const py::dict& d, int64_t heads, int64_t bonuses) {
    const std::string name = number<std::string>(d, "name");
    if (name == "episode") return std::make_unique<EpisodeRule>(d, heads);
    if (name == "novelty" && bonuses > 0) return std::make_unique<NoveltyRule>(d, heads);
    if (name == "surprise") return std::make_unique<SurpriseRule>(d, heads);
    if (name == "bandit") return std::make_unique<BanditRule>(d, heads);
    refuse("rule " + name, "is not there, or needs a bonus");
}

}  // namespace mulex
