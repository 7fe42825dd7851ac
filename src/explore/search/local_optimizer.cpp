// NLopt where it was found (MLSYSIM_WITH_NLOPT).

#include "explore/search/local_optimizer.hpp"

#include <nlopt.h>

#include <algorithm>
#include <memory>

namespace mlsysim::detail {

namespace {

/// State of the callbacks. The library asks for the objective and the constraints of a point one after the
/// other.
struct Call {
  const SmoothProblem* problem;
  nlopt_opt optimizer;

  const SmoothValues& at(unsigned n, const double* x) const {
    const auto& v = (*problem)(std::span(x, n));
    if (v.stop) nlopt_force_stop(optimizer);
    return v;
  }
};

double objective(unsigned n, const double* x, double* slope, void* data) {
  const auto& v = static_cast<const Call*>(data)->at(n, x);
  if (slope != nullptr) std::copy_n(v.slope.begin(), n, slope);
  return v.objective;
}
void at_most(unsigned m, double* out, unsigned n, const double* x, double* slope, void* data) {
  const auto& v = static_cast<const Call*>(data)->at(n, x);
  std::copy_n(v.at_most.begin(), m, out);
  if (slope != nullptr) std::copy_n(v.at_most_slope.begin(), m * n, slope);
}
void equal(unsigned m, double* out, unsigned n, const double* x, double* slope, void* data) {
  const auto& v = static_cast<const Call*>(data)->at(n, x);
  std::copy_n(v.equal.begin(), m, out);
  if (slope != nullptr) std::copy_n(v.equal_slope.begin(), m * n, slope);
}

void run(nlopt_algorithm algorithm, const SmoothProblem& problem, std::vector<double>& x,
         std::size_t n_at_most, std::size_t n_equal, std::size_t evaluations) {
  struct Destroy {
    void operator()(nlopt_opt_s* o) const { nlopt_destroy(o); }
  };
  const auto n = static_cast<unsigned>(x.size());
  const std::unique_ptr<nlopt_opt_s, Destroy> o(nlopt_create(algorithm, n));
  if (!o) return;
  Call call{&problem, o.get()};
  nlopt_set_min_objective(o.get(), objective, &call);
  nlopt_set_lower_bounds1(o.get(), 0.0);
  nlopt_set_upper_bounds1(o.get(), 1.0);
  if (n_at_most > 0)
    nlopt_add_inequality_mconstraint(o.get(), static_cast<unsigned>(n_at_most), at_most, &call, nullptr);
  if (n_equal > 0)
    nlopt_add_equality_mconstraint(o.get(), static_cast<unsigned>(n_equal), equal, &call, nullptr);
  // A flat objective must not end the search before the equalities are met.
  if (n_equal == 0) nlopt_set_ftol_rel(o.get(), 1e-12);
  nlopt_set_xtol_abs1(o.get(), 1e-12);
  // Each step of CCSA solves a small dual problem; its library default is to do so to the last bit.
  nlopt_set_param(o.get(), "dual_ftol_rel", 1e-9);
  nlopt_set_param(o.get(), "dual_maxeval", 500);
  nlopt_set_param(o.get(), "inner_maxeval", 20);
  nlopt_set_maxeval(o.get(), static_cast<int>(std::min<std::size_t>(evaluations, 1u << 30)));
  double value = 0;
  (void)nlopt_optimize(o.get(), x.data(),
                       &value);  // an early end is no failure: the problem has kept the best point
}

}  // namespace

std::string local_optimizer() {
  int major = 0, minor = 0, patch = 0;
  nlopt_version(&major, &minor, &patch);
  return "NLopt " + std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(patch);
}

void improve(const SmoothProblem& problem, std::vector<double> start, std::size_t n_at_most,
             std::size_t n_equal, std::size_t evaluations) {
  // Sequential quadratic programming is fast on smooth stretches; conservative approximations (which know no
  // equalities) get round the kinks at which it stops.
  run(NLOPT_LD_SLSQP, problem, start, n_at_most, n_equal, n_equal > 0 ? evaluations : evaluations / 2);
  if (n_equal == 0) run(NLOPT_LD_CCSAQ, problem, start, n_at_most, n_equal, evaluations - evaluations / 2);
}

}  // namespace mlsysim::detail
