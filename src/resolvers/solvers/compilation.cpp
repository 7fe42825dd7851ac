#include <mlsysim/resolvers/solvers/compilation.hpp>

#include <mlsysim/reflect/take_fields.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace mlsysim {

Outcome<GraphBreakSolver::Result> GraphBreakSolver::solve(const Inputs& in, Notes& notes) const {
  if (in.mode == CompileMode::eager)
    throw InputError({.id = "mlsysim.catalogue.140",
                      .message = "an eager step has no graphs",
                      .key = "mode",
                      .found = "eager",
                      .expected = "compile or cudagraphs",
                      .hint = "choose one of them"});
  const auto v = compiled_views(fields_of<CompilationModel::Inputs>(in), notes);
  Result r;
  r.latency_without = v.latency(in.mode, 0);
  if (r.latency_without > in.target_latency)
    return Infeasible{
        .reason = fmt::format("without a break the step takes {:.4g} ms, the target is {:.4g} ms",
                              r.latency_without / unit::ms, in.target_latency / unit::ms),
        .smallest_change =
            fmt::format("a target of {:.4g} ms, or another mode", r.latency_without / unit::ms),
        .facts = {{"latency_without", fmt::format("{:.6g} ms", r.latency_without / unit::ms)}}};
  // Two straight lines: their ends and slopes are those of the law at no break and at one.
  auto at = v.compiled;
  if (in.mode == CompileMode::cudagraphs) {
    at.kernels = 0;
    at.graph_launches = 1;
  }
  const auto none = CompiledStep::solve<double>(at);
  at.breaks = 1;
  const auto one = CompiledStep::solve<double>(at);
  const Time<> wait = at.sync * at.sync_share;
  const auto meets = [&](Time<> start, Time<> next) {
    const Time<> slope = next - start + wait;
    return slope > Time<>() ? (in.target_latency - start) / slope : std::numeric_limits<double>::infinity();
  };
  r.exact = std::min(meets(none.host, one.host), meets(none.device, one.device));
  if (!std::isfinite(r.exact))
    return Infeasible{.reason = "breaks cost nothing here, so the latency sets no limit",
                      .smallest_change = "times above zero for guards, resuming or waits",
                      .facts = {}};
  // A whole answer that is met exactly must not fall to the one below by a rounding of the last digit.
  r.breaks = std::floor(r.exact * (1 + 1e-12));
  r.latency = v.latency(in.mode, r.breaks);
  const Time<> saved = v.latency(CompileMode::eager, r.breaks) - r.latency;
  // Steps are whole: the last digit must not ask for one more.
  if (in.steps && saved > Time<>()) r.longest_compile_time = saved * (*in.steps * (1 - 1e-12));
  return r;
}

Check GraphBreakSolver::verify(const Inputs& in, const Result& result) const {
  Notes quiet;
  const auto v = compiled_views(fields_of<CompilationModel::Inputs>(in), quiet);
  return {in.target_latency, v.latency(in.mode, result.exact), "target_latency"};
}

}  // namespace mlsysim
