#include <mlsysim/validation/calibrate.hpp>

#include "detail/fit_problem.hpp"

#include <mlsysim/specs/system.hpp>
#include <mlsysim/units/near_miss.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <utility>

namespace mlsysim {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr double kMatters = 1e-3;  // a constant that moves no row by this share of its own change is left out
constexpr int kMostPasses = 10;    // of a fit
constexpr double kSettled = 0.01;  // share by which the noise still moves
constexpr double kIdentified = 0.5;  // posterior over prior spread

/// Whether an input of the row is this device, alone or in a node.
bool concerns(const HardwareNode& device, const ObjectRef& input) {
  const HardwareNode* found = nullptr;
  if (input.type == ObjectType<HardwareNode>::name) found = static_cast<const HardwareNode*>(input.object);
  if (input.type == ObjectType<Node>::name) found = static_cast<const Node*>(input.object)->accelerator;
  return found != nullptr && found->name == device.name;
}
/// Whether an input of the row is this engine.
bool concerns(const ServingEngine& engine, const ObjectRef& input) {
  return input.type == ObjectType<ServingEngine>::name &&
         static_cast<const ServingEngine*>(input.object)->name == engine.name;
}

template <class S> bool is_measured_on(const S& subject, const Measurand& measurand, const void* inputs) {
  return std::ranges::any_of(measurand.inputs(), [&](const FieldInfo& f) {
    const Value v = f.read(inputs);
    const auto* o = std::get_if<ObjectRef>(&v);
    return o != nullptr && o->object != nullptr && concerns(subject, *o);
  });
}

/// Relative errors of the rows that have an answer.
std::vector<double> errors_of(const VectorXd& logarithms) {
  std::vector<double> out;
  for (const double r : logarithms)
    if (!std::isnan(r)) out.push_back(std::exp(r) - 1);
  return out;
}

/// A fit with everything that follows from it.
struct Fit {
  std::vector<std::size_t> active;  ///< constants that were moved
  VectorXd u;                       ///< their coordinates
  MatrixXd covariance;              ///< of the logarithms of all that matter to a row
  std::vector<std::size_t> all;
  VectorXd all_u;
  double noise = 0;
};

class Calibrator {
 public:
  Calibrator(const detail::FitProblem& problem, const CalibrationOptions& options)
      : problem_(problem), options_(options) {}

  Fit run(const std::vector<detail::FitRow>& rows, std::vector<std::size_t> all) const {
    Fit f;
    f.all = std::move(all);
    f.active = f.all;
    f.u = problem_.start(f.active);
    f.noise = settle(rows, f.u, f.active);
    f.all_u = f.u;
    f.covariance = covariance(rows, f);
    std::vector<std::size_t> known;
    for (std::size_t j = 0; j < f.all.size(); ++j)
      if (identified(f, j)) known.push_back(f.all[j]);
    if (known.size() < f.all.size()) {
      f.active = known;
      f.u = problem_.start(f.active);
      f.noise = settle(rows, f.u, f.active);
      f.all_u = problem_.start(f.all);
      for (std::size_t j = 0, k = 0; j < f.all.size(); ++j)
        if (k < known.size() && f.all[j] == known[k])
          f.all_u[static_cast<Index>(j)] = f.u[static_cast<Index>(k++)];
      f.covariance = covariance(rows, f);
    }
    return f;
  }
  bool identified(const Fit& f, std::size_t j) const {
    const auto at = static_cast<Index>(j);
    return std::sqrt(f.covariance(at, at)) < kIdentified * problem_.constants()[f.all[j]].prior_spread;
  }
  /// Standard deviations of log(measured / predicted) for rows: of the constants and of the noise together.
  VectorXd deviations(const std::vector<detail::FitRow>& rows, const Fit& f) const {
    const MatrixXd s = problem_.sensitivities(rows, f.all_u, f.all);
    return ((s * f.covariance).cwiseProduct(s).rowwise().sum().array() + f.noise * f.noise).sqrt();
  }

 private:
  /// Fits until the noise, which decides how much the priors weigh, is that of the fit itself. Returns it.
  double settle(const std::vector<detail::FitRow>& rows, VectorXd& u,
                const std::vector<std::size_t>& active) const {
    const auto noise_now = [&] { return detail::robust_deviation(problem_.residuals(rows, u, active)); };
    double noise = noise_now();
    for (int pass = 0; pass < kMostPasses; ++pass) {
      problem_.fit(rows, u, active, options_.robust_scale);
      const double before = std::exchange(noise, noise_now());
      if (std::abs(noise - before) <= kSettled * before) break;
    }
    return noise;
  }
  MatrixXd covariance(const std::vector<detail::FitRow>& rows, const Fit& f) const {
    VectorXd spreads(static_cast<Index>(f.all.size()));
    for (std::size_t j = 0; j < f.all.size(); ++j)
      spreads[static_cast<Index>(j)] = problem_.constants()[f.all[j]].prior_spread;
    return detail::covariance_of(problem_.sensitivities(rows, f.all_u, f.all),
                                 problem_.residuals(rows, f.all_u, f.all), spreads, std::max(f.noise, 0.01),
                                 options_.robust_scale);
  }
  const detail::FitProblem& problem_;
  const CalibrationOptions& options_;
};

/// Rows inside their interval; one without an answer is in none.
Index inside_of(const VectorXd& errors, const VectorXd& deviations) {
  Index inside = 0;
  for (Index i = 0; i < errors.size(); ++i)
    inside += std::abs(errors[i]) <= kIntervalQuantile * deviations[i];
  return inside;
}

void check(const CalibrationOptions& o) {
  struct Option {
    const char* key;
    bool good;
    std::string found;
    const char* expected;
  };
  const bool scale = o.robust_scale > 0 && std::isfinite(o.robust_scale);
  for (const auto& [key, good, found, expected] :
       {Option{"most_rows", o.most_rows != 0, "0", "at least 1 row"},
        Option{"most_folds", o.most_folds != 0, "0", "at least 2, or 1 for no groups left out"},
        Option{"robust_scale", scale, fmt::format("{}", o.robust_scale), "a positive number"}})
    if (!good)
      throw InputError({.id = "mlsysim.validation.083",
                        .message = fmt::format("the option '{}' of a calibration is out of its range", key),
                        .key = key,
                        .found = found,
                        .expected = expected});
}

std::map<std::string, InputRange> domain_of(const std::vector<detail::FitRow>& rows) {
  std::map<std::string, InputRange> out;
  for (const auto& r : rows)
    for (const auto& f : r.measurand->inputs()) {
      const Value v = f.read(r.row->inputs.get());
      const auto* x = std::get_if<double>(&v);
      if (x == nullptr) continue;
      const auto [at, fresh] =
          out.try_emplace(fmt::format("{}.{}", r.measurand->name(), f.name), InputRange{*x, *x});
      if (!fresh) at->second = {std::min(at->second.low, *x), std::max(at->second.high, *x)};
    }
  return out;
}

}  // namespace

double FittedConstant::p10() const {
  return std::max(constant.low, value * std::exp(-kIntervalQuantile * spread));
}
double FittedConstant::p90() const {
  return std::min(constant.high, value * std::exp(kIntervalQuantile * spread));
}

double Calibration::coverage_left_out(double level) const {
  const auto band = std::ranges::find(bands, level, &ConformalBand::level);
  return band == bands.end() ? 0.0 : band->coverage;
}

std::vector<ConstantValue> Calibration::changes() const {
  std::vector<ConstantValue> out;
  for (const auto& c : constants)
    if (c.identified) out.push_back({owner, c.constant.field, c.value});
  return out;
}

namespace {

/// Rows measured on the subject of a calibration. They point into the tables, which are kept beside them.
struct Evidence {
  std::vector<MeasuredRows> kept;
  std::vector<detail::FitRow> rows;
};

template <class S>
Evidence rows_measured_on(const S& subject, std::string_view what, std::span<const MeasuredTable> tables,
                          const Zoo& zoo, Calibration& out) {
  Evidence e;
  e.kept.reserve(tables.size());
  for (const auto& t : tables) {
    e.kept.push_back(rows_of(t, zoo));
    for (const auto& row : e.kept.back().rows)
      if (is_measured_on(subject, *t.measurand, row.inputs.get())) e.rows.push_back({t.measurand, &row, 0});
    out.tables.push_back(t.name);
    if (std::find(out.references.begin(), out.references.end(), t.reference) == out.references.end())
      out.references.push_back(t.reference);
  }
  if (e.rows.empty())
    throw InputError(
        {.id = "mlsysim.validation.081",
         .message = fmt::format("no row of these tables is measured on the {} '{}'", what, subject.name),
         .key = subject.name,
         .found = fmt::format("{} tables without it", tables.size()),
         .expected = fmt::format("rows of this {}", what),
         .hint = fmt::format("mlsysim validate --list shows the tables; the {} is an input of a row", what)});
  return e;
}

/// Removes rows without an answer from the present constants: no fit makes room in a memory, so that such a
/// row says nothing about the constants.
void leave_out_unanswered(std::vector<detail::FitRow>& rows, const Zoo& zoo, Calibration& out) {
  const Constants present(conventions_of(zoo));
  std::erase_if(rows, [&](const detail::FitRow& r) {
    const auto p = predict(*r.measurand, r.row->inputs.get(), {&zoo, &present});
    if (p.answered() && p.base > 0) return false;
    const std::string reason = p.answered() ? "the prediction is not positive" : p.reason;
    const auto same = std::ranges::find(out.unanswered, reason, &LeftOut::reason);
    if (same != out.unanswered.end())
      ++same->rows;
    else
      out.unanswered.push_back({reason, 1});
    return true;
  });
  if (rows.empty())
    throw InputError(
        {.id = "mlsysim.validation.084",
         .message = fmt::format("no row of the {} '{}' has a prediction to fit", out.what, out.name),
         .key = out.name,
         .found = fmt::format("{} rows: {}", out.unanswered.front().rows, out.unanswered.front().reason),
         .expected = "rows to which the library gives an answer",
         .hint = "mlsysim validate shows what is left out"});
}

/// The groups of the rows, and folds that are whole groups; many groups share a fold, in order.
struct Folds {
  std::vector<std::string> groups;
  std::size_t count = 0;

  /// The groups of one fold, for readers.
  [[nodiscard]] std::string members(std::size_t fold) const {
    std::string out;
    for (std::size_t g = fold; g < groups.size(); g += count)
      out += fmt::format("{}{}", out.empty() ? "" : "; ", groups[g]);
    return out;
  }
};

Folds fold(std::vector<detail::FitRow>& rows, std::size_t most) {
  std::set<std::string> names;
  for (const auto& r : rows) names.insert(r.row->group);
  Folds f{{names.begin(), names.end()}, 0};
  f.count = std::min(f.groups.size(), most);
  for (auto& r : rows)
    r.fold = static_cast<std::size_t>(std::lower_bound(f.groups.begin(), f.groups.end(), r.row->group) -
                                      f.groups.begin()) %
             f.count;
  return f;
}

/// Every n-th row, so that at most `most` are left.
std::vector<detail::FitRow> thinned(const std::vector<detail::FitRow>& rows, std::size_t most) {
  std::vector<detail::FitRow> out;
  const std::size_t step = (rows.size() + most - 1) / most;
  for (std::size_t i = 0; i < rows.size(); i += step) out.push_back(rows[i]);
  return out;
}

/// Constants that move some prediction of the rows.
std::vector<std::size_t> relevant_constants(const detail::FitProblem& problem,
                                            const std::vector<detail::FitRow>& rows, const VectorXd& start,
                                            const std::vector<std::size_t>& all) {
  const MatrixXd matters = problem.sensitivities(rows, start, all);
  std::vector<std::size_t> out;
  for (const auto i : all)
    if (matters.col(static_cast<Index>(i)).cwiseAbs().maxCoeff() > kMatters) out.push_back(i);
  return out;
}

/// Errors, coverage, constants and their covariance after a fit to all rows.
void describe_fit(const detail::FitProblem& problem, const Calibrator& calibrator, const Fit& fit,
                  const std::vector<detail::FitRow>& rows, Calibration& out) {
  const VectorXd errors = problem.errors(rows, fit.u, fit.active);
  out.after = statistics_of(errors_of(errors));
  out.noise = fit.noise;
  const VectorXd deviations = calibrator.deviations(rows, fit);
  out.coverage = static_cast<double>(inside_of(errors, deviations)) / static_cast<double>(rows.size());
  for (std::size_t j = 0; j < fit.all.size(); ++j) {
    const auto at = static_cast<Index>(j);
    const auto& c = problem.constants()[fit.all[j]];
    FittedConstant f{.constant = c, .value = c.start, .spread = std::sqrt(fit.covariance(at, at))};
    f.identified = std::find(fit.active.begin(), fit.active.end(), fit.all[j]) != fit.active.end();
    if (f.identified) f.value = problem.value_at(fit.all[j], fit.all_u[at]);
    f.at_bound = f.identified && (f.value < 1.02 * c.low || f.value > c.high / 1.02);
    out.constants.push_back(f);
  }
  out.covariance.assign(fit.covariance.data(), fit.covariance.data() + fit.covariance.size());
}

/// Leaves each fold out once: fits without it, and compares its rows with that fit.
void cross_validate(const detail::FitProblem& problem, const Calibrator& calibrator, const Fit& fit,
                    const std::vector<std::size_t>& relevant, const std::vector<detail::FitRow>& fitted,
                    const std::vector<detail::FitRow>& rows, const Folds& folds, Calibration& out) {
  std::vector<double> missed_errors;
  std::vector<LeftOutScore> scores;
  for (std::size_t fold = 0; fold < folds.count; ++fold) {
    std::vector<detail::FitRow> train, test;
    for (const auto& r : fitted)
      if (r.fold != fold) train.push_back(r);
    for (const auto& r : rows)
      if (r.fold == fold) test.push_back(r);
    const Fit without = calibrator.run(train, relevant);
    const VectorXd missed = problem.errors(test, without.u, without.active);
    const VectorXd deviations = calibrator.deviations(test, without);
    for (Index i = 0; i < missed.size(); ++i)
      scores.push_back({fold, std::isnan(missed[i]) ? HUGE_VAL : missed[i] / deviations[i]});
    const auto misses = errors_of(missed);
    missed_errors.insert(missed_errors.end(), misses.begin(), misses.end());
    out.groups.push_back({folds.members(fold),
                          statistics_of(errors_of(problem.errors(test, fit.u, fit.active))),
                          statistics_of(misses)});
  }
  out.left_out = statistics_of(missed_errors);
  out.bands = conformal_bands(scores, folds.count);
}

template <class S>
Calibration calibration_of(std::string_view what, const S& subject, std::span<const MeasuredTable> tables,
                           const Zoo& zoo, const CalibrationOptions& options) {
  check(options);
  Calibration out;
  out.what = what;
  out.name = subject.name;
  out.owner = owner_of(subject);
  Evidence evidence = rows_measured_on(subject, what, tables, zoo, out);
  auto& rows = evidence.rows;
  leave_out_unanswered(rows, zoo, out);
  out.rows = rows.size();
  const Folds folds = fold(rows, options.most_folds);
  const auto fitted = thinned(rows, options.most_rows);
  out.fitted_rows = fitted.size();
  out.domain = domain_of(rows);

  const auto constants = free_constants(subject, zoo, options.fields);
  const detail::FitProblem problem(out.owner, zoo, constants);
  std::vector<std::size_t> all(constants.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  const VectorXd start = problem.start(all);
  out.before = statistics_of(errors_of(problem.errors(rows, start, {})));
  const auto relevant = relevant_constants(problem, fitted, start, all);

  const Calibrator calibrator(problem, options);
  const Fit fit = calibrator.run(fitted, relevant);
  describe_fit(problem, calibrator, fit, rows, out);
  if (folds.count > 1) cross_validate(problem, calibrator, fit, relevant, fitted, rows, folds, out);
  return out;
}

}  // namespace

Calibration calibrate(const HardwareNode& device, std::span<const MeasuredTable> tables, const Zoo& zoo,
                      const CalibrationOptions& options) {
  return calibration_of("device", device, tables, zoo, options);
}
Calibration calibrate(const ServingEngine& engine, std::span<const MeasuredTable> tables, const Zoo& zoo,
                      const CalibrationOptions& options) {
  return calibration_of("engine", engine, tables, zoo, options);
}

Calibration calibrate(std::string_view what, std::string_view name, std::span<const MeasuredTable> tables,
                      const Zoo& zoo, const CalibrationOptions& options) {
  if (what == "engine") return calibrate(zoo.at<ServingEngine>(name), tables, zoo, options);
  if (what == "device") return calibrate(zoo.at<HardwareNode>(name), tables, zoo, options);
  static const std::vector<std::string> known{"device", "engine"};
  throw InputError(unknown_name("mlsysim.validation.085",
                                fmt::format("'{}' is nothing that can be calibrated", what), what, known,
                                "device or engine"));
}

IntervalPrediction predict_interval(const Calibration& calibration, const Measurand& measurand,
                                    const void* inputs, const Zoo& zoo) {
  std::vector<FreeConstant> constants;
  std::vector<std::size_t> all;
  for (const auto& c : calibration.constants) {
    all.push_back(constants.size());
    constants.push_back(c.constant);
    constants.back().start = c.value;
  }
  const detail::FitProblem problem(calibration.owner, zoo, constants);
  // A residual against a measurement of 1 base unit is the logarithm of the prediction.
  const MeasuredRow row{.measured = 1.0,
                        .inputs = std::shared_ptr<const void>(std::shared_ptr<void>(), inputs)};
  const std::vector<detail::FitRow> rows{{&measurand, &row, 0}};
  const VectorXd u = problem.start(all);
  const Constants fitted(conventions_of(zoo), calibration.changes());
  const auto p = predict(measurand, inputs, {&zoo, &fitted});
  if (!p.answered())
    throw SolverError({.id = "mlsysim.validation.082",
                       .message = "there is no prediction to put an error bar on",
                       .found = p.reason});
  const MatrixXd s = problem.sensitivities(rows, u, all);
  const auto n = static_cast<Index>(all.size());
  const Eigen::Map<const MatrixXd> covariance(calibration.covariance.data(), n, n);
  const double spread =
      std::sqrt((s * covariance * s.transpose())(0, 0) + calibration.noise * calibration.noise);
  // What groups missed that their fit had not seen, where that is known.
  double low = -kIntervalQuantile, high = kIntervalQuantile;
  for (const auto& band : calibration.bands)
    if (band.level == 0.8) low = std::min(band.low, 0.0), high = std::max(band.high, 0.0);
  IntervalPrediction out{p.base * std::exp(-high * spread), p.base, p.base * std::exp(-low * spread), {}};
  for (const auto& f : measurand.inputs()) {
    const Value v = f.read(inputs);
    const auto* x = std::get_if<double>(&v);
    const auto known = calibration.domain.find(fmt::format("{}.{}", measurand.name(), f.name));
    if (x == nullptr || known == calibration.domain.end()) continue;
    if (*x < known->second.low)
      out.extrapolated.push_back(fmt::format("{} {} < {}", f.name, *x, known->second.low));
    if (*x > known->second.high)
      out.extrapolated.push_back(fmt::format("{} {} > {}", f.name, *x, known->second.high));
  }
  return out;
}

}  // namespace mlsysim
