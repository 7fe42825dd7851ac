// Reading the command line, running the command, completing words.

#include "program.hpp"
#include "reading_notes.hpp"

#include <mlsysim/engine/field_input.hpp>
#include <mlsysim/resolver_api/registry.hpp>
#include <mlsysim/units/near_miss.hpp>
#include <mlsysim/version.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

namespace mlsysim::cli {

namespace {

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
std::vector<std::string> unknown_options(const std::vector<std::string>& words,
                                         const std::vector<std::string>& known) {
  std::vector<std::string> out;
  for (const auto& word : words) {
    if (word == "--") break;
    if (!word.starts_with("--")) continue;
    const auto bare = word.substr(0, word.find('='));
    if (std::find(known.begin(), known.end(), bare) == known.end()) out.push_back(bare);
  }
  return out;
}

/// Commands by what they are for. A test holds them against those that there are.
std::string first_screen() {
  return "Predict fit, speed, cost and carbon of machine-learning workloads on hardware.\n\n"
         "One setup       eval  memory  explain  report  plot\n"
         "How many        size  decide  claim\n"
         "What to change  compare  sensitivity  solve  sweep  optimize  pareto  uncertainty\n"
         "Your files      import  export  fit  trace  zoo  model-graph\n"
         "Accuracy        validate  calibrate  measure\n"
         "Operations      ci  watch  graph-breaks  support  submit  merge\n"
         "Extend          resolver  pipeline  plugin  walls  course  schema  mcp  units\n"
         "Short forms     serve  train  audit  completion  version\n\n"
         "Start here:     mlsysim eval Llama3_70B H100 --accelerators 8\n"
         "Examples:       mlsysim explain Llama3_70B H100 itl --accelerators 8\n"
         "                mlsysim zoo search llama\n"
         "Options:        mlsysim COMMAND --help (common), mlsysim COMMAND --help-all\n"
         "All commands:   mlsysim --help-all, a line for each, and options of all of them\n"
         "Exit codes: 0 fine, 1 bad input, 2 does not fit, 3 an assertion or limit was missed.\n";
}

/// The common options of a command, and where the others are.
std::string short_help(const CLI::App& command) {
  std::string above;
  for (const CLI::App* a = command.get_parent(); a != nullptr; a = a->get_parent())
    above = a->get_name() + (above.empty() ? "" : " " + above);
  auto out = command.help(above);
  const auto options = command.get_options();
  if (std::any_of(options.begin(), options.end(),
                  [](const CLI::Option* o) { return o->get_group().empty(); }))
    out += fmt::format("All options: {} {} --help-all\n", above, command.get_name());
  return out;
}

/// Commands whose answer is everything that is there, also what plugins bring.
bool lists_everything(std::string_view command) {
  for (const std::string_view name : {"list", "search", "lint", "support", "schema", "walls"})
    if (command == name) return true;
  return false;
}

}  // namespace

Program::Program(std::vector<std::string> words)
    : words_(std::move(words)),
      shows_all_(std::find(words_.begin(), words_.end(), "--help-all") != words_.end()) {
  app_.require_subcommand(1);
  app_.fallthrough();
  app_.get_formatter()->column_width(34);
  offer(app_, "-o,--output", format_,
        "text, json, markdown or csv, latex for explain, svg, png, html, vega or a file for plot; "
        "before or "
        "after the command",
        "FORMAT");
  app_.add_flag("-v,--verbose", verbose_, "assumptions with their sources, every part of the memory");
  offer(app_, "--zoo", zoo_paths_, "a YAML file or folder of your own, read beside the zoo; may be repeated",
        "PATH");
  offer(app_, "--plugin", plugins_.paths, "a plugin: library, manifest or folder; may be repeated", "PATH")
      ->group("Plugins");
  app_.add_flag("--no-plugins", plugins_.none, "load no plugin that is not named")->group("Plugins");
  app_.add_flag("--strict-plugins", plugins_.strict, "exit code 3 when a plugin fails")->group("Plugins");
  app_.add_flag("--isolate-plugins", plugins_.isolate, "run each plugin in a process of its own")
      ->group("Plugins");
  offer(app_, "--isolated", plugins_.isolated, "run this plugin in a process of its own; may be repeated",
        "NAME")
      ->group("Plugins");
  app_.add_flag("--project-plugins", plugins_.project, "also look in ./.mlsysim/plugins")->group("Plugins");
  app_.add_flag("--allow-insecure-plugins", plugins_.insecure, "also plugins that everybody can write to")
      ->group("Plugins");
  app_.add_flag("--print-config", print_config_,
                "run nothing: list what is in force for the command, from where, without secrets");
  app_.add_flag("--no-timestamps", no_timestamps_,
                "exports without times, so that two runs give the same bytes: as SOURCE_DATE_EPOCH=0");
  app_.set_help_flag("-h,--help", "Show the common options of a command");
  app_.set_help_all_flag("--help-all", "Show all options");
  app_.set_version_flag("--version", std::string(version_text), "print the version");
  app_.footer(
      "Examples:\n"
      "  mlsysim eval Llama3_70B H100 --accelerators 8\n"
      "  mlsysim explain Llama3_70B H100 itl --accelerators 8\n"
      "  mlsysim zoo search llama\n"
      "Every command has examples of its own: mlsysim COMMAND --help\n"
      "Exit codes: 0 fine, 1 bad input, 2 does not fit, 3 an assertion of the plan failed.");
  values_[app_.get_option("--output")].choices = {"text", "json", "markdown", "csv"};
  take_known_command();
  eval_commands();
  zoo_commands();
  memory_command();
  agent_command();
  model_commands();
  compile_commands();
  ci_commands();
  picture_commands();
  launch_commands();
  traffic_commands();
  explore_commands();
  size_commands();
  search_commands();
  divided_commands();
  pipeline_commands();
  small_commands();
  plugin_commands();
  course_commands();
  validation_commands();
  calibration_commands();
  measure_command();
}

bool Program::is_asked(const CLI::App& command) const {
  const auto among = [&](std::string_view name) {
    return std::find(words_.begin(), words_.end(), name) != words_.end();
  };
  return words_.empty() || among("schema") || among(command.get_name());
}

CLI::App* Program::command(CLI::App& parent, const char* name, const char* about, const char* examples,
                           Command run, std::vector<Place> places) {
  auto* sub = parent.add_subcommand(name, about);
  sub->footer(examples);
  if (run)
    commands_[sub] = std::move(run);
  else
    sub->require_subcommand(1);
  places_[sub] = std::move(places);
  return sub;
}

const CLI::App* Program::innermost() const {
  const CLI::App* at = &app_;
  while (!at->get_subcommands().empty()) at = at->get_subcommands().front();
  return at;
}

namespace {

/// Describes a missing option or word of a command, with its first example: "; expected the machine; e.g.
/// mlsysim size ..."
std::string what_is_required(const CLI::App& command, std::string_view complaint) {
  std::string out;
  for (const auto* option : command.get_options())
    if (complaint.starts_with(option->get_name() + " "))
      out = fmt::format("; expected {}", option->get_description());
  const std::string about = command.get_footer();
  constexpr std::string_view head = "Examples:\n  ";
  if (const auto at = about.find(head); at != std::string::npos) {
    // A line that ends in a backslash goes on in the next one.
    out += "; e.g. ";
    for (auto from = at + head.size(), end = from;; from = about.find_first_not_of(' ', end + 1)) {
      end = about.find('\n', from);
      const auto line = about.substr(from, end - from);
      const bool on = line.ends_with('\\');
      out += on ? line.substr(0, line.size() - 1) : line;
      if (!on || end == std::string::npos) break;
    }
  }
  return out;
}

/// Says what an option takes instead of a text that is no number. @param complaint "Could not convert:
/// --context = 128k"
std::string what_is_no_number(std::string_view complaint) {
  const auto name = complaint.find("--"), sign = complaint.find(" = ");
  if (name == std::string_view::npos || sign == std::string_view::npos || sign < name)
    return std::string(complaint);
  const auto value = complaint.substr(sign + 3);
  const auto meant = counts_of_letter(value);
  return fmt::format(
      "{} takes a number; found '{}', expected {}", complaint.substr(name, sign - name), value,
      meant ? fmt::format("{:.0f} or {:.0f}", meant->first, meant->second) : std::string("digits alone"));
}

}  // namespace

/// CLI11's complaint in our words: what is near, and where to look.
std::string Program::explain_usage(const CLI::ParseError& error) const {
  const CLI::App* at = innermost();
  std::string path;
  for (const CLI::App* a = at; a != nullptr; a = a->get_parent())
    path = a->get_name() + (path.empty() ? "" : " " + path);
  std::vector<std::string> commands;
  for (const auto* sub : at->get_subcommands(nullptr)) commands.push_back(sub->get_name());
  const auto options = option_names(at);
  // An option that there is not may come out as something else: its value looks like one argument too many.
  auto strange = unknown_options(words_, options);
  if (strange.empty() && dynamic_cast<const CLI::ArgumentMismatch*>(&error) == nullptr)
    for (const auto& word : app_.remaining(true)) strange.push_back(word);
  std::string text;
  const auto known = places_.find(at);
  const bool of_scenario = known != places_.end() && known->second.size() > 1 &&
                           known->second[0] == Place::model && known->second[1] == Place::machine;
  for (const auto& word : strange) {
    const bool option = word.starts_with("-");
    if (!text.empty()) text += "\n";
    text += fmt::format("{} '{}'",
                        option             ? "unknown option"
                        : commands.empty() ? "unexpected argument"
                                           : "unknown command",
                        word);
    if (const auto other = option ? other_option(word, options) : std::string(); !other.empty())
      text += "; " + other;
    else if (const auto near = did_you_mean(word, option ? options : commands); !near.empty())
      text += "; " + near;
    else if (!option && of_scenario)
      text +=
          "; one model and one machine are asked about: compare MODEL A B, sweep MODEL A,B and decide MODEL "
          "--on A,B take several";
    if (!commands.empty() && !option) break;  // the words after an unknown command mean nothing yet
  }
  if (words_.empty()) return fmt::format("mlsysim: error: a command is missing\n\n{}", first_screen());
  if (text.empty() && !commands.empty() && dynamic_cast<const CLI::RequiredError*>(&error) != nullptr)
    text = fmt::format("a command is missing; expected one of {}", fmt::join(commands, ", "));
  if (text.empty())
    text = dynamic_cast<const CLI::ConversionError*>(&error) != nullptr ? what_is_no_number(error.what())
                                                                        : error.what();
  if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr) text += what_is_required(*at, text);
  return fmt::format("mlsysim: error: {}\ntry: {} --help\n", text, path);
}

/// Which forms an answer has depends on the command: pictures have their own.
void Program::settle_format(std::string_view command) {
  if (command == "plot" || command == "report") return;
  if (command == "decide" && (format_ == "html" || format_.find('.') != std::string::npos)) return;
  if (format_ == "md") format_ = "markdown";
  explain_.latex = format_ == "latex";
  if (explain_.latex && command != "explain")
    throw InputError({.id = "mlsysim.cli.087",
                      .message = "this command writes no LaTeX",
                      .found = fmt::format("{} -o latex", command),
                      .expected = "text, json, markdown or csv",
                      .hint = "mlsysim explain writes derivations as LaTeX"});
  if (explain_.latex) return;
  const auto format = choice_of<OutputFormat>(format_);
  if (!format)
    throw InputError({.id = "mlsysim.cli.125",
                      .message = "this command has no such form of its answer",
                      .key = "--output",
                      .found = fmt::format("{} -o {}", command, format_),
                      .expected = "text, json, markdown or csv",
                      .hint = "mlsysim plot draws pictures"});
  render_.format = *format;
}

Answer Program::execute() {
  const CLI::App* command = innermost();
  // The words of a sweep over a resolver are kept beside those of a scenario.
  const bool sweeps = !traffic_.file.empty() && names_a_resolver(sweep_.model);
  if (sweeps) sweep_.hardware.push_back("traffic_file=" + traffic_.file);
  const auto taken =
      sweeps ? take_traffic(sweep_.hardware, ResolverRegistry::standard().at(sweep_.model).inputs())
             : take_traffic(traffic_, scenario_);
  collect_reading_notes();
  auto answer = run_command(command);
  answer.diagnostics.insert(0, taken + reading_notes_text());
  return answer;
}

Answer Program::run_command(const CLI::App* command) {
  settle_format(command->get_name());
  render_.verbosity = verbose_ ? Verbosity::verbose : Verbosity::brief;
  render_.colour = colour_of_stdout();
  render_.width = width_of_stdout();
  add_zoo_paths(zoo_paths_);
  set_plugin_request(plugins_);
  const CLI::App* parent = command->get_parent();
  const bool about_plugins = parent != nullptr && parent->get_name() == "plugin";
  if (about_plugins || command->get_name() == "version" || command->get_name() == "completion")
    return commands_.at(command)();
  // Libraries are opened only for what they register: where the call names them, where it lists everything or
  // is observed, where it could not be asked a second time, or where a name is not known without them.
  const bool lists =
      parent != nullptr && (parent->get_name() == "resolver" || parent->get_name() == "pipeline");
  const bool writes = !search_.rows.empty() || !search_.state.empty();
  if (must_load_plugins() || lists || writes || lists_everything(command->get_name()))
    return with_plugins(command);
  try {
    return commands_.at(command)();
  } catch (const Error&) {
    if (!finds_plugins()) throw;
  }
  return with_plugins(command);
}

Answer Program::with_plugins(const CLI::App* command) {
  auto plugins = load_plugins();
  if (plugins.exit != Exit::fine) return plugins;
  try {
    auto answer = commands_.at(command)();
    answer.diagnostics.insert(0, plugins.diagnostics);
    return answer;
  } catch (const std::exception& error) {
    return {"", plugins.diagnostics + error_text(error), Exit::bad_input};
  }
}

int Program::run() {
  Answer answer;
  try {
    take_other_words();
    app_.parse(std::vector<std::string>(words_.rbegin(), words_.rend()));
    // Before all that asks what time it is; there are no other threads yet.
    if (no_timestamps_) (void)::setenv("SOURCE_DATE_EPOCH", "0", 0);  // NOLINT(concurrency-mt-unsafe)
    answer = print_config_ ? configuration(innermost()) : execute();
    if (format_ == "text" || format_ == "markdown" || format_ == "csv")
      answer.payload = printable(answer.payload, render_.colour);
  } catch (const CLI::CallForHelp&) {
    answer = {innermost() == &app_ ? first_screen() : short_help(*innermost())};
  } catch (const CLI::CallForAllHelp&) {
    answer = {app_.help()};
  } catch (const CallForText& call) {
    answer = {call.text};
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
        if (const auto* option = a->get_option_no_throw(word);
            option != nullptr && option->get_items_expected_max() > 0)
          open = option;
      continue;
    }
    CLI::App* sub = nullptr;
    for (auto* s : at->get_subcommands(nullptr))
      if (s->get_name() == word) sub = s;
    if (sub != nullptr && position == 0)
      at = sub;
    else
      ++position;
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
        for (auto& name : candidates(places[std::min(position, places.size() - 1)]))
          found.push_back(std::move(name));
    }
  }
  Answer out;
  for (const auto& name : found)
    if (name.starts_with(last)) out.payload += name + "\n";
  return out;
}

}  // namespace mlsysim::cli
