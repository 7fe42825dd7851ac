#include <mlsysim/tape/export.hpp>

#include <mlsysim/reflect/label.hpp>
#include <mlsysim/units/any_quantity.hpp>
#include <mlsysim/units/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <iterator>
#include <numeric>

namespace mlsysim {
namespace {

/// Operations in C; a constant and a loop are written apart.
constexpr std::array<std::string_view, kTapeOps> kForms{"in[{}]",
                                                        "",
                                                        "",
                                                        "-n{}",
                                                        "fabs(n{})",
                                                        "ceil(n{})",
                                                        "floor(n{})",
                                                        "sqrt(n{})",
                                                        "tape_log(n{})",
                                                        "tape_log2(n{})",
                                                        "tape_exp(n{})",
                                                        "1.0 - n{}",
                                                        "n{} + n{}",
                                                        "n{} - n{}",
                                                        "n{} * n{}",
                                                        "n{} / n{}",
                                                        "n{1} < n{0} ? n{1} : n{0}",
                                                        "n{0} < n{1} ? n{1} : n{0}",
                                                        "tape_pow(n{}, n{})",
                                                        "sqrt(n{0} * n{0} + n{1} * n{1})",
                                                        "n{} < n{} ? 1.0 : 0.0",
                                                        "n{} <= n{} ? 1.0 : 0.0",
                                                        "n{} == n{} ? 1.0 : 0.0",
                                                        "n{} != n{} ? 1.0 : 0.0",
                                                        "n{} * n{}",
                                                        "n{0} < n{1} ? n{1} : n{0}",
                                                        "n{} != 0.0 ? n{} : n{}"};

/// A number of C, digit by digit the same.
std::string c_number(double x) {
  if (std::isnan(x)) return "NAN";
  if (std::isinf(x)) return x > 0 ? "INFINITY" : "(-INFINITY)";
  return std::signbit(x) ? fmt::format("({:a})", x) : fmt::format("{:a}", x);
}

/// A number in JSON, which has neither infinities nor NaN.
std::string json_number(double x) {
  if (std::isnan(x)) return "\"NaN\"";
  if (std::isinf(x)) return x > 0 ? "\"Infinity\"" : "\"-Infinity\"";
  return fmt::format("{}", x);
}

std::string json_text(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) < 0x20)
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    else
      out += c;
  }
  return out + '"';
}

/// Writes the operations of recordings as statements; loops become functions of their own, before what calls
/// them.
class CWriter {
 public:
  /// Statements that compute nodes `n0`, `n1`, ... from `in[...]`.
  std::string statements(const Recording& r) {
    std::string out;
    std::vector<std::size_t> called(r.loops.size(), kNone);
    std::vector<bool> used(r.nodes.size());
    for (const auto o : r.outputs) used[o] = true;
    for (std::size_t n = r.nodes.size(); n-- > 0;)
      if (used[n]) for_each_operand(r, r.nodes[n], [&](std::uint32_t o) { used[o] = true; });
    for (std::size_t n = 0; n < r.nodes.size(); ++n) {
      if (!used[n]) continue;
      const TapeNode& node = r.nodes[n];
      if (node.op == TapeOp::loop && called[node.a] == kNone) {
        called[node.a] = n;
        out += call(r.loops[node.a], n);
      }
      fmt::format_to(std::back_inserter(out), "  const double n{} = {};\n", n, value(r, node, called));
    }
    return out;
  }
  [[nodiscard]] const std::string& functions() const { return functions_; }

 private:
  static constexpr std::size_t kNone = ~std::size_t{0};

  static std::string value(const Recording& r, const TapeNode& n, const std::vector<std::size_t>& called) {
    if (n.op == TapeOp::constant) return c_number(r.constants[n.a]);
    if (n.op == TapeOp::loop) return fmt::format("s{}[{}]", called[n.a], n.b);
    return fmt::format(fmt::runtime(kForms[static_cast<std::size_t>(n.op)]), n.a, n.b, n.c);
  }

  /// The states of a loop in an array `s<node>`.
  std::string call(const TapeLoop& loop, std::size_t at) {
    const std::size_t id = loops_++;
    const std::size_t states = loop.initial.size(), captured = loop.captured.size();
    const std::string body = statements(loop.body);
    auto to = std::back_inserter(functions_);
    fmt::format_to(to, "static void tape_loop{}(double count, double* state, const double* captured) {{\n",
                   id);
    fmt::format_to(to, "  double in[{}], round;\n  size_t i;\n", 1 + states + captured);
    fmt::format_to(
        to, "  if (!(count <= {})) {{\n    for (i = 0; i < {}; ++i) state[i] = NAN;\n    return;\n  }}\n",
        loop.bound, states);
    if (captured > 0)
      fmt::format_to(to, "  for (i = 0; i < {}; ++i) in[{} + i] = captured[i];\n", captured, 1 + states);
    else
      functions_ += "  (void)captured;\n";
    fmt::format_to(to,
                   "  for (round = 0; round < count; ++round) {{\n  in[0] = round;\n  for (i = 0; i < {}; "
                   "++i) in[1 + i] = state[i];\n  {{\n{}",
                   states, body);
    for (std::size_t i = 0; i < states; ++i)
      fmt::format_to(to, "  state[{}] = n{};\n", i, loop.body.outputs[i]);
    functions_ += "  }\n  }\n}\n\n";
    const auto list = [](std::span<const std::uint32_t> nodes) {
      std::string out;
      for (const auto n : nodes) out += fmt::format("{}n{}", out.empty() ? "" : ", ", n);
      return out.empty() ? std::string("0.0") : out;
    };
    return fmt::format(
        "  double s{0}[] = {{{1}}};\n  const double c{0}[] = {{{2}}};\n  tape_loop{3}(n{4}, s{0}, c{0});\n",
        at, list(loop.initial), list(loop.captured), id, loop.count);
  }

  std::string functions_;
  std::size_t loops_ = 0;
};

/// The members of a recording: "constants", "nodes" and "loops".
std::string json_recording(const Recording& r) {
  std::vector<std::string> constants, nodes, loops;
  for (const double x : r.constants) constants.push_back(json_number(x));
  for (const TapeNode& n : r.nodes) {
    const int operands = n.op == TapeOp::loop ? 2 : std::max(1, operands_of(n.op));
    std::string node = fmt::format("[\"{}\", {}", name_of(n.op), n.a);
    if (operands > 1) node += fmt::format(", {}", n.b);
    if (operands > 2) node += fmt::format(", {}", n.c);
    nodes.push_back(node + "]");
  }
  for (const TapeLoop& l : r.loops)
    loops.push_back(fmt::format(
        R"({{"count": {}, "bound": {}, "initial": {}, "captured": {}, "body": {{{}, "outputs": {}}}}})",
        l.count, l.bound, l.initial, l.captured, json_recording(l.body), l.body.outputs));
  return fmt::format("\"constants\": [{}],\n  \"nodes\": [{}],\n  \"loops\": [{}]",
                     fmt::join(constants, ", "), fmt::join(nodes, ", "), fmt::join(loops, ", "));
}

/// One display unit of a field in base units.
double scale_of(const FieldInfo& f) {
  return f.unit.empty() ? 1.0 : AnyQuantity::parse("1 " + std::string(f.unit)).base();
}

std::string json_field(const FieldInfo& f) {
  return fmt::format("\"name\": {}, \"label\": {}, \"unit\": {}, \"scale\": {}, \"meaning\": {}",
                     json_text(f.name), json_text(label_of(f.name)), json_text(f.unit),
                     json_number(scale_of(f)), json_text(f.meaning));
}

/// Text inside a comment of C.
std::string comment(std::string_view text) {
  std::string out(text);
  for (std::size_t at = 0; (at = out.find("*/", at)) != std::string::npos;) out.replace(at, 2, "* /");
  std::replace(out.begin(), out.end(), '\n', ' ');
  return out;
}

}  // namespace

ExportedProgram::ExportedProgram(const LawEntry& law, std::span<const std::size_t> results,
                                 std::span<const double> point)
    : info_(law.info), inputs_(law.inputs), point_(point.begin(), point.end()) {
  if (!law.is_law())
    throw SolverError({.id = "mlsysim.tools.017",
                       .message = fmt::format(
                           "{} is code that was not recorded, so there is nothing to export", law.info.id),
                       .expected = "a law, or a scenario at a fidelity with laws",
                       .hint = "sweep it instead, or write it as a law"});
  if (!point.empty() && point.size() != inputs_.size())
    throw InputError({.id = "mlsysim.tools.018",
                      .message = "a point has a value for each input",
                      .found = fmt::format("{} values", point.size()),
                      .expected = fmt::format("{}", inputs_.size())});
  std::vector<std::size_t> wanted(results.begin(), results.end());
  if (wanted.empty()) {
    wanted.resize(law.results.size());
    std::iota(wanted.begin(), wanted.end(), std::size_t{0});
  }
  for (const auto i : wanted) results_.push_back(law.results.at(i));
  tape_ = law.part({.results = wanted, .all = wanted.empty()});
}

std::string ExportedProgram::c_source(std::string_view name) const {
  const auto letter = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0])) != 0 ||
      !std::all_of(name.begin(), name.end(), letter))
    throw InputError({.id = "mlsysim.tools.019",
                      .message = "a function of C needs a name of letters, digits and underscores",
                      .found = fmt::format("'{}'", name),
                      .expected = "an identifier"});
  const Recording& r = tape_.recording();
  CWriter writer;
  const std::string body = writer.statements(r);
  std::string out = fmt::format("/* {}{}{}\n", comment(info_.id), info_.equation.empty() ? "" : ": ",
                                comment(info_.equation));
  const auto describe_field = [&](std::string_view array, std::size_t i, const FieldInfo& f) {
    fmt::format_to(std::back_inserter(out), "   {}[{}]: {}{}{}, base units{}\n", array, i, f.name,
                   f.meaning.empty() ? "" : ", ", comment(f.meaning),
                   f.unit.empty() ? "" : fmt::format(" (1 {} = {})", f.unit, scale_of(f)));
  };
  for (std::size_t i = 0; i < inputs_.size(); ++i) describe_field("in", i, inputs_[i]);
  for (std::size_t i = 0; i < results_.size(); ++i) describe_field("out", i, results_[i]);
  out += R"(*/
#include <float.h>
#include <math.h>
#include <stddef.h>

#if defined(__FAST_MATH__) || (defined(FLT_EVAL_METHOD) && FLT_EVAL_METHOD != 0)
#error "this program needs the arithmetic of IEEE 754: no -ffast-math, no x87"
#endif
#if defined(__clang__)
#pragma clang fp contract(off)
#elif defined(__GNUC__)
#pragma GCC optimize("fp-contract=off")
#elif defined(__STDC_VERSION__)
#pragma STDC FP_CONTRACT OFF
#endif

/* Called through pointers, so that no compiler puts something else in their places. */
static double (*volatile const tape_pow)(double, double) = pow;
static double (*volatile const tape_log)(double) = log;
static double (*volatile const tape_log2)(double) = log2;
static double (*volatile const tape_exp)(double) = exp;

)";
  out += writer.functions();
  out += "#ifdef __cplusplus\nextern \"C\"\n#endif\n";
  fmt::format_to(std::back_inserter(out),
                 "void {0}(const double* in, double* out);\nvoid {0}(const double* in, double* out) {{\n",
                 name);
  out += body;
  for (std::size_t i = 0; i < r.outputs.size(); ++i)
    fmt::format_to(std::back_inserter(out), "  out[{}] = n{};\n", i, r.outputs[i]);
  return out + "  (void)tape_pow;\n  (void)tape_log;\n  (void)tape_log2;\n  (void)tape_exp;\n}\n";
}

std::string ExportedProgram::json() const {
  std::vector<std::string> inputs, results;
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const FieldInfo& f = inputs_[i];
    const double scale = scale_of(f);
    std::string range;
    if (f.low > -kUnbounded)
      range += fmt::format(", \"{}\": {}", f.open_low ? "above" : "low", json_number(f.low * scale));
    if (f.high < kUnbounded) range += fmt::format(", \"high\": {}", json_number(f.high * scale));
    if (f.integral) range += ", \"whole\": true";
    if (!point_.empty()) range += fmt::format(", \"value\": {}", json_number(point_[i]));
    inputs.push_back(fmt::format("{{{}{}}}", json_field(f), range));
  }
  for (std::size_t i = 0; i < results_.size(); ++i)
    results.push_back(fmt::format("{{{}, \"node\": {}}}", json_field(results_[i]), tape_.output(i)));
  return fmt::format(
      "{{\n  \"schema\": \"mlsysim/program@1\",\n  \"law\": {},\n  \"equation\": {},\n  \"source\": {},\n  "
      "\"inputs\": [\n    {}\n  ],\n"
      "  \"results\": [\n    {}\n  ],\n  {}\n}}\n",
      json_text(info_.id), json_text(info_.equation), json_text(info_.source), fmt::join(inputs, ",\n    "),
      fmt::join(results, ",\n    "), json_recording(tape_.recording()));
}

}  // namespace mlsysim
