// Laws and derivations as LaTeX and MathML, from their own trace.

#include <support/catch.hpp>

#include <mlsysim/physics/compression.hpp>
#include <mlsysim/physics/queueing.hpp>
#include <mlsysim/physics/reliability.hpp>
#include <mlsysim/physics/requirements.hpp>
#include <mlsysim/physics/roofline.hpp>
#include <mlsysim/plot/explanation_forms.hpp>
#include <mlsysim/plot/latex.hpp>
#include <mlsysim/plot/mathml.hpp>
#include <mlsysim/tape/register.hpp>
#include <mlsysim/zoo/loader.hpp>

#include <algorithm>

using namespace mlsysim;

namespace {
template <class L> std::vector<std::string> equations() { return to_latex(entry_of<L>()).equations; }
std::ptrdiff_t times(const std::string& text, const std::string& part) {
  std::ptrdiff_t n = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}
}  // namespace

TEST_CASE("a law is written as its text computes it", "[plot][latex]") {
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

TEST_CASE("named intermediates come before what uses them, units of one are left out", "[plot][latex]") {
  const auto e = equations<CompressedWeights>();
  REQUIRE(e.size() == 2);
  CHECK(e[0].starts_with(R"(\mathrm{width} = )"));
  CHECK(e[1].find(R"(\mathrm{width})") != std::string::npos);
  for (const auto& line : equations<DataParallelRoofline>()) CHECK(line.find("}{1}") == std::string::npos);
}

TEST_CASE("brackets match, and loops are said to be loops", "[plot][latex]") {
  for (const auto& law : {to_latex(entry_of<QueueWait>()), to_latex(entry_of<WaitQuantile>()),
                          to_latex(entry_of<GaussianPrivacy>())}) {
    CHECK_FALSE(law.loops);
    for (const auto& line : law.equations) {
      CHECK(times(line, "{") == times(line, "}"));
      CHECK(times(line, "\\left") == times(line, "\\right"));
    }
  }
  CHECK(to_latex(entry_of<ErlangC>()).loops);
  CHECK(to_latex(entry_of<ResponseTail>()).long_winded);
}

TEST_CASE("a derivation as MathML holds the same equations, with every element closed", "[plot][mathml]") {
  const auto entry = entry_of<YoungInterval>();
  const std::string id(entry.info.id);
  const auto d = derive(entry, std::vector<double>{60, 7200}, {&id, 1});
  const auto text = to_mathml(d);
  INFO(text);
  const std::string root =
      "<msqrt><mrow><mrow><mn>2</mn><mo>·</mo><mi>checkpoint_time</mi></mrow><mo>·</mo><mi>mtbf</mi></mrow></"
      "msqrt>";
  CHECK(text.find("<mi>interval</mi><mo>=</mo>" + root) != std::string::npos);
  CHECK(text.find("<mn>60</mn></mrow><mo>·</mo><mn>7200</mn>") != std::string::npos);
  CHECK(text.find("<math><mrow><mo>=</mo><mn>929.516</mn></mrow></math>") != std::string::npos);
  CHECK(text.find("source: young1974") != std::string::npos);
  for (const auto* element : {"math", "mrow", "msqrt", "mn", "mi", "mo", "p", "table", "tr", "td"})
    CHECK(times(text, std::string("<") + element + ">") + times(text, std::string("<") + element + " ") ==
          times(text, std::string("</") + element + ">"));
}

TEST_CASE("names and texts of laws are shown in MathML, not run", "[plot][mathml]") {
  static const LawInfo odd{.id = "<script>x</script>", .equation = "a < b & c", .source = "somebody"};
  Derivation d;
  d.records.push_back({.law = &odd, .results = {{.name = "<b>", .unit = "", .value = 2}}, .roots = {1}});
  d.nodes = {{.op = "input", .operands = {}, .value = -1.5e9, .name = "x<y"},
             {.op = "divide", .operands = {0, 0}, .value = 1, .name = ""}};
  const auto text = to_mathml(d);
  INFO(text);
  CHECK(text.find("<script") == std::string::npos);
  CHECK(text.find("&lt;script&gt;x&lt;/script&gt;") != std::string::npos);
  CHECK(text.find("a &lt; b &amp; c") != std::string::npos);
  CHECK(text.find("<mfrac><mi>x&lt;y</mi><mi>x&lt;y</mi></mfrac>") != std::string::npos);
  // -1.5 10^9 as numbers of a fraction
  CHECK(text.find("<mo>−</mo><mrow><mn>1.5</mn><mo>·</mo><msup><mn>10</mn><mn>9</mn></msup></mrow>") !=
        std::string::npos);
}

TEST_CASE("the derivation of an answer as LaTeX holds its calls, and closes what it opens", "[plot][latex]") {
  const Zoo& zoo = standard_zoo();
  Scenario s;
  s.workload = &zoo.at<Workload>("Llama3_70B");
  s.hardware = &zoo.at<HardwareNode>("H100");
  s.accelerators = 8;
  s.mode = Mode::serve;
  const auto latex = to_latex(explanation(s, "itl"));
  for (const char* law : {"MatmulTime", "AttentionTime", "SoftRoofline"}) CHECK(times(latex, law) > 0);
  CHECK(times(latex, "{") == times(latex, "}"));
  CHECK(times(latex, "\\begin{align*}") == times(latex, "\\end{align*}"));
  CHECK(times(latex, "\\left") == times(latex, "\\right"));
  CHECK(times(latex, "\\mathrm{itl} &= ") > 0);
  CHECK(times(latex, "\\cite") > 0);
}
