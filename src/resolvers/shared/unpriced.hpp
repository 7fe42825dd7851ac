#pragma once
// Warns of fields without effect: the fidelity does not estimate them, or other fields make them idle.

#include <mlsysim/reflect/field.hpp>
#include <mlsysim/resolver_api/notes.hpp>
#include <mlsysim/specs/choices.hpp>

#include <algorithm>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

namespace mlsysim::detail {

/// Names of fields: a list in braces or a table of them.
struct FieldNames : std::span<const std::string_view> {
  // NOLINTBEGIN(google-explicit-constructor)
  FieldNames(std::initializer_list<std::string_view> names) : span(names.begin(), names.size()) {}
  FieldNames(std::span<const std::string_view> names) : span(names) {}
  // NOLINTEND(google-explicit-constructor)
};

/// The fields among `names` that differ from their default, with commas; empty where there are none.
template <class In> std::string given_among(const In& in, FieldNames names) {
  static const In defaults{};
  const In& usual = defaults;
  static constexpr auto table = In::fields();
  std::string list;
  for_each_row(table, [&](const auto& row) {
    // Few fields differ from their default, and comparing them costs less than comparing names.
    if (in.*row.member == usual.*row.member || std::find(names.begin(), names.end(), row.name) == names.end())
      return;
    list += (list.empty() ? "" : ", ") + std::string(row.name);
  });
  return list;
}

/// Warns of the fields that differ from their default: textbook fidelity takes no account of them.
template <class In> void warn_of_unpriced(const In& in, FieldNames names, Notes& notes) {
  if (!notes.wanted()) return;
  if (const auto list = given_among(in, names); !list.empty())
    notes.warn("textbook fidelity does not price " + list + ": operator fidelity does");
}

/// The inputs that a fidelity uses. The textbook ignores `operator_inputs`: they return to their defaults,
/// with a warning.
template <class In>
[[nodiscard]] In priced(In in, Fidelity fidelity, FieldNames operator_inputs, Notes& notes) {
  if (fidelity != Fidelity::textbook) return in;
  warn_of_unpriced(in, operator_inputs, notes);
  const In usual{};
  for_each_field<In>([&](const auto& row) {
    if (std::find(operator_inputs.begin(), operator_inputs.end(), row.name) != operator_inputs.end())
      in.*row.member = usual.*row.member;
  });
  return in;
}

/// Warns of the fields that differ from their default and that the rest of the request makes idle.
/// @param why e.g. "without draft_model"
template <class In> void warn_of_idle(const In& in, FieldNames names, std::string_view why, Notes& notes) {
  if (!notes.wanted()) return;
  if (const auto list = given_among(in, names); !list.empty())
    notes.remark("no effect " + std::string(why) + ": " + list);
}

/// Warns of what is said about a draft model that is not there.
template <class In> void warn_of_idle_draft(const In& in, Notes& notes) {
  if (in.draft_model == nullptr)
    warn_of_idle(in, {"draft_acceptance_rate", "draft_tokens", "draft_acceptance_decay", "acceptance_length"},
                 "without draft_model", notes);
  else if (in.acceptance_length)
    warn_of_idle(in, {"draft_acceptance_rate", "draft_acceptance_decay"}, "beside acceptance_length", notes);
}

}  // namespace mlsysim::detail
