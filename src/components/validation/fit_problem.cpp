#include "detail/fit_problem.hpp"

#include <mlsysim/tape/detail/quantile.hpp>

#include <Eigen/Cholesky>
#include <unsupported/Eigen/NonLinearOptimization>

#include <algorithm>
#include <cmath>
#include <set>

namespace mlsysim::detail {
namespace {

constexpr double kStep = 1e-3;   // of a logarithm, for differences
constexpr double kNoAnswer = 5;  // logarithm: as bad as an error by a factor of 150
constexpr double kFarthest = 6;  // coordinates: within 0.25 % of a bound
constexpr double kMedianOfNormal = 0.6745;
constexpr double kLeastNoise = 0.01;
constexpr std::size_t kFewRows = 4;  // of a table with a scatter of its own
constexpr int kMostEvaluations = 80;
// The optimizer's first step is a share of the norm of its coordinates, so they must not lie around 0, which
// is the middle of the bounds and the usual start.
constexpr double kAway = 10;
constexpr double kFirstStep = 0.1;

/// Size of a residual under the soft-l1 loss: r for small ones, its square root for large ones.
double softened(double r, double scale) {
  const double z = r / scale;
  return std::copysign(scale * std::sqrt(2 * (std::sqrt(1 + z * z) - 1)), r);
}

/// The residuals in the form that Eigen's optimizer expects.
struct Functor {
  using Scalar = double;
  using InputType = Eigen::VectorXd;
  using ValueType = Eigen::VectorXd;
  using JacobianType = Eigen::MatrixXd;
  enum { InputsAtCompileTime = Eigen::Dynamic, ValuesAtCompileTime = Eigen::Dynamic };

  const FitProblem* problem;
  const std::vector<FitRow>* rows;
  const std::vector<std::size_t>* active;
  double scale;
  const Eigen::VectorXd* noise;  ///< of each row, so that priors weigh as they should

  [[nodiscard]] int inputs() const { return static_cast<int>(active->size()); }
  [[nodiscard]] int values() const { return static_cast<int>(rows->size() + active->size()); }

  int operator()(const InputType& x, ValueType& out) const {
    const InputType u = x.array() - kAway;
    const auto r = problem->residuals(*rows, u, *active);
    for (Eigen::Index i = 0; i < r.size(); ++i) out[i] = softened(r[i], scale) / (*noise)[i];
    for (std::size_t j = 0; j < active->size(); ++j) {
      const auto& c = problem->constants()[(*active)[j]];
      const auto at = static_cast<Eigen::Index>(j);
      out[r.size() + at] = std::log(problem->value_at((*active)[j], u[at]) / c.prior) / c.prior_spread;
    }
    return 0;
  }
  int df(const InputType& x, JacobianType& jacobian) const {
    ValueType forward(values()), backward(values());
    InputType moved = x;
    for (Eigen::Index j = 0; j < x.size(); ++j) {
      moved[j] = x[j] + kStep;
      (*this)(moved, forward);
      moved[j] = x[j] - kStep;
      (*this)(moved, backward);
      moved[j] = x[j];
      jacobian.col(j) = (forward - backward) / (2 * kStep);
    }
    return 0;
  }
};

}  // namespace

FitProblem::FitProblem(std::string owner, const Zoo& zoo, const std::vector<FreeConstant>& constants)
    : owner_(std::move(owner)), zoo_(zoo), constants_(constants), conventions_(conventions_of(zoo)) {}

double FitProblem::value_at(std::size_t i, double u) const {
  const auto& c = constants_[i];
  const double low = std::log(c.low), high = std::log(c.high);
  return std::exp(low + (high - low) / (1 + std::exp(-u)));
}

double FitProblem::coordinate_of(std::size_t i, double value) const {
  const auto& c = constants_[i];
  const double share = (std::log(value) - std::log(c.low)) / (std::log(c.high) - std::log(c.low));
  if (share <= 0) return -kFarthest;
  if (share >= 1) return kFarthest;
  return std::clamp(std::log(share / (1 - share)), -kFarthest, kFarthest);
}

double FitProblem::slope_at(std::size_t i, double u) const {
  const auto& c = constants_[i];
  const double s = 1 / (1 + std::exp(-u));
  return (std::log(c.high) - std::log(c.low)) * s * (1 - s);
}

Eigen::VectorXd FitProblem::start(const std::vector<std::size_t>& active) const {
  Eigen::VectorXd u(static_cast<Eigen::Index>(active.size()));
  for (std::size_t j = 0; j < active.size(); ++j)
    u[static_cast<Eigen::Index>(j)] = coordinate_of(active[j], constants_[active[j]].start);
  return u;
}

Constants FitProblem::constants_at(const Eigen::VectorXd& u, const std::vector<std::size_t>& active) const {
  std::vector<ConstantValue> changes;
  for (std::size_t j = 0; j < active.size(); ++j)
    changes.push_back(
        {owner_, constants_[active[j]].field, value_at(active[j], u[static_cast<Eigen::Index>(j)])});
  return Constants(conventions_, std::move(changes));
}

Eigen::VectorXd FitProblem::errors(const std::vector<FitRow>& rows, const Eigen::VectorXd& u,
                                   const std::vector<std::size_t>& active) const {
  const Constants constants = constants_at(u, active);
  const PredictionContext context{&zoo_, &constants};
  Eigen::VectorXd r(static_cast<Eigen::Index>(rows.size()));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto p = predict(*rows[i].measurand, rows[i].row->inputs.get(), context);
    r[static_cast<Eigen::Index>(i)] = p.answered() && p.base > 0 ? std::log(p.base / rows[i].row->measured)
                                                                 : std::numeric_limits<double>::quiet_NaN();
  }
  return r;
}

Eigen::VectorXd FitProblem::residuals(const std::vector<FitRow>& rows, const Eigen::VectorXd& u,
                                      const std::vector<std::size_t>& active) const {
  auto r = errors(rows, u, active);
  for (auto& x : r)
    if (std::isnan(x)) x = kNoAnswer;
  return r;
}

Eigen::MatrixXd FitProblem::sensitivities(const std::vector<FitRow>& rows, const Eigen::VectorXd& u,
                                          const std::vector<std::size_t>& active) const {
  Eigen::MatrixXd out(static_cast<Eigen::Index>(rows.size()), u.size());
  Eigen::VectorXd moved = u;
  for (Eigen::Index j = 0; j < u.size(); ++j) {
    const auto c = active[static_cast<std::size_t>(j)];
    const double step = kStep / std::max(slope_at(c, u[j]), 1e-3);
    moved[j] = u[j] + step;
    const auto forward = errors(rows, moved, active);
    const double above = std::log(value_at(c, moved[j]));
    moved[j] = u[j] - step;
    out.col(j) = (forward - errors(rows, moved, active)) / (above - std::log(value_at(c, moved[j])));
    for (auto& x : out.col(j))
      if (std::isnan(x)) x = 0;
    moved[j] = u[j];
  }
  return out;
}

void FitProblem::fit(const std::vector<FitRow>& rows, Eigen::VectorXd& u,
                     const std::vector<std::size_t>& active, const Eigen::VectorXd& noise,
                     double robust_scale) const {
  if (active.empty()) return;
  Functor functor{this, &rows, &active, robust_scale, &noise};
  Eigen::LevenbergMarquardt<Functor> solver(functor);
  solver.parameters.maxfev = kMostEvaluations;
  solver.parameters.factor = kFirstStep;
  solver.parameters.ftol = solver.parameters.xtol = 1e-6;
  Eigen::VectorXd x = u.array() + kAway;
  solver.minimize(x);
  u = (x.array() - kAway).cwiseMax(-kFarthest).cwiseMin(kFarthest);
}

namespace {

double median_of(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return quantile(values, 0.5);
}

/// Center and robust scatter about it.
void center_and_scatter(TableNoise& noise, const std::vector<double>& residuals, double widened) {
  noise.center = median_of(residuals);
  std::vector<double> sizes;
  for (const double r : residuals) sizes.push_back(std::abs(r - noise.center));
  noise.sigma = std::max(kLeastNoise, widened * median_of(std::move(sizes)) / kMedianOfNormal);
}

}  // namespace

std::vector<TableNoise> noise_of(const std::vector<FitRow>& rows, const Eigen::VectorXd& residuals,
                                 std::size_t tables, std::size_t active) {
  std::vector<std::vector<double>> of(tables);
  std::vector<std::set<std::string>> groups(tables);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    of[rows[i].table].push_back(residuals[static_cast<Eigen::Index>(i)]);
    groups[rows[i].table].insert(rows[i].row->group);
  }
  // Constants that were fitted leave less than the rows scatter.
  const auto n = static_cast<double>(rows.size());
  const double widened = std::sqrt(n / std::max(1.0, n - static_cast<double>(active) - 1));
  std::vector<double> few, all;
  for (const auto& t : of) {
    all.insert(all.end(), t.begin(), t.end());
    if (t.size() < kFewRows) few.insert(few.end(), t.begin(), t.end());
  }
  TableNoise shared;
  center_and_scatter(shared, few.size() < kFewRows ? all : few, widened);
  if (few.size() < kFewRows && few.size() < all.size()) shared.center = 0;  // of other tables
  std::vector<TableNoise> out(tables, shared);
  for (std::size_t t = 0; t < tables; ++t) {
    if (of[t].size() >= kFewRows) center_and_scatter(out[t], of[t], widened);
    out[t].rows = of[t].size();
    out[t].groups = groups[t].size();
  }
  return out;
}

Eigen::MatrixXd covariance_of(const Eigen::MatrixXd& sensitivities, const Eigen::VectorXd& residuals,
                              const Eigen::VectorXd& prior_spreads, const Eigen::VectorXd& noise,
                              double robust_scale) {
  // Rows far from the fit count less, as they did in it.
  const double s2 = robust_scale * robust_scale;
  Eigen::VectorXd weights(residuals.size());
  for (Eigen::Index i = 0; i < residuals.size(); ++i)
    weights[i] = 1 / std::sqrt(1 + residuals[i] * residuals[i] / s2) / (noise[i] * noise[i]);
  Eigen::MatrixXd information = sensitivities.transpose() * weights.asDiagonal() * sensitivities;
  information.diagonal() += prior_spreads.cwiseAbs2().cwiseInverse();
  return information.ldlt().solve(Eigen::MatrixXd::Identity(information.rows(), information.cols()));
}

}  // namespace mlsysim::detail
