#include "sample_entries.hpp"

#include "sample_laws.hpp"

#include <mlsysim/tape/random.hpp>
#include <mlsysim/tape/register.hpp>

#include <cmath>

namespace sample {

const std::vector<Case>& cases() {
  static const std::vector<Case> all = [] {
    std::vector<Case> c{
        {&entry_of<Roofline>(), {1e9, 1e6, 1e12, 1e9}, {1e13, 1e10, 1e15, 4e12}, {}},
        {&entry_of<OffloadModel>(), {1e9, 2e9, 1e12, 1e10}, {1e11, 8e10, 4e12, 6e10}, {}},
        {&entry_of<Collective>(), {1e4, 1, 1e-6, 1e9, 0.5}, {1e8, 64, 1e-5, 1e11, 1.0}, {}},
        {&entry_of<ErlangC>(), {0.5, 1}, {40, 60}, {}},
        {&entry_of<TiledStep>(), {1, 1, 1, 1e-6, 1e12, 1e11}, {8192, 8192, 132, 1e-5, 1e15, 4e12}, {}}};
    for (auto& one : c)
      for (const auto& f : one.law->inputs) one.counts.push_back(f.integral);
    return c;
  }();
  return all;
}

const LawEntry& plain_server() {
  static const LawEntry entry = plain_entry(
      PlainServer{}, {.load = 0.5, .service = Time<>::from_base(0.01), .label = "x"}, {.id = "PlainServer"});
  return entry;
}

std::vector<double> point(const Case& c, unsigned index) {
  std::vector<double> at;
  for (std::uint32_t i = 0; i < c.low.size(); ++i) {
    const double u = mlsysim::uniform_draw(7, i, index);
    const double x =
        c.low[i] > 0 ? c.low[i] * std::pow(c.high[i] / c.low[i], u) : c.low[i] + u * (c.high[i] - c.low[i]);
    at.push_back(c.counts[i] ? std::round(x) : x);
  }
  return at;
}

}  // namespace sample
