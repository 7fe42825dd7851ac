#include "commands_size.hpp"
#include "cli/output.hpp"

#include <mlsysim/files/detail/files.hpp>
#include <mlsysim/intervals/model_error.hpp>
#include <mlsysim/report/explore_report.hpp>
#include <mlsysim/sizing/claim.hpp>
#include <mlsysim/sizing/decide.hpp>
#include <mlsysim/sizing/report.hpp>
#include <mlsysim/units/any_quantity.hpp>
#include <mlsysim/units/unit.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <sstream>

namespace mlsysim::cli {
namespace {

/// The question, common to all machines, and a scenario per machine. Owns what the scenarios point to.
struct Asked {
  SizeQuestion question;
  std::vector<BuiltScenario> machines;
};

void refuse_counts(const ScenarioRequest& request, bool trains) {
  for (const std::string_view name :
       {"accelerators", "node_count", "accelerators_per_node", "load", "concurrency", "burst", "batch_size"})
    if (request.fields.contains(std::string(name)) && !(trains && name == "batch_size"))
      throw InputError({.id = "mlsysim.cli.240",
                        .message = fmt::format("'{}' is part of the answer", name),
                        .key = std::string(name),
                        .found = fmt::format("{} {}", name, request.fields.at(std::string(name))),
                        .expected = "a rate and limits, or tokens and a time",
                        .hint = "leave it out; --most-devices bounds the answer"});
}

/// Prices by the names that the machines of the zoo have: "H200=3.2 USD/h".
template <class NameOf>
std::map<std::string, std::string> prices_of(const std::vector<std::string>& prices, const NameOf& name_of,
                                             const std::set<std::string>& machines) {
  std::map<std::string, std::string> out;
  for (const auto& p : prices) {
    const auto equals = p.find('=');
    if (equals == std::string::npos)
      throw InputError({.id = "mlsysim.cli.241",
                        .message = "this is no price of a machine",
                        .key = "price",
                        .found = fmt::format("'{}'", p),
                        .expected = "MACHINE=PRICE, of one device and hour",
                        .hint = "e.g. --price 'H200=3.2 USD/h'"});
    const auto name = name_of(p.substr(0, equals));
    if (!machines.contains(name))
      throw InputError({.id = "mlsysim.cli.243",
                        .message = fmt::format("there is a price for '{}', which is not asked about", name),
                        .key = "price",
                        .found = fmt::format("'{}'", p),
                        .expected = fmt::format("one of {}", fmt::join(machines, ", ")),
                        .hint = "prices name machines as --on does"});
    if (const auto [known, first] = out.emplace(name, p.substr(equals + 1)); !first)
      throw InputError({.id = "mlsysim.cli.255",
                        .message = fmt::format("'{}' has two prices", name),
                        .key = "price",
                        .found = fmt::format("{} and {}", known->second, p.substr(equals + 1)),
                        .expected = "one price of each machine",
                        .hint = "leave one out"});
  }
  return out;
}

/// Takes the words behind the model as machines: `decide MODEL A B` and `decide MODEL A,B` are --on A,B.
void take_machines(ScenarioRequest& request, SizeRequest& asked) {
  for (; request.targets.size() > 1; request.targets.erase(request.targets.begin() + 1)) {
    std::istringstream words(request.targets[1]);
    for (std::string machine; std::getline(words, machine, ',');) asked.on.push_back(std::move(machine));
  }
}

Asked ask(ScenarioRequest request, const SizeRequest& asked) {
  const auto longest = request.fields.extract("max_seq_len");  // of recorded traffic
  if (request.targets.size() != 1 || asked.on.empty())
    throw InputError(
        {.id = "mlsysim.cli.242",
         .message = "a size needs a model and a machine",
         .found = fmt::format("{} words and {} machines", request.targets.size(), asked.on.size()),
         .expected = "MODEL --on MACHINE",
         .hint = "e.g. mlsysim size Llama3_70B --on H100 --rate 10/s --ttft '2 s' --itl '30 ms'"});
  const bool run = request.fields.contains("training_tokens") || !asked.within.empty();
  const auto mode = request.fields.find("mode");
  refuse_counts(request, run || (mode != request.fields.end() && mode->second == "train"));
  const auto on_machine = [&](const std::string& machine) {
    ScenarioRequest one = request;
    one.targets.push_back(machine);
    if (run) one.fields["mode"] = "train";
    return one;
  };
  const auto name_of = [&](const std::string& machine) {
    return machine_name(scenario_of(on_machine(machine)).scenario);
  };
  std::vector<std::string> names;
  for (const auto& machine : asked.on) {
    auto name = name_of(machine);
    if (std::ranges::find(names, name) != names.end())
      throw InputError({.id = "mlsysim.cli.373",
                        .message = fmt::format("'{}' is asked about twice", name),
                        .key = "--on",
                        .found = fmt::format("{}", fmt::join(asked.on, ", ")),
                        .expected = "each machine once",
                        .hint = "leave one out"});
    names.push_back(std::move(name));
  }
  const auto prices = prices_of(asked.prices, name_of, {names.begin(), names.end()});
  Asked out;
  for (std::size_t i = 0; i < names.size(); ++i) {
    ScenarioRequest one = on_machine(asked.on[i]);
    if (const auto price = prices.find(names[i]); price != prices.end()) one.fields["rent"] = price->second;
    // Where no price is given the market's is taken, so that all machines are paid in one way.
    if (!one.fields.contains("payment") && !one.fields.contains("unit_cost"))
      one.fields["payment"] = "rented";
    out.machines.push_back(scenario_of(one));
  }
  out.question = mlsysim::size_question(out.machines.front().scenario,
                                        {.within = asked.within,
                                         .most_devices = asked.most_devices,
                                         .most_replica_devices = asked.most_replica_devices,
                                         .level = asked.level,
                                         .disaggregated = asked.disaggregated,
                                         .precisions = asked.precisions});
  out.question.limits = asked.limits;
  if (longest) out.question.longest_request = AnyQuantity::parse(longest.mapped()).base();
  for (const auto& [name, text] : request.fields) out.question.stated.insert(name);
  for (auto& m : out.machines) m.scenario.arrival_rate.reset();
  return out;
}

Answer refused(const Infeasible& why, const RenderOptions& options) {
  std::string diagnostics = fmt::format("mlsysim: infeasible: {}\n", why.reason);
  if (!why.smallest_change.empty()) diagnostics += fmt::format("mlsysim: try: {}\n", why.smallest_change);
  return {render(why, options), std::move(diagnostics), Exit::infeasible};
}

std::string notes_of(const std::vector<BuiltScenario>& machines) {
  std::vector<std::string> seen;
  std::string out;
  for (const auto& m : machines)
    for (const auto& w : m.warnings)
      if (std::find(seen.begin(), seen.end(), w) == seen.end()) {
        seen.push_back(w);
        out += fmt::format("mlsysim: note: {}\n", w);
      }
  return out;
}

/// The measurements of the zoo with those of the user, where there are any; says what these are.
std::optional<ErrorBook> book_of(const SizeRequest& asked, std::string& rests_on) {
  if (asked.measured.against.empty()) {
    if (asked.measured.measurand.empty()) return std::nullopt;
    throw InputError({.id = "mlsysim.cli.370",
                      .message = "a measurand says what a file measures",
                      .key = "--measurand",
                      .found = fmt::format("--measurand {} without --measured", asked.measured.measurand),
                      .expected = "--measured FILE beside it",
                      .hint = "leave it out, or name the file"});
  }
  auto groups = ErrorBook::standard().groups();
  for (auto& own : measured_groups(asked.measured)) {
    if (!own.unmeasured)
      rests_on += fmt::format("mlsysim: note: the intervals rest on {} rows of {} {} as well\n", own.rows,
                              own.subject.device, own.subject.metric);
    groups.push_back(std::move(own));
  }
  return ErrorBook(std::move(groups));
}

}  // namespace

Answer size_question(ScenarioRequest request, SizeRequest asked, const RenderOptions& options) {
  take_machines(request, asked);
  if (asked.on.size() > 1)
    throw InputError({.id = "mlsysim.cli.244",
                      .message = "size is asked of one machine",
                      .key = "on",
                      .found = fmt::format("{}", fmt::join(asked.on, ", ")),
                      .expected = "one machine",
                      .hint = "mlsysim decide compares several"});
  Asked q = ask(request, asked);
  std::string rests_on;
  const auto book = book_of(asked, rests_on);
  if (book) q.question.book = &*book;
  const auto found = size(q.question);
  if (!found) return refused(*found.why(), options);
  return {render(q.question, found.value(), options), notes_of(q.machines) + rests_on};
}

Answer decide_question(ScenarioRequest request, SizeRequest asked, const RenderOptions& options) {
  take_machines(request, asked);
  const auto target = target_of(asked.output);
  if (!target.file.empty() && target.form != "html" && target.form != "md" && target.form != "pdf")
    throw InputError(
        {.id = "mlsysim.cli.251",
         .message = "a decision has no such form",
         .key = "--output",
         .found = fmt::format("'{}'", asked.output),
         .expected = "text, json, markdown, csv, html, or a file that ends in .html, .md or .pdf",
         .hint = "e.g. -o decision.pdf"});
  const files::WriteHow how{.replace = asked.force ? files::Replace::any : files::Replace::own,
                            .mark = "mlsysim"};
  if (!target.file.empty()) files::check_target(target.file, how);
  const files::WriteHow of_points{.replace = how.replace, .mark = "mlsysim/measure-request@1"};
  if (!asked.points.empty() && asked.points == target.file)
    throw InputError({.id = "mlsysim.cli.371",
                      .message = "the page and the points are two files",
                      .key = "--points",
                      .found = fmt::format("'{}' twice", asked.points),
                      .expected = "another name for one of them",
                      .hint = "e.g. --points points.json"});
  if (!asked.points.empty()) files::check_target(asked.points, of_points);
  const Asked q = ask(request, asked);
  DecideQuestion question{.ask = q.question, .machines = {}};
  for (const auto& m : q.machines) question.machines.push_back(m.scenario);
  std::string rests_on;
  const auto book = book_of(asked, rests_on);
  if (book) question.ask.book = &*book;
  const auto found = decide(question);
  if (!found) return refused(*found.why(), options);
  auto notes = notes_of(q.machines) + rests_on;
  if (!asked.points.empty() && found.value().next.empty())
    notes +=
        fmt::format("mlsysim: note: no kernel makes this choice surer: '{}' is not written\n", asked.points);
  else if (!asked.points.empty())
    files::write(asked.points, measure_points(found.value()), of_points);
  if (target.form != "html" && target.file.empty()) return {render(question, found.value(), options), notes};
  const auto page = target.form == "md"
                        ? "<!-- mlsysim decide -->\n\n" +
                              render(question, found.value(), {.format = OutputFormat::markdown})
                        : decision_page(question, found.value());
  if (target.file.empty()) return {page, notes};
  if (target.form == "pdf")
    print_html(page, page, target.file);
  else
    files::write(target.file, page, how);
  return {fmt::format("{}\n", target.file), notes};
}

Answer claim_question(const ScenarioRequest& request, const RenderOptions& options) {
  const Claim claim = Claim::parse(fmt::format("{}", fmt::join(request.targets, " ")));
  ScenarioRequest one = request;
  one.targets = {claim.model, claim.machine};
  const auto built = scenario_of(one);
  const auto verdict = judge(claim, built.scenario);
  return {render(claim, verdict, options),
          {},
          verdict.kind == ClaimVerdict::Kind::impossible ? Exit::infeasible : Exit::fine};
}

}  // namespace mlsysim::cli
