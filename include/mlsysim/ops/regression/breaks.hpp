#pragma once
/// Cost of graph breaks by source place, and the difference in breaks between two sets of compile records.
///
/// A place is model, type, file and function. A break that moves to another line of its function stays at its
/// place. `break_subject` evaluates CompilationModel with one count per place instead of the total number of
/// breaks. Parts of a difference are Shapley values, so they add up to it.
/// Example: 2 breaks at a.py on both sides and 4 new ones at modeling_x.py: the whole difference in step time
/// is the part of the second place.

#include <mlsysim/explore/subject/subject.hpp>
#include <mlsysim/ops/graph_breaks/ingest.hpp>
#include <mlsysim/ops/regression/differences.hpp>

namespace mlsysim {

/// Breaks of one type at one place of a program, before and after.
struct BreakPlace {
  std::string model, type;
  BreakCategory category = BreakCategory::other;
  SourceLine place;  ///< as the later record has it
  std::string hint{};
  double before = 0, after = 0;

  /// "break Dynamic shape operator at modeling_vits.py forward": it does not depend on the line.
  [[nodiscard]] std::string name() const;
  /// "modeling_vits.py:177 (dynamic_shape)", for people.
  [[nodiscard]] std::string shown() const;
};

/// Breaks by place, most frequent first. Unlisted breaks are one more place without a name. `before` stays 0.
[[nodiscard]] std::vector<BreakPlace> break_places(const CompileRecords& records);

/// Changes between two sets of compiler records of the same models.
struct CompileDiff {
  std::vector<BreakPlace> places;  ///< all; new, gone and changed ones first, by the size of the change
  std::vector<std::string> only_before, only_after;  ///< models that one side alone has
  Time<> compile_before{}, compile_after{};
  double graphs_before = 0, graphs_after = 0;
};
[[nodiscard]] CompileDiff diff_of(const CompileRecords& before, const CompileRecords& after);

/// CompilationModel with the places of breaks as inputs, instead of their number; where `arrival_rate` is
/// among the inputs, the results of TailLatencyModel follow, whose service is the compiled step.
/// @param inputs of both resolvers, as texts, with workload and hardware
/// @param counts by name of the place
/// @throws InputError, LookupError for inputs that neither has, or that the places give
[[nodiscard]] Subject break_subject(const std::map<std::string, std::string>& inputs,
                                    const std::map<std::string, double>& counts, const Zoo& zoo);
/// Adds places that have no break. A subject that `break_subject` did not make is returned unchanged.
[[nodiscard]] Subject with_more_places(const Subject& subject, const std::vector<std::string>& names);
/// Whether an input is a place.
[[nodiscard]] bool is_break_place(std::string_view input);

/// Inputs and metric for the estimate of a difference.
struct BreakPricing {
  std::map<std::string, std::string> inputs;  ///< of `break_subject`
  std::string metric{};                       ///< empty: p99_latency where requests arrive, else compiled
};
/// The difference of one number between the two sides, with the part of each place. Other causes hold the
/// parts of everything else in the records.
/// @throws LookupError, InputError for inputs; DomainError where a side has no such number
[[nodiscard]] Difference priced_diff(const CompileDiff& diff, const BreakPricing& fidelity_model,
                                     const Zoo& zoo);

}  // namespace mlsysim
