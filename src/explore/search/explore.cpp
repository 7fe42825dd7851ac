#include <mlsysim/explore/search/explore.hpp>
#include <mlsysim/explore/search/parts.hpp>

#include "explore/search/search.hpp"

#include <mlsysim/files/detail/seal.hpp>
#include <mlsysim/units/detail/fnv.hpp>
#include <mlsysim/units/detail/json_text.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

namespace mlsysim {
namespace {

using Json = nlohmann::ordered_json;
using detail::Reduction;
using detail::SearchResult;

constexpr double kSmall = 1048576;  // points up to which every one is evaluated rather than bounded (3
                                    // million take as long either way)
constexpr double kRelaxable = 2e7;  // points up to which an infeasible space is swept again for relaxations
constexpr double kConflict = 4e6;   // points up to which it is swept once more for what excludes what ...
constexpr double kSlowConflict = 5e4;  // ... and where every point is a call of a resolver
constexpr std::string_view kState = "mlsysim/explore-state@2";

std::string question_text(const Question& q) {
  std::string out = fmt::format("top {} implicit {}\n", q.top, q.implicit_constraints);
  for (const auto& o : q.objectives)
    out += fmt::format("{} {}\n", o.goal == Goal::minimize ? "minimize" : "maximize", o.text);
  for (const auto& c : q.constraints) out += fmt::format("constraint {}\n", c);
  for (const auto& s : q.show) out += fmt::format("show {}\n", s);
  if (q.histogram) out += fmt::format("histogram {}\n", *q.histogram);
  return out;
}

void check_question(const Space& space, const Question& q) {
  const auto& entry = space.sample().entry;
  const detail::Compiled reads(q, entry);
  constexpr const char* kQuestion{"mlsysim.explore.050"};
  if (q.objectives.size() > 16)
    throw InputError(kQuestion, "too many objectives", "", fmt::format("{}", q.objectives.size()),
                     "at most 16");
  if (reads.constraints.size() > 31)
    throw InputError(kQuestion, "too many constraints", "", fmt::format("{}", reads.constraints.size()),
                     "at most 31, the implicit ones included");
  if (q.top < 1 || q.top > 1000000)
    throw InputError(kQuestion, "the number of best points is out of range", "", fmt::format("{}", q.top),
                     "1 to 1000000");
  for (const auto& o : reads.objectives)
    if (o.constant())
      throw InputError(kQuestion, fmt::format("the objective '{}' is the same everywhere", o.text()), "",
                       "a constant", "a result or input that varies");
}

Json read_state(const std::string& text, const std::string& digest, std::string_view what) {
  Json j;
  try {
    j = Json::parse(text);
  } catch (const Json::exception&) {
    throw InputError({.id = "mlsysim.explore.051",
                      .message = fmt::format("the state to {} is no state", what),
                      .found = "text that is not JSON",
                      .expected = std::string(kState),
                      .hint = "it is written by a run with --checkpoint or --shard"});
  }
  const auto text_at = [&](const char* name) {
    return j.is_object() && j.contains(name) && j[name].is_string() ? j[name].get<std::string>() : "";
  };
  if (text_at("schema") != kState)
    throw InputError({.id = "mlsysim.explore.051",
                      .message = fmt::format("the state to {} is no state", what),
                      .found = text_at("schema").empty() ? "JSON without a schema" : text_at("schema"),
                      .expected = std::string(kState)});
  if (const auto damage = files::damage_of(text))
    throw InputError({.id = "mlsysim.explore.064",
                      .message = fmt::format("the state to {} is damaged", what),
                      .found = *damage,
                      .expected = "a state as it was written",
                      .hint = "run this part again"});
  if (text_at("digest") != digest)
    throw InputError(
        {.id = "mlsysim.explore.052",
         .message = fmt::format("the state to {} answers another question", what),
         .found = fmt::format("digest {}", text_at("digest")),
         .expected = fmt::format("digest {}", digest),
         .hint = "plan, axes, constraints, objectives, the zoo's figures and the version must be the same"});
  return j;
}

SearchResult from_state(const Json& j, const Space& space, const Question& q, std::size_t constraints,
                        std::string_view what) {
  const auto damaged = [&](std::string found) -> InputError {
    return InputError({.id = "mlsysim.explore.064",
                       .message = fmt::format("the state to {} is damaged", what),
                       .found = std::move(found),
                       .expected = "a state as it was written",
                       .hint = "run this part again"});
  };
  SearchResult r;
  try {
    r.reduction = Reduction::from_json(j.at("reduction"), q, constraints);
    r.range = {j.at("first"), j.at("last")};
    r.next = j.at("next");
  } catch (const Json::exception& e) {
    throw damaged(e.what());
  }
  if (r.range.first > r.next || r.next > r.range.last || r.range.last > space.size())
    throw damaged(fmt::format("point {} of {} to {} in a space of {}", r.next, r.range.first, r.range.last,
                              space.size()));
  // A checksum tells damage and no forger: what is kept must be of these points, and they must add up.
  const auto& kept = r.reduction;
  const auto outside = [&](std::uint64_t index) { return index < r.range.first || index >= r.next; };
  for (const auto& [value, index] : kept.top.entries())
    if (outside(index)) throw damaged(fmt::format("point {}, which is not of this part", index));
  for (const auto& e : kept.front.entries())
    if (outside(e.index)) throw damaged(fmt::format("point {}, which is not of this part", e.index));
  for (const auto& m : kept.misses)
    if (m.alone > 0 && outside(m.index))
      throw damaged(fmt::format("point {}, which is not of this part", m.index));
  const auto& n = kept.counts;
  for (const double count : {kept.evaluated, n.feasible, n.infeasible, n.not_finite, n.skipped})
    if (!(count >= 0)) throw damaged(fmt::format("a count of {} points", count));
  if (kept.evaluated + n.skipped != static_cast<double>(r.next - r.range.first))
    throw damaged(fmt::format("{} points, of which {} were evaluated and {} skipped", r.next - r.range.first,
                              kept.evaluated, n.skipped));
  r.complete = r.next >= r.range.last;
  return r;
}

[[noreturn]] void not_built(Strategy strategy, std::string_view library, std::string_view package,
                            std::string_view option) {
  throw SolverError(
      {.id = "mlsysim.explore.059",
       .message = fmt::format("this build has no {} search", name_of(strategy)),
       .key = "strategy",
       .found = fmt::format("a build without {}", library),
       .expected = "automatic, exhaustive or branch-and-bound",
       .hint = fmt::format("install {} and configure the build again ({}=ON)", package, option)});
}

bool is_heuristic(Strategy strategy) {
  return strategy == Strategy::gradient || strategy == Strategy::evolutionary;
}

const detail::HeuristicSearch* heuristic(Strategy strategy) {
  return strategy == Strategy::gradient ? detail::gradient_search() : detail::evolutionary_search();
}

/// Gradient and evolutionary: what they cannot answer, and what is not there.
ExploreAnswer heuristic_answer(const Space& space, const Question& question, const ExploreOptions& options) {
  const bool gradient = options.strategy == Strategy::gradient;
  const auto* search = heuristic(options.strategy);
  if (search == nullptr)
    gradient ? not_built(options.strategy, "NLopt", "libnlopt-dev", "MLSYSIM_WITH_NLOPT")
             : not_built(options.strategy, "pagmo2", "libpagmo-dev", "MLSYSIM_WITH_PAGMO");
  if (options.evaluations < 100 || options.evaluations > 1000000000)
    throw InputError({.id = "mlsysim.explore.049",
                      .message = "the number of evaluations is out of range",
                      .key = "evaluations",
                      .found = fmt::format("{}", options.evaluations),
                      .expected = "100 to 1e9"});
  const std::string obstacle = search->obstacle(space, question, options);
  if (!obstacle.empty())
    throw SolverError({.id = "mlsysim.explore.054",
                       .message = fmt::format("the {} search cannot answer this", name_of(options.strategy)),
                       .found = obstacle,
                       .expected = gradient ? "one objective over a law, and an axis over a continuous number"
                                            : "objectives over a whole space",
                       .hint = "use another strategy"});
  return search->run(space, question, options);
}

/// Whether the answer says that nothing is feasible, about all points of a space that can be swept again.
bool wants_conflict(const Space& space, const ExploreAnswer& a) {
  const auto total = static_cast<double>(space.size());
  const double most = space.sample().entry.is_law() ? kConflict : kSlowConflict;
  return a.complete && !a.objectives.empty() && a.feasible == 0 && a.infeasible > 0 && a.covered >= total &&
         total <= most;
}

}  // namespace

bool is_built(Strategy strategy) { return !is_heuristic(strategy) || heuristic(strategy) != nullptr; }

std::string digest_of(const Space& space, const Question& question) {
  std::string text = space.fingerprint() + question_text(question);
  // The numbers of the first subject depend on views and plugins as well, so they are part of the digest.
  for (const double x : space.sample().point) text += fmt::format("{:a} ", x);
  return fmt::format("{:016x}", detail::fnv1a(text));
}

ExploreAnswer explore(const Space& space, const Question& question, const ExploreOptions& options) {
  check_question(space, question);
  const std::size_t constraints = detail::constraint_texts(question, space.sample().entry).size();
  const std::string digest = digest_of(space, question);
  const auto range = shard_range(space.size(), options.shard, options.shards);
  if (is_heuristic(options.strategy)) {
    auto answer = heuristic_answer(space, question, options);
    if (options.strategy == Strategy::evolutionary && wants_conflict(space, answer))
      answer.conflict = detail::conflict_of(space, question);
    return answer;
  }
  const std::string obstacle = detail::no_bounds(space, question, options);
  if (options.strategy == Strategy::branch_and_bound && !obstacle.empty())
    throw SolverError(
        {.id = "mlsysim.explore.054",
         .message = fmt::format("the {} search cannot answer this", name_of(Strategy::branch_and_bound)),
         .found = obstacle,
         .expected = "one objective over a subject with bounds",
         .hint = "use the exhaustive strategy"});
  const auto total = static_cast<double>(space.size());
  const bool bounds = options.strategy == Strategy::branch_and_bound ||
                      (options.strategy == Strategy::automatic && obstacle.empty() && total > kSmall);
  SearchResult found;
  bool done = false;
  if (bounds) {
    found = detail::branch_and_bound(space, question, options);
    const bool cancelled = options.cancel != nullptr && options.cancel->load();
    done = found.proven || cancelled || options.strategy == Strategy::branch_and_bound;
    // Bounds prove that nothing is feasible but do not say what is missing.
    if (found.proven && found.reduction.top.entries().empty() && total <= kRelaxable) done = false;
  }
  if (!done) {
    Reduction start(question, constraints);
    std::uint64_t from = range.first;
    if (!options.resume.empty()) {
      const Json j = read_state(options.resume, digest, "resume");
      auto earlier = from_state(j, space, question, constraints, "resume");
      if (earlier.range.first != range.first || earlier.range.last != range.last)
        throw InputError({.id = "mlsysim.explore.055",
                          .message = "the state to resume is of another shard",
                          .found = fmt::format("points {} to {}", earlier.range.first, earlier.range.last),
                          .expected = fmt::format("points {} to {}, shard {}/{}", range.first, range.last,
                                                  options.shard, options.shards)});
      start = std::move(earlier.reduction);
      from = earlier.next;
    }
    found = detail::sweep_points(space, question, options, range, from, std::move(start));
  }
  auto answer = detail::write_answer(space, question, found);
  answer.state = detail::state_text(found, digest, options.shard, options.shards);
  if (wants_conflict(space, answer)) answer.conflict = detail::conflict_of(space, question);
  return answer;
}

namespace {

/// Finished parts that follow one another, as one.
SearchResult joined(const Space& space, const Question& question, const std::string& digest,
                    std::span<const std::string> states) {
  const std::size_t constraints = detail::constraint_texts(question, space.sample().entry).size();
  std::vector<SearchResult> parts;
  for (const auto& text : states) {
    parts.push_back(from_state(read_state(text, digest, "merge"), space, question, constraints, "merge"));
    const auto& p = parts.back();
    if (!p.complete)
      throw InputError({.id = "mlsysim.explore.056",
                        .message = "a shard is not finished",
                        .found = fmt::format("points {} to {} of {}", p.range.first, p.next, p.range.last),
                        .expected = "a finished run",
                        .hint = "finish it with --resume"});
  }
  std::erase_if(parts, [](const SearchResult& p) { return p.range.first == p.range.last; });
  std::sort(parts.begin(), parts.end(),
            [](const SearchResult& a, const SearchResult& b) { return a.range.first < b.range.first; });
  SearchResult whole{.reduction = Reduction(question, constraints)};
  if (!parts.empty()) whole.range.first = whole.next = parts.front().range.first;
  for (const auto& p : parts) {
    const auto found = fmt::format("a part that starts at point {}", p.range.first),
               expected = fmt::format("one that starts at point {}", whole.next);
    if (p.range.first < whole.next)
      throw InputError({.id = "mlsysim.explore.065",
                        .message = "a shard is there twice",
                        .found = found,
                        .expected = expected});
    if (p.range.first > whole.next)
      throw InputError({.id = "mlsysim.explore.057",
                        .message = "a shard is missing",
                        .found = found,
                        .expected = expected});
    whole.reduction.merge(p.reduction);
    whole.next = p.range.last;
  }
  whole.range.last = whole.next;
  return whole;
}

}  // namespace

std::string join_states(const Space& space, const Question& question, std::span<const std::string> states) {
  check_question(space, question);
  const std::string digest = digest_of(space, question);
  return detail::state_text(joined(space, question, digest, states), digest, 1, 1);
}

ExploreAnswer merge(const Space& space, const Question& question, std::span<const std::string> states) {
  check_question(space, question);
  const std::string digest = digest_of(space, question);
  const auto whole = joined(space, question, digest, states);
  if (whole.range.first != 0 || whole.next != space.size())
    throw InputError(
        {.id = "mlsysim.explore.057",
         .message = "a shard is missing",
         .found = whole.range.first != 0 ? fmt::format("a part that starts at point {}", whole.range.first)
                                         : fmt::format("{} of {} points", whole.next, space.size()),
         .expected = whole.range.first != 0 ? "one that starts at point 0" : "all shards of the run"});
  auto answer = detail::write_answer(space, question, whole);
  answer.state = detail::state_text(whole, digest, 1, 1);
  if (wants_conflict(space, answer)) answer.conflict = detail::conflict_of(space, question);
  return answer;
}

ExploreAnswer bounded_answer(const Space& space, const Question& question, const BoundedPart& best) {
  const std::size_t constraints = detail::constraint_texts(question, space.sample().entry).size();
  SearchResult whole{.reduction = Reduction(question, constraints), .range = {0, space.size()}};
  whole.next = space.size();
  whole.complete = whole.proven = best.proven;
  whole.bound = best.value;
  if (best.value < HUGE_VAL) whole.reduction.top.add(best.value, best.index);
  auto answer = detail::write_answer(space, question, whole);
  answer.constraints.clear();  // what missed them was not counted
  answer.method = "branch and bound by several workers, which shared the best value";
  return answer;
}

namespace detail {

std::string state_text(const SearchResult& r, const std::string& digest, std::uint64_t shard,
                       std::uint64_t shards) {
  return files::sealed(detail::json_text(Json{{"schema", kState},
                                              {"digest", digest},
                                              {"shard", shard},
                                              {"shards", shards},
                                              {"first", r.range.first},
                                              {"last", r.range.last},
                                              {"next", r.next},
                                              {"reduction", r.reduction.to_json()}})) +
         "\n";
}

}  // namespace detail
}  // namespace mlsysim
