#pragma once
// Members of a runtime that it has of the one that it extends, where its entry states none.

#include <mlsysim/specs/serving_engine.hpp>

#include <concepts>
#include <optional>

namespace mlsysim::detail {

/// Numbers, flags and the memory rule; lists and tables are looked up part by part (specs/software.hpp).
template <class M>
concept InheritedNumber = std::same_as<M, double> || std::same_as<M, bool> || std::same_as<M, Time<>> ||
    std::same_as<M, std::optional<double>> || std::same_as<M, std::optional<Time<>>>;
template <class M>
concept InheritedRule = std::same_as<M, std::optional<EngineMemoryRule>>;

}  // namespace mlsysim::detail
