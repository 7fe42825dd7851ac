#include <mlsysim/ops/regression/breaks.hpp>

#include "ops/regression/cell_subject.hpp"

#include <mlsysim/explore/ask/compare.hpp>
#include <mlsysim/units/format.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace mlsysim {
namespace {

constexpr double kHoursOfYear = 8766;  // 365.25 days

Verdict verdict_of(const WatchedMetric& metric, const Exponents& exps, double before, double after) {
  const double slack =
      std::max(metric.relative * std::fabs(before), metric.absolute ? metric.absolute->base() : 0.0);
  if (std::fabs(after - before) <= slack) return Verdict::same;
  switch (metric.better.value_or(better_by_dimension(exps))) {
    case Better::lower:
      return after < before ? Verdict::better : Verdict::worse;
    case Better::higher:
      return after > before ? Verdict::better : Verdict::worse;
    case Better::neither:
      break;
  }
  return Verdict::worse;
}

std::string shown(double base, const Exponents& exps, std::string_view unit) {
  if (exps.dimensionless()) return pretty(base);
  return unit.empty() ? pretty(AnyQuantity::from_base(base, exps))
                      : pretty(AnyQuantity::from_base(base, exps), unit);
}

/// Parts of a difference: of the figures, by `compare` on today's equations; the rest is the equations'.
void attribute(Difference& d, const CellResult& cell, const AcceptedCell& accepted) {
  // Breaks that are gone are places of today's law too, with a count of 0; new ones had none.
  std::vector<std::string> names;
  for (const auto& [name, value] : accepted.figures) names.push_back(name);
  const Subject to = with_more_places(*cell.subject, names);
  Subject from = to;
  for (std::size_t i = 0; i < from.entry.inputs.size(); ++i) {
    const auto& name = from.entry.inputs[i].name;
    if (const auto at = accepted.figures.find(name); at != accepted.figures.end())
      from.point[i] = at->second;
    else if (is_break_place(name))
      from.point[i] = 0;
  }
  double explained = 0;
  if (from.point != to.point) {
    try {
      const auto report = compare(from, to, d.metric);
      d.exact = report.exact;
      for (const auto& term : report.terms) {
        if (term.part == 0) continue;
        explained += term.part;
        d.causes.push_back({term.input, shown(term.from, term.exps, term.unit),
                            shown(term.to, term.exps, term.unit), term.part});
      }
    } catch (const Error& error) {
      d.reason = error.facts().message;  // a mixture without a finite result: nothing is attributed
      return;
    }
  }
  const double rest = *d.after - *d.before - explained;
  // Accepted numbers are rounded to 12 digits.
  if (std::fabs(rest) > 1e-9 * std::max(std::fabs(*d.after), std::fabs(*d.before)))
    d.causes.push_back({"equations", "", "", rest});
  std::stable_sort(d.causes.begin(), d.causes.end(),
                   [](const Cause& a, const Cause& b) { return std::fabs(a.part) > std::fabs(b.part); });
}

const CellNumber* number_of(const std::vector<CellNumber>& numbers, std::string_view name) {
  const auto at =
      std::find_if(numbers.begin(), numbers.end(), [&](const CellNumber& n) { return n.name == name; });
  return at == numbers.end() ? nullptr : &*at;
}

void compare_numbers(const CiMatrix& matrix, const CellResult& cell, const AcceptedCell& accepted,
                     std::vector<Difference>& out) {
  const auto name = cell.cell.name();
  for (const auto& metric : matrix.metrics) {
    const auto* before = number_of(accepted.numbers, metric.name);
    const auto* after = number_of(cell.numbers, metric.name);
    if (before == nullptr && after == nullptr) continue;
    const auto* some = after != nullptr ? after : before;
    Difference d{.cell = name, .metric = metric.name, .unit = some->unit, .exps = some->exps};
    if (before != nullptr) d.before = before->value;
    if (after != nullptr) d.after = after->value;
    if (before == nullptr) {
      d.verdict = Verdict::fresh;
    } else if (after == nullptr) {
      d.verdict = Verdict::gone;
    } else if (!(before->exps == after->exps)) {
      d.verdict = Verdict::incomparable;
      d.reason = fmt::format("{} before", dimension_name(before->exps));
    } else {
      d.verdict = verdict_of(metric, d.exps, *d.before, *d.after);
      if (d.verdict == Verdict::same) continue;
      attribute(d, cell, accepted);
      d.per_year = detail::yearly(matrix.fleet, d);
    }
    out.push_back(std::move(d));
  }
}

Difference of_status(std::string cell, Verdict verdict, std::string before, std::string after,
                     std::string reason) {
  Difference d{.cell = std::move(cell), .metric = "status", .verdict = verdict};
  d.status_before = std::move(before);
  d.status_after = std::move(after);
  d.reason = std::move(reason);
  return d;
}

}  // namespace

Better better_by_dimension(const Exponents& e) {
  const bool of_amount = e.money > 0 || e.energy > 0 || e.carbon > 0 || e.water > 0;
  if (e.time < 0 && !of_amount) return Better::higher;
  return of_amount || e.time > 0 || e.data > 0 ? Better::lower : Better::neither;
}

std::optional<double> Difference::change() const {
  if (!before || !after || *before == 0) return std::nullopt;
  return *after / *before - 1;
}

std::optional<Money<>> detail::yearly(const std::optional<FleetPrice>& fleet, const Difference& d) {
  if (!fleet || !d.before || !d.after || *d.before <= 0 || *d.after <= 0) return std::nullopt;
  const bool time = d.exps == dim::time::exps;
  const bool rate = d.exps.time == -1 && better_by_dimension(d.exps) == Better::higher;
  if (!time && !rate) return std::nullopt;
  const double more = time ? *d.after / *d.before - 1 : *d.before / *d.after - 1;
  return fleet->device_hour * fleet->accelerators * kHoursOfYear * more;
}

bool differs(const CiMatrix& matrix, const CellResult& cell, const Accepted& accepted) {
  const auto at = accepted.find(cell.cell.name());
  if (at == accepted.end() || at->second.status != cell.status) return false;
  return std::any_of(matrix.metrics.begin(), matrix.metrics.end(), [&](const WatchedMetric& metric) {
    const auto* before = number_of(at->second.numbers, metric.name);
    const auto* after = number_of(cell.numbers, metric.name);
    return before != nullptr && after != nullptr && before->exps == after->exps &&
           verdict_of(metric, after->exps, before->value, after->value) != Verdict::same;
  });
}

std::vector<Difference> differences(const CiMatrix& matrix, const CiRun& run, const Accepted& accepted) {
  std::vector<Difference> out;
  for (const auto& cell : run.cells) {
    const auto name = cell.cell.name();
    const auto at = accepted.find(name);
    const std::string status(name_of(cell.status));
    if (at == accepted.end()) {
      out.push_back(of_status(name, Verdict::fresh, "", status, cell.reason));
      continue;
    }
    const auto& before = at->second;
    if (before.status != cell.status) {
      const bool worse = before.status == CellStatus::ok || cell.status == CellStatus::failed;
      out.push_back(of_status(name, worse ? Verdict::worse : Verdict::better,
                              std::string(name_of(before.status)), status, cell.reason));
      continue;
    }
    compare_numbers(matrix, cell, before, out);
  }
  // A run that was stopped has not reached the others.
  if (!run.complete) return out;
  for (const auto& was : accepted)
    if (std::none_of(run.cells.begin(), run.cells.end(),
                     [&](const CellResult& c) { return c.cell.name() == was.first; }))
      out.push_back(of_status(was.first, Verdict::gone, std::string(name_of(was.second.status)), "",
                              "the matrix has no such cell any more"));
  return out;
}

}  // namespace mlsysim
