#include <mlsysim/explore/sensitivity.hpp>

#include <mlsysim/resolve/field_text.hpp>
#include <mlsysim/tools/batch.hpp>
#include <mlsysim/units/format.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace mlsysim {
namespace {

constexpr double kNothing = 1e-4;  // elasticity below which an input has no effect worth a word
constexpr double kMoved = 0.01;    // change of the result at which an input matters
constexpr int kOctaves = 20;       // how far inputs are moved to find limits: factors of 2^20

/// One result of a law as a function of one input, in batches.
class Line {
 public:
  Line(const Subject& s, std::size_t result) : subject_(s), result_(result), kernel_(s.entry) {}

  std::vector<double> operator()(std::size_t input, const std::vector<double>& xs) {
    std::vector<Column> columns(subject_.point.begin(), subject_.point.end());
    columns[input] = Column(xs);
    std::vector<std::vector<double>> out(subject_.entry.results.size(), std::vector<double>(xs.size()));
    const std::vector<std::span<double>> spans(out.begin(), out.end());
    kernel_.run(columns, spans, xs.size());
    return std::move(out[result_]);
  }
  double operator()(std::size_t input, double x) { return (*this)(input, std::vector<double>{x})[0]; }

 private:
  const Subject& subject_;
  std::size_t result_;
  BatchKernel kernel_;
};

double relative(double there, double here) {
  const double change = there - here;
  return here != 0 ? change / std::fabs(here) : change;
}

bool holds(const FieldRange& r, double x) { return (r.open_low ? x > r.low : x >= r.low) && x <= r.high; }

double into(const FieldRange& r, double x, double here) {
  if (holds(r, x)) return x;
  const double end = x > here ? r.high : r.low;
  return holds(r, end) ? end : here;
}

/// The next count that is admissible: a step away, at least one, and where the parallel degrees divide the devices.
double next_count(const Subject& s, std::size_t input, double step, int direction) {
  const FieldRange range = base_range(s.entry.inputs[input]);
  const double x = s.point[input];
  const auto* fits = find_field(s.entry.results, "degrees_fit");
  const double first = direction * std::max(1.0, std::round(x * step));
  auto at = s.point;
  for (double move = first; std::fabs(move) <= 4 * std::fabs(x) + 1; move += direction) {
    at[input] = x + move;
    if (!holds(range, at[input])) break;
    if (fits == nullptr || s.entry(at)[static_cast<std::size_t>(fits - s.entry.results.data())] == 1) return at[input];
    if (std::fabs(move) > 4096) break;
  }
  return x;
}

std::string percent(double x) { return fmt::format("{:.3g} %", 100 * std::fabs(x)); }
std::string verb(double change) { return change < 0 ? "lowers" : "raises"; }

/// Values where a scan looks: octaves to both sides, within the range.
std::vector<double> octaves(const FieldInfo& f, double x) {
  const FieldRange range = base_range(f);
  std::vector<double> out;
  for (int k = -kOctaves; k <= kOctaves; ++k) {
    double at = std::ldexp(x, k);
    if (f.integral) at = std::round(at);
    if (holds(range, at) && (out.empty() || at != out.back())) out.push_back(at);
  }
  // The ends of a closed range count too: a share can reach 1.
  if (range.high < kUnbounded && x <= range.high && (out.empty() || out.back() < range.high)) out.push_back(range.high);
  return out;
}

/// Where the result first has moved by `kMoved`, going away from `x`: the nearest octave, then halved down.
std::optional<double> first_effect(Line& line, std::size_t input, double here, double x, const std::vector<double>& xs,
                                   const std::vector<double>& ys) {
  const auto moved = [&](double y) { return std::isfinite(y) && std::fabs(relative(y, here)) >= kMoved; };
  std::optional<double> best;
  double best_distance = HUGE_VAL;
  for (std::size_t k = 0; k < xs.size(); ++k) {
    if (!moved(ys[k]) || xs[k] == x || xs[k] <= 0) continue;
    const double distance = std::fabs(std::log(xs[k] / x));
    if (distance < best_distance) best_distance = distance, best = xs[k];
  }
  if (!best) return best;
  double near = x, far = *best;
  for (int i = 0; i < 40 && std::fabs(far / near - 1) > 1e-3; ++i) {
    const double middle = std::sqrt(near) * std::sqrt(far);
    (moved(line(input, middle)) ? far : near) = middle;
  }
  return far;
}

std::string describe_lever(const Lever& l, const FieldInfo& in, const SensitivityReport& r, double step, const FieldInfo& out) {
  const auto value = [&](double x) { return field_text(in, x, 4); };
  if (l.counted) {
    if (l.upper == l.value && l.lower == l.value) return fmt::format("{} can take no other value", l.input);
    const bool up = l.upper != l.value;
    const double change = up ? l.at_upper : l.at_lower;
    return fmt::format("{} {} instead of {} {} {} by {}", l.input, value(up ? l.upper : l.lower), value(l.value),
                       change == 0 ? "leaves" : verb(change), r.result, change == 0 ? std::string("nothing") : percent(change));
  }
  if (std::fabs(l.elasticity_up) < kNothing && std::fabs(l.elasticity_down) < kNothing && l.slope != Slope::step) {
    if (!l.matters_at) return fmt::format("{} has no effect, whatever its value", l.input);
    return fmt::format("{} does not matter until it {} {} (now {})", l.input, *l.matters_at < l.value ? "falls below" : "exceeds",
                       value(*l.matters_at), value(l.value));
  }
  if (l.slope == Slope::kink)
    return fmt::format("{} sits at a limit: +{:g} % {} {} by {}, -{:g} % {} it by {}", l.input, 100 * step, verb(l.at_upper), r.result,
                       percent(l.at_upper), 100 * step, verb(l.at_lower), percent(l.at_lower));
  std::string text = fmt::format("+{:g} % {} {} {} by {}", 100 * step, l.input, verb(l.at_upper), r.result, percent(l.at_upper));
  if (l.at_upper == 0) text = fmt::format("{} moves {} in steps: -{:g} % {} it by {}", l.input, r.result, 100 * step, verb(l.at_lower), percent(l.at_lower));
  if (l.price) {
    const double per = *l.price * AnyQuantity::parse(in.unit.empty() ? "1" : fmt::format("1 {}", in.unit)).base();
    text += fmt::format("; {} per {}", pretty(AnyQuantity::from_base(per, out.exps), 3), in.unit.empty() ? "one more" : in.unit);
  }
  if (std::fabs(l.ceiling) > 1.5 * std::fabs(l.at_upper) && std::fabs(l.ceiling) < 1)
    text += fmt::format("; at most {} however far", percent(l.ceiling));
  return text;
}

/// A rate, capacity or share of a machine: what can bind.
bool is_resource(std::string_view name) {
  for (const std::string_view r : {"device.matrix_rate", "device.vector_rate", "device.memory_bandwidth", "device.memory_capacity",
                                   "device.launch", "device.dispatch", "device.host_bandwidth", "links.intra_bandwidth",
                                   "links.inter_bandwidth", "links.intra_latency", "links.inter_latency"})
    if (name == r) return true;
  return false;
}

std::string binding_words(const SensitivityReport& r) {
  const Lever* binds = nullptr;
  const Lever* free = nullptr;
  for (const auto& l : r.levers) {
    if (!is_resource(l.input)) continue;
    const double e = std::max(std::fabs(l.elasticity_up), std::fabs(l.elasticity_down));
    if (binds == nullptr && e > 0.01) binds = &l;
    // Of those without effect, the one whose limit is nearest is worth a word.
    const auto distance = [](const Lever& x) { return std::fabs(std::log(*x.matters_at / x.value)); };
    if (e < kNothing && l.matters_at && (free == nullptr || distance(l) < distance(*free))) free = &l;
  }
  if (binds == nullptr) return {};
  std::string text = fmt::format("{} binds {}: {}", binds->meaning, r.result, binds->words);
  if (free != nullptr) text += fmt::format(". {}", free->words);
  return text;
}

}  // namespace

double Lever::reach() const {
  const double tornado = std::max(std::fabs(at_lower), std::fabs(at_upper));
  return std::isfinite(tornado) ? tornado : HUGE_VAL;
}

SensitivityReport sensitivity(const Subject& subject, std::string_view result, const SensitivityOptions& options) {
  if (!(options.step > 0 && options.step < 1))
    throw DomainError({.id = "mlsysim.explore.001", .message = "the step of a sensitivity is out of range", .key = "step",
                       .found = fmt::format("{}", options.step), .expected = "a share between 0 and 1, e.g. 0.1"});
  const std::size_t out = subject.result(result);
  std::vector<std::size_t> wanted;
  for (const auto& name : options.inputs) wanted.push_back(subject.input(name));
  if (wanted.empty())
    for (std::size_t i = 0; i < subject.point.size(); ++i) wanted.push_back(i);
  const Gradient g = gradient(subject.entry, subject.point, wanted);
  const FieldInfo& field = subject.entry.results[out];
  SensitivityReport r{.subject = subject.title, .result = field.name, .meaning = field.meaning, .unit = field.unit,
                      .exps = field.exps, .value = g.values[out], .step = options.step, .method = g.method, .levers = {},
                      .binding = {}, .assumptions = subject.assumptions, .warnings = subject.warnings};
  if (!std::isfinite(r.value))
    throw DomainError({.id = "mlsysim.explore.002", .message = fmt::format("'{}' is no finite number here", field.name),
                       .key = field.name, .found = fmt::format("{}", r.value), .expected = "a finite result",
                       .hint = "check the inputs; a rate of zero makes times infinite"});
  Line line(subject, out);
  for (const std::size_t i : wanted) {
    const FieldInfo& in = subject.entry.inputs[i];
    const double x = subject.point[i];
    const Sensitivity& s = g.at(out, i);
    const FieldRange range = base_range(in);
    Lever l{.input = in.name, .meaning = in.meaning, .unit = in.unit, .exps = in.exps, .counted = in.integral, .value = x,
            .slope = s.slope, .elasticity = g.elasticity(out, i), .price = s.value()};
    const double scale = r.value != 0 ? x / std::fabs(r.value) : 0;
    l.elasticity_up = s.right * scale;
    l.elasticity_down = s.left * scale;
    l.upper = in.integral ? next_count(subject, i, options.step, 1) : into(range, x * (1 + options.step), x);
    l.lower = in.integral ? next_count(subject, i, options.step, -1) : into(range, x * (1 - options.step), x);
    const auto ends = line(i, std::vector<double>{l.lower, l.upper});
    l.at_lower = relative(ends[0], r.value);
    l.at_upper = relative(ends[1], r.value);
    if (x > 0 && !in.integral) {
      const auto xs = octaves(in, x);
      const auto ys = line(i, xs);
      const bool better_up = l.at_upper < l.at_lower;
      for (std::size_t k = 0; k < xs.size(); ++k)
        if ((xs[k] > x) == better_up && std::isfinite(ys[k]) && std::fabs(relative(ys[k], r.value)) > std::fabs(l.ceiling))
          l.ceiling = relative(ys[k], r.value);
      if (std::fabs(l.elasticity_up) < kNothing && std::fabs(l.elasticity_down) < kNothing && s.slope != Slope::step)
        l.matters_at = first_effect(line, i, r.value, x, xs, ys);
    }
    l.words = describe_lever(l, in, r, options.step, field);
    r.levers.push_back(std::move(l));
  }
  std::stable_sort(r.levers.begin(), r.levers.end(), [](const Lever& a, const Lever& b) { return a.reach() > b.reach(); });
  r.binding = binding_words(r);
  return r;
}

}  // namespace mlsysim
