#pragma once
/// Entries of the zoo, for readers and programs.

#include <mlsysim/report/render_options.hpp>
#include <mlsysim/report/table.hpp>
#include <mlsysim/specs/zoo.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace mlsysim {

/// The entries of a kind with their main figures; of all kinds, by name, when `kind` is empty.
/// @throws LookupError for an unknown kind, with near misses
[[nodiscard]] Table zoo_table(const Zoo& zoo, std::string_view kind);

/// Entries whose name, alias or title holds the words, or is near to them; nearest first.
[[nodiscard]] std::vector<const Entry*> search_zoo(const Zoo& zoo, std::string_view words);
/// Name, kind and title of entries.
[[nodiscard]] Table entry_table(std::span<const Entry* const> entries);

/// Every figure of an entry as it was authored, with its source, and how doubts were settled.
/// JSON, schema "mlsysim/entry@1": each figure with authored text, base value and source.
[[nodiscard]] std::string render(const Zoo& zoo, const Entry& entry, const RenderOptions& options);

}  // namespace mlsysim
