#include <mlsysim/resolvers/walls.hpp>

#include <mlsysim/resolver_api/registry.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace mlsysim {
namespace {

constexpr Wall kAll[] = {
    {1, "Compute", "node", "arithmetic rate of the device", "time = work / (peak efficiency)"},
    {2, "Memory", "node", "bandwidth and capacity of the memory", "time = traffic / bandwidth"},
    {3, "Software", "node", "share of the peak that kernels reach", "mfu = work / (peak time)"},
    {4, "Serving", "node", "prefill is bound by arithmetic, decoding by memory",
     "ttft = prefill work / peak; itl = bytes / bandwidth"},
    {5, "Batching", "node", "requests whose caches fit beside the weights",
     "requests = free memory / cache of a request"},
    {6, "Streaming", "node", "link that brings the weights", "layer time = max(weights / link, work / peak)"},
    {7, "Tail latency", "node", "wait of requests that share servers", "P(wait) = C(servers, load)"},
    {8, "Ingestion", "data", "rate of storage and links", "utilization = demand / supply"},
    {9, "Transformation", "data", "rate at which the host prepares data", "elapsed = max(prepare, step)"},
    {10, "Locality", "data", "bandwidth across the middle of the network",
     "bisection = links of the cut bandwidth"},
    {11, "Complexity", "algorithm", "arithmetic that a loss needs", "work = 6 params tokens"},
    {12, "Reasoning", "algorithm", "tokens that an answer needs", "time = steps tokens_per_step itl"},
    {13, "Fidelity", "algorithm", "bits and weights that accuracy needs",
     "ratio = bits / compressed bits; 1 / (1 - sparsity)"},
    {14, "Communication", "fleet", "exchange between devices",
     "time = 2 (n - 1) / n bytes / bandwidth + latency"},
    {15, "Fragility", "fleet", "failures of many parts", "mtbf = part mtbf / parts"},
    {16, "Multi-tenant", "fleet", "wait of jobs for their share",
     "wait = utilization / (2 rate (1 - utilization))"},
    {17, "Capital", "operations", "cost of owning and running", "tco = capital + energy + maintenance"},
    {18, "Sustainability", "operations", "energy, greenhouse gases and water",
     "carbon = energy PUE intensity + embodied"},
    {19, "Checkpoint", "operations", "rate of writing the state", "penalty = write time / interval"},
    {20, "Safety", "operations", "cost of privacy and fairness",
     "data = 1 / prevalence; noise from epsilon and delta"},
    {21, "Sensitivity", "analysis", "which input matters most", "elasticity = d log time / d log input"},
    {22, "Synthesis", "analysis", "machine that a target needs", "bandwidth = bytes / time"},
};
static_assert(std::size(kAll) == kWalls);

}  // namespace

std::span<const Wall> walls() { return kAll; }

const Wall& wall(int number) {
  if (number < 1 || number > kWalls)
    throw LookupError({.id = "mlsysim.catalogue.042",
                       .message = fmt::format("there is no wall {}", number),
                       .key = "wall",
                       .found = fmt::format("{}", number),
                       .expected = "a number from 1 to 22",
                       .hint = "mlsysim walls lists them"});
  return kAll[number - 1];
}

std::vector<std::string> resolvers_of_wall(int number) {
  (void)wall(number);
  std::vector<std::string> out;
  for (const auto& r : ResolverRegistry::standard().all()) {
    const auto& covered = r->info().walls;
    if (std::find(covered.begin(), covered.end(), number) != covered.end()) out.push_back(r->info().name);
  }
  // The owner of a wall lists it first, or alone.
  std::stable_sort(out.begin(), out.end(), [&](const std::string& a, const std::string& b) {
    const auto rank = [&](const std::string& name) {
      const auto& covered = ResolverRegistry::standard().at(name).info().walls;
      return std::pair{covered.size() > 2, covered.front() != number && covered.size() > 1};
    };
    return rank(a) < rank(b);
  });
  return out;
}

}  // namespace mlsysim
