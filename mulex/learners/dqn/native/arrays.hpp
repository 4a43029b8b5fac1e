// Arrays and numbers from Python dictionaries. Every array is checked here for its type, its size and its memory layout.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <string>
#include <type_traits>

#include "engine.hpp"

namespace mulex {

[[noreturn]] inline void refuse(const std::string& name, const std::string& why) {
    throw pybind11::value_error("native engine: " + name + " " + why);
}

inline pybind11::object entry(const pybind11::dict& from, const char* name) {
    if (!from.contains(name)) refuse(name, "is missing; was it built from other sources? Then install mulex again");
    return from[name];
}

// An array of a dictionary as a span; -1 allows any size.
template <class T>
Span<T> span(const pybind11::dict& from, const char* name, int64_t count) {
    const pybind11::object value = entry(from, name);
    using Plain = std::remove_const_t<T>;
    if (!pybind11::array_t<Plain, pybind11::array::c_style>::check_(value)) refuse(name, "has another type or layout");
    auto array = pybind11::reinterpret_borrow<pybind11::array>(value);
    if (count >= 0 && array.size() != count)
        refuse(name, "has " + std::to_string(array.size()) + " numbers instead of " + std::to_string(count));
    if (!std::is_const_v<T> && !array.writeable()) refuse(name, "is read-only");
    return Span<T>{const_cast<Plain*>(static_cast<const Plain*>(array.data())), array.size()};
}

template <class T>
T number(const pybind11::dict& from, const char* name) {
    return pybind11::cast<T>(entry(from, name));
}

}  // namespace mulex
