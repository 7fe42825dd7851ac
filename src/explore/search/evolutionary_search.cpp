// Search by generations: pagmo2 where it was found (MLSYSIM_WITH_PAGMO). A chromosome is the row of each
// axis.

#include "explore/search/search.hpp"

#include <fmt/format.h>

#include <pagmo/algorithm.hpp>
#include <pagmo/algorithms/nsga2.hpp>
#include <pagmo/algorithms/sga.hpp>
#include <pagmo/population.hpp>
#include <pagmo/problem.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <unordered_map>

namespace mlsysim::detail {

namespace {

constexpr std::size_t kPopulation = 64;  // a multiple of 4, as NSGA-II asks
constexpr std::size_t kSubjects = 1024;  // choices of the structural axes that are kept
constexpr double kInfeasible = 1e100;    // any feasible point is better; then the one that misses by less

/// Evaluates points once each and keeps what passes by.
class Grid {
 public:
  Grid(const Space& space, const Question& question, const ExploreOptions& options)
      : space_(space),
        question_(question),
        options_(options),
        kernel_(space, question),
        objectives_(question.objectives.size()) {
    result.reduction = Reduction(question, constraint_texts(question, space.sample().entry).size());
    result.range = {0, space.size()};
    std::uint64_t stride = space.size();
    for (const auto& a : space.axes()) {
      stride /= a.size();
      if (a.size() > 1) genes_.push_back({a.size(), stride});
    }
  }

  struct Gene {
    std::uint64_t rows, stride;
  };
  [[nodiscard]] const std::vector<Gene>& genes() const { return genes_; }
  [[nodiscard]] std::size_t objectives() const { return objectives_; }
  [[nodiscard]] std::uint64_t evaluated() const { return known_.size(); }
  [[nodiscard]] bool done() const {
    return evaluated() >= std::min(options_.evaluations, space_.size()) ||
           (options_.cancel != nullptr && options_.cancel->load(std::memory_order_relaxed));
  }

  [[nodiscard]] std::uint64_t index_of(const std::vector<double>& rows) const {
    std::uint64_t at = 0;
    for (std::size_t g = 0; g < genes_.size(); ++g)
      at += std::min(genes_[g].rows - 1, static_cast<std::uint64_t>(std::max(0.0, std::round(rows[g])))) *
            genes_[g].stride;
    return at;
  }

  /// Signed objectives, smaller is better; beyond every number where a constraint is missed.
  const std::vector<double>& fitness(std::uint64_t index) {
    if (const auto known = known_.find(index); known != known_.end()) return known->second;
    auto& out = known_[index];
    out.assign(objectives_, 3 * kInfeasible);
    if (!use(index / space_.inner())) {
      result.reduction.skip(subjects_.at(index / space_.inner()).reason, 1);
      return out;
    }
    const std::uint64_t at = index % space_.inner();
    kernel_.run(std::span(&at, 1));
    result.reduction.add(kernel_, std::span(&index, 1));
    const MissWord missed = kernel_.misses()[0];
    if (missed == 0) {
      for (std::size_t k = 0; k < objectives_; ++k) out[k] = kernel_.objective(k)[0];
    } else {
      double excess = 0;
      for (std::size_t i = 0; i < kernel_.compiled().constraints.size(); ++i) {
        if ((missed >> std::min(i, kMissBits) & 1u) == 0) continue;
        const double part = kernel_.relative_excess(i, 0);
        excess += std::isfinite(part) ? part : 2;
      }
      std::fill(out.begin(), out.end(), kInfeasible * (1 + excess / (1 + excess)));
    }
    return out;
  }

  void report(std::chrono::steady_clock::time_point began) const {
    if (!options_.progress) return;
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    const auto n = static_cast<double>(evaluated()),
               total = static_cast<double>(std::min(options_.evaluations, space_.size()));
    options_.progress({n, total, n / std::max(seconds, 1e-9), seconds / std::max(n, 1.0) * (total - n)});
  }

  SearchResult result;

 private:
  struct Bound {
    std::shared_ptr<const Subject> subject;
    std::shared_ptr<const Compiled> compiled;
    std::string reason;
  };
  bool use(std::uint64_t outer) {
    auto found = subjects_.find(outer);
    if (found != subjects_.end() && outer == current_) return found->second.subject != nullptr;
    current_ = outer;
    if (found != subjects_.end()) {
      if (found->second.subject) kernel_.use(found->second.subject, found->second.compiled);
      return found->second.subject != nullptr;
    }
    if (subjects_.size() >= kSubjects) subjects_.clear();
    Bound b;
    b.reason = kernel_.bind(outer);
    if (b.reason.empty()) {
      b.subject = std::make_shared<const Subject>(kernel_.subject());
      b.compiled = kernel_.shared_compiled();
    }
    return subjects_.emplace(outer, std::move(b)).first->second.subject != nullptr;
  }

  const Space& space_;
  const Question& question_;
  const ExploreOptions& options_;
  PointKernel kernel_;
  std::size_t objectives_;
  std::vector<Gene> genes_;
  std::unordered_map<std::uint64_t, std::vector<double>> known_;
  std::unordered_map<std::uint64_t, Bound> subjects_;
  std::uint64_t current_ = static_cast<std::uint64_t>(-1);
};

/// The grid as pagmo sees it.
struct GridProblem {
  std::shared_ptr<Grid> grid;

  [[nodiscard]] pagmo::vector_double fitness(const pagmo::vector_double& rows) const {
    return grid->fitness(grid->index_of(rows));
  }
  [[nodiscard]] std::pair<pagmo::vector_double, pagmo::vector_double> get_bounds() const {
    pagmo::vector_double low, high;
    for (const auto& g : grid->genes()) {
      low.push_back(0);
      high.push_back(static_cast<double>(g.rows - 1));
    }
    return {low, high};
  }
  [[nodiscard]] pagmo::vector_double::size_type get_nobj() const { return grid->objectives(); }
  [[nodiscard]] pagmo::vector_double::size_type get_nix() const { return grid->genes().size(); }
};

/// Neighbors of the best point, one row up or down, until none is better.
void polish(Grid& grid) {
  bool better = true;
  while (better && !grid.done() && !grid.result.reduction.top.entries().empty()) {
    better = false;
    const auto [value, index] = grid.result.reduction.top.entries().front();
    for (const auto& g : grid.genes()) {
      const std::uint64_t row = index / g.stride % g.rows;
      if (row > 0) better = grid.fitness(index - g.stride)[0] < value || better;
      if (row + 1 < g.rows) better = grid.fitness(index + g.stride)[0] < value || better;
    }
  }
}

std::string obstacle_of(const Space&, const Question& question, const ExploreOptions& options) {
  if (question.objectives.empty()) return "a search by generations needs an objective";
  if (question.histogram) return "a histogram needs every point";
  if (options.shards != 1 || !options.resume.empty() || options.checkpoint)
    return "shards and restarts belong to an exhaustive search";
  return {};
}

ExploreAnswer run(const Space& space, const Question& question, const ExploreOptions& options) {
  const auto began = std::chrono::steady_clock::now();
  auto grid = std::make_shared<Grid>(space, question, options);
  const bool several = grid->objectives() > 1;
  if (grid->genes().empty()) {
    (void)grid->fitness(0);
  } else {
    const pagmo::problem problem(GridProblem{grid});
    // Some populations one after the other, because each may settle early; an even number of generations
    // between looks.
    const unsigned rounds = several ? 1 : 4;
    for (unsigned round = 0; round < rounds && !grid->done(); ++round) {
      const auto seed = static_cast<unsigned>(options.seed * 1000 + round);
      pagmo::population population(problem, kPopulation, seed);
      const double genes = static_cast<double>(grid->genes().size());
      const pagmo::algorithm near =
          several ? pagmo::algorithm(pagmo::nsga2(4u, 0.9, 10., std::max(0.05, 1 / genes), 20., seed))
                  : pagmo::algorithm(pagmo::sga(2u, 0.9, 1., std::max(0.05, 0.5 / genes), 20., 2u, "single",
                                                "polynomial", "tournament", seed));
      const pagmo::algorithm far =
          several ? near
                  : pagmo::algorithm(pagmo::sga(2u, 0.9, 1., std::max(0.05, 0.5 / genes), 1., 2u, "binomial",
                                                "uniform", "tournament", seed + 500));
      const std::uint64_t until = several ? options.evaluations : options.evaluations / rounds * (round + 1);
      // A population that has settled finds nothing new: it ends after some looks without a new point.
      for (std::uint64_t idle = 0, before = grid->evaluated();
           idle < 25 && grid->evaluated() < until && !grid->done();) {
        population = near.evolve(population);
        population = far.evolve(population);
        idle = grid->evaluated() > before + 2 ? 0 : idle + 1;
        before = grid->evaluated();
        grid->report(began);
      }
      if (!several) polish(*grid);
    }
  }
  auto found = std::move(grid->result);
  found.next = space.size();
  found.complete = options.cancel == nullptr || !options.cancel->load();
  found.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  auto answer = write_answer(space, question, found);
  const double seen = answer.evaluated + answer.skipped;
  if (answer.complete && seen < answer.total) {
    answer.exactness = Exactness::heuristic;
    answer.covered = seen;
  }
  answer.method = fmt::format(
      "pagmo2: generations of 64 points ({}), seed {}; good points of the grid, not proven the best",
      several ? "NSGA-II" : "genetic algorithm, then neighbours", options.seed);
  return answer;
}

}  // namespace

const HeuristicSearch* evolutionary_search() {
  static constexpr HeuristicSearch search{obstacle_of, run};
  return &search;
}

}  // namespace mlsysim::detail
