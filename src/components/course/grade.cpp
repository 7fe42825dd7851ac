#include <mlsysim/course/grade.hpp>

#include <mlsysim/engine/field_input.hpp>
#include <mlsysim/pipeline/builder.hpp>
#include <mlsysim/pipeline/run.hpp>
#include <mlsysim/resolver_api/expression.hpp>
#include <mlsysim/units/format.hpp>
#include <mlsysim/units/near_miss.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <optional>

namespace mlsysim::course {
namespace {

namespace fs = std::filesystem;

/// A number with its dimension.
struct Amount {
  double base = 0;
  Exponents exps{};

  [[nodiscard]] std::string text() const { return DynamicValue(Value(base), exps).text(); }
};

Amount computed(const std::string& expression, const Location& where) {
  const auto read = Expression::parse(expression, {}, where);
  return {read(std::vector<double>{}), read.exponents()};
}

/// The outcome of a call: its results, the reason why there are none, or an error.
struct Outcome {
  std::optional<Run> run;
  std::optional<Infeasible> infeasible;
  std::string error;
};

/// The calls of one assignment.
class Grader {
 public:
  Grader(const Assignment& assignment, const ResolverRegistry& registry, const Zoo& zoo)
      : assignment_(assignment), registry_(registry), reader_(zoo) {}

  /// Whether a check has shown a value other than zero: what a file to begin with does not.
  [[nodiscard]] bool shows(const CheckSpec& check, const Grade& grade) const {
    return grade.passed() && std::any_of(check.expect.begin(), check.expect.end(), [&](const auto& e) {
             return e.second != "false" && (e.second == "true" || computed(e.second, {}).base != 0);
           });
  }

  Grade run(const CheckSpec& check) {
    Grade out{.check = check.name,
              .points = check.points,
              .complaints = {},
              .call = call_text(check),
              .hint = check.hint};
    for (const auto& stage : check.stages)
      if (registry_.find(full_name(stage)) == nullptr) {
        out.complaints.push_back(fmt::format("there is no resolver '{}'; found {}", stage, known()));
        return out;
      }
    if (!check.tier.empty()) compare_tier(check, out);
    const bool calls =
        !check.expect.empty() || !check.gives.empty() || !check.refuses.empty() || !check.infeasible.empty();
    if (!calls) return out;
    const auto first = called(check, check.inputs);
    if (!check.refuses.empty())
      compare_words("an error", check.refuses, first.error, first, out);
    else if (!check.infeasible.empty())
      compare_words("no result, and the reason", check.infeasible,
                    first.infeasible ? first.infeasible->text() : "", first, out);
    else if (answered(first, out))
      compare_results(check, first, out);
    return out;
  }

 private:
  /// course/NAME of a plugin, or NAME of a class in Python.
  [[nodiscard]] std::string full_name(const std::string& stage) const {
    auto name = assignment_.space + "/" + stage;
    return registry_.find(name) != nullptr ? name : stage;
  }

  /// The resolvers that are not ours, for a name that is not there.
  [[nodiscard]] std::string known() const {
    std::vector<std::string> names;
    for (const auto& name : registry_.names())
      if (name.starts_with(assignment_.space + "/"))
        names.push_back(name.substr(assignment_.space.size() + 1));
    return names.empty() ? "none of this name" : fmt::format("{}", fmt::join(names, ", "));
  }

  static std::string call_text(const CheckSpec& check) {
    auto text = fmt::format("{}", fmt::join(check.stages, " "));
    for (const auto& [key, value] : check.inputs)
      text += fmt::format(" {}={}", key,
                          value.find(' ') == std::string::npos ? value : fmt::format("'{}'", value));
    return text;
  }

  void compare_tier(const CheckSpec& check, Grade& out) const {
    for (const auto& stage : check.stages) {
      const auto found = name_of(registry_.at(full_name(stage)).info().tier);
      if (found != check.tier)
        out.complaints.push_back(fmt::format("{}: found a {}, expected a {}", stage, found, check.tier));
    }
  }

  DynamicValue value_of(const Pipeline& pipeline, const std::string& key, const std::string& text) {
    const auto beside = assignment_.folder / text;
    std::error_code failed;
    const bool file = names_a_file(text) && fs::is_regular_file(beside, failed);
    const auto given = file ? beside.generic_string() : text;
    if (const auto* field = pipeline.input(key)) return reader_.read(*field, given);
    FieldInfo field;
    field.name = canonical_key(key);
    field.meaning = "supplies what the stages need";
    field.kind = ValueKind::object;
    field.object_type = field.name;
    return reader_.read(field, given);
  }

  Outcome called(const CheckSpec& check, const NamedTexts& inputs) {
    Outcome out;
    try {
      PipelineBuilder builder("check");
      builder.registry(registry_);
      for (const auto& stage : check.stages) builder.stage(full_name(stage), stage);
      for (const auto& [key, text] : inputs) builder.given(key);
      // A run looks at its pipeline as long as it lives.
      pipelines_.push_back(std::make_unique<Pipeline>(builder.build()));
      Run run(*pipelines_.back());
      for (const auto& [key, text] : inputs) run.set(key, value_of(*pipelines_.back(), key, text));
      run.execute();
      for (const auto& stage : run.stages())
        if (const auto* why = stage.why(); why != nullptr && !out.infeasible) out.infeasible = *why;
      out.run = std::move(run);
    } catch (const std::exception& error) {
      out.error = error.what();
    }
    return out;
  }

  /// Whether there are results; a complaint where there are none.
  static bool answered(const Outcome& outcome, Grade& out) {
    if (!outcome.error.empty())
      out.complaints.push_back(fmt::format("expected a result, found an error: {}", outcome.error));
    else if (outcome.infeasible)
      out.complaints.push_back(fmt::format("expected a result, found none: {}", outcome.infeasible->text()));
    return outcome.error.empty() && !outcome.infeasible;
  }

  static void compare_words(std::string_view what, const std::vector<std::string>& words,
                            const std::string& text, const Outcome& outcome, Grade& out) {
    if (text.empty()) {
      auto found = std::string("a result");
      if (!outcome.error.empty()) found = "an error: " + outcome.error;
      if (outcome.infeasible) found = "no result: " + outcome.infeasible->text();
      out.complaints.push_back(fmt::format("expected {}, found {}", what, found));
      return;
    }
    for (const auto& word : words)
      if (text.find(word) == std::string::npos)
        out.complaints.push_back(fmt::format("{} must name '{}', found: {}", what, word, text));
  }

  std::optional<Amount> result(const Outcome& outcome, const std::string& name, Grade& out) const {
    try {
      const auto value = outcome.run->value(name);
      if (const auto* x = std::get_if<double>(&value.value)) return Amount{*x, value.exps};
      if (const auto* flag = std::get_if<bool>(&value.value)) return Amount{*flag ? 1.0 : 0.0, {}};
      out.complaints.push_back(fmt::format("{}: found {}, expected a number", name, value.text()));
    } catch (const Error& error) {
      out.complaints.emplace_back(error.what());
    }
    return std::nullopt;
  }

  void compare(const std::string& name, const Amount& found, const Amount& wanted, double tolerance,
               Grade& out) const {
    if (!(found.exps == wanted.exps)) {
      out.complaints.push_back(fmt::format("{}: found {}, {}, expected {}, {}", name, found.text(),
                                           dimension_name(found.exps), wanted.text(),
                                           dimension_name(wanted.exps)));
      return;
    }
    const auto gap = std::abs(found.base - wanted.base);
    if (gap <= tolerance * std::abs(wanted.base)) return;  // not so for what is no number
    const auto words = wanted.base != 0 ? factor_words(found.base / wanted.base) : std::string();
    out.complaints.push_back(fmt::format("{}: found {}, expected {}{}", name, found.text(), wanted.text(),
                                         words.empty() ? "" : " (" + words + ")"));
  }

  void compare_results(const CheckSpec& check, const Outcome& first, Grade& out) {
    for (const auto& [name, expression] : check.expect) {
      const auto wanted = computed(expression == "true"    ? "1"
                                   : expression == "false" ? "0"
                                                           : expression,
                                   {.file = (assignment_.folder / "checks.yaml").generic_string()});
      if (const auto found = result(first, name, out)) compare(name, *found, wanted, check.tolerance, out);
    }
    if (check.gives.empty()) return;
    auto inputs = check.inputs;
    std::string how;
    for (const auto& [key, factor] : check.times)
      for (auto& [name, text] : inputs)
        if (name == key) {
          how += fmt::format("{}{} {}", how.empty() ? "" : ", ", factor, key);
          text = (AnyQuantity::parse(text) * computed(factor, {}).base).str();
        }
    const auto second = called(check, inputs);
    if (!answered(second, out)) return;
    for (const auto& [name, factor] : check.gives) {
      const auto before = result(first, name, out), after = result(second, name, out);
      if (!before || !after) continue;
      compare(fmt::format("{} with {} times", name, how), *after,
              {before->base * computed(factor, {}).base, before->exps}, check.tolerance, out);
    }
  }

  const Assignment& assignment_;
  const ResolverRegistry& registry_;
  FieldReader reader_;
  std::vector<std::unique_ptr<Pipeline>> pipelines_;
};

}  // namespace

std::string factor_words(double factor) {
  struct Usual {
    double factor;
    std::string_view words;
  };
  static constexpr std::array<Usual, 13> usual{{{2, "2 times: counted twice, or a half left out?"},
                                                {0.5, "half: a factor of 2 left out?"},
                                                {8, "8 times: bits for bytes?"},
                                                {0.125, "an eighth: bytes for bits?"},
                                                {1e3, "1000 times: a decimal prefix?"},
                                                {1e-3, "a thousandth: a decimal prefix?"},
                                                {1e6, "a million times: prefixes?"},
                                                {1e-6, "a millionth: prefixes?"},
                                                {3600, "3600 times: seconds for hours?"},
                                                {1 / 3600.0, "1/3600: hours for seconds?"},
                                                {24, "24 times: hours for days?"},
                                                {1 / 24.0, "1/24: days for hours?"},
                                                {-1, "the sign"}}};
  for (const auto& row : usual)
    if (std::abs(factor - row.factor) <= 1e-6 * std::abs(row.factor)) return std::string(row.words);
  for (const double power : {1.0, 2.0, 3.0, 4.0})
    for (const double binary : {std::pow(1.024, power), std::pow(1.024, -power)})
      if (std::abs(factor - binary) <= 1e-6 * binary)
        return fmt::format("{:.4g} times: GiB for GB, or the other way?", factor);
  return std::isfinite(factor) && factor != 0 ? fmt::format("{:.4g} times", factor) : "";
}

std::vector<Grade> grade(const Assignment& assignment, const ResolverRegistry& registry, const Zoo& zoo) {
  Grader grader(assignment, registry, zoo);
  std::vector<Grade> out;
  bool asked = false, shown = false;
  for (const auto& check : assignment.checks) {
    if (check.kit) continue;
    out.push_back(grader.run(check));
    asked = asked || !check.expect.empty();
    shown = shown || grader.shows(check, out.back());
  }
  if (asked && !shown)
    for (auto& g : out)
      if (g.passed())
        g.complaints.emplace_back("counts once a value other than zero is right: none is so far");
  return out;
}

Score score_of(const std::vector<Grade>& grades) {
  Score out;
  for (const auto& g : grades) {
    out.of += g.points;
    ++out.checks;
    if (!g.passed()) continue;
    out.points += g.points;
    ++out.passed;
  }
  return out;
}

}  // namespace mlsysim::course
