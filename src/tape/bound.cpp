#include <mlsysim/tape/bound.hpp>
#include <mlsysim/tape/ranges.hpp>

#include <fmt/format.h>

#include <cmath>

namespace mlsysim {
namespace {

void include(Bounds& b, const std::vector<double>& values) {
  for (std::size_t r = 0; r < values.size(); ++r) {
    // The first point sets both ends; a result that is no number leaves nothing known.
    if (std::isnan(values[r]))
      b.results[r] = Interval::whole();
    else
      b.results[r] = hull(b.results[r], Interval(values[r]));
  }
}

Bounds sampled(const LawEntry& law, std::span<const Interval> box) {
  std::vector<std::size_t> ranged;
  std::vector<double> at(box.size());
  for (std::size_t i = 0; i < box.size(); ++i) {
    at[i] = box[i].middle();
    if (box[i].width() > 0) ranged.push_back(i);
  }
  Bounds b;
  b.method = Method::sampled;
  for (const double x : law(at)) b.results.emplace_back(x);
  include(b, law(at));
  if (ranged.size() <= 10) {
    for (std::size_t corner = 0; corner < std::size_t{1} << ranged.size(); ++corner) {
      for (std::size_t k = 0; k < ranged.size(); ++k)
        at[ranged[k]] = (corner >> k & 1u) != 0 ? box[ranged[k]].high : box[ranged[k]].low;
      include(b, law(at));
    }
  } else {
    for (const std::size_t i : ranged) {
      for (const double x : {box[i].low, box[i].high}) {
        at[i] = x;
        include(b, law(at));
      }
      at[i] = box[i].middle();
    }
  }
  return b;
}

/// The ranges of some of the results.
Bounds some(Bounds all, std::span<const std::size_t> wanted) {
  if (wanted.empty()) return all;
  Bounds out{.method = all.method, .results = {}};
  for (const std::size_t r : wanted) out.results.push_back(all.results[r]);
  return out;
}

}  // namespace

Bounds bound(const LawEntry& law, std::span<const Interval> box, std::span<const std::size_t> wanted) {
  if (box.size() != law.inputs.size()) {
    throw InputError({.id = "mlsysim.tools.009",
                      .message = fmt::format("'{}' was given the wrong number of ranges", law.info.id),
                      .found = fmt::format("{} ranges", box.size()),
                      .expected = fmt::format("{}, one per input", law.inputs.size())});
  }
  for (std::size_t i = 0; i < box.size(); ++i) {
    // A range of counts may end between two of them.
    const bool counts = law.inputs[i].integral;
    check_range(law.inputs[i], counts ? std::ceil(box[i].low) : box[i].low);
    check_range(law.inputs[i], counts ? std::floor(box[i].high) : box[i].high);
  }
  if (!law.is_law()) return some(sampled(law, box), wanted);
  Bounds b;
  Ranges ranges(law.tape());
  const std::size_t count = wanted.empty() ? law.results.size() : wanted.size();
  for (std::size_t k = 0; k < count; ++k)
    b.results.push_back(ranges.tight(wanted.empty() ? k : wanted[k], box));
  return b;
}

}  // namespace mlsysim
