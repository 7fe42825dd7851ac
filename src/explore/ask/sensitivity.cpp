#include <mlsysim/explore/ask/sensitivity.hpp>

#include "../subject/finite_result.hpp"
#include "../subject/spec_figures.hpp"

#include <mlsysim/resolver_api/field_text.hpp>
#include <mlsysim/tape/batch.hpp>
#include <mlsysim/timing/stored_formats.hpp>
#include <mlsysim/units/format.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

namespace mlsysim {
namespace {

constexpr double kNothing = 1e-4;  // elasticity below which an input counts as without effect
constexpr double kMoved = 0.01;    // change of the result at which an input matters
constexpr int kOctaves = 20;       // how far inputs are moved to find limits: factors of 2^20

/// One result of a law as a function of one input, in batches.
class LineOfInput {
 public:
  LineOfInput(const Subject& s, std::size_t result, std::span<const std::size_t> inputs)
      : kernel_(s.entry, {result}), columns_(s.point.begin(), s.point.end()) {
    if (s.entry.is_law()) kernel_.vary(inputs, s.point);
  }
  /// Points of which several cost as much as one.
  [[nodiscard]] std::size_t together() const { return kernel_.method() == Method::exact ? kBlock - 1 : 1; }

  std::vector<double> operator()(std::size_t input, const std::vector<double>& xs) {
    std::vector<double> out(xs.size());
    const auto at_point = std::exchange(columns_[input], Column(xs));
    const std::span<double> spans[] = {out};
    kernel_.run(columns_, spans, xs.size());
    columns_[input] = at_point;
    return out;
  }

 private:
  BatchKernel kernel_;
  std::vector<Column> columns_;
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

/// A result of a subject at a point; nothing where the subject has none of this name.
std::optional<double> named_result(const Subject& s, const std::vector<double>& numbers,
                                   std::string_view name) {
  const auto* f = find_field(s.entry.results, name);
  if (f == nullptr) return std::nullopt;
  return numbers[static_cast<std::size_t>(f - s.entry.results.data())];
}

/// Whether a model that fits at the point of a subject also fits where these are its results.
bool still_fits(const Subject& s, const std::vector<double>& there) {
  const auto missing = [&](const std::vector<double>& numbers) {
    return named_result(s, numbers, "memory_shortfall").value_or(0) > 0;
  };
  return !missing(there) || missing(s.entry(s.point));
}

/// The next count that is admissible: a step away, at least one, where the parallel degrees divide the
/// devices, the model still fits and there is a result.
double next_count(const Subject& s, std::size_t input, std::size_t result, double step, int direction) {
  const FieldRange range = base_range(s.entry.inputs[input]);
  const double x = s.point[input];
  const double first = direction * std::max(1.0, std::round(x * step));
  auto at = s.point;
  for (double move = first; std::fabs(move) <= 4 * std::fabs(x) + 1; move += direction) {
    at[input] = x + move;
    if (!holds(range, at[input])) break;
    const auto there = s.entry(at);
    if (named_result(s, there, "plan_fits").value_or(1) == 1 && std::isfinite(there[result]) &&
        still_fits(s, there))
      return at[input];
    if (std::fabs(move) > 4096) break;
  }
  return x;
}

std::string verb(double change) { return change < 0 ? "lowers" : "raises"; }

/// Effect of a change on the result: "raises itl by 5 %", "leaves itl as it is", "gives no itl".
std::string effect(double change, const SensitivityReport& r) {
  if (std::isnan(change)) return fmt::format("gives no {}", r.result);
  if (std::isinf(change)) return fmt::format("makes {} infinite", r.result);
  return change == 0
             ? fmt::format("leaves {} as it is", r.result)
             : fmt::format("{} {} by {}", verb(change), r.result, r.change_text(std::fabs(change), 3));
}

/// Values that an input may have: those of its field, and of bytes of a value those that a format has.
FieldRange possible(const FieldInfo& f, double x) {
  FieldRange range = base_range(f);
  const auto keep = [&](double low, double high) {
    range.low = std::min(std::max(range.low, low), x);
    range.high = std::max(std::min(range.high, high), x);
  };
  const std::string_view name = f.name;
  double least = HUGE_VAL, most = 0;
  for (std::size_t i = 0; i < Choices<Precision>::names.size(); ++i) {
    const double bytes = bytes_per_element(static_cast<Precision>(i));
    least = std::min(least, bytes);
    most = std::max(most, bytes);
  }
  if (name.ends_with("kv_bytes") || name.ends_with("activation_bytes")) keep(least, most);
  if (!name.ends_with("weight_bytes")) return range;
  for (std::size_t i = 0; i < Choices<WeightFormat>::names.size(); ++i)
    if (const double bytes = bytes_of(static_cast<WeightFormat>(i)); bytes > 0)
      least = std::min(least, bytes);
  keep(least, most);
  return range;
}

/// Whether an input is the width of a number format, which nobody changes by a tenth: the next is half of it.
bool is_width(std::string_view name) { return name == "plan.kv_bytes" || name == "plan.weight_bytes"; }

/// Values where a scan looks: octaves to both sides, within the range.
std::vector<double> octaves(const FieldInfo& f, double x) {
  const FieldRange range = possible(f, x);
  std::vector<double> out;
  for (int k = -kOctaves; k <= kOctaves; ++k) {
    double at = std::ldexp(x, k);
    if (f.integral) at = std::round(at);
    if (holds(range, at) && (out.empty() || at != out.back())) out.push_back(at);
  }
  // The ends of a closed range count too: a share can reach 1.
  if (range.high < kUnbounded && x <= range.high && (out.empty() || out.back() < range.high))
    out.push_back(range.high);
  return out;
}

/// The geometric middle of two numbers, then those of both halves, and so on.
std::vector<double> middles_between(double near, double far, std::size_t most) {
  std::vector<std::pair<double, double>> parts{{near, far}};
  std::vector<double> out;
  while (out.size() < most) {
    const auto [from, to] = parts[out.size()];
    out.push_back(std::sqrt(from) * std::sqrt(to));
    parts.emplace_back(from, out.back());
    parts.emplace_back(out.back(), to);
  }
  return out;
}

/// Where the result first has moved by `kMoved`, going away from `x`: the nearest octave, then halved down.
std::optional<double> first_effect(LineOfInput& line, std::size_t input, double here, double x,
                                   const std::vector<double>& xs, const std::vector<double>& ys) {
  // A share of zero is not defined: there every change counts.
  const auto moved = [&](double y) {
    return std::isfinite(y) && (here != 0 ? std::fabs(relative(y, here)) >= kMoved : y != 0);
  };
  std::optional<double> best;
  double best_distance = HUGE_VAL;
  for (std::size_t k = 0; k < xs.size(); ++k) {
    if (!moved(ys[k]) || xs[k] == x || xs[k] <= 0) continue;
    const double distance = std::fabs(std::log(xs[k] / x));
    if (distance < best_distance) best_distance = distance, best = xs[k];
  }
  if (!best) return best;
  double near = x, far = *best;
  const auto apart = [&] { return std::fabs(far / near - 1) > 1e-3; };
  for (int i = 0; i < 40 && apart();) {
    // A batch of what so many halvings may ask for: the middles below middle m are 2m + 1 and 2m + 2.
    const auto middles = middles_between(near, far, line.together());
    const auto there = line(input, middles);
    for (std::size_t m = 0; m < middles.size() && i < 40 && apart(); ++i) {
      const bool beyond = moved(there[m]);
      (beyond ? far : near) = middles[m];
      m = 2 * m + (beyond ? 1 : 2);
    }
  }
  return far;
}

/// Without effect around this point.
bool idle(const Lever& l, const SensitivityReport& r) {
  // Elasticities of a result of 0 are all 0: there the changes tell.
  if (r.value == 0 && !(l.at_lower == 0 && l.at_upper == 0)) return false;
  return l.slope != Slope::step && std::fabs(l.elasticity_up) < kNothing &&
         std::fabs(l.elasticity_down) < kNothing;
}

std::string describe_lever(const Lever& l, const FieldInfo& in, const SensitivityReport& r, double step,
                           const FieldInfo& out) {
  const auto value = [&](double x) {
    return in.kind == ValueKind::flag ? field_text(in, Value(x != 0)) : field_text(in, x, 4);
  };
  if (l.counted) {
    if (l.upper == l.value && l.lower == l.value) return fmt::format("{} can take no other value", l.input);
    const bool up = l.upper != l.value;
    return fmt::format("{} {} instead of {} {}", l.input, value(up ? l.upper : l.lower), value(l.value),
                       effect(up ? l.at_upper : l.at_lower, r));
  }
  const auto per_unit = [&] {
    // A share, such as an efficiency, changes by hundredths.
    const double per =
        *l.price * (in.unit.empty() ? 0.01 : AnyQuantity::parse(fmt::format("1 {}", in.unit)).base());
    return fmt::format("{} per {}", pretty(AnyQuantity::from_base(per, out.exps), 3),
                       in.unit.empty() ? "0.01 more" : in.unit);
  };
  if (l.value == 0) {
    // A relative change of zero is not defined.
    if (l.price && *l.price != 0) return fmt::format("{} is 0: {}", l.input, per_unit());
    return fmt::format("{} is 0{}", l.input, l.price ? ", and a little of it has no effect" : "");
  }
  if (idle(l, r)) {
    if (!l.matters_at) return fmt::format("{} has no effect, whatever its value", l.input);
    return fmt::format("{} does not matter until it {} {} (now {})", l.input,
                       *l.matters_at < l.value ? "falls below" : "exceeds", value(*l.matters_at),
                       value(l.value));
  }
  const std::string up = fmt::format("+{:g} %", 100 * step), down = fmt::format("-{:g} %", 100 * step);
  const bool fixed_up = l.upper == l.value, fixed_down = l.lower == l.value;
  std::string text;
  if (fixed_up || fixed_down) {
    text = fmt::format("{} is at the end of its range", l.input);
    if (!fixed_up || !fixed_down)
      text += fmt::format(": {} {}", fixed_up ? down : up, effect(fixed_up ? l.at_lower : l.at_upper, r));
  } else if (l.slope == Slope::kink) {
    return fmt::format("{} sits at a limit: {} {}, {} {}", l.input, up, effect(l.at_upper, r), down,
                       effect(l.at_lower, r));
  } else if (l.slope == Slope::step && (l.at_upper == 0 || l.at_lower == 0)) {
    text = fmt::format("{} moves {} in steps: {} {}", l.input, r.result, l.at_upper == 0 ? down : up,
                       effect(l.at_upper == 0 ? l.at_lower : l.at_upper, r));
  } else if (std::isfinite(l.at_upper)) {
    text = fmt::format("{} {} {}", up, l.input, effect(l.at_upper, r));
  } else {
    text = fmt::format("{} {} {}, {} {}", up, l.input, effect(l.at_upper, r), down, effect(l.at_lower, r));
  }
  if (l.price && std::isfinite(*l.price)) text += fmt::format("; {}", per_unit());
  // Without a share of the result there is nothing to compare the ceiling with.
  if (r.value != 0 && std::isfinite(l.at_upper) && std::fabs(l.ceiling) > 1.5 * std::fabs(l.at_upper) &&
      std::fabs(l.ceiling) < 1)
    text += fmt::format("; at most {} however far", r.change_text(std::fabs(l.ceiling), 3));
  return text;
}

/// Whether the name is a rate, capacity or time of a machine, which can be a bottleneck. The names are those
/// of a scenario's views and of the specs behind a resolver.
bool is_resource(std::string_view name) {
  if (name.starts_with("links.level")) return name.ends_with(".bandwidth") || name.ends_with(".latency");
  for (const std::string_view end : {".memory.bandwidth", ".memory.capacity", ".storage.bandwidth",
                                     ".host_link.bandwidth", ".device_link.bandwidth", ".dispatch_overhead",
                                     ".kernels.launch", ".intra_node_bandwidth", ".fabric.bandwidth"})
    if (name.ends_with(end)) return true;
  return name.find(".compute.dense") != std::string_view::npos ||
         name.find(".compute.vector") != std::string_view::npos;
}

std::string binding_words(const SensitivityReport& r) {
  const Lever* binds = nullptr;
  const Lever* free = nullptr;
  for (const auto& l : r.levers) {
    if (!is_resource(l.input)) continue;
    const double e = std::max(std::fabs(l.elasticity_up), std::fabs(l.elasticity_down));
    if (binds == nullptr && e > 0.01) binds = &l;
    // Among those without effect, the one whose limit is nearest is mentioned.
    const auto distance = [](const Lever& x) { return std::fabs(std::log(*x.matters_at / x.value)); };
    if (e < kNothing && l.matters_at && (free == nullptr || distance(l) < distance(*free))) free = &l;
  }
  if (binds == nullptr) return {};
  std::string text = fmt::format("{} binds {}: {}", binds->meaning, r.result, binds->words);
  if (free != nullptr) text += fmt::format(". {}", free->words);
  return text;
}

/// The values of an input at the two ends of its bar of the tornado.
void set_ends(const Subject& subject, std::size_t i, std::size_t out, double step, Lever& l) {
  const FieldInfo& in = subject.entry.inputs[i];
  if (in.kind == ValueKind::flag) {
    l.lower = 0;
    l.upper = 1;
  } else if (in.integral) {
    l.upper = next_count(subject, i, out, step, 1);
    l.lower = next_count(subject, i, out, step, -1);
  } else {
    const FieldRange range = possible(in, l.value);
    const double up = is_width(in.name) ? 2 : 1 + step, down = is_width(in.name) ? 0.5 : 1 - step;
    l.upper = into(range, l.value * up, l.value);
    l.lower = into(range, l.value * down, l.value);
  }
}

/// Slopes of an input that counts something: over one count where that is admissible, else over the move to
/// the next count that is. `low` and `high` are the results at the ends of the bar.
void set_slopes_of_count(const SensitivityReport& r, double low, double high, double scale, Lever& l) {
  const double x = l.value;
  const double far = std::max(1.0, std::round(x * r.step));
  const bool skipped = l.upper == x ? x - l.lower > far : l.upper - x > far;
  const double to = l.upper == x ? l.lower : l.upper, there = l.upper == x ? low : high;
  if (to == x) {
    l.elasticity.reset();
    l.price.reset();
  } else if (skipped || !l.price || !std::isfinite(*l.price)) {
    l.price = (there - r.value) / (to - x);
    l.elasticity = r.value != 0 && x != 0 ? std::optional(*l.price * scale) : std::nullopt;
  }
  l.elasticity_up = l.upper == x ? 0 : relative(high, r.value) / ((l.upper - x) / x);
  l.elasticity_down = l.lower == x ? 0 : relative(low, r.value) / ((l.lower - x) / x);
}

/// The most that the better direction can bring where the model still fits, and where an input without effect
/// begins to matter.
/// @param ys the results at `xs`, see `octaves`
void look_far(const Subject& subject, LineOfInput& line, std::size_t i, const std::vector<double>& xs,
              const std::vector<double>& ys, const SensitivityReport& r, Lever& l) {
  const double x = l.value;
  const auto gain = [&](double change) { return better_when_less(r.exps) ? -change : change; };
  const bool better_up = gain(l.at_upper) > gain(l.at_lower);
  std::vector<std::size_t> far;
  for (std::size_t k = 0; k < xs.size(); ++k)
    if ((xs[k] > x) == better_up && std::isfinite(ys[k])) far.push_back(k);
  std::ranges::stable_sort(far, std::greater{},
                           [&](std::size_t k) { return gain(relative(ys[k], r.value)); });
  for (const std::size_t k : far) {
    auto at = subject.point;
    at[i] = xs[k];
    if (!still_fits(subject, subject.entry(at))) continue;
    l.ceiling = relative(ys[k], r.value);
    break;
  }
  if (idle(l, r)) l.matters_at = first_effect(line, i, r.value, x, xs, ys);
}

/// Everything about input `i` of the result `out`, whose value and step are in `r`.
Lever lever_of(const Subject& subject, std::size_t i, std::size_t out, const Gradient& g,
               const SensitivityReport& r, LineOfInput& line) {
  const FieldInfo& in = subject.entry.inputs[i];
  const double x = subject.point[i];
  const Sensitivity& s = g.at(out, i);
  const bool flag = in.kind == ValueKind::flag;
  Lever l{.input = in.name,
          .meaning = in.meaning,
          .unit = in.unit,
          .exps = in.exps,
          .counted = in.integral || flag || is_width(in.name),
          .value = x,
          .slope = s.slope,
          .elasticity = g.elasticity(out, i),
          .price = s.value()};
  const double scale = r.value != 0 ? x / std::fabs(r.value) : 0;
  l.elasticity_up = s.right * scale;
  l.elasticity_down = s.left * scale;
  set_ends(subject, i, out, r.step, l);
  // One batch: the ends of the bar, and far away.
  const bool has_far = x > 0 && (!l.counted || is_width(in.name));
  auto xs = has_far ? octaves(in, x) : std::vector<double>();
  const std::size_t far = xs.size();
  xs.insert(xs.end(), {l.lower, l.upper});
  auto ys = line(i, xs);
  const double ends[] = {ys[far], ys[far + 1]};
  xs.resize(far);
  ys.resize(far);
  l.at_lower = relative(ends[0], r.value);
  l.at_upper = relative(ends[1], r.value);
  // Slopes beyond doubles: over the bar.
  if (!l.counted && x != 0 && !(std::isfinite(l.elasticity_up) && std::isfinite(l.elasticity_down))) {
    l.elasticity_up = l.upper == x ? 0 : l.at_upper / ((l.upper - x) / x);
    l.elasticity_down = l.lower == x ? 0 : l.at_lower / ((l.lower - x) / x);
    l.elasticity.reset();
    l.price.reset();
  }
  // The next step of a number that is rounded may be as near and as small as rounding: its quotient says
  // nothing of a move of 10 %, which the bar tells. A jump right here has no slope.
  const bool jump = s.step == 0 && s.change != 0;
  if (!in.integral && !flag && l.slope == Slope::step && !jump && l.upper > l.lower && x != 0) {
    l.elasticity =
        r.value != 0 ? std::optional((l.at_upper - l.at_lower) / ((l.upper - l.lower) / x)) : std::nullopt;
    l.price = r.value != 0 ? std::optional(*l.elasticity / scale) : std::nullopt;
  }
  const bool fixed = l.lower == x && l.upper == x && x != 0;
  if (flag || fixed || (l.price && !std::isfinite(*l.price))) {
    l.elasticity.reset();
    l.price.reset();
  }
  if (fixed) {
    l.elasticity_up = l.elasticity_down = 0;
  } else if (in.integral && !flag) {
    set_slopes_of_count(r, ends[0], ends[1], scale, l);
  }
  if (has_far) look_far(subject, line, i, xs, ys, r, l);
  l.words = describe_lever(l, in, r, r.step, subject.entry.results[out]);
  return l;
}

}  // namespace

double Lever::reach() const {
  const auto length = [](double x) { return std::isnan(x) ? 0.0 : std::fabs(x); };
  return std::max(length(at_lower), length(at_upper));
}

std::string SensitivityReport::change_text(double change, int digits) const {
  if (value != 0) return fmt::format("{:.{}g} %", 100 * change, digits);
  const auto q = AnyQuantity::from_base(change, exps);
  return exps.dimensionless() || unit.empty() ? pretty(q, digits) : pretty(q, unit, digits);
}

SensitivityReport sensitivity(const Subject& subject, std::string_view result,
                              const SensitivityOptions& options) {
  if (!(options.step > 0 && options.step < 1))
    throw DomainError({.id = "mlsysim.explore.001",
                       .message = "the step of a sensitivity is out of range",
                       .key = "step",
                       .found = fmt::format("{}", options.step),
                       .expected = "a share between 0 and 1, e.g. 0.1"});
  const std::size_t out = subject.result(result);
  std::vector<std::size_t> wanted;
  for (const auto& name : options.inputs) wanted.push_back(subject.input(name));
  for (std::size_t i = 0; options.inputs.empty() && i < subject.point.size(); ++i)
    if (!detail::is_size_of_model(subject.entry.inputs[i].name)) wanted.push_back(i);
  const Gradient g = gradient(subject.entry, subject.point, wanted, {&out, 1}, Steps::marked);
  const FieldInfo& field = subject.entry.results[out];
  SensitivityReport r{.subject = subject.title,
                      .result = field.name,
                      .meaning = field.meaning,
                      .unit = field.unit,
                      .exps = field.exps,
                      .value = g.values[out],
                      .step = options.step,
                      .method = g.method,
                      .levers = {},
                      .binding = {},
                      .assumptions = subject.assumptions,
                      .warnings = subject.warnings};
  detail::check_result(field, r.value);
  LineOfInput line(subject, out, wanted);
  for (const std::size_t i : wanted) r.levers.push_back(lever_of(subject, i, out, g, r, line));
  std::stable_sort(r.levers.begin(), r.levers.end(),
                   [](const Lever& a, const Lever& b) { return a.reach() > b.reach(); });
  r.binding = binding_words(r);
  return r;
}

}  // namespace mlsysim
