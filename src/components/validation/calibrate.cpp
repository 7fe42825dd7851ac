#include <mlsysim/validation/calibrate.hpp>

#include "detail/fit_problem.hpp"
#include "detail/measured_on.hpp"
#include "detail/row_disagreement.hpp"

#include <mlsysim/units/near_miss.hpp>

#include <fmt/format.h>
#include <Eigen/LU>

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
constexpr double kIdentified = 0.5;   // posterior over prior spread
constexpr double kFirstNoise = 0.03;  // of a row before anything is known: the data first, the priors second
constexpr double kLeastBias = 0.02;   // that is worth a word
constexpr double kTogether = 0.8;     // correlation of two constants that rows cannot tell apart
constexpr double kBurstShare =
    1.0 / 3;  // of efficiency.burst_time: shorter work runs at the clock of a burst
constexpr double kMedianVariance = 1.57;  // of a median, over that of a mean

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
  std::vector<TableNoise> scatter;  ///< by table
  VectorXd noise;                   ///< by row
};

class Calibrator {
 public:
  Calibrator(const detail::FitProblem& problem, const CalibrationOptions& options, std::size_t tables)
      : problem_(problem), options_(options), tables_(tables) {}

  Fit run(const std::vector<detail::FitRow>& rows, std::vector<std::size_t> all) const {
    Fit f;
    f.all = std::move(all);
    f.active = f.all;
    settle(rows, f);
    f.all_u = f.u;
    f.covariance = covariance(rows, f);
    std::vector<std::size_t> known;
    for (std::size_t j = 0; j < f.all.size(); ++j)
      if (identified(f, j)) known.push_back(f.all[j]);
    if (known.size() < f.all.size()) {
      f.active = known;
      settle(rows, f);
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
  /// Standard deviations of log(predicted / measured) about the center of its table: of the constants, of the
  /// noise, and of the center itself.
  VectorXd deviations(const std::vector<detail::FitRow>& rows, const Fit& f) const {
    const MatrixXd s = problem_.sensitivities(rows, f.all_u, f.all);
    VectorXd out = (s * f.covariance).cwiseProduct(s).rowwise().sum();
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto& t = f.scatter[rows[i].table];
      const double groups = std::max(1.0, static_cast<double>(t.groups));
      out[static_cast<Index>(i)] += t.sigma * t.sigma * (1 + kMedianVariance / groups);
    }
    return out.cwiseSqrt();
  }

 private:
  /// Fits until the noise, which decides how much the priors weigh, is that of the fit itself. It begins
  /// small and only grows: begun with errors that the fit is to remove, the priors would win and stay.
  void settle(const std::vector<detail::FitRow>& rows, Fit& f) const {
    f.u = problem_.start(f.active);
    f.noise = VectorXd::Constant(static_cast<Index>(rows.size()), kFirstNoise);
    for (int pass = 0; pass < kMostPasses; ++pass) {
      problem_.fit(rows, f.u, f.active, f.noise, options_.robust_scale);
      f.scatter = detail::noise_of(rows, problem_.residuals(rows, f.u, f.active), tables_, f.active.size());
      VectorXd now = f.noise;
      for (std::size_t i = 0; i < rows.size(); ++i)
        now[static_cast<Index>(i)] = std::max(now[static_cast<Index>(i)], f.scatter[rows[i].table].sigma);
      const double grown = (now.array() / f.noise.array()).maxCoeff();
      f.noise = now;
      if (grown <= 1 + kSettled) break;
    }
  }
  MatrixXd covariance(const std::vector<detail::FitRow>& rows, const Fit& f) const {
    VectorXd spreads(static_cast<Index>(f.all.size()));
    for (std::size_t j = 0; j < f.all.size(); ++j)
      spreads[static_cast<Index>(j)] = problem_.constants()[f.all[j]].prior_spread;
    return detail::covariance_of(problem_.sensitivities(rows, f.all_u, f.all),
                                 problem_.residuals(rows, f.all_u, f.all), spreads, f.noise,
                                 options_.robust_scale);
  }
  const detail::FitProblem& problem_;
  const CalibrationOptions& options_;
  std::size_t tables_;
};

/// Removes the error that the rows of each table share.
VectorXd centered(VectorXd errors, const std::vector<detail::FitRow>& rows, const Fit& f) {
  for (std::size_t i = 0; i < rows.size(); ++i)
    errors[static_cast<Index>(i)] -= f.scatter[rows[i].table].center;
  return errors;
}

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

bool TableNoise::biased() const {
  const double groups_seen = std::max(1.0, static_cast<double>(groups));
  return rows > 0 && std::abs(center) > std::max(kLeastBias, 2 * sigma / std::sqrt(groups_seen));
}

bool Calibration::makes_systems_worse() const { return std::ranges::any_of(systems, &SystemChange::worse); }

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
      if (detail::is_measured_on(subject, *t.measurand, row.inputs.get()))
        e.rows.push_back({t.measurand, &row, e.kept.size() - 1, 0});
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

/// Says why the rows do not identify a constant.
std::string why_not(const detail::FitProblem& problem, const Fit& fit, const MatrixXd& information,
                    std::size_t j) {
  const auto at = static_cast<Index>(j);
  const double prior = problem.constants()[fit.all[j]].prior_spread;
  // With all others known, would the rows identify it?
  if (1 / std::sqrt(information(at, at)) < kIdentified * prior)
    for (std::size_t k = 0; k < fit.all.size(); ++k) {
      const auto other = static_cast<Index>(k);
      const double r =
          fit.covariance(at, other) / std::sqrt(fit.covariance(at, at) * fit.covariance(other, other));
      if (k != j && std::abs(r) > kTogether)
        return fmt::format("only together with {}", problem.constants()[fit.all[k]].field);
    }
  return "the rows move too little with it";
}

/// Constants that take no part: they keep their value and the spread of their prior.
void add_kept(const std::vector<FreeConstant>& kept, const std::string& why, Calibration& out) {
  const auto before = out.constants.size(), after = before + kept.size();
  std::vector<double> covariance(after * after, 0.0);
  for (std::size_t i = 0; i < before; ++i)
    for (std::size_t j = 0; j < before; ++j) covariance[i * after + j] = out.covariance[i * before + j];
  for (const auto& c : kept) {
    const auto at = out.constants.size();
    covariance[at * after + at] = c.prior_spread * c.prior_spread;
    out.constants.push_back({.constant = c, .value = c.start, .spread = c.prior_spread, .why = why});
  }
  out.covariance = std::move(covariance);
}

/// Whether every row that moves a constant is known to be a burst, too short for the state that it describes.
bool only_bursts(const detail::FitProblem& problem, const std::vector<detail::FitRow>& rows,
                 const VectorXd& start, std::size_t constant, double burst_time) {
  const std::vector<std::size_t> one{constant};
  const MatrixXd s = problem.sensitivities(rows, start.segment(static_cast<Index>(constant), 1), one);
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (std::abs(s(static_cast<Index>(i), 0)) > kMatters &&
        (!rows[i].row->busy || *rows[i].row->busy >= kBurstShare * burst_time))
      return false;
  return true;
}

/// Errors, coverage, constants and their covariance after a fit to all rows.
void describe_fit(const detail::FitProblem& problem, const Calibrator& calibrator, const Fit& fit,
                  const std::vector<detail::FitRow>& rows, Calibration& out) {
  const VectorXd errors = problem.errors(rows, fit.u, fit.active);
  out.after = statistics_of(errors_of(errors));
  double variance = 0;
  for (std::size_t t = 0; t < fit.scatter.size(); ++t) {
    const auto& noise = fit.scatter[t];
    variance += static_cast<double>(noise.rows) * noise.sigma * noise.sigma;
    if (noise.rows > 0) out.scatter[out.tables[t]] = noise;
  }
  for (const auto& r : rows)
    if (const auto of = out.scatter.find(out.tables[r.table]); of != out.scatter.end())
      of->second.measurand = r.measurand->name();
  out.noise = std::sqrt(variance / static_cast<double>(out.fitted_rows));
  const VectorXd deviations = calibrator.deviations(rows, fit);
  out.coverage = static_cast<double>(inside_of(centered(errors, rows, fit), deviations)) /
                 static_cast<double>(rows.size());
  const MatrixXd information = fit.all.empty() ? MatrixXd() : MatrixXd(fit.covariance.inverse());
  for (std::size_t j = 0; j < fit.all.size(); ++j) {
    const auto at = static_cast<Index>(j);
    const auto& c = problem.constants()[fit.all[j]];
    FittedConstant f{.constant = c, .value = c.start, .spread = std::sqrt(fit.covariance(at, at))};
    f.identified = std::find(fit.active.begin(), fit.active.end(), fit.all[j]) != fit.active.end();
    if (f.identified) f.value = problem.value_at(fit.all[j], fit.all_u[at]);
    f.at_bound = f.identified && (f.value < 1.02 * c.low || f.value > c.high / 1.02);
    if (!f.identified) f.why = why_not(problem, fit, information, j);
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
    const VectorXd about = centered(missed, test, without);
    const VectorXd deviations = calibrator.deviations(test, without);
    for (Index i = 0; i < missed.size(); ++i)
      scores.push_back({fold, std::isnan(missed[i]) ? HUGE_VAL : about[i] / deviations[i]});
    const auto misses = errors_of(missed);
    missed_errors.insert(missed_errors.end(), misses.begin(), misses.end());
    out.groups.push_back({folds.members(fold),
                          statistics_of(errors_of(problem.errors(test, fit.u, fit.active))),
                          statistics_of(misses)});
  }
  out.left_out = statistics_of(missed_errors);
  out.bands = conformal_bands(scores, folds.count);
}

constexpr std::string_view kSustained = "efficiency.matrix";  // a share of the peak under the power limit

double burst_time_of(const HardwareNode& device, const Zoo& zoo) {
  for (const auto& c : free_constants(device, zoo))
    if (c.field == "efficiency.burst_time") return c.start;
  return 0;
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
  if (!options.any_rows && std::is_same_v<S, HardwareNode>) detail::refuse_disagreement(rows, tables);
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
  auto relevant = relevant_constants(problem, fitted, start, all);
  std::vector<FreeConstant> unmoved, bursts;
  for (const auto i : all)
    if (!options.fields.empty() && std::ranges::find(relevant, i) == relevant.end())
      unmoved.push_back(constants[i]);
  if constexpr (std::is_same_v<S, HardwareNode>)
    if (const double burst_time = burst_time_of(subject, zoo); burst_time > 0)
      std::erase_if(relevant, [&](std::size_t i) {
        if (constants[i].field != kSustained || !only_bursts(problem, fitted, start, i, burst_time))
          return false;
        bursts.push_back(constants[i]);
        return true;
      });

  const Calibrator calibrator(problem, options, tables.size());
  const Fit fit = calibrator.run(fitted, relevant);
  describe_fit(problem, calibrator, fit, rows, out);
  add_kept(unmoved, "no row moves it", out);
  add_kept(bursts, "every row is a burst", out);
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

namespace {

/// Center and deviation of a measurement about its prediction: of the tables of this measurand, each with the
/// weight of its rows; without one the scatter of all.
TableNoise noise_for(const Calibration& calibration, const Measurand& measurand) {
  TableNoise out;
  double variance = 0;
  for (const auto& [name, t] : calibration.scatter) {
    if (t.measurand != measurand.name()) continue;
    const auto rows = static_cast<double>(t.rows), groups = std::max(1.0, static_cast<double>(t.groups));
    out.rows += t.rows;
    out.center += rows * t.center;
    variance += rows * t.sigma * t.sigma * (1 + kMedianVariance / groups);
  }
  if (out.rows == 0) return {.sigma = calibration.noise};
  out.center /= static_cast<double>(out.rows);
  out.sigma = std::sqrt(variance / static_cast<double>(out.rows));
  return out;
}

}  // namespace

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
  const auto noise = noise_for(calibration, measurand);
  const double spread = std::sqrt((s * covariance * s.transpose())(0, 0) + noise.sigma * noise.sigma);
  const double middle = p.base * std::exp(-noise.center);
  // The 80 % band of errors on groups that the fit had not seen replaces the normal quantile where known.
  double low = -kIntervalQuantile, high = kIntervalQuantile;
  for (const auto& band : calibration.bands)
    if (band.level == 0.8) low = std::min(band.low, 0.0), high = std::max(band.high, 0.0);
  IntervalPrediction out{middle * std::exp(-high * spread), middle, middle * std::exp(-low * spread), {}};
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
