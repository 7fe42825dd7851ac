#include "divided_search.hpp"
#include "output.hpp"

#include <mlsysim/engine/detail/settle.hpp>
#include <mlsysim/engine/field_input.hpp>
#include <mlsysim/explore/ask/compare.hpp>
#include <mlsysim/explore/ask/intervals.hpp>
#include <mlsysim/explore/ask/sensitivity.hpp>
#include <mlsysim/explore/ask/solve.hpp>
#include <mlsysim/explore/ask/uncertainty.hpp>
#include <mlsysim/explore/subject/explanation.hpp>
#include <mlsysim/reflect/detail/aliases.hpp>
#include <mlsysim/report/explanation_report.hpp>
#include <mlsysim/report/explore_report.hpp>
#include <mlsysim/report/interval_report.hpp>
#include <mlsysim/report/table.hpp>
#include <mlsysim/resolver_api/detail/name_list.hpp>
#include <mlsysim/resolver_api/record.hpp>
#include <mlsysim/resolver_api/registry.hpp>
#include <mlsysim/tape/export.hpp>
#include <mlsysim/units/detail/json_text.hpp>
#include <mlsysim/units/format.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <deque>
#include <optional>

namespace mlsysim::cli {

bool names_a_resolver(const std::string& word) { return ResolverRegistry::standard().find(word) != nullptr; }

namespace {

struct NamedResolver {
  std::shared_ptr<const Resolver> resolver;
  std::unique_ptr<Record> inputs;
};

/// A reader that lives as long as the program: answers refer to the entries of the files that it read.
FieldReader& kept_reader() {
  static std::deque<FieldReader> readers;
  return readers.emplace_back(zoo());
}

/// A law, model or solver by name with its inputs as key=value.
NamedResolver resolver_of(const std::vector<std::string>& words) {
  auto resolver = ResolverRegistry::standard().share(words[0]);
  FieldReader& reader = kept_reader();
  auto record = std::make_unique<Record>(*resolver, Side::inputs);
  Record& in = *record;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const auto equals = words[i].find('=');
    if (equals == std::string::npos)
      throw InputError({.id = "mlsysim.cli.066",
                        .message = fmt::format("an input of {} has no value", words[0]),
                        .found = fmt::format("'{}'", words[i]),
                        .expected = "key=value",
                        .hint = fmt::format("mlsysim resolver show {} lists its inputs", words[0])});
    const auto key = words[i].substr(0, equals);
    const FieldInfo* field = find_field(resolver->inputs(), key);
    if (field == nullptr)
      in.set(key, DynamicValue());  // says what there is
    else
      in.set(key, reader.read(*field, words[i].substr(equals + 1)));
  }
  for (const auto& f : resolver->inputs())
    if (f.required && !in.supplied().test(static_cast<std::size_t>(&f - resolver->inputs().data())))
      throw InputError({.id = "mlsysim.cli.061",
                        .message = fmt::format("{} needs '{}' ({})", words[0], f.name, f.meaning),
                        .key = f.name,
                        .found = "nothing",
                        .expected = fmt::format("{}=...", f.name),
                        .hint = fmt::format("mlsysim resolver show {} lists its inputs", words[0]),
                        .reason = BreakReason::missing_field});
  InputGuard(resolver->inputs()).check(in.data(), words[0]);
  return {std::move(resolver), std::move(record)};
}

}  // namespace

void give_varied(ScenarioRequest& request, std::string_view name, std::string_view value) {
  if (const auto known = canonical_name(name); !known.empty()) name = known;
  if (name == "arrival_rate") request.fields.try_emplace(std::string(name), "1 request/s");
  for (const std::string_view count :
       {"prefill_replicas", "prefill_tp_size", "prefill_ep_size", "decode_replicas"})
    if (name == count) request.fields.try_emplace(std::string(name), value);
}

AskedSubject subject_asked(ScenarioRequest request, std::span<const std::string> inputs) {
  AskedSubject q;
  if (!request.targets.empty() && names_a_resolver(request.targets[0])) {
    const auto named = resolver_of(request.targets);
    q.subject = subject_of(named.resolver, named.inputs->data());
    q.about = interval_subject(*named.resolver, named.inputs->data());
    return q;
  }
  for (const auto& input : inputs) give_varied(request, input, "1");
  q.built = scenario_of(request);
  q.subject = subject_with(q.built.scenario, inputs);
  q.about = interval_subject(q.built.scenario);
  q.subject.assumptions.insert(q.subject.assumptions.end(), q.built.assumptions.begin(),
                               q.built.assumptions.end());
  q.subject.warnings.insert(q.subject.warnings.begin(), q.built.warnings.begin(), q.built.warnings.end());
  return q;
}

namespace {

/// A text whose second lines say which devices nobody measured; other formats have that among the warnings.
std::string marked(std::string text, std::initializer_list<std::string_view> unmeasured,
                   const RenderOptions& options) {
  if (options.format != OutputFormat::text) return text;
  std::string lines;
  for (const auto words : unmeasured)
    if (!words.empty() && lines.find(words) == std::string::npos)
      lines += fmt::format("warning: {}\n", words);
  return text.insert(std::min(text.find('\n') + 1, text.size()), lines);
}

std::string pop(ScenarioRequest& request, std::string_view what, std::string_view example) {
  if (request.targets.size() < 2)
    throw InputError({.id = "mlsysim.cli.062",
                      .message = fmt::format("the question has no {}", what),
                      .found = fmt::format("{} arguments", request.targets.size()),
                      .expected = fmt::format("a subject, then {}", what),
                      .hint = std::string(example)});
  auto out = std::move(request.targets.back());
  request.targets.pop_back();
  return out;
}

}  // namespace

std::string popped_result(ScenarioRequest& request) {
  auto& words = request.targets;
  if (words.empty()) return {};
  const bool alone = names_a_resolver(words[0])
                         ? words.back().find('=') != std::string::npos || words.size() == 1
                     : names_a_file(words[0]) && holds_a_plan(words[0]) ? words.size() == 1
                                                                        : words.size() <= 2;
  if (alone) return {};
  auto out = std::move(words.back());
  words.pop_back();
  return out;
}

std::vector<std::string> usual_results(std::span<const FieldInfo> results) {
  std::vector<std::string> out;
  for (const std::string_view name : {"itl", "ttft", "step_latency", "token_throughput", "latency", "mfu",
                                      "effective_throughput", "throughput"})
    if (std::any_of(results.begin(), results.end(), [&](const FieldInfo& f) { return f.name == name; }))
      out.emplace_back(name);
  if (out.empty())
    for (const FieldInfo& f : results.first(std::min<std::size_t>(results.size(), 6))) out.push_back(f.name);
  return out;
}

std::string main_result(const Subject& subject) {
  const auto usual = usual_results(subject.entry.results);
  return usual.empty() ? std::string() : usual.front();
}

std::shared_ptr<const Problem> resolver_problem(const std::vector<std::string>& words) {
  const auto named = resolver_of(words);
  return problem_of(named.resolver, named.inputs->data());
}

Answer sensitivity_of(ScenarioRequest request, const SensitivityRequest& asked,
                      const RenderOptions& options) {
  auto result = popped_result(request);
  const auto q = subject_asked(std::move(request), asked.inputs);
  if (result.empty()) result = main_result(q.subject);
  return {
      marked(render(sensitivity(q.subject, result, {.inputs = asked.inputs, .step = asked.step}), options),
             {q.subject.unmeasured}, options)};
}

Answer export_program(ScenarioRequest request, const ExportRequest& asked) {
  const auto names =
      pop(request, "a result", "e.g. mlsysim export Llama3_70B H100 itl,ttft --accelerators 8 --language c");
  const auto q = subject_asked(std::move(request));
  std::vector<std::size_t> results;
  for (const auto name : names_in(names)) results.push_back(q.subject.result(name));
  const ExportedProgram program(q.subject.entry, results, q.subject.point);
  return {asked.language == "c" ? program.c_source(asked.name) : program.json()};
}

namespace {

std::string machine_of(const Scenario& s) {
  if (s.fleet != nullptr) return s.fleet->node->accelerator->name;
  return s.hardware == nullptr ? std::string() : s.hardware->name;
}

}  // namespace

Answer explain_metric(ScenarioRequest request, const ExplainRequest& asked, const RenderOptions& options) {
  const bool resolver = !request.targets.empty() && names_a_resolver(request.targets[0]);
  const auto metric = popped_result(request);
  const bool named = !metric.empty();
  Explanation found;
  std::vector<std::string> names;
  std::optional<BuiltScenario> built;  // the explanation refers to the files that it holds until it is text
  if (resolver) {
    const auto asked_of = resolver_of(request.targets);
    if (named)
      found = explanation(asked_of.resolver, asked_of.inputs->data(), metric, asked.open);
    else
      for (const auto& f : subject_of(asked_of.resolver, asked_of.inputs->data()).entry.results)
        names.push_back(f.name);
  } else {
    built = scenario_of(request);
    if (named) {
      found = explanation(built->scenario, metric, asked.open);
      found.assumptions.insert(found.assumptions.end(), built->assumptions.begin(), built->assumptions.end());
    } else {
      names = explainable_numbers(built->scenario);
    }
  }
  if (!named) {
    if (asked.latex)
      throw InputError({.id = "mlsysim.cli.069",
                        .message = "a list of what can be explained has no LaTeX",
                        .found = "no RESULT",
                        .expected = "the name of a number",
                        .hint = "e.g. mlsysim explain Llama3_70B H100 itl -o latex"});
    Table t{.schema = "mlsysim/table@1", .title = "what can be explained", .columns = {{"metric"}}};
    for (auto& name : names) t.rows.push_back({std::move(name)});
    return {render(t, options)};
  }
  if (asked.latex) return {latex_of(found, options.verbosity)};
  const auto unmeasured =
      built ? unmeasured_words(found.assumptions, machine_of(built->scenario)) : std::string();
  auto text = marked(render(found, options), {unmeasured}, options);
  if (request.interval > 0) {
    const auto q = subject_asked(request);
    const std::vector<std::string> one{metric == "memory" ? std::string("memory_used") : metric};
    text = with_intervals(std::move(text), intervals(q.subject, q.about, one, request.interval), options);
  }
  return {std::move(text)};
}

Answer solve_question(ScenarioRequest request, const SolveRequest& asked, const RenderOptions& options) {
  const auto free = pop(request, "an input",
                        "e.g. mlsysim solve Llama3_70B H100 'itl <= 30 ms' batch_size --accelerators 8");
  if (asked.limits.size() > 1)
    throw InputError(
        {.id = "mlsysim.cli.252",
         .message = "one input meets one condition",
         .key = "solve",
         .found = fmt::format("{} limits", asked.limits.size()),
         .expected = "one of --ttft, --itl and --e2e",
         .hint = "mlsysim optimize takes several: --axis batch_size=1..256 --maximize batch_size"});
  const auto condition =
      !asked.limits.empty()
          ? asked.limits.front().condition()
          : pop(request, "a condition",
                "e.g. mlsysim solve Llama3_70B H100 'itl <= 30 ms' batch_size --accelerators 8");
  if (condition.find_first_of("<>=") == std::string::npos)
    throw InputError(
        {.id = "mlsysim.cli.375",
         .message = "the command line has no condition to solve for",
         .key = "solve",
         .found = fmt::format("'{}'", condition),
         .expected = "a condition, or one of --ttft, --itl and --e2e",
         .hint = "e.g. mlsysim solve Llama3_70B H100 'itl <= 30 ms' batch_size --accelerators 8"});
  const auto q = subject_asked(request, std::span(&free, 1));
  SolveDomain domain;
  if (!asked.low.empty()) domain.low = AnyQuantity::parse(asked.low);
  if (!asked.high.empty()) domain.high = AnyQuantity::parse(asked.high);
  const auto answer = solve(q.subject, condition, free, domain);
  if (!answer)
    return {render(*answer.why(), options), fmt::format("mlsysim: infeasible: {}\n", answer.why()->reason),
            Exit::infeasible};
  auto text = marked(render(*answer, options), {q.subject.unmeasured}, options);
  if (request.interval > 0) {
    Subject there = q.subject;
    there.point[there.input(free)] = answer->value;
    const std::vector<std::string> one{answer->result.name};
    text = with_intervals(std::move(text), intervals(there, q.about, one, request.interval), options);
  }
  return {std::move(text)};
}

AskedSubject changed_subject(ScenarioRequest request, const std::vector<std::string>& changes) {
  const bool resolver = !request.targets.empty() && names_a_resolver(request.targets[0]);
  std::vector<std::string> figures;
  for (const auto& change : changes) {
    const auto equals = change.find('=');
    if (equals == std::string::npos)
      throw InputError({.id = "mlsysim.cli.063",
                        .message = "a change has no value",
                        .found = fmt::format("'{}'", change),
                        .expected = "NAME=VALUE, e.g. precision=fp8"});
    const auto key = change.substr(0, equals), text = change.substr(equals + 1);
    if (resolver) {
      std::erase_if(request.targets, [&](const std::string& word) { return word.starts_with(key + "="); });
      request.targets.push_back(change);
    } else if (key.find('.') != std::string::npos) {
      figures.push_back(change);
    } else if (key == "hardware" && request.targets.size() == 2) {
      request.targets[1] = text;
    } else if (key == "workload" && request.targets.size() == 2) {
      request.targets[0] = text;
    } else {
      request.fields.insert_or_assign(key, text);
    }
  }
  auto q = subject_asked(std::move(request));
  FieldReader reader(zoo());
  for (const auto& change : figures) {
    const auto equals = change.find('=');
    const auto at = q.subject.input(change.substr(0, equals));
    q.subject.point[at] =
        std::get<double>(reader.read(q.subject.entry.inputs[at], change.substr(equals + 1)).value);
  }
  return q;
}

namespace {

bool names_a_machine(const std::string& word) {
  try {
    ScenarioBuilder(zoo()).check("hardware", word, {});
    return true;
  } catch (const Error&) {
    return false;
  }
}

/// `MODEL A B`, `MODEL A,B` and `X,Y MACHINE`: the second of the two is a change of the first.
void take_second(ScenarioRequest& request, std::vector<std::string>& with) {
  auto& words = request.targets;
  if (words.empty() || names_a_resolver(words[0]) || names_a_file(words[0])) return;
  for (const std::size_t i : {0, 1}) {
    const auto comma = i < words.size() ? words[i].find(',') : std::string::npos;
    if (comma == std::string::npos) continue;
    with.push_back((i == 0 ? "workload=" : "hardware=") + words[i].substr(comma + 1));
    words[i].resize(comma);
  }
  if (words.size() > 2 && names_a_machine(words[2])) {
    with.push_back("hardware=" + words[2]);
    words.erase(words.begin() + 2);
  }
}

}  // namespace

std::vector<LimitAt> limits_at(const Subject& subject, std::span<const ServiceLimit> limits) {
  std::vector<LimitAt> out;
  if (limits.empty()) return out;
  const auto values = subject.entry(subject.point);
  const auto number = [&](std::string_view name) -> const double* {
    const auto* f = find_field(subject.entry.results, name);
    return f == nullptr ? nullptr : &values[static_cast<std::size_t>(f - subject.entry.results.data())];
  };
  // A replica that does not fit, or falls behind, keeps no limit.
  std::string not_served;
  if (const double* x = number("memory_shortfall"); x != nullptr && *x > 0)
    not_served = fmt::format("not served, {} short of memory", pretty(AnyQuantity(Data<>::from_base(*x)), 3));
  else if (const double* over = number("overload"); over != nullptr && *over > 0)
    not_served = "not served, more requests arrive than leave";
  for (const auto& limit : limits) {
    const double* x = number(limit.result());
    if (x == nullptr)
      throw InputError({.id = "mlsysim.cli.317",
                        .message = fmt::format("nothing holds the limit '{}' here", limit.text()),
                        .key = limit.time,
                        .found = fmt::format("no {} of {}", limit.result(), subject.title),
                        .expected = "a served model, and a mean where the load is a burst",
                        .hint = "leave out the limit, or state a load: --concurrency or --rate"});
    out.push_back({.limit = limit.text(),
                   .found = not_served.empty() ? pretty(AnyQuantity(Time<>::from_base(*x)), 3) : not_served,
                   .result = std::string(limit.result()),
                   .most = limit.most.base(),
                   .value = *x,
                   .met = not_served.empty() && *x <= limit.most.base()});
  }
  return out;
}

std::string words_of(std::span<const LimitAt> limits) {
  std::string out;
  for (const auto& l : limits)
    out += fmt::format("{}{}: {}, {}", out.empty() ? "" : "; ", l.limit, l.found, l.met ? "met" : "broken");
  return out;
}

bool all_met(std::span<const LimitAt> limits) {
  return std::all_of(limits.begin(), limits.end(), [](const LimitAt& l) { return l.met; });
}

namespace {

nlohmann::ordered_json json_of(const LimitAt& l) {
  return {{"found_ms", 1e3 * l.value}, {"words", l.found}, {"met", l.met}};
}

/// Says below the verdict of a comparison whether both sides keep the limits; nothing without limits.
std::string with_limits(std::string text, std::span<const LimitAt> first, std::span<const LimitAt> second,
                        const RenderOptions& options) {
  if (first.empty()) return text;
  if (options.format == OutputFormat::json) {
    auto whole = nlohmann::ordered_json::parse(text);
    auto& all = whole["limits"] = nlohmann::ordered_json::array();
    for (std::size_t i = 0; i < first.size(); ++i)
      all.push_back({{"result", first[i].result},
                     {"most_ms", 1e3 * first[i].most},
                     {"first", json_of(first[i])},
                     {"second", json_of(second[i])}});
    return detail::json_document(whole);
  }
  if (options.format == OutputFormat::csv) return text;
  return text.insert(
      std::min(text.find('\n') + 1, text.size()),
      fmt::format("limits, first: {}\nlimits, second: {}\n", words_of(first), words_of(second)));
}

}  // namespace

Answer compare_question(ScenarioRequest request, const CompareRequest& asked, const RenderOptions& options) {
  auto with = asked.with;
  take_second(request, with);
  auto result = popped_result(request);
  if (with.empty())
    throw InputError(
        {.id = "mlsysim.cli.064",
         .message = "there is nothing to compare with",
         .expected = "a second machine, or --with NAME=VALUE",
         .hint = "e.g. mlsysim compare Llama3_70B H100 H200 --accelerators 8, or --with precision=fp8"});
  const auto from = changed_subject(request, asked.against), to = changed_subject(request, with);
  if (result.empty()) result = main_result(from.subject);
  auto difference = compare(from.subject, to.subject, result);
  if (difference.from == difference.to) {  // titles do not name all that differs
    for (const auto& change : asked.against) difference.from += ", " + change;
    for (const auto& change : with) difference.to += ", " + change;
  }
  const bool brief = options.format == OutputFormat::text && options.verbosity == Verbosity::brief;
  std::vector<NumberInterval> both;
  std::vector<const char*> side;
  if (brief || request.interval > 0)
    for (const auto* of : {&from, &to})
      for (auto& n : intervals(of->subject, of->about, std::span(&result, 1),
                               request.interval > 0 ? request.interval : kUsualLevel,
                               {.samples = request.interval > 0 ? kAskedSamples : kCardSamples})) {
        both.push_back(std::move(n));
        side.push_back(of == &from ? "first" : "second");
      }
  const bool known = both.size() == 2;
  auto text = render(difference, options, known ? &both.front() : nullptr, known ? &both.back() : nullptr);
  text = marked(std::move(text), {from.subject.unmeasured, to.subject.unmeasured}, options);
  if (request.interval > 0) {
    for (std::size_t k = 0; k < both.size(); ++k)
      both[k].result = fmt::format("{}.{}", side[k], both[k].result);
    text = with_intervals(std::move(text), both, options);
  }
  const auto first = limits_at(from.subject, request.limits), second = limits_at(to.subject, request.limits);
  Answer out{with_limits(std::move(text), first, second, options)};
  if (all_met(first) && all_met(second)) return out;
  out.exit = Exit::assertion_failed;
  if (options.format == OutputFormat::csv)
    out.diagnostics = fmt::format("mlsysim: limits, first: {}\nmlsysim: limits, second: {}\n",
                                  words_of(first), words_of(second));
  return out;
}

namespace {

/// The answer of one process, or of that of part 1 to samples that several evaluate.
Answer uncertainty_here(ScenarioRequest request, const UncertaintyRequest& asked, const SharedSamples& shared,
                        const RenderOptions& options) {
  auto results = popped_result(request);
  const auto q = subject_asked(request);
  if (results.empty()) results = main_result(q.subject);
  UncertaintyQuestion question{.figures = {},
                               .estimates = !asked.given_only,
                               .results = {},
                               .samples = asked.samples,
                               .seed = asked.seed,
                               .coverage = asked.coverage,
                               .shared = shared};
  if (!asked.memory.empty()) {
    const double bytes = AnyQuantity::parse(asked.memory).in("B");
    question.memory = static_cast<std::uint64_t>(std::clamp(bytes, 0.0, 1e18));
  }
  for (const auto& text : asked.uncertain) question.figures.push_back(UncertainFigure::parse(text));
  for (std::size_t at = 0; at <= results.size();) {
    const auto comma = std::min(results.find(',', at), results.size());
    question.results.push_back(results.substr(at, comma - at));
    at = comma + 1;
  }
  auto report = uncertainty(q.subject, question);
  if (!asked.with.empty()) {
    const auto other = changed_subject(std::move(request), asked.with);
    report.ranking = rank(q.subject, other.subject, question.results.front(), question);
  }
  if (question.shared.part != 1) return {};
  // Parameter ranges are part of the error; the intervals add how far the model missed its measurements.
  if (options.format == OutputFormat::csv) return {render(report, options)};
  question.shared = {};  // the others are done
  return {with_intervals(marked(render(report, options), {q.subject.unmeasured}, options),
                         intervals(q.subject, q.about, question.results, kUsualLevel, question), options)};
}

}  // namespace

Answer uncertainty_of(ScenarioRequest request, const UncertaintyRequest& asked,
                      const RenderOptions& options) {
  const auto here = [&](const SharedSamples& shared) {
    return uncertainty_here(std::move(request), asked, shared, options);
  };
  return asked.mpi ? sampled_on_ranks(here) : here({});
}

}  // namespace mlsysim::cli
