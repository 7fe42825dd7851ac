#include <mlsysim/tape/invert.hpp>

#include <mlsysim/tape/interval.hpp>
#include <mlsysim/tape/batch.hpp>
#include <mlsysim/tape/ranges.hpp>
#include <mlsysim/tape/tangents.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace mlsysim {
namespace {

constexpr double kDecades = 1e6;           // default domain: this factor to each side of the given value
constexpr double kMostCounts = 1048576;    // counts of a domain that nothing bounds
constexpr double kFewCounts = 4096;        // counts of a law that are tried one by one
constexpr double kEqual = 1e-14;           // relative distance at which a value counts as the target
constexpr double kJump = 1e-9;             // residual above which a collapsed bracket is a jump and no root
constexpr int kProofDepth = 4;             // halvings of a cell before its proof is given up

/// One result of a law as a function of one input.
class Slice {
 public:
  Slice(const LawEntry& law, std::span<const double> in, const InverseQuery& q)
      : law_(law), q_(q), at_(in.begin(), in.end()), kernel_(law) {
    if (!law.is_law()) return;
    // Of the tape only what this result and this input need.
    std::vector<std::optional<double>> fixed(in.begin(), in.end());
    fixed[q.free].reset();
    tape_ = reduced(law.tape(), {.fixed = fixed, .results = {&q.result, 1}});
    tangents_.emplace(tape_);
    ranges_.emplace(tape_);
    box_.assign(in.begin(), in.end());
  }

  double operator()(double x) {
    ++evaluations;
    at_[q_.free] = x;
    return law_(at_)[q_.result];
  }
  std::vector<double> operator()(const std::vector<double>& xs) {
    evaluations += static_cast<long>(xs.size());
    std::vector<Column> columns(at_.begin(), at_.end());
    columns[q_.free] = Column(xs);
    std::vector<std::vector<double>> results(law_.results.size(), std::vector<double>(xs.size()));
    const std::vector<std::span<double>> out(results.begin(), results.end());
    kernel_.run(columns, out, xs.size());
    return results[q_.result];
  }
  /// Slope at `x`; not a number for a resolver that is not a law.
  double slope(double x) {
    if (!tangents_) return std::numeric_limits<double>::quiet_NaN();
    at_[q_.free] = x;
    tangents_->run(at_, {&q_.free, 1}, 1.0);
    return tangents_->partial(0, 0);
  }
  /// Range of the result over [a, b]; the whole line for a resolver that is not a law.
  Interval range(double a, double b) {
    if (!ranges_) return Interval::whole();
    box_[q_.free] = Interval(a, b);
    return ranges_->tight(0, box_);
  }
  /// Whether the result is known to go one way over [a, b].
  bool monotone(double a, double b) {
    if (!ranges_) return false;
    box_[q_.free] = Interval(a, b);
    ranges_->run(box_);
    return ranges_->trends(0)[q_.free] != Trend::unknown;
  }

  [[nodiscard]] bool at_target(double value) const { return std::fabs(value - q_.target) <= kEqual * std::fabs(q_.target); }
  [[nodiscard]] bool meets(double value) const {
    switch (q_.relation) {
      case Relation::at_most: return value <= q_.target;
      case Relation::at_least: return value >= q_.target;
      case Relation::equals: break;
    }
    return at_target(value);
  }
  [[nodiscard]] double residual(double value) const {
    if (q_.relation != Relation::equals) return 0.0;
    const double distance = std::fabs(value - q_.target);
    return q_.target != 0 ? distance / std::fabs(q_.target) : distance;
  }
  [[nodiscard]] double target() const { return q_.target; }
  [[nodiscard]] Relation relation() const { return q_.relation; }
  [[nodiscard]] bool is_law() const { return law_.is_law(); }

  long evaluations = 0;

 private:
  const LawEntry& law_;
  const InverseQuery& q_;
  std::vector<double> at_;
  BatchKernel kernel_;
  Tape tape_;
  std::optional<Tangents> tangents_;
  std::optional<Ranges> ranges_;
  std::vector<Interval> box_;
};

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

/// Shrinks [a, b], of which `a` satisfies the predicate and `b` does not (in either order), to neighbouring numbers.
template <class Holds>
Bracket shrink(double a, double b, Holds holds) {
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

void add_logarithmic(std::vector<double>& xs, double low, double high, int n) {
  const double step = std::log(high / low) / (n - 1);
  for (int i = 0; i < n; ++i) xs.push_back(low * std::exp(step * i));
  xs.back() = high;
}

/// Points at which a continuous domain is looked at, both ends included.
std::vector<double> grid(double low, double high, int n) {
  std::vector<double> xs;
  if (low == high) return {low};
  const bool wide = (low <= 0 && high >= 0) || (low > 0 && high > 100 * low) || (high < 0 && low < 100 * high);
  for (int i = 0; i < n; ++i) xs.push_back(low + (high - low) * i / (n - 1));
  if (wide) {
    const double least = std::max(std::fabs(low), std::fabs(high)) * 1e-12;
    if (high > 0) add_logarithmic(xs, std::max(low, least), high, n);
    if (low < 0) {
      std::vector<double> mirrored;
      add_logarithmic(mirrored, std::max(-high, least), -low, n);
      for (const double x : mirrored) xs.push_back(-x);
    }
    if (low <= 0 && high >= 0) xs.push_back(0.0);
  }
  for (double& x : xs) x = std::clamp(x, low, high);
  xs.push_back(low);
  xs.push_back(high);
  std::sort(xs.begin(), xs.end());
  xs.erase(std::unique(xs.begin(), xs.end()), xs.end());
  return xs;
}

void note_reach(Inversion& answer, const std::vector<double>& values) {
  answer.reachable_low = INFINITY;
  answer.reachable_high = -INFINITY;
  for (const double v : values) {
    if (!std::isfinite(v)) continue;
    answer.reachable_low = std::min(answer.reachable_low, v);
    answer.reachable_high = std::max(answer.reachable_high, v);
  }
  if (!(answer.reachable_low <= answer.reachable_high)) answer.outcome = InverseOutcome::undefined;
}

/// True if no point of (a, b) is at the target; ends are known not to be. Sign changes found on the way go to `more`.
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

void solve_equal(Slice& f, const std::vector<double>& xs, const std::vector<double>& values, Inversion& answer) {
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
void solve_runs(Slice& f, const std::vector<double>& xs, const std::vector<double>& values, Inversion& answer) {
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

/// Counts at which a domain is looked at: all of a few, else a scan.
std::vector<double> counts_to_try(const Slice& f, double low, double high, int scan) {
  std::vector<double> xs;
  if (high - low < (f.is_law() ? kFewCounts : scan)) {
    for (double n = low; n <= high; n += 1.0) xs.push_back(n);
    return xs;
  }
  for (const double x : grid(low, high, scan)) xs.push_back(std::round(x));
  xs.erase(std::unique(xs.begin(), xs.end()), xs.end());
  return xs;
}

/// Between two counts that were tried, the last one before the outcome of `holds` changes: bisection on whole numbers.
template <class Holds>
double edge(double in, double out, Holds holds) {
  while (std::fabs(out - in) > 1) {
    const double m = std::floor(0.5 * (in + out));
    (holds(m) ? in : out) = m;
  }
  return in;
}

void solve_counts(Slice& f, double low, double high, int scan, Inversion& answer) {
  const auto xs = counts_to_try(f, low, high, scan);
  const auto values = f(xs);
  note_reach(answer, values);
  if (answer.outcome == InverseOutcome::undefined) return;
  // Nothing is missed between two counts where the result is known to go one way.
  answer.exhaustive = true;
  for (std::size_t i = 0; answer.exhaustive && i + 1 < xs.size(); ++i)
    answer.exhaustive = xs[i + 1] - xs[i] == 1 || f.monotone(xs[i], xs[i + 1]);
  const auto holds = [&](double n) { return f.meets(f(n)); };
  for (std::size_t i = 0; i < xs.size(); ++i) {
    if (!f.meets(values[i])) continue;
    std::size_t last = i;
    while (last + 1 < xs.size() && f.meets(values[last + 1])) ++last;
    Solution s{.low = i > 0 ? edge(xs[i], xs[i - 1], holds) : xs[i],
               .high = last + 1 < xs.size() ? edge(xs[last], xs[last + 1], holds) : xs[last]};
    s.value = f(s.low);
    s.residual = f.residual(s.value);
    if (s.low > low) s.neighbour_low = f(s.low - 1);
    if (s.high < high) s.neighbour_high = f(s.high + 1);
    answer.solutions.push_back(s);
    i = last;
  }
  if (!answer.solutions.empty() || f.relation() != Relation::equals) return;
  // Whole numbers between which the result passes the target, with or without meeting it.
  for (std::size_t i = 0; i + 1 < xs.size(); ++i) {
    if (!std::isfinite(values[i]) || !std::isfinite(values[i + 1])) continue;
    const bool below = values[i] < f.target();
    if (below == (values[i + 1] < f.target())) continue;
    const double n = edge(xs[i], xs[i + 1], [&](double x) { return (f(x) < f.target()) == below; });
    const double after = xs[i] < xs[i + 1] ? n + 1 : n - 1, at_n = f(n), there = f(after);
    const double meets = f.at_target(at_n) ? n : after;
    if (f.at_target(at_n) || f.at_target(there)) {
      const double value = f(meets);
      answer.solutions.push_back({.low = meets, .high = meets, .value = value, .residual = f.residual(value)});
      if (meets > low) answer.solutions.back().neighbour_low = f(meets - 1);
      if (meets < high) answer.solutions.back().neighbour_high = f(meets + 1);
      continue;
    }
    Solution s{.low = n, .high = after, .value = at_n, .residual = f.residual(at_n), .jump = true};
    s.neighbour_high = there;
    answer.solutions.push_back(s);
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
  if (std::isinf(d.high)) d.high = field.integral ? std::max(kMostCounts - 1, 1e3 * size) : size * kDecades;
  if (std::isinf(d.low)) d.low = field.integral ? 0.0 : centre < 0 ? -size * kDecades : size / kDecades;
  if (range.open_low && d.low == range.low) d.low = d.low == 0 ? std::min(size / kDecades, d.high * 1e-12) : std::nextafter(d.low, INFINITY);
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
  if (in.size() == law.inputs.size() && q.free < law.inputs.size() && q.result < law.results.size() && q.scan >= 2 &&
      std::isfinite(q.target))
    return;
  throw InputError({.id = "mlsysim.tools.014",
                    .message = fmt::format("the question to '{}' is malformed", law.info.id),
                    .found = fmt::format("{} inputs, free input {}, result {}, {} scan points, target {}", in.size(),
                                         q.free, q.result, q.scan, q.target),
                    .expected = fmt::format("{} inputs, free < {}, result < {}, scan >= 2, a finite target",
                                            law.inputs.size(), law.inputs.size(), law.results.size())});
}

void conclude(Inversion& answer, double low, double high) {
  std::sort(answer.solutions.begin(), answer.solutions.end(),
            [](const Solution& a, const Solution& b) { return a.low < b.low; });
  const auto met = std::count_if(answer.solutions.begin(), answer.solutions.end(), [](const auto& s) { return !s.jump; });
  if (met == 0) answer.outcome = InverseOutcome::none;
  else if (met > 1) answer.outcome = InverseOutcome::several;
  else answer.outcome = InverseOutcome::unique;
  if (answer.solutions.size() == 1 && met == 1 && low < high && answer.solutions[0].low == low &&
      answer.solutions[0].high == high)
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
    solve_counts(f, low, high, query.scan, answer);
  } else {
    const auto xs = grid(low, high, query.scan);
    const auto values = f(xs);
    note_reach(answer, values);
    if (answer.outcome != InverseOutcome::undefined) {
      if (query.relation == Relation::equals)
        solve_equal(f, xs, values, answer);
      else
        solve_runs(f, xs, values, answer);
    }
  }
  if (answer.outcome != InverseOutcome::undefined) conclude(answer, low, high);
  answer.evaluations = f.evaluations;
  return answer;
}

}  // namespace mlsysim
