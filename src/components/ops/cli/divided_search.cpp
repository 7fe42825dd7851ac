// Searches in shards, on ranks of mpirun, with states and with files of rows; joining what they leave behind.

#include "cli/divided_search.hpp"

#include "commands_divided.hpp"
#include "search_bounds.hpp"
#include "search_files.hpp"

#include <mlsysim/files/detail/files.hpp>
#include <mlsysim/units/detail/json_text.hpp>

#include <fmt/format.h>

#include <optional>

namespace mlsysim::cli {
namespace {

using Json = nlohmann::ordered_json;

Json request_json(const ScenarioRequest& r, const SearchRequest& s) {
  return {
      {"targets", r.targets},   {"fields", r.fields},       {"region", r.region},           {"axes", s.axes},
      {"minimize", s.minimize}, {"maximize", s.maximize},   {"constraints", s.constraints}, {"show", s.show},
      {"top", s.top},           {"histogram", s.histogram}, {"anything", s.anything}};
}

/// @throws Json::exception for what request_json did not write
void request_from(const Json& j, ScenarioRequest& r, SearchRequest& s) {
  r.targets = j.at("targets").get<std::vector<std::string>>();
  r.fields = j.at("fields").get<std::map<std::string, std::string>>();
  r.region = j.at("region");
  s.axes = j.at("axes").get<std::vector<std::string>>();
  s.minimize = j.at("minimize").get<std::vector<std::string>>();
  s.maximize = j.at("maximize").get<std::vector<std::string>>();
  s.constraints = j.at("constraints").get<std::vector<std::string>>();
  s.show = j.at("show").get<std::vector<std::string>>();
  s.top = j.at("top");
  s.histogram = j.at("histogram");
  s.anything = j.at("anything");
}

/// Reads the state that explore() and merge() take from a state file, and refuses a file without one.
std::string state_in(const Json& j, const std::string& path) {
  if (!j.contains("state") || !j["state"].is_string())
    refuse_state_file(path, kShardSchema, "no state in it");
  return j["state"];
}

constexpr std::string_view kRanks = "mpi";  // the shard of --mpi: that of the rank

/// Refuses a search that MPI ranks cannot share, before they begin.
void check_ranks(const SearchRequest& asked, const AskedSpace& s, int size) {
  constexpr Fault kUnshared{.id = "mlsysim.cli.164", .message = "ranks cannot share this search"};
  if (!asked.rows.empty()) return;  // rank 0 writes, and has the state
  if (s.question.objectives.empty() && !s.question.histogram)
    throw InputError(
        kUnshared.with({.key = "--mpi",
                        .found = "a sweep that lists every point",
                        .expected = "objectives, --histogram or --rows FILE",
                        .hint = "add --minimize or --maximize, or write the points with --rows"}));
  if (size > 1 && !asked.state.empty() && asked.state.find("{shard}") == std::string::npos)
    throw InputError(kUnshared.with({.key = "--state",
                                     .found = fmt::format("one file for {} ranks", size),
                                     .expected = "a name with {shard}",
                                     .hint = "e.g. --state 'part-{shard}.json'"}));
  if (asked.strategy == "gradient" || asked.strategy == "evolutionary")
    throw InputError(kUnshared.with({.key = "--strategy",
                                     .found = asked.strategy,
                                     .expected = "exhaustive or branch-and-bound",
                                     .hint = "leave --strategy out"}));
  if (asked.strategy == "branch-and-bound" && !asked.state.empty())
    throw InputError(kUnshared.with({.key = "--state",
                                     .found = "--state of a search by bounds",
                                     .expected = "an exhaustive search",
                                     .hint = "leave --state or --strategy out"}));
}

/// The answer of workers that shared the best value. What they looked at hangs on when they heard of each
/// other, so that it is said beside the answer.
Answer shared_answer(const AskedSpace& s, const BoundedPart& best, std::string_view who,
                     const RenderOptions& options) {
  auto out = answer_of(bounded_answer(*s.space, s.question, best), options);
  out.diagnostics +=
      fmt::format("mlsysim: {} bounded {} boxes and evaluated {} points\n", who, best.boxes, best.evaluated);
  return out;
}

/// The state of every rank joined two by two; the answer is that of rank 0.
Answer joined_on_ranks(const AskedSpace& s, const ExploreAnswer& own, const RenderOptions& options) {
  const auto& r = ranks();
  if (!own.complete) refuse_interrupted_rank(fmt::format("{} of {} points", own.covered, own.total));
  const auto whole = joined_over_ranks(r, own.state, [&](const std::string& a, const std::string& b) {
    const std::vector<std::string> both{a, b};
    return join_states(*s.space, s.question, both);
  });
  if (r.rank != 0) return {};
  const std::vector<std::string> one{whole};
  return answer_of(merge(*s.space, s.question, one), options);
}

/// The search of one process, or of one rank.
Answer search_part(const ScenarioRequest& request, const SearchRequest& as_given,
                   const RenderOptions& options, Observed& observed) {
  SearchRequest asked = as_given;
  const bool mpi = asked.shard == kRanks;
  if (mpi) {
    check_ranks(asked, space_asked(request, asked), ranks().size);
    // Rows are one file, which rank 0 writes.
    asked.shard = asked.rows.empty() ? fmt::format("{}/{}", ranks().rank + 1, ranks().size) : std::string();
  }
  const Shard shard = shard_of(asked.shard);
  // Tasks that share a command line have files of their own.
  for (auto* file : {&asked.state, &asked.rows})
    if (const auto at = file->find("{shard}"); at != std::string::npos)
      file->replace(at, 7, fmt::format("{}", shard.k));
  const auto s = space_asked(request, asked);
  const Json head = request_json(request, asked);
  auto how = explore_options(asked, s, observed);
  if (!asked.rows.empty())
    return write_rows(*s.space, s.question, head, asked, mpi ? &ranks() : nullptr, *how.cancel, options);
  const bool shares = !mpi && !asked.shard.empty() && asked.strategy == "branch-and-bound";
  const bool resumes = !shares && goes_on_from_state(asked);
  std::optional<files::Lock> lock;
  if (!asked.state.empty() && !shares) lock.emplace(asked.state);
  if (shares) return bounded_with_states(s, how, asked, as_given.state, head, options);
  if (mpi && how.strategy == Strategy::branch_and_bound) {
    const auto all = bounded_on_ranks(s, how);
    return all ? shared_answer(s, *all, fmt::format("{} ranks", ranks().size), options) : Answer{};
  }
  how.shard = shard.k;
  how.shards = shard.n;
  if (resumes) how.resume = state_in(read_state_file(asked.state, kShardSchema), asked.state);
  if (!asked.state.empty())
    how.checkpoint = [&](const std::string& state) {
      replace_state_file(asked.state, {{"schema", kShardSchema}, {"request", head}, {"state", state}});
    };
  const auto answer = explored(s, asked, how, observed);
  if (mpi) return joined_on_ranks(s, answer, options);
  auto out = answer_of(answer, options);
  if (!s.said.empty()) out.diagnostics.insert(0, fmt::format("mlsysim: {}\n", s.said));
  return out;
}

}  // namespace

Answer divided_search(const ScenarioRequest& request, const SearchRequest& asked,
                      const RenderOptions& options) {
  Observed observed;
  const auto here = [&] {
    return observed.around([&] { return search_part(request, asked, options, observed); });
  };
  return asked.shard == kRanks ? on_ranks(here) : here();
}

Answer sampled_on_ranks(const std::function<Answer(const SharedSamples&)>& question) {
  return on_ranks([&] {
    const auto& r = ranks();
    return question({.part = static_cast<std::uint64_t>(r.rank) + 1,
                     .parts = static_cast<std::uint64_t>(r.size),
                     .gather = [&](const std::vector<double>& own) { return numbers_of_ranks(r, own); }});
  });
}

Answer merge_states(const std::vector<std::string>& paths, const RenderOptions& options) {
  std::vector<std::string> states;
  ScenarioRequest request;
  SearchRequest asked;
  Json head;
  const bool bounded = is_bounded_state(paths.front());
  const auto schema = bounded ? kBoundedSchema : kShardSchema;
  for (const auto& path : paths) {
    const Json j = read_state_file(path, schema);
    if (head.is_null())
      head = j.at("request");
    else if (head != j.at("request"))
      throw InputError({.id = "mlsysim.cli.078",
                        .message = "the shards answer different questions",
                        .key = path,
                        .found = detail::json_text(j.at("request")),
                        .expected = detail::json_text(head)});
    if (!bounded) states.push_back(state_in(j, path));
  }
  try {
    request_from(head, request, asked);
  } catch (const Json::exception& e) {
    refuse_state_file(paths.front(), schema, e.what());
  }
  const auto s = space_asked(request, asked);
  if (bounded)
    return shared_answer(s, merged_bounds(s, paths), fmt::format("{} workers", paths.size()), options);
  return answer_of(merge(*s.space, s.question, states), options);
}

}  // namespace mlsysim::cli
