#include "detail/plan_table.hpp"

#include <mlsysim/engine/plan_file.hpp>

#include <mlsysim/reflect/detail/aliases.hpp>
#include <mlsysim/units/near_miss.hpp>
#include <mlsysim/zoo/detail/yaml_document.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace mlsysim {
namespace {

/// The keys: a place of each field of Scenario, and what plans share with no field.
const std::vector<PlanKey>& keys() {
  static const auto* all = [] {
    auto* out = new std::vector<PlanKey>;
    for (const auto& p : detail::plan_places())
      if (p.keyed) out->push_back({p.section, p.key(), p.field});
    out->push_back({"ops", "region", ""});
    out->push_back({"", "version", ""});
    out->push_back({"constraints", "assert", ""});
    return out;
  }();
  return *all;
}

constexpr std::array<std::string_view, 5> kSections{"workload", "hardware", "parallelism", "ops",
                                                    "constraints"};

/// Collects the faults of one plan.
class Reader {
 public:
  Reader(const YamlDocument& document, const Zoo& zoo)
      : doc_(document), out_{{}, {}, ScenarioBuilder(zoo), {}, {}} {}

  PlanFile read() {
    const YamlValue& root = doc_.root();
    if (root.kind != YamlValue::Kind::map) {
      fault(root, "mlsysim.engine.040",
            {.message = "a plan is a map",
             .found = root.describe(),
             .expected = "version, name, workload and hardware",
             .hint = "mlsysim schema plan shows the form"});
      raise();
    }
    for (const auto& [key, value] : root.pairs) top_level(key, value);
    require(root, "", "version", "version: \"1\"");
    require(root, "", "name", "name: my-plan");
    if (require(root, "", "workload", "workload: {name: Llama3_8B}"))
      require(*root.find("workload"), "workload", "name", "name: Llama3_8B");
    if (require(root, "", "hardware", "hardware: {name: H100}"))
      require(*root.find("hardware"), "hardware", "name", "name: H100");
    raise();
    return std::move(out_);
  }

 private:
  void fault(const YamlValue& at, std::string_view id, ErrorFacts facts) {
    facts.id = id;
    add(at, std::move(facts));
  }

  void add(const YamlValue& at, ErrorFacts facts) {
    problems_.push_back(problems_.size() < kMostProblems ? doc_.placed(std::move(facts), at)
                                                         : std::move(facts));
  }

  void raise() const { raise_problems(fmt::format("{} is not a valid plan", doc_.file()), problems_); }

  bool require(const YamlValue& map, std::string_view section, std::string_view key,
               std::string_view example) {
    if (map.kind != YamlValue::Kind::map) return false;  // reported where it was read
    if (map.find(key) != nullptr) return true;
    const auto path = section.empty() ? std::string(key) : fmt::format("{}.{}", section, key);
    fault(map, "mlsysim.engine.041",
          {.message = fmt::format("'{}' is missing", path),
           .key = path,
           .found = fmt::format("no key '{}'", key),
           .expected = fmt::format("a line such as '{}'", example),
           .hint = "add it",
           .reason = BreakReason::missing_field});
    return false;
  }

  bool text(const YamlValue& value, const std::string& path) {
    if (value.kind == YamlValue::Kind::scalar && !value.text.empty()) return true;
    fault(value, "mlsysim.engine.042",
          {.message = fmt::format("'{}' has the wrong form", path),
           .key = path,
           .found = value.describe(),
           .expected = "one value",
           .hint = fmt::format("write '{}: ...' with a value", path)});
    return false;
  }

  void top_level(const YamlValue& key, const YamlValue& value) {
    if (key.text == "version") {
      if (!text(value, "version")) return;
      out_.version = value.text;
      if (value.text != "1" && value.text != "1.0")
        fault(value, "mlsysim.engine.043",
              {.message = "this version of plan files is not known",
               .key = "version",
               .found = fmt::format("'{}'", value.text),
               .expected = "\"1\" or \"1.0\"",
               .hint = "use a newer mlsysim, or rewrite the plan",
               .reason = BreakReason::version_mismatch});
      return;
    }
    if (std::find(kSections.begin(), kSections.end(), key.text) != kSections.end()) {
      if (value.kind != YamlValue::Kind::map)
        fault(value, "mlsysim.engine.044",
              {.message = fmt::format("'{}' has the wrong form", key.text),
               .key = key.text,
               .found = value.describe(),
               .expected = "a map",
               .hint = fmt::format("write '{}:' and indented keys below", key.text)});
      else
        for (const auto& [k, v] : value.pairs) in_section(key.text, k, v);
      return;
    }
    in_section("", key, value);
  }

  void in_section(const std::string& section, const YamlValue& key, const YamlValue& value) {
    const auto path = section.empty() ? key.text : fmt::format("{}.{}", section, key.text);
    if (path == "hardware.nodes") {
      fault(key, "mlsysim.engine.045",
            {.message = "'hardware.nodes' was replaced, because it did not say what it counts",
             .key = path,
             .found = "'nodes'",
             .expected = "accelerators (all devices), or node_count with accelerators_per_node",
             .hint = fmt::format("write 'accelerators: {}' if all devices were meant", value.text)});
      return;
    }
    if (path == "constraints.assert") return assertions(value);
    const auto find = [&](std::string_view name) {
      return std::find_if(keys().begin(), keys().end(),
                          [&](const PlanKey& k) { return k.section == section && k.key == name; });
    };
    auto known = find(key.text);
    const bool second = known == keys().end();  // under a second name: "burst", "gpus"
    if (second) known = find(canonical_name(key.text));
    if (known == keys().end()) return unknown(section, path, key);
    if (!text(value, path)) return;
    if (path == "ops.region") {
      out_.builder.region(value.text, value.where);
      collect(value, [&] { out_.builder.check_region(value.text, value.where); });
      return;
    }
    if (path == "name") out_.name = value.text;
    out_.builder.set(second ? std::string_view(key.text) : known->field, value.text, value.where);
    collect(value, [&] { out_.builder.check(known->field, value.text, value.where); });
  }

  /// Calls f(); its error becomes one of the plan's problems, so that all come together. A file that the plan
  /// names brings problems of its own.
  template <class F> void collect(const YamlValue& at, F&& f) {
    try {
      f();
    } catch (const ErrorList& list) {
      problems_.insert(problems_.end(), list.problems().begin(), list.problems().end());
    } catch (const Error& error) {
      if (error.facts().where.file == doc_.file() || error.facts().where.file.empty())
        add(at, error.facts());
      else
        problems_.push_back(error.facts());
    }
  }

  void unknown(const std::string& section, const std::string& path, const YamlValue& key) {
    std::vector<std::string> here;
    std::string other;
    for (const auto& k : keys()) {
      if (k.section == section)
        here.emplace_back(k.key);
      else if (k.key == key.text && other.empty())
        other = k.section.empty() ? "the top level" : fmt::format("'{}'", k.section);
    }
    if (section.empty())
      for (const auto s : kSections)
        if (std::find(here.begin(), here.end(), s) == here.end()) here.emplace_back(s);
    auto hint = did_you_mean(key.text, here);
    constexpr std::pair<std::string_view, std::string_view> kOthersSay[] = {{"model", "workload"},
                                                                            {"device", "hardware"},
                                                                            {"gpu", "hardware"},
                                                                            {"assert", "constraints"},
                                                                            {"assertions", "constraints"}};
    for (const auto& [word, ours] : kOthersSay)
      if (section.empty() && word == key.text) hint = fmt::format("did you mean '{}'?", ours);
    if ((section == "workload" && key.text == "model") || (section == "hardware" && key.text == "device"))
      hint = "did you mean 'name'?";
    if (!other.empty()) hint = fmt::format("this key belongs to {}", other);
    fault(key, "mlsysim.engine.046",
          {.message = fmt::format("unknown key '{}'", path),
           .key = path,
           .found = fmt::format("'{}'", key.text),
           .expected = fmt::format("one of {}", fmt::join(here, ", ")),
           .hint = std::move(hint)});
  }

  void assertions(const YamlValue& list) {
    if (list.kind != YamlValue::Kind::sequence) {
      fault(list, "mlsysim.engine.047",
            {.message = "'constraints.assert' has the wrong form",
             .key = "constraints.assert",
             .found = list.describe(),
             .expected = "a list",
             .hint = "write '- {metric: performance.ttft, max: 500 ms}'"});
      return;
    }
    for (const auto& item : list.items) {
      PlanAssertion a;
      a.where = item.where;
      if (item.kind != YamlValue::Kind::map) {
        fault(item, "mlsysim.engine.052",
              {.message = "an assertion has the wrong form",
               .key = "constraints.assert",
               .found = item.describe(),
               .expected = "a map",
               .hint = "write '- {metric: performance.ttft, max: 500 ms}'"});
        continue;
      }
      for (const auto& [key, value] : item.pairs) {
        static const std::vector<std::string> names{"metric", "min", "max"};
        auto* slot = key.text == "metric" ? &a.metric
                     : key.text == "min"  ? &a.min_text
                     : key.text == "max"  ? &a.max_text
                                          : nullptr;
        if (slot == nullptr)
          fault(key, "mlsysim.engine.051",
                {.message = fmt::format("unknown key '{}' of an assertion", key.text),
                 .key = key.text,
                 .found = fmt::format("'{}'", key.text),
                 .expected = "metric, min and max",
                 .hint = did_you_mean(key.text, names)});
        else if (text(value, "constraints.assert." + key.text)) {
          *slot = value.text;
          if (slot != &a.metric) bound(value, key.text);
        }
      }
      if (a.metric.empty() || (a.min_text.empty() && a.max_text.empty()))
        fault(item, "mlsysim.engine.048",
              {.message = "an assertion is not complete",
               .key = "constraints.assert",
               .found = a.metric.empty() ? "no metric" : fmt::format("'{}' without a bound", a.metric),
               .expected = "metric and at least one of min and max",
               .hint = "write '- {metric: performance.ttft, max: 500 ms}'"});
      out_.assertions.push_back(std::move(a));
    }
  }

  void bound(const YamlValue& value, const std::string& key) {
    collect(value, [&] {
      try {
        (void)AnyQuantity::parse(value.text, value.where);
      } catch (Error& error) {
        error.add_context(fmt::format("in the bound '{}'", key));
        throw;
      }
    });
  }

  const YamlDocument& doc_;
  PlanFile out_;
  std::vector<ErrorFacts> problems_;
};

PlanFile read_document(YamlDocument document, const Zoo& zoo) {
  auto shared = std::make_shared<const YamlDocument>(std::move(document));
  auto plan = Reader(*shared, zoo).read();
  plan.document = std::move(shared);
  return plan;
}

template <class E> void rethrow_as(const Error& error, const ErrorFacts& facts) {
  if (dynamic_cast<const E*>(&error) == nullptr) return;
  E out(facts);
  for (const auto& frame : error.context()) out.add_context(frame);
  throw out;
}

/// Calls f(); an error that names a place of the document but does not show it gets its line and caret, and
/// one of another place or none, since it is about several keys or about what replaces one, names the plan.
template <class F> auto showing_lines(const YamlDocument* document, F&& f) {
  const auto unshown = [&](const ErrorFacts& facts) {
    return document != nullptr && facts.where.line != 0 && facts.where.file == document->file() &&
           facts.excerpt.empty();
  };
  const auto shown = [&](const ErrorFacts& facts) {
    YamlValue at;
    at.where = facts.where;
    return document->placed(facts, at);
  };
  try {
    return f();
  } catch (const ErrorList& list) {
    if (document == nullptr) throw;
    auto problems = list.problems();
    for (std::size_t i = 0; i < std::min(problems.size(), kMostProblems); ++i)
      if (unshown(problems[i])) problems[i] = shown(problems[i]);
    raise_problems(document->file(), problems);
    throw;
  } catch (Error& error) {
    if (document != nullptr && error.facts().where.file != document->file())
      error.add_context(fmt::format("in the plan {}", document->file()));
    if (!unshown(error.facts())) throw;
    const auto facts = shown(error.facts());
    rethrow_as<UnitError>(error, facts);
    rethrow_as<DimensionError>(error, facts);
    rethrow_as<InputError>(error, facts);
    rethrow_as<LookupError>(error, facts);
    rethrow_as<DomainError>(error, facts);
    throw;
  }
}

}  // namespace

BuiltScenario PlanFile::build() const {
  return showing_lines(document.get(), [&] { return builder.build(); });
}

std::vector<AssertionResult> PlanFile::check(const SystemEvaluation& evaluation) const {
  return showing_lines(document.get(), [&] { return check_assertions(assertions, evaluation); });
}

std::span<const PlanKey> plan_keys() { return keys(); }

PlanFile parse_plan(std::string text, std::string name, const Zoo& zoo) {
  return read_document(YamlDocument::parse(std::move(text), std::move(name)), zoo);
}

PlanFile read_plan(const std::filesystem::path& file, const Zoo& zoo) {
  return read_document(YamlDocument::read(file), zoo);
}

}  // namespace mlsysim
