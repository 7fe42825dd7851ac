#pragma once
// What a request asks for and a fidelity does not price.

#include <mlsysim/resolve/notes.hpp>
#include <mlsysim/table/field.hpp>

#include <algorithm>
#include <span>
#include <string>
#include <string_view>

namespace mlsysim::detail {

/// Warns of the fields among `names` that differ from their default: textbook fidelity takes no account of them.
template <class In> void warn_of_unpriced(const In& in, std::span<const std::string_view> names, Notes& notes) {
  if (!notes.wanted()) return;
  const In usual{};
  std::string list;
  for_each_field<In>([&](const auto& row) {
    if (std::find(names.begin(), names.end(), row.name) == names.end() || in.*row.member == usual.*row.member) return;
    list += (list.empty() ? "" : ", ") + std::string(row.name);
  });
  if (!list.empty()) notes.warn("textbook fidelity does not price " + list + ": operator fidelity does");
}

}  // namespace mlsysim::detail
