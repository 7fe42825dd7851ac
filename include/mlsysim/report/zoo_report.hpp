#pragma once
/// Tables, search and full listings of zoo entries.
///
/// A search ranks equal names and aliases first, then those that contain the words, then titles. Near misses
/// appear only without such a match.
/// Example: in a zoo with the devices Alpha (alias A1) and Beta, a search for "A1" finds Alpha and one for
/// "Bata" Beta.

#include <mlsysim/report/render_options.hpp>
#include <mlsysim/report/table.hpp>
#include <mlsysim/specs/zoo.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace mlsysim {

/// The entries of a kind with their main parameters. An empty `kind` lists the names of all kinds.
/// @throws LookupError for an unknown kind, with near misses
[[nodiscard]] Table zoo_table(const Zoo& zoo, std::string_view kind);

/// Entries that match the words, best first.
[[nodiscard]] std::vector<const Entry*> search_zoo(const Zoo& zoo, std::string_view words);
/// Name, kind and title of entries.
[[nodiscard]] Table entry_table(std::span<const Entry* const> entries);

/// Every parameter of an entry as it was written, with its source, and how doubts were settled.
/// JSON, schema "mlsysim/entry@1": each parameter with its text, base value and source.
[[nodiscard]] std::string render(const Zoo& zoo, const Entry& entry, const RenderOptions& options);

}  // namespace mlsysim
