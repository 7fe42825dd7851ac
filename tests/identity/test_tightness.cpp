// How much wider intervals are than true ranges, law by law: the page docs/reference/tightness.md is written
// here, and compared with what it says. `MLSYSIM_WRITE_TIGHTNESS=docs/reference/tightness.md test_identity
// '[tightness]'` writes it.

#include "identity/any_law.hpp"
#include "identity/law_samples.hpp"
#include "support/catch.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

using namespace mlsysim;
using identity::all_laws;
using identity::Draw;

namespace {

constexpr int kBoxes = 41;            // an odd number, so that the median is one of them
constexpr std::size_t kCorners = 12;  // inputs up to which every corner is looked at

double limit(const FieldInfo& f, double display) {
  const auto unit = UnitRegistry::standard().parse_unit(f.unit);
  return display >= kUnbounded || display <= -kUnbounded ? display : display * unit.mul / unit.div;
}

/// A box of 5 % about an admissible point; counts reach over the next whole numbers.
std::vector<Interval> box_at(std::span<const FieldInfo> inputs, const std::vector<double>& middle) {
  std::vector<Interval> box;
  for (std::size_t i = 0; i < middle.size(); ++i) {
    const double high = limit(inputs[i], inputs[i].high);
    const bool whole = inputs[i].integral;
    const double a = whole ? middle[i] : middle[i] / 1.025;
    const double b = std::min(whole ? std::ceil(middle[i] * 1.05) : middle[i] * 1.025, high);
    box.emplace_back(std::max(a, limit(inputs[i], inputs[i].low)), b);
  }
  return box;
}

struct Ratio {
  double median = 0, largest = 0;
};

/// Width of the interval over the width of the values at corners and random points inside, an inner range: so
/// the ratio is at least the true one.
std::vector<Ratio> tightness(const identity::AnyLaw& law) {
  Draw draw(21);
  std::vector<std::vector<double>> ratios(law.results.size());
  for (int n = 0; n < kBoxes; ++n) {
    const auto box = box_at(law.inputs, identity::sample(law.inputs, draw));
    const auto ranges = bound(*law.entry, box).results;
    std::vector<double> low(law.results.size(), HUGE_VAL), high(law.results.size(), -HUGE_VAL);
    const auto look = [&](const std::vector<double>& point) {
      const auto values = law.solve(point);
      for (std::size_t o = 0; o < values.size(); ++o) {
        low[o] = std::min(low[o], values[o]);
        high[o] = std::max(high[o], values[o]);
      }
    };
    std::vector<double> point(box.size());
    if (box.size() <= kCorners)
      for (std::size_t corner = 0; corner < std::size_t{1} << box.size(); ++corner) {
        for (std::size_t i = 0; i < box.size(); ++i)
          point[i] = (corner >> i & 1) != 0 ? box[i].high : box[i].low;
        look(point);
      }
    for (int k = 0; k < 200; ++k) {
      for (std::size_t i = 0; i < box.size(); ++i) {
        const double x = box[i].low + draw.uniform() * box[i].width();
        point[i] = law.inputs[i].integral ? std::min(std::round(x), box[i].high) : x;
      }
      look(point);
    }
    for (std::size_t o = 0; o < low.size(); ++o) {
      const double width = high[o] - low[o], size = std::max(std::abs(high[o]), std::abs(low[o]));
      // A result that does not move has no ratio; one whose bound is lost would be infinite.
      if (width > 1e-9 * size && size > 0) ratios[o].push_back(ranges[o].width() / width);
    }
  }
  std::vector<Ratio> out;
  for (auto& r : ratios) {
    std::sort(r.begin(), r.end());
    out.push_back(r.empty() ? Ratio{} : Ratio{r[r.size() / 2], r.back()});
  }
  return out;
}

std::string page(const std::map<std::string, Ratio>& all) {
  std::string text =
      "# How tight intervals are\n\n"
      "<!-- Written by test_identity '[tightness]'. Do not edit. -->\n\n"
      "Width of the interval that a law gives over a box of 5 % about its inputs (counts: to the next whole "
      "numbers), over the\n"
      "width of the range that its values really take there: median and largest of 41 boxes across the "
      "admissible inputs.\n"
      "1 is exact. Intervals are outer bounds: they prune a search, and are no error bars. A result that no "
      "box moves has no line.\n\n"
      "| law | result | median | largest |\n| --- | --- | --- | --- |\n";
  for (const auto& [name, r] : all) {
    const auto dot = name.find('.');
    if (r.largest > 0)
      text += fmt::format("| {} | {} | {:.3g} | {:.3g} |\n", name.substr(0, dot), name.substr(dot + 1),
                          r.median, r.largest);
  }
  return text;
}

}  // namespace

TEST_CASE("intervals are as tight as their page says", "[identity][tightness]") {
  std::map<std::string, Ratio> all;
  for (const auto& law : all_laws()) {
    const auto ratios = tightness(law);
    for (std::size_t o = 0; o < ratios.size(); ++o)
      all[fmt::format("{}.{}", law.info.id, law.results[o].name)] = ratios[o];
  }
  if (const char* path = std::getenv("MLSYSIM_WRITE_TIGHTNESS"); path != nullptr)
    std::ofstream(path) << page(all);
  std::ifstream in(MLSYSIM_SOURCE_DIR "/docs/reference/tightness.md");
  REQUIRE(in);
  std::map<std::string, Ratio> said;
  for (std::string line; std::getline(in, line);) {
    std::istringstream cells(line);
    std::string bar, law, result;
    Ratio r;
    if (cells >> bar >> law >> bar >> result >> bar >> r.median >> bar >> r.largest)
      said[law + "." + result] = r;
  }
  std::size_t compared = 0;
  for (const auto& [name, r] : all) {
    if (r.largest == 0) continue;
    INFO(name << ": median " << r.median << ", largest " << r.largest << "; write the page again");
    const auto known = said.find(name);
    REQUIRE(known != said.end());
    // Wider than the page says is a law that got looser; the page has three digits.
    CHECK(r.median <= known->second.median * 1.02);
    CHECK(r.largest <= known->second.largest * 1.02);
    CHECK(r.median >= 1 - 1e-6);
    ++compared;
  }
  CHECK(compared == said.size());
}
