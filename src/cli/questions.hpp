#pragma once
// Turns words and options into questions, for the commands that answer in text and those that plot.

#include "commands.hpp"

#include <mlsysim/engine/field_input.hpp>
#include <mlsysim/explore/ask/intervals.hpp>
#include <mlsysim/explore/search/explore.hpp>
#include <mlsysim/explore/space/space.hpp>
#include <mlsysim/explore/subject/subject.hpp>
#include <mlsysim/pipeline/pipeline.hpp>

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace mlsysim::cli {

/// Percent of measurements that a range holds where nobody says how many.
inline constexpr int kUsualLevel = 80;
/// Samples of the ranges of the zoo: where an interval is asked for, and where it stands beside an answer.
inline constexpr std::size_t kAskedSamples = 512, kCardSamples = 64;

/// The subject that the first words name: MODEL HARDWARE, a plan file, or a resolver with its inputs.
struct AskedSubject {
  Subject subject;
  BuiltScenario built;    ///< owns what a scenario points to
  IntervalSubject about;  ///< by what its errors are known
};
/// @param inputs that the question names: those that nobody gave are there all the same, at what stands for
/// them
[[nodiscard]] AskedSubject subject_asked(ScenarioRequest request, std::span<const std::string> inputs = {});
/// The subject with changes applied, NAME=VALUE each.
[[nodiscard]] AskedSubject changed_subject(ScenarioRequest request, const std::vector<std::string>& changes);

/// A limit on a time of a request, beside what is predicted.
struct LimitAt {
  std::string limit, found;  ///< "p99 ttft <= 2 s", "1.29 s"; or why no time holds: "61.8 GB short of memory"
  std::string result;        ///< "p99_ttft"
  double most = 0, value = 0;  ///< [s]
  bool met = false;
};
/// @throws InputError where the subject has no such time: it is no served model, or at a load without it
[[nodiscard]] std::vector<LimitAt> limits_at(const Subject& subject, std::span<const ServiceLimit> limits);
/// "ttft <= 2 s: 1.29 s, met; itl <= 30 ms: 35.1 ms, broken"
[[nodiscard]] std::string words_of(std::span<const LimitAt> limits);
[[nodiscard]] bool all_met(std::span<const LimitAt> limits);

/// A count of a pool that a question varies is there, at this value where nobody gave one: without prefill
/// workers there is nothing to vary. A rate that varies is there as well, since it says which load is asked.
void give_varied(ScenarioRequest& request, std::string_view name, std::string_view value);

/// Whether a file is a plan: it has a section `workload` and no schema line. Other files hold a model or
/// entries of a zoo.
[[nodiscard]] bool holds_a_plan(const std::string& path);

/// Takes the result off the words; empty where they name a subject alone.
[[nodiscard]] std::string popped_result(ScenarioRequest& request);
/// The result that a question is about by default; empty where the subject has no usual one.
[[nodiscard]] std::string main_result(const Subject& subject);

/// A space and what is asked about it.
struct AskedSpace {
  BuiltScenario built;
  std::unique_ptr<FieldReader> reader;
  std::unique_ptr<Space> space;
  IntervalSubject about;  ///< by what the errors of its points are known, beside the axes
  Question question;
  std::string said;  ///< what was filled in where nothing was asked for
};
[[nodiscard]] AskedSpace space_asked(const ScenarioRequest& request, const SearchRequest& asked);

/// Changes of options with which an end of a space fits: "accelerators 8192 fits with --zero-stage 1, or
/// --recomputation full". Empty where none is known.
[[nodiscard]] std::string what_fits(const ScenarioRequest& request, const Space& space);

/// The pipeline that the words of a pipeline command mean. @throws as its builder
[[nodiscard]] Pipeline pipeline_asked(const PipelineRequest& request);

}  // namespace mlsysim::cli
