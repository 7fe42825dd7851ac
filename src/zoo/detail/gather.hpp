#pragma once
/// From files to a zoo, with every problem collected.

#include "documents.hpp"

#include <mlsysim/zoo/detail/contribution.hpp>

namespace mlsysim::detail {

struct Gathered {
  Zoo zoo;
  Problems problems;
};

/// Reads everything that the options name.
[[nodiscard]] Gathered gather(const LoadOptions& options, std::span<const ZooContribution> contributed = {});
/// Reads one text as a file of the user.
[[nodiscard]] Gathered gather_text(SourceText source, const Zoo* base);

/// Whether all entries of these files can be read without a problem. Files are read no second time.
[[nodiscard]] bool are_sound(std::vector<Document> documents);

/// Warns of units in other spellings, borrowed figures, and missing or unverified sources.
[[nodiscard]] std::vector<ErrorFacts> warnings_of(const Zoo& zoo);

}  // namespace mlsysim::detail
