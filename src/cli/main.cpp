// The program `mlsysim`: reads the command line. The only file that includes CLI11.

#include "commands.hpp"
#include "output.hpp"

#include <mlsysim/catalogue/models/single_node.hpp>
#include <mlsysim/units/near_miss.hpp>
#include <mlsysim/version.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <optional>

namespace mlsysim::cli {
namespace {

/// What an option of the command line feeds, for completion.
struct OptionValues {
  Place place = Place::none;
  std::vector<std::string> choices;
};

/// The command line as CLI11 sees it, and what to do once it was read.
class Program {
 public:
  Program();
  int run(int argc, char** argv);
  /// Candidates for the last word.
  Answer complete(std::vector<std::string> words);

 private:
  using Command = std::function<Answer()>;
  CLI::App* command(CLI::App& parent, const char* name, const char* about, const char* examples, Command run,
                    std::vector<Place> places = {});
  void scenario_options(CLI::App& app, std::optional<Mode> fixed);
  void eval_commands();
  void zoo_commands();
  void pipeline_commands();
  void small_commands();
  Answer execute();
  [[nodiscard]] std::string explain_usage(const CLI::ParseError& error) const;
  [[nodiscard]] const CLI::App* innermost() const;

  CLI::App app_{"Predicts in closed form what a machine-learning workload does on a machine or a fleet.", "mlsysim"};
  RenderOptions render_;
  std::string format_ = "text";
  bool verbose_ = false;
  std::vector<std::string> zoo_paths_, words_;
  ScenarioRequest scenario_;
  SweepRequest sweep_;
  PipelineRequest pipeline_;
  std::string first_, second_, form_ = "text";
  std::vector<std::string> paths_;
  bool yaml_ = false;
  std::map<const CLI::App*, Command> commands_;
  std::map<const CLI::App*, std::vector<Place>> places_;
  std::map<const CLI::Option*, OptionValues> values_;
};

std::string dashed(std::string_view name) {
  std::string out(name);
  std::replace(out.begin(), out.end(), '_', '-');
  return out;
}

std::string help_of(const FieldInfo& f) {
  std::string out(f.meaning);
  if (!f.unit.empty()) out += fmt::format(" [{}]", f.unit);
  if (!f.choices.empty() && f.name != "mode") out += fmt::format(": {}", fmt::join(f.choices, ", "));
  if (!f.default_source.empty()) out += fmt::format(" (default: {})", f.default_source);
  return out;
}

const char* short_form(std::string_view field) {
  if (field == "batch_size") return "-b,";
  if (field == "precision") return "-p,";
  if (field == "efficiency") return "-e,";
  if (field == "seq_len") return "-s,";
  return "";
}

std::string type_word(const FieldInfo& f) {
  if (f.kind == ValueKind::quantity) return "QUANTITY";
  if (f.kind == ValueKind::object) return "NAME";
  if (f.kind == ValueKind::choice) return "NAME";
  return f.kind == ValueKind::flag ? "true|false" : f.kind == ValueKind::text ? "TEXT" : "N";
}

constexpr const char* kEvalExamples =
    "Examples:\n"
    "  mlsysim eval Llama3_70B H100 --accelerators 8 --precision fp8 --batch-size 16 --output-tokens 512\n"
    "  mlsysim eval Llama3_8B Research_256 --mode train --batch-size 1024 --seq-len 4096 --zero-stage 1\n"
    "  mlsysim eval plan.yaml --region Quebec -o json\n"
    "HARDWARE is a device (H100), a node (DGX_H100), a pod or a cluster (Research_256) of the zoo, or a YAML file.\n"
    "Quantities carry their unit: --intra-node-bw '450 GB/s'. Options replace what a plan says.\n"
    "Exit codes: 0 fine, 1 bad input, 2 does not fit, 3 an assertion of the plan failed.";

Program::Program() {
  app_.require_subcommand(1);
  app_.fallthrough();
  app_.get_formatter()->column_width(34);
  app_.add_option("-o,--output", format_, "text, json, markdown or csv; before or after the command")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"text", "json", "markdown", "csv"}));
  app_.add_flag("-v,--verbose", verbose_, "assumptions with their sources, every part of the memory");
  app_.add_option("--zoo", zoo_paths_, "a YAML file or folder of your own, read beside the zoo; may be repeated")
      ->type_name("PATH")
      ->allow_extra_args(false);
  app_.set_version_flag("--version", std::string(version_text), "print the version");
  app_.footer(
      "Examples:\n"
      "  mlsysim eval Llama3_70B H100 --accelerators 8\n"
      "  mlsysim explain Llama3_70B H100 itl --accelerators 8\n"
      "  mlsysim zoo search llama\n"
      "Every command has examples of its own: mlsysim COMMAND --help\n"
      "Exit codes: 0 fine, 1 bad input, 2 does not fit, 3 an assertion of the plan failed.");
  values_[app_.get_option("--output")].choices = {"text", "json", "markdown", "csv"};
  eval_commands();
  zoo_commands();
  pipeline_commands();
  small_commands();
}

CLI::App* Program::command(CLI::App& parent, const char* name, const char* about, const char* examples, Command run,
                           std::vector<Place> places) {
  auto* sub = parent.add_subcommand(name, about);
  sub->footer(examples);
  if (run) commands_[sub] = std::move(run);
  else sub->require_subcommand(1);
  places_[sub] = std::move(places);
  return sub;
}

/// One option per field of the table of Scenario.
void Program::scenario_options(CLI::App& app, std::optional<Mode> fixed) {
  for (const auto& f : describe<Scenario>()) {
    if (f.name == "workload" || f.name == "hardware" || f.name == "fleet" || f.name == "conventions") continue;
    if (fixed && f.name == "mode") continue;
    if (fixed) {
      const auto used = fields_used_in(*fixed);
      if (std::find(used.begin(), used.end(), f.name) == used.end()) continue;
    }
    auto* option = app.add_option_function<std::string>(
        fmt::format("{}--{}", short_form(f.name), dashed(f.name)),
        [this, name = f.name](const std::string& text) { scenario_.fields[name] = text; }, help_of(f));
    option->type_name(type_word(f))->group("Scenario");
    auto& values = values_[option];
    values.choices.assign(f.choices.begin(), f.choices.end());
    if (f.name == "grid") values.place = Place::grid;
    if (f.name == "datacenter") values.place = Place::datacenter;
  }
  auto* region = app.add_option("--region", scenario_.region, "name of a grid or of a datacenter");
  region->type_name("NAME")->group("Scenario");
  values_[region].place = Place::grid;
  if (fixed) app.preparse_callback([this, mode = *fixed](std::size_t) { scenario_.fields["mode"] = name_of(mode); });
}

void Program::eval_commands() {
  const auto target = [this](CLI::App& app, const char* name, const char* about) {
    return app.add_option_function<std::string>(name, [this](const std::string& text) { scenario_.targets.push_back(text); }, about)
        ->type_name("");
  };
  const auto targets = [target](CLI::App& app, const char* machine) {
    target(app, "MODEL", "a model of the zoo or a YAML file with one; or a plan file, alone")->required();
    target(app, machine, "a device, node, pod or cluster of the zoo, or a YAML file with one");
  };
  const auto run = [this] { return eval(scenario_, render_); };
  auto* e = command(app_, "eval", "scorecard of a model on hardware, or of a plan: does it fit, how fast, at what cost",
                    kEvalExamples, run, {Place::model, Place::machine});
  targets(*e, "HARDWARE");
  scenario_options(*e, std::nullopt);
  auto* s = command(app_, "serve", "the same as eval --mode serve",
                    "Example:\n  mlsysim serve Llama3_8B H100 --batch-size 32 --seq-len 1024 --output-tokens 256", run,
                    {Place::model, Place::machine});
  targets(*s, "HARDWARE");
  scenario_options(*s, Mode::serve);
  auto* t = command(app_, "train", "the same as eval --mode train",
                    "Example:\n  mlsysim train Llama3_8B Research_256 --batch-size 1024 --seq-len 4096 --zero-stage 1", run,
                    {Place::model, Place::machine});
  targets(*t, "FLEET");
  scenario_options(*t, Mode::train);
  auto* x = command(app_, "explain", "where a number of the scorecard comes from, law by law",
                    "Examples:\n"
                    "  mlsysim explain Llama3_70B H100 itl --accelerators 8\n"
                    "  mlsysim explain plan.yaml ttft\n"
                    "  mlsysim explain Llama3_70B H100          lists what can be explained",
                    [this] { return explain_metric(scenario_, render_); }, {Place::model, Place::machine, Place::metric});
  targets(*x, "HARDWARE");
  target(*x, "METRIC", "name in the scorecard; without one, what can be explained is listed");
  scenario_options(*x, std::nullopt);

  auto* w = command(app_, "sweep", "one batch on several devices, batch sizes and precisions",
                    "Example:\n  mlsysim sweep Llama3_8B A100,H100,H200 --batch-size 1,8,64 --precision bf16 -o csv",
                    [this] { return sweep(sweep_, render_); }, {Place::model, Place::device});
  w->add_option("MODEL", sweep_.model, "a model of the zoo, or a YAML file")->required()->type_name("");
  w->add_option("HARDWARE", sweep_.hardware, "devices of the zoo, separated by commas")->required()->delimiter(',')->type_name("");
  w->add_option("-b,--batch-size", sweep_.batch_sizes, "samples of one batch, separated by commas (default: one)")
      ->delimiter(',')->type_name("N,...")->allow_extra_args(false);
  auto* p = w->add_option("-p,--precision", sweep_.precisions, "precisions, separated by commas (default: fp16, as in the Python package)")
                ->delimiter(',')->type_name("NAME,...")->allow_extra_args(false);
  values_[p].choices.assign(Choices<Precision>::names.begin(), Choices<Precision>::names.end());
  for (const auto& f : describe<SingleNodeModel::Inputs>()) {
    if (f.kind == ValueKind::object || f.name == "batch_size" || f.name == "precision") continue;
    auto* option = w->add_option_function<std::string>(
        fmt::format("{}--{}", short_form(f.name), dashed(f.name)),
        [this, name = f.name](const std::string& text) { sweep_.fields[name] = text; }, help_of(f));
    option->type_name(type_word(f))->group("Scenario");
    values_[option].choices.assign(f.choices.begin(), f.choices.end());
  }
}

void Program::zoo_commands() {
  auto* z = command(app_, "zoo", "what is known by name: devices, models, systems, grids, prices", "Example:\n  mlsysim zoo list hardware",
                    nullptr);
  auto* list = command(*z, "list", "entries of a kind with their main figures, or of all kinds",
                       "Examples:\n  mlsysim zoo list\n  mlsysim zoo list models\n  mlsysim zoo list hardware -o csv",
                       [this] { return zoo_list(first_, render_); }, {Place::kind});
  list->add_option("KIND", first_, "hardware, model, node, cluster, grid, ...; default: all")->type_name("");
  auto* show = command(*z, "show", "every figure of an entry with its source", "Examples:\n  mlsysim zoo show H100\n  mlsysim zoo show H100 --yaml",
                       [this] { return zoo_show(first_, second_, yaml_ ? ShowAs::yaml : ShowAs::report, render_); }, {Place::entry});
  show->add_option("NAME", first_, "name or alias of an entry")->required()->type_name("");
  values_[show->add_option("--kind", second_, "kind of the entry, where a name is used twice")->type_name("KIND")].place = Place::kind;
  show->add_flag("--yaml", yaml_, "as a YAML file that mlsysim reads again");
  auto* search = command(*z, "search", "entries whose name, alias or title is like the words", "Example:\n  mlsysim zoo search llama",
                         [this] { return zoo_search(first_, render_); }, {Place::entry});
  search->add_option("WORDS", first_, "part of a name or title")->required()->type_name("");
  auto* l = command(*z, "lint", "checks the files of the zoo and of the user", "Example:\n  mlsysim zoo lint my_devices.yaml --verbose",
                    [this] { return zoo_lint(paths_, render_); });
  l->add_option("PATH", paths_, "files and folders of your own, checked beside the zoo")->type_name("");
}

void Program::pipeline_commands() {
  auto* p = command(app_, "pipeline", "resolvers joined by their keys", "Example:\n  mlsysim pipeline show SingleNodeModel workload=Llama3_8B hardware=H100",
                    nullptr);
  const auto words = [this](CLI::App& app) {
    app.add_option("WORDS", pipeline_.words, "stages by resolver name (or instance:Name), and inputs as key=value")->required()->type_name("");
    app.add_option("--link", pipeline_.links, "connects a result to an input of another name; may be repeated")
        ->type_name("FROM=TO")->allow_extra_args(false);
  };
  auto* run = command(*p, "run", "runs stages and shows every result",
                      "Example:\n  mlsysim pipeline run ServingModel workload=Llama3_8B hardware=H100 seq_len=1024",
                      [this] { return pipeline_run(pipeline_, render_); }, {Place::resolver});
  words(*run);
  auto* show = command(*p, "show", "where each input comes from, without running",
                       "Example:\n  mlsysim pipeline show ServingModel workload=Llama3_8B hardware=H100 --format mermaid",
                       [this] { return pipeline_show(pipeline_, render_.format == OutputFormat::json ? "json" : form_); }, {Place::resolver});
  words(*show);
  auto* form = show->add_option("--format", form_, "text, dot, mermaid or json")->type_name("FORM")
                   ->check(CLI::IsMember({"text", "dot", "mermaid", "json"}));
  values_[form].choices = {"text", "dot", "mermaid", "json"};

  auto* r = command(app_, "resolver", "the models, solvers and optimizers", "Example:\n  mlsysim resolver show ServingModel", nullptr);
  command(*r, "list", "every resolver with its tier and purpose", "Example:\n  mlsysim resolver list -o json",
          [this] { return resolver_list(render_); });
  auto* one = command(*r, "show", "inputs, outputs, equation and source of a resolver", "Example:\n  mlsysim resolver show SingleNodeModel",
                      [this] { return resolver_show(first_, render_); }, {Place::resolver});
  one->add_option("NAME", first_, "name of a resolver")->required()->type_name("");
}

void Program::small_commands() {
  auto* s = command(app_, "schema", "JSON Schema of plan files and of the zoo's files, for editors",
                    "Examples:\n  mlsysim schema plan > plan.schema.json\n  mlsysim schema hardware",
                    [this] { return schema(first_.empty() ? "plan" : first_); }, {Place::schema_type});
  s->add_option("TYPE", first_, "plan, hardware, model, node, ...; default: plan")->type_name("");
  auto* u = command(app_, "units", "units and conversions", "Example:\n  mlsysim units convert '3.35 TB/s' GB/s", nullptr);
  auto* c = command(*u, "convert", "a quantity in another unit, exactly",
                    "Examples:\n  mlsysim units convert '3.35 TB/s' GB/s\n  mlsysim units convert '80 GiB' GB",
                    [this] { return units_convert(first_, second_, render_); }, {Place::none, Place::unit});
  c->add_option("QUANTITY", first_, "a number and its unit")->required()->type_name("");
  c->add_option("UNIT", second_, "unit of the answer")->required()->type_name("");
  command(*u, "list", "every unit, alias and refused spelling", "Example:\n  mlsysim units list", [this] { return units_list(render_); });
  command(app_, "version", "version of the program", "Example:\n  mlsysim version -o json", [this] { return version(render_); });
  auto* k = command(app_, "completion", "script that completes commands, options and zoo names in a shell",
                    "Examples:\n  source <(mlsysim completion bash)\n  mlsysim completion fish | source",
                    [this] { return Answer{completion_script(first_)}; }, {Place::shell});
  k->add_option("SHELL", first_, "bash, zsh or fish")->required()->type_name("");
}

const CLI::App* Program::innermost() const {
  const CLI::App* at = &app_;
  while (!at->get_subcommands().empty()) at = at->get_subcommands().front();
  return at;
}

std::vector<std::string> option_names(const CLI::App* at) {
  std::vector<std::string> out;
  for (; at != nullptr; at = at->get_parent())
    for (const auto* option : at->get_options()) {
      for (const auto& name : option->get_lnames()) out.push_back("--" + name);
      for (const auto& name : option->get_snames()) out.push_back("-" + name);
    }
  return out;
}

/// Words of the command line that look like options and are none of `known`.
std::vector<std::string> unknown_options(const std::vector<std::string>& words, const std::vector<std::string>& known) {
  std::vector<std::string> out;
  for (const auto& word : words) {
    if (word == "--") break;
    if (!word.starts_with("--")) continue;
    const auto bare = word.substr(0, word.find('='));
    if (std::find(known.begin(), known.end(), bare) == known.end()) out.push_back(bare);
  }
  return out;
}

/// CLI11's complaint in our words: what is near, and where to look.
std::string Program::explain_usage(const CLI::ParseError& error) const {
  const CLI::App* at = innermost();
  std::string path;
  for (const CLI::App* a = at; a != nullptr; a = a->get_parent()) path = a->get_name() + (path.empty() ? "" : " " + path);
  std::vector<std::string> commands;
  for (const auto* sub : at->get_subcommands(nullptr)) commands.push_back(sub->get_name());
  const auto options = option_names(at);
  // An option that there is not may come out as something else: its value looks like one argument too many.
  auto strange = unknown_options(words_, options);
  if (strange.empty() && dynamic_cast<const CLI::ArgumentMismatch*>(&error) == nullptr)
    for (const auto& word : app_.remaining(true)) strange.push_back(word);
  std::string text;
  for (const auto& word : strange) {
    const bool option = word.starts_with("-");
    if (!text.empty()) text += "\n";
    text += fmt::format("{} '{}'", option ? "unknown option" : commands.empty() ? "unexpected argument" : "unknown command", word);
    if (const auto near = did_you_mean(word, option ? options : commands); !near.empty()) text += "; " + near;
    if (!commands.empty() && !option) break;  // the words after an unknown command mean nothing yet
  }
  if (text.empty() && !commands.empty() && dynamic_cast<const CLI::RequiredError*>(&error) != nullptr)
    text = fmt::format("a command is missing; expected one of {}", fmt::join(commands, ", "));
  if (text.empty()) text = error.what();
  return fmt::format("mlsysim: error: {}\ntry: {} --help\n", text, path);
}

Answer Program::execute() {
  render_.format = *choice_of<OutputFormat>(format_);
  render_.verbosity = verbose_ ? Verbosity::verbose : Verbosity::brief;
  render_.colour = colour_of_stdout();
  render_.width = width_of_stdout();
  add_zoo_paths(zoo_paths_);
  return commands_.at(innermost())();
}

int Program::run(int argc, char** argv) {
  Answer answer;
  words_.assign(argv + 1, argv + std::max(argc, 1));
  try {
    app_.parse(argc, argv);
    answer = execute();
  } catch (const CLI::CallForHelp&) {
    answer = {app_.help()};
  } catch (const CLI::CallForVersion&) {
    answer = version(render_);
  } catch (const CLI::ParseError& error) {
    answer = {"", explain_usage(error), Exit::bad_input};
  } catch (const std::exception& error) {
    answer = {"", error_text(error), Exit::bad_input};
  }
  return put(answer);
}

Answer Program::complete(std::vector<std::string> words) {
  if (words.empty()) words.emplace_back();
  const std::string last = words.back();
  words.pop_back();
  CLI::App* at = &app_;
  std::size_t position = 0;
  const CLI::Option* open = nullptr;  // an option whose value is due
  for (const auto& word : words) {
    if (open != nullptr) {
      open = nullptr;
      continue;
    }
    if (word.starts_with("-") && word.size() > 1) {
      for (CLI::App* a = at; a != nullptr && open == nullptr; a = a->get_parent())
        if (const auto* option = a->get_option_no_throw(word); option != nullptr && option->get_items_expected_max() > 0) open = option;
      continue;
    }
    CLI::App* sub = nullptr;
    for (auto* s : at->get_subcommands(nullptr))
      if (s->get_name() == word) sub = s;
    if (sub != nullptr && position == 0) at = sub;
    else ++position;
  }
  std::vector<std::string> found;
  if (open != nullptr) {
    if (const auto known = values_.find(open); known != values_.end())
      found = known->second.choices.empty() ? candidates(known->second.place) : known->second.choices;
  } else if (last.starts_with("-")) {
    found = option_names(at);
  } else {
    for (const auto* s : at->get_subcommands(nullptr)) found.push_back(s->get_name());
    if (const auto known = places_.find(at); known != places_.end() && !known->second.empty()) {
      const auto& places = known->second;
      const bool repeats = places.back() == Place::resolver || places.back() == Place::device;
      if (position < places.size() || repeats)
        for (auto& name : candidates(places[std::min(position, places.size() - 1)])) found.push_back(std::move(name));
    }
  }
  Answer out;
  for (const auto& name : found)
    if (name.starts_with(last)) out.payload += name + "\n";
  return out;
}

}  // namespace
}  // namespace mlsysim::cli

int main(int argc, char** argv) {
  using namespace mlsysim::cli;
  prepare_process();
  try {
    Program program;
    if (argc > 1 && std::string_view(argv[1]) == "__complete") {
      try {
        return put(program.complete({argv + 2, argv + argc}));
      } catch (const std::exception&) {
        return static_cast<int>(Exit::bad_input);  // a shell that completes wants names or nothing
      }
    }
    return program.run(argc, argv);
  } catch (const std::exception& error) {
    return put({"", error_text(error), Exit::bad_input});
  }
}
