// Makes the acting rule of a member from what Python hands over.
#pragma once

#include <memory>

#include "arrays.hpp"
#include "engine.hpp"

namespace mulex {

std::unique_ptr<Rule> make_rule(const pybind11::dict& rule, int64_t heads, int64_t bonuses);

}  // namespace mulex
