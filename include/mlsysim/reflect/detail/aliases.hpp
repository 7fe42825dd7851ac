#pragma once
/// Second names of results: a result has one name in tables and files, and is also found by its second names.
///
/// Example: `canonical_name("tpot")` is "itl", and `canonical_name("step_latency_total")` is "step_latency".

#include <string_view>

namespace mlsysim {

/// The name under which tables list a result that is also called `name`. Empty where `name` is not a second
/// name.
[[nodiscard]] std::string_view canonical_name(std::string_view name);
/// The second name that help shows beside a name of the tables; empty where it has none.
[[nodiscard]] std::string_view second_name(std::string_view canonical);
/// Whether help shows the second name first: "virtual_stages" before "v_stages".
[[nodiscard]] bool shows_second(std::string_view canonical);

}  // namespace mlsysim
