#pragma once
/// The shipped types of breaks.

#include <span>
#include <string_view>

namespace mlsysim::detail {

struct BreakId {
  std::string_view type, id;
};
[[nodiscard]] std::span<const BreakId> shipped_break_ids();

}  // namespace mlsysim::detail
