#pragma once
/// Second names of numbers: a number has one name in tables and files, and is also found by these.

#include <string_view>

namespace mlsysim {

/// The name under which tables list a number that is also called `name`; empty where `name` is no second
/// name.
///
/// `canonical_name("tpot")` is "itl", `canonical_name("step_latency_total")` is "step_latency".
[[nodiscard]] std::string_view canonical_name(std::string_view name);
/// The second name that help shows beside a name of the tables; empty where it has none.
[[nodiscard]] std::string_view second_name(std::string_view canonical);

}  // namespace mlsysim
