#include "slice.hpp"

#include <mlsysim/reflect/range.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace mlsysim {

using detail::Slice;

namespace {

constexpr double kDecades = 1e6;         // default domain: this factor to each side of the given value
constexpr double kMostCounts = 1048576;  // counts of a domain that nothing bounds
constexpr double kJump = 1e-9;           // residual above which a collapsed bracket is a jump and no root
constexpr int kProofDepth = 4;           // halvings of a cell before its proof is given up

bool adjacent(double a, double b) { return std::fabs(b - a) <= 4e-16 * std::max(std::fabs(a), std::fabs(b)); }

double halfway(double a, double b) {
  // Over decades the geometric middle halves the number of digits, the arithmetic one would not.
  if (a > 0 && b > 4 * a) return std::sqrt(a) * std::sqrt(b);
  if (b < 0 && a < 4 * b) return -std::sqrt(-a) * std::sqrt(-b);
  return a + 0.5 * (b - a);
}

struct Bracket {
  double a, b;  ///< ends; the predicate or sign differs
};

/// Shrinks [a, b], of which `a` satisfies the predicate and `b` does not (in either order), to neighbouring
/// numbers.
template <class Holds> Bracket shrink(double a, double b, Holds holds) {
  for (int i = 0; i < 200 && !adjacent(a, b); ++i) {
    const double m = a < b ? halfway(a, b) : halfway(b, a);
    if (m == a || m == b) break;
    (holds(m) ? a : b) = m;
  }
  return {a, b};
}

/// A root between `a` and `b`, where f - target has opposite signs: Newton steps kept inside the bracket.
Solution refine(Slice& f, double a, double b, double fa, double fb) {
  double ga = fa - f.target(), gb = fb - f.target();
  double x = std::fabs(ga) < std::fabs(gb) ? a : b, g = std::fabs(ga) < std::fabs(gb) ? ga : gb;
  for (int i = 0; i < 200 && g != 0 && !adjacent(a, b); ++i) {
    double next = x - g / f.slope(x);
    // A step out of the bracket, or every third one, is replaced by halving: no function can hold it up.
    if (!(next > a && next < b) || i % 3 == 2) next = halfway(a, b);
    const bool small = std::fabs(next - x) <= 2e-16 * std::fabs(x);
    if (small && f.at_target(g + f.target())) break;
    x = next;
    g = f(x) - f.target();
    if ((g < 0) == (ga < 0)) {
      a = x;
      ga = g;
    } else {
      b = x;
      gb = g;
    }
    if (f.at_target(g + f.target())) break;
  }
  if (std::fabs(ga) < std::fabs(g)) x = a, g = ga;
  if (std::fabs(gb) < std::fabs(g)) x = b, g = gb;
  Solution s{.low = x, .high = x, .value = g + f.target()};
  s.residual = f.residual(s.value);
  const double scale = f.target() != 0 ? std::fabs(f.target()) : std::max(std::fabs(fa), std::fabs(fb));
  s.jump = !(std::fabs(g) <= kJump * scale);
  if (s.jump) {
    s.low = a;
    s.high = b;
  }
  return s;
}

/// True if no point of (a, b) is at the target; ends are known not to be. Sign changes found on the way go to
/// `more`.
bool excluded(Slice& f, Bracket cell, double fa, double fb, int depth, std::vector<Bracket>& more) {
  const Interval r = f.range(cell.a, cell.b);
  if (!r.contains(f.target())) return true;
  if (depth == 0 || adjacent(cell.a, cell.b)) return false;
  const double m = halfway(cell.a, cell.b), fm = f(m);
  if (!std::isfinite(fm)) return false;
  if ((fm < f.target()) != (fa < f.target())) {
    more.push_back({cell.a, m});
    more.push_back({m, cell.b});
    return true;
  }
  const bool left = excluded(f, {cell.a, m}, fa, fm, depth - 1, more);
  const bool right = excluded(f, {m, cell.b}, fm, fb, depth - 1, more);
  return left && right;
}

void solve_equal(Slice& f, const std::vector<double>& xs, const std::vector<double>& values,
                 Inversion& answer) {
  bool proven = true;
  for (std::size_t i = 0; i < xs.size(); ++i) {
    if (!std::isfinite(values[i])) {
      proven = false;
      continue;
    }
    if (f.at_target(values[i])) {
      std::size_t last = i;
      while (last + 1 < xs.size() && f.at_target(values[last + 1])) ++last;
      Solution s{.low = xs[i], .high = xs[last], .value = values[i], .residual = f.residual(values[i])};
      const auto stays = [&](double x) { return f.at_target(f(x)); };
      if (last > i && i > 0) s.low = shrink(xs[i], xs[i - 1], stays).a;
      if (last > i && last + 1 < xs.size()) s.high = shrink(xs[last], xs[last + 1], stays).a;
      answer.solutions.push_back(s);
      i = last;
    }
    if (i + 1 == xs.size() || !std::isfinite(values[i + 1])) continue;
    if (f.at_target(values[i]) || f.at_target(values[i + 1])) {
      proven = false;
      continue;
    }
    if ((values[i] < f.target()) != (values[i + 1] < f.target())) {
      answer.solutions.push_back(refine(f, xs[i], xs[i + 1], values[i], values[i + 1]));
      proven = false;
      continue;
    }
    std::vector<Bracket> more;
    proven = excluded(f, {xs[i], xs[i + 1]}, values[i], values[i + 1], kProofDepth, more) && proven;
    for (const auto& [a, b] : more) {
      answer.solutions.push_back(refine(f, a, b, f(a), f(b)));
      proven = false;
    }
  }
  answer.exhaustive = proven;
}

/// Ranges of the input in which a limit, or a count's equality, is met.
void solve_runs(Slice& f, const std::vector<double>& xs, const std::vector<double>& values,
                Inversion& answer) {
  const auto holds = [&](double x) { return f.meets(f(x)); };
  for (std::size_t i = 0; i < xs.size(); ++i) {
    if (!f.meets(values[i])) continue;
    std::size_t last = i;
    while (last + 1 < xs.size() && f.meets(values[last + 1])) ++last;
    Solution s{.low = xs[i], .high = xs[last]};
    if (i > 0) s.low = shrink(xs[i], xs[i - 1], holds).a;
    if (last + 1 < xs.size()) s.high = shrink(xs[last], xs[last + 1], holds).a;
    s.value = f(s.low);
    answer.solutions.push_back(s);
    i = last;
  }
}

struct Domain {
  double low, high;
};

Domain domain_of(const LawEntry& law, std::span<const double> in, const InverseQuery& q) {
  const FieldInfo& field = law.inputs[q.free];
  const FieldRange range = base_range(field);
  const double centre = std::isfinite(in[q.free]) && in[q.free] != 0 ? in[q.free] : 1.0;
  const double size = std::fabs(centre);
  Domain d{range.low, range.high};
  // Without limits: six decades to each side, over zero as well where the field admits it.
  if (field.high >= kUnbounded)
    d.high = field.integral ? std::min(std::max(kMostCounts - 1, 1e3 * size),
                                       !q.only.empty() ? static_cast<double>(detail::kMostTried) : kMostCount)
                            : size * kDecades;
  if (std::isinf(d.low)) d.low = field.integral ? 0.0 : centre < 0 ? -size * kDecades : size / kDecades;
  if (range.open_low && d.low == range.low)
    d.low = d.low == 0 ? std::min(size / kDecades, d.high * 1e-12) : std::nextafter(d.low, INFINITY);
  d.low = q.low.value_or(d.low);
  d.high = q.high.value_or(d.high);
  if (field.integral) d = {std::ceil(d.low), std::floor(d.high)};
  if (d.low <= d.high && std::isfinite(d.low) && std::isfinite(d.high)) return d;
  throw InputError({.id = "mlsysim.tools.013",
                    .message = fmt::format("there is nothing to search for '{}'", field.name),
                    .key = field.name,
                    .found = fmt::format("the domain [{}, {}]", d.low, d.high),
                    .expected = "a finite domain with low <= high"});
}

void check_query(const LawEntry& law, std::span<const double> in, const InverseQuery& q) {
  if (in.size() == law.inputs.size() && q.free < law.inputs.size() && q.result < law.results.size() &&
      q.scan >= 2 && std::isfinite(q.target) &&
      std::all_of(q.only.begin(), q.only.end(), [&](const Required& r) {
        return r.result < law.results.size() && law.inputs[q.free].integral;
      }))
    return;
  throw InputError({.id = "mlsysim.tools.014",
                    .message = fmt::format("the question to '{}' is malformed", law.info.id),
                    .found = fmt::format("{} inputs, free input {}, result {}, {} scan points, target {}",
                                         in.size(), q.free, q.result, q.scan, q.target),
                    .expected = fmt::format("{} inputs, free < {}, result < {}, scan >= 2, a finite target",
                                            law.inputs.size(), law.inputs.size(), law.results.size())});
}

void conclude(Inversion& answer, double low, double high, bool counts) {
  std::sort(answer.solutions.begin(), answer.solutions.end(),
            [](const Solution& a, const Solution& b) { return a.low < b.low; });
  const auto met =
      std::count_if(answer.solutions.begin(), answer.solutions.end(), [](const auto& s) { return !s.jump; });
  if (met == 0)
    answer.outcome = InverseOutcome::none;
  else if (met > 1)
    answer.outcome = InverseOutcome::several;
  else
    answer.outcome = InverseOutcome::unique;
  if (answer.solutions.size() != 1 || met != 1) return;
  const Solution& one = answer.solutions[0];
  if (counts ? !one.below && !one.above : low < high && one.low == low && one.high == high)
    answer.outcome = InverseOutcome::everywhere;
}

}  // namespace

Inversion invert(const LawEntry& law, std::span<const double> in, const InverseQuery& query) {
  check_query(law, in, query);
  for (std::size_t i = 0; i < in.size(); ++i)
    if (i != query.free) check_range(law.inputs[i], in[i]);
  const auto [low, high] = domain_of(law, in, query);
  Inversion answer;
  answer.method = law.is_law() ? Method::exact : Method::central_differences;
  answer.low = low;
  answer.high = high;
  Slice f(law, in, query);
  if (law.inputs[query.free].integral) {
    detail::solve_counts(f, low, high, query.scan, answer);
  } else {
    const auto xs = detail::scan_points(low, high, query.scan);
    const auto values = f(xs);
    detail::note_reach(answer, values);
    if (answer.outcome != InverseOutcome::undefined) {
      if (query.relation == Relation::equals)
        solve_equal(f, xs, values, answer);
      else
        solve_runs(f, xs, values, answer);
    }
  }
  if (answer.outcome != InverseOutcome::undefined)
    conclude(answer, low, high, law.inputs[query.free].integral);
  answer.evaluations = f.evaluations;
  return answer;
}

}  // namespace mlsysim
