// Laws as LaTeX, from their own trace.

#include <support/catch.hpp>

#include <mlsysim/physics/compression.hpp>
#include <mlsysim/physics/queueing.hpp>
#include <mlsysim/physics/reliability.hpp>
#include <mlsysim/physics/requirements.hpp>
#include <mlsysim/physics/roofline.hpp>
#include <mlsysim/tape/latex.hpp>
#include <mlsysim/tape/register.hpp>

#include <algorithm>

using namespace mlsysim;

namespace {
template <class L> std::vector<std::string> equations() { return to_latex(entry_of<L>()).equations; }
std::ptrdiff_t count(const std::string& text, const std::string& part) {
  std::ptrdiff_t n = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}
}  // namespace

TEST_CASE("a law is written as its text computes it", "[tape][latex]") {
  CHECK(equations<YoungInterval>() ==
        std::vector<std::string>{
            R"(\mathrm{interval} = \sqrt{2 \cdot \mathrm{checkpoint\_time} \cdot \mathrm{mtbf}})"});
  CHECK(equations<ClusterMtbf>() ==
        std::vector<std::string>{R"(\mathrm{mtbf} = \frac{\mathrm{part\_mtbf}}{\mathrm{parts}})"});
  const auto roof = equations<Roofline>();
  CHECK(std::find(roof.begin(), roof.end(), R"(\mathrm{compute} = \frac{\mathrm{work}}{\mathrm{peak}})") !=
        roof.end());
  CHECK(std::find(roof.begin(), roof.end(),
                  R"(\mathrm{time} = \max\left(\mathrm{compute}, \mathrm{memory}\right))") != roof.end());
}

TEST_CASE("named intermediates come before what uses them, units of one are left out", "[tape][latex]") {
  const auto e = equations<CompressedWeights>();
  REQUIRE(e.size() == 2);
  CHECK(e[0].starts_with(R"(\mathrm{width} = )"));
  CHECK(e[1].find(R"(\mathrm{width})") != std::string::npos);
  for (const auto& line : equations<DataParallelRoofline>()) CHECK(line.find("}{1}") == std::string::npos);
}

TEST_CASE("brackets match, and loops are said to be loops", "[tape][latex]") {
  for (const auto& law : {to_latex(entry_of<QueueWait>()), to_latex(entry_of<WaitQuantile>()),
                          to_latex(entry_of<GaussianPrivacy>())}) {
    CHECK_FALSE(law.loops);
    for (const auto& line : law.equations) {
      CHECK(count(line, "{") == count(line, "}"));
      CHECK(count(line, "\\left") == count(line, "\\right"));
    }
  }
  CHECK(to_latex(entry_of<ErlangC>()).loops);
  CHECK(to_latex(entry_of<ResponseTail>()).long_winded);
}
