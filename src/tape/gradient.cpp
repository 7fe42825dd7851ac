#include <mlsysim/tape/gradient.hpp>

#include "node_slopes.hpp"

#include <mlsysim/tape/slopes.hpp>
#include <mlsysim/tape/tangents.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace mlsysim {
namespace {

constexpr std::size_t kSeeds = Tangents::kSeeds;
constexpr double kFar = 1e3;

/// Whether `x` is admissible for the field, without the cost of an exception.
bool admissible(const FieldRange& range, double x) {
  return (range.open_low ? x > range.low : x >= range.low) && x <= range.high;
}

/// A law at one point, and its tools.
class Differ {
 public:
  Differ(const LawEntry& law, std::span<const double> in) : law_(law), in_(in), values_(law(in)) {}

  /// Runs follow in which only this input moves, and `next_step` is not asked. @param nodes of these results
  void keep_one(std::span<const std::size_t> results, std::span<const std::uint32_t> nodes) {
    results_ = results;
    one_.emplace(law_.tape(), nodes);
  }
  /// Runs follow in which only these inputs move, and only these results are read.
  void keep(std::span<const std::size_t> inputs, std::span<const std::size_t> results) {
    // Folding the inputs that do not move pays where there are several runs.
    std::vector<std::optional<double>> fixed;
    if (inputs.size() > kSeeds) {
      fixed.assign(in_.begin(), in_.end());
      for (const std::size_t i : inputs) fixed[i].reset();
    }
    results_ = results;
    tape_ = law_.part({.fixed = fixed, .results = results});
    tangents_.emplace(tape_);
    rounded_ = rounded_nodes(tape_.recording());
    here_.resize(tape_.size());
    tape_.evaluate(in_, here_);
  }

  [[nodiscard]] const std::vector<double>& values() const { return values_; }

  /// Results after moving one input.
  [[nodiscard]] std::vector<double> moved(std::size_t input, double to) const {
    std::vector<double> at(in_.begin(), in_.end());
    at[input] = to;
    return law_(at);
  }

  /// One result of a run, by seed.
  struct Found {
    double partial[kSeeds] = {};
    std::uint32_t steps = 0, kinks = 0;
  };
  /// A run of the law with up to `kSeeds` inputs as seeds.
  struct Run {
    std::span<const std::size_t> inputs;
    std::vector<Found> found;                   ///< by result that is kept
    double up[kSeeds] = {}, down[kSeeds] = {};  ///< linear estimates of the moves to the next steps
  };
  /// Seeds move in `direction`.
  [[nodiscard]] Run run(std::span<const std::size_t> inputs, double direction) {
    Run run{.inputs = inputs, .found = std::vector<Found>(results_.size())};
    const auto read = [&](auto& tangents, auto&& place) {
      tangents.run(in_, inputs, direction);
      for (std::size_t r = 0; r < run.found.size(); ++r) {
        Found& f = run.found[r];
        for (std::size_t k = 0; k < inputs.size(); ++k) {
          f.partial[k] = tangents.partial(place(r), k);
          f.steps |= (tangents.steps(place(r), k) ? 1u : 0u) << k;
          f.kinks |= (tangents.kinks(place(r), k) ? 1u : 0u) << k;
        }
      }
      for (std::size_t k = 0; k < inputs.size(); ++k)
        run.up[k] = tangents.step_up(k), run.down[k] = tangents.step_down(k);
    };
    if (one_)
      read(*one_, [&](std::size_t r) { return results_[r]; });
    else
      read(*tangents_, [](std::size_t r) { return r; });
    return run;
  }

  /// Steps of an input that passes through ceil, floor or a count: the next move that changes one of them.
  struct Step {
    double to = 0;
    std::vector<double>
        there;  ///< all results, of which those kept are set, behind it; empty if there is none
  };
  /// A move to more than `kFar` times the size of the input finds none: an input that only approaches the
  /// next step is followed no further.
  /// @param here the run at the point itself, in which the input was seed `seed`
  [[nodiscard]] Step next_step(const Run& here, std::size_t seed, const FieldRange& range) {
    const std::size_t input = here.inputs[seed];
    for (const double direction : {1.0, -1.0}) {
      std::vector<double> at(in_.begin(), in_.end());
      before_ = here_;
      double move = direction > 0 ? here.up[seed] : here.down[seed];
      for (int round = 0; round < 8; ++round) {
        if (!std::isfinite(move) || (in_[input] != 0 && move > kFar * std::fabs(in_[input]))) break;
        const double nudge = 1e-9 * std::max(std::fabs(at[input]), move) + std::numeric_limits<double>::min();
        const double from = at[input];
        at[input] += direction * (move + nudge);
        if (!admissible(range, at[input])) break;
        there_.resize(tape_.size());
        tape_.evaluate(at, there_);
        if (std::ranges::any_of(rounded_,
                                [&](const Rounded& x) { return x.whole(there_) != x.whole(here_); }))
          return {at[input], results_there()};
        // An input that enters the ceil in a curved way is met by repeating the linear step from where it
        // landed.
        move = move_to_step(std::fabs(at[input] - from));
        before_.swap(there_);
      }
    }
    return {};
  }

 private:
  /// A node that is rounded to a whole number: by ceil and as the count of a loop `up`, by floor not.
  struct Rounded {
    std::size_t node;
    bool up;
    [[nodiscard]] double whole(std::span<const double> values) const {
      return up ? std::ceil(values[node]) : std::floor(values[node]);
    }
  };
  static std::vector<Rounded> rounded_nodes(const Recording& r) {
    std::vector<Rounded> out;
    for (const TapeNode& node : r.nodes)
      if (node.op == TapeOp::ceil || node.op == TapeOp::floor)
        out.push_back({node.a, node.op == TapeOp::ceil});
    for (const TapeLoop& loop : r.loops) out.push_back({loop.count, true});
    return out;
  }

  /// How much farther to the next whole number, if all go on as between the last two points, which are
  /// `apart`.
  [[nodiscard]] double move_to_step(double apart) const {
    double least = HUGE_VAL;
    for (const Rounded& x : rounded_) {
      const double now = there_[x.node], rate = (now - before_[x.node]) / apart;
      if (rate == 0) continue;
      const auto [above, below] = detail::to_whole(now, x.whole(there_), x.up);
      least = std::min(least, (rate > 0 ? above : below) / std::fabs(rate));
    }
    return least;
  }

  [[nodiscard]] std::vector<double> results_there() const {
    std::vector<double> out(values_.size());
    for (std::size_t k = 0; k < results_.size(); ++k) out[results_[k]] = there_[tape_.output(k)];
    return out;
  }

  const LawEntry& law_;
  std::span<const double> in_;
  std::vector<double> values_;
  std::span<const std::size_t> results_;
  Tape tape_;
  std::optional<Tangents> tangents_;
  std::optional<TangentsOf<1>> one_;  ///< on the tape of the law, in place of the others
  std::vector<Rounded> rounded_;
  std::vector<double> here_, there_, before_;  ///< values of the nodes: at the point, at a move, before it
};

bool bit(std::uint32_t bits, std::size_t i) { return (bits >> i & 1u) != 0; }

void set_steps(Gradient& g, std::size_t input, double to, const std::vector<double>& there,
               const std::vector<bool>& which) {
  for (std::size_t r = 0; r < g.values.size(); ++r) {
    if (!which[r]) continue;
    Sensitivity& s = g.entries[r * g.in.size() + input];
    s.slope = Slope::step;
    s.step = to - g.in[input];
    s.change = there[r] - g.values[r];
  }
}

/// The next whole number, or the one before at the end of the range.
double next_count(const FieldRange& range, double n) {
  const double up = std::floor(n) + 1.0;
  return admissible(range, up) ? up : std::ceil(n) - 1.0;
}

/// The inputs that meet a kink somewhere. The others have the same slopes on both sides, because flags cover
/// both.
std::vector<std::size_t> kinked_inputs(std::span<const Differ::Run> runs) {
  std::vector<std::size_t> out;
  for (const auto& run : runs)
    for (std::size_t k = 0; k < run.inputs.size(); ++k)
      if (std::any_of(run.found.begin(), run.found.end(),
                      [&](const Differ::Found& x) { return bit(x.kinks, k); }))
        out.push_back(run.inputs[k]);
  return out;
}

/// Inputs for which one sweep is not enough: counts, whose slope is a change over a step, and those that are
/// rough for one of the results, unless by steps that are only to be marked.
std::vector<std::size_t> smooth_gradient(const LawEntry& law, Slopes& slopes,
                                         std::span<const std::size_t> wanted,
                                         std::span<const std::size_t> results, Steps steps, Gradient& g) {
  slopes.run(g.in, wanted);
  std::vector<bool> rough(g.in.size());
  for (const std::size_t r : results) {
    slopes.reverse(r);
    for (const std::size_t i : wanted) {
      Sensitivity& s = g.entries[r * g.in.size() + i];
      s.right = s.left = slopes.partial(i);
      const bool count = law.inputs[i].integral && (s.right != 0 || slopes.rough(i));
      const bool marked = steps == Steps::marked && slopes.only_steps(i) && !count;
      if (marked) s.slope = Slope::step;
      rough[i] = rough[i] || count || (slopes.rough(i) && !marked);
    }
  }
  std::vector<std::size_t> out;
  for (const std::size_t i : wanted)
    if (rough[i]) out.push_back(i);
  return out;
}

/// Slopes by these inputs, with both sides of kinks and the moves to the next steps where they are followed.
void rough_gradient(const LawEntry& law, Differ& at, std::span<const std::size_t> wanted,
                    std::span<const std::size_t> results, Steps steps_are, Gradient& g) {
  const std::size_t n_in = g.in.size(), n_out = g.values.size();
  const auto runs_of = [&](std::span<const std::size_t> inputs, double direction) {
    std::vector<Differ::Run> runs;
    for (std::size_t first = 0; first < inputs.size(); first += kSeeds)
      runs.push_back(at.run(inputs.subspan(first, std::min(kSeeds, inputs.size() - first)), direction));
    return runs;
  };
  const auto ahead = runs_of(wanted, 1.0);
  const auto kinked = kinked_inputs(ahead);
  const auto behind = runs_of(kinked, -1.0);
  std::size_t next_kinked = 0;
  for (std::size_t w = 0; w < wanted.size(); ++w) {
    const std::size_t i = wanted[w];
    const Differ::Run& forward = ahead[w / kSeeds];
    const std::size_t seed = w % kSeeds;
    const bool kink = next_kinked < kinked.size() && kinked[next_kinked] == i;
    const Differ::Run* const backward = kink ? &behind[next_kinked / kSeeds] : nullptr;
    const std::size_t seed_back = next_kinked % kSeeds;
    next_kinked += kink ? 1 : 0;
    const FieldRange range = base_range(law.inputs[i]);
    std::vector<bool> steps(n_out);
    bool any = false;
    for (std::size_t k = 0; k < results.size(); ++k) {
      const std::size_t r = results[k];
      Sensitivity& s = g.entries[r * n_in + i];
      const Differ::Found& front = forward.found[k];
      const Differ::Found* const back = kink ? &backward->found[k] : nullptr;
      s.right = front.partial[seed];
      s.left = kink ? -back->partial[seed_back] : s.right;
      if (kink && s.right != s.left && (bit(front.kinks, seed) || bit(back->kinks, seed_back)))
        s.slope = Slope::kink;
      steps[r] = bit(front.steps, seed) || (kink && bit(back->steps, seed_back)) ||
                 (law.inputs[i].integral && (s.right != 0 || s.left != 0));
      any = any || steps[r];
    }
    if (!any) continue;
    if (law.inputs[i].integral) {
      const double to = next_count(range, g.in[i]);
      set_steps(g, i, to, at.moved(i, to), steps);
      continue;
    }
    // Over a move of a few units in the last place a quotient says nothing.
    constexpr double far = 1e-9;
    const bool followed = steps_are == Steps::followed;
    if (const auto step = followed ? at.next_step(forward, w % kSeeds, range) : Differ::Step{};
        !step.there.empty() && std::fabs(step.to - g.in[i]) > far * std::fabs(g.in[i])) {
      set_steps(g, i, step.to, step.there, steps);
    } else {
      // A jump of `select` right here, or no step within the range: the value just beside tells the change.
      // Steps that are only marked have their edge just beside, too, where it is that near.
      double to = std::nextafter(g.in[i], range.high > g.in[i] ? INFINITY : -INFINITY);
      const double up = forward.up[seed], down = forward.down[seed], near = far * std::fabs(g.in[i]);
      if (const double over = g.in[i] + (up <= down ? up + near : -(down + near));
          !followed && std::min(up, down) <= near && admissible(range, over))
        to = over;
      set_steps(g, i, to, at.moved(i, to), steps);
      for (const std::size_t r : results) {
        if (!steps[r]) continue;
        Sensitivity& s = g.entries[r * n_in + i];
        if (!followed && std::fabs(s.change) <= far * std::fabs(g.values[r])) s.change = 0;  // no jump
        if (s.change != 0 || !followed) s.step = 0;
      }
    }
  }
}

/// One side of a difference quotient: the changes of a result over `h` and over an eighth of it.
struct OneSided {
  double far = 0, near = 0, h = 0;

  /// A change that does not shrink with the move is a jump at the point; one that comes in between belongs to
  /// a later one.
  [[nodiscard]] bool jumps(double noise) const {
    return std::fabs(near) > noise && std::fabs(near) > 0.5 * std::fabs(far);
  }
  [[nodiscard]] double slope(double noise) const {
    if (jumps(noise)) return (far - near) / (0.875 * h);
    const double whole = far / h, part = near / (0.125 * h);
    if (!std::isfinite(far)) return part;
    const bool later =
        std::fabs(far) > noise && std::fabs(whole - part) > 0.5 * std::max(std::fabs(whole), std::fabs(part));
    return later ? part : whole;
  }
};

/// Central differences with the step that balances rounding and curvature; one-sided at the end of the range.
/// A second, shorter step distinguishes jumps from slopes.
void numeric_gradient(const LawEntry& law, const Differ& at, std::span<const std::size_t> wanted,
                      std::span<const std::size_t> results, Gradient& g) {
  std::vector<bool> asked(g.values.size());
  for (const std::size_t r : results) asked[r] = true;
  for (const std::size_t i : wanted) {
    const FieldRange range = base_range(law.inputs[i]);
    const double x = g.in[i];
    if (law.inputs[i].integral || law.inputs[i].kind == ValueKind::flag) {
      const double to = law.inputs[i].kind == ValueKind::flag ? 1.0 - x : next_count(range, x);
      set_steps(g, i, to, at.moved(i, to), asked);
      continue;
    }
    const double h =
        6.0554544523933429e-06 * (x != 0 ? std::fabs(x) : 1.0);  // cube root of the machine epsilon
    const bool right = admissible(range, x + h), left = admissible(range, x - h);
    const auto above = right ? at.moved(i, x + h) : g.values, below = left ? at.moved(i, x - h) : g.values;
    const auto just_above = right ? at.moved(i, x + 0.125 * h) : g.values,
               just_below = left ? at.moved(i, x - 0.125 * h) : g.values;
    for (const std::size_t r : results) {
      Sensitivity& s = g.entries[r * g.in.size() + i];
      const double here = g.values[r];
      const OneSided up{above[r] - here, just_above[r] - here, h},
          down{here - below[r], here - just_below[r], h};
      const double noise = 1e-12 * std::fabs(here);  // rounding of a resolver that sums thousands of terms
      s.right = right ? up.slope(noise) : down.slope(noise);
      s.left = left ? down.slope(noise) : s.right;
      if ((right && up.jumps(noise)) || (left && down.jumps(noise))) {
        // Right here: there is no move over which a quotient would mean anything.
        s.slope = Slope::step;
        s.change = right && up.jumps(noise) ? up.near : -down.near;
        continue;
      }
      // Curvature makes the sides differ by about h; a thousand times that is a kink.
      if (right && left &&
          std::fabs(s.right - s.left) > 1e-2 * std::max(std::fabs(s.right), std::fabs(s.left)) &&
          std::max(std::fabs(up.far), std::fabs(down.far)) > noise) {
        s.slope = Slope::kink;
        continue;
      }
      if (right && left)
        s.right = s.left = std::isfinite(s.right + s.left) ? 0.5 * (s.right + s.left)
                           : std::isfinite(s.right)        ? s.right
                                                           : s.left;
    }
  }
}

}  // namespace

std::optional<double> Gradient::elasticity(std::size_t result, std::size_t input) const {
  const auto slope = at(result, input).value();
  if (!slope || values.at(result) == 0 || in.at(input) == 0) return std::nullopt;
  return *slope * in[input] / values[result];
}

Gradient gradient(const LawEntry& law, std::span<const double> in, std::span<const std::size_t> wanted,
                  std::span<const std::size_t> results, Steps steps) {
  check_inputs(law, in);
  std::vector<std::size_t> all(std::max(in.size(), law.results.size()));
  std::iota(all.begin(), all.end(), std::size_t{0});
  if (wanted.empty()) wanted = std::span(all).first(in.size());
  if (results.empty()) results = std::span(all).first(law.results.size());
  Differ at(law, in);
  Gradient g;
  g.method = law.is_law() ? Method::exact : Method::central_differences;
  g.in.assign(in.begin(), in.end());
  g.values = at.values();
  g.entries.resize(g.in.size() * g.values.size());
  if (law.is_law()) {
    Slopes slopes(law.tape(), results);
    const auto rough = smooth_gradient(law, slopes, wanted, results, steps, g);
    if (rough.size() == 1 && steps == Steps::marked)
      at.keep_one(results, slopes.nodes());
    else if (!rough.empty())
      at.keep(rough, results);
    if (!rough.empty()) rough_gradient(law, at, rough, results, steps, g);
  } else {
    numeric_gradient(law, at, wanted, results, g);
  }
  return g;
}

}  // namespace mlsysim
