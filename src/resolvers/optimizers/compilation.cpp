#include <mlsysim/resolvers/optimizers/compilation.hpp>

#include <mlsysim/reflect/take_fields.hpp>
#include <mlsysim/resolver_api/axes.hpp>
#include <mlsysim/resolver_api/search.hpp>

namespace mlsysim {
namespace {

struct ModeCandidate {
  double mode = 0;
  static constexpr auto fields() {
    return rows(field(&ModeCandidate::mode, "mode", "", "0 eager, 1 compile, 2 cudagraphs"));
  }
};

}  // namespace

std::optional<CompileModeOptimizer::Result> CompileModeOptimizer::solve(const Inputs& in, Search& search,
                                                                        Notes& notes) const {
  const auto model = fields_of<CompilationModel::Inputs>(in);
  const auto v = compiled_views(model, notes);
  const Time<> compile = compile_time_of(model, v, notes);
  const auto total = [&](CompileMode mode) {
    const Time<> steps = v.latency(mode, in.breaks) * in.steps;
    return mode == CompileMode::eager ? steps : steps + compile;
  };
  const Grid<ModeCandidate> modes{choices(0, 1, 2)};
  const auto found = search.minimize(modes, [&](const ModeCandidate& c) -> Score {
    return {total(static_cast<CompileMode>(c.mode)), {}};
  });
  if (!found) return std::nullopt;
  Result r{found.summary};
  r.best_mode = static_cast<CompileMode>(found->mode);
  r.total = total(r.best_mode);
  r.latency = v.latency(r.best_mode, in.breaks);
  return r;
}

}  // namespace mlsysim
