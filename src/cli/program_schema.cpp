// Schemas of commands, made from what CLI11 knows of them: what the command line takes, and what a program
// that calls it should send. The examples of the help texts become instances, so that a schema that refuses
// one is noticed.

#include "program.hpp"

#include <mlsysim/units/detail/json_text.hpp>
#include <mlsysim/units/detail/lower.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>
#include <optional>

namespace mlsysim::cli {
namespace {

using Json = nlohmann::ordered_json;

/// Words of an example as a shell reads them, up to where another program or file follows. None for a shell's
/// own syntax.
std::optional<std::vector<std::string>> shell_words(std::string_view line) {
  std::vector<std::string> out;
  std::optional<std::string> word;
  char quote = 0;
  for (const char c : line) {
    if (quote != 0) {
      if (c == quote)
        quote = 0;
      else
        *word += c;
    } else if (c == '\'' || c == '"') {
      quote = c;
      if (!word) word.emplace();
    } else if (c == ' ') {
      if (word) out.push_back(std::move(*word));
      word.reset();
    } else if (c == '>' || c == '|' || c == '&') {
      break;
    } else if (c == '$' || c == '`' || c == '<' || c == ';') {
      return std::nullopt;
    } else {
      if (!word) word.emplace();
      *word += c;
    }
  }
  if (word) out.push_back(std::move(*word));
  return out;
}

/// Lines of a help text that call the program, without words that explain them behind many blanks.
std::vector<std::string> example_lines(std::string text) {
  for (auto at = text.find("\\\n"); at != std::string::npos; at = text.find("\\\n")) text.replace(at, 2, " ");
  std::vector<std::string> out;
  while (!text.empty()) {
    auto line = text.substr(0, text.find('\n'));
    text.erase(0, line.size() + 1);
    if (!line.starts_with("  mlsysim ")) continue;
    line.erase(0, 2);
    if (const auto far = line.find("     "); far != std::string::npos && line.find('\'') > far)
      line.resize(far);
    out.push_back(std::move(line));
  }
  return out;
}

bool is_list(const CLI::Option& option) { return option.get_items_expected_max() > 1; }
bool is_flag(const CLI::Option& option) { return option.get_items_expected_max() == 0; }

/// The name of an argument: that of its long option, or of its place.
std::string key_of(const CLI::Option& option) {
  if (!option.get_lnames().empty()) return option.get_lnames().front();
  return detail::lower(option.get_positional() ? option.get_single_name() : option.get_name());
}

std::string_view place_words(Place place) {
  constexpr std::pair<Place, std::string_view> kWords[] = {
      {Place::model, "a model: mlsysim zoo list models"},
      {Place::machine, "a device, node or cluster: mlsysim zoo list"},
      {Place::device, "a device: mlsysim zoo list hardware"},
      {Place::grid, "a grid: mlsysim zoo list grid"},
      {Place::datacenter, "a datacenter: mlsysim zoo list datacenter"},
      {Place::entry, "an entry: mlsysim zoo search"},
      {Place::resolver, "a resolver: mlsysim resolver list"},
      {Place::unit, "a unit: mlsysim units list"}};
  for (const auto& [of, words] : kWords)
    if (of == place) return words;
  return {};
}

/// Options of a command and of those around it; help and version ask for no answer.
std::vector<const CLI::Option*> options_of(const CLI::App& command) {
  std::vector<const CLI::Option*> out;
  for (const auto* at = &command; at != nullptr; at = at->get_parent()) {
    for (const auto* option : at->get_options()) {
      const auto key = key_of(*option);
      const bool known =
          std::any_of(out.begin(), out.end(), [&](const auto* o) { return key_of(*o) == key; });
      if (key != "help" && key != "version" && !known) out.push_back(option);
    }
    if (!at->get_fallthrough() && at->get_parent() != nullptr) break;
  }
  return out;
}

/// An example as arguments; none where it is not one of this command.
std::optional<Json> instance_of(const CLI::App& command, std::vector<std::string> words, std::size_t skip) {
  const auto options = options_of(command);
  std::vector<const CLI::Option*> places;
  for (const auto* option : options)
    if (option->get_positional()) places.push_back(option);
  Json out = Json::object();
  const auto put = [&](const CLI::Option& option, const std::string& text) {
    auto& value = out[key_of(option)];
    Json one = option.get_type_name() == "N" ? Json::parse(text, nullptr, false) : Json(text);
    if (one.is_discarded() || !(one.is_number() || one.is_string())) one = text;
    if (is_list(option))
      value.push_back(one);
    else
      value = one;
  };
  std::size_t place = 0;
  bool words_only = false;
  for (std::size_t i = skip; i < words.size(); ++i) {
    auto word = words[i];
    if (word == "--" && !words_only) {
      words_only = true;
      continue;
    }
    if (words_only || !word.starts_with("-") || word.size() < 2 ||
        std::isdigit(static_cast<unsigned char>(word[1])) != 0) {
      if (place >= places.size()) {
        if (!command.get_allow_extras()) return std::nullopt;
        out["extra"].push_back(word);
        continue;
      }
      put(*places[place], word);
      if (!is_list(*places[place])) ++place;
      continue;
    }
    const auto equals = word.starts_with("--") ? word.find('=') : std::string::npos;
    const auto name = word.substr(0, equals);
    const auto option =
        std::find_if(options.begin(), options.end(), [&](const auto* o) { return o->check_name(name); });
    if (option == options.end()) {
      if (!command.get_allow_extras()) return std::nullopt;
      out["extra"].push_back(word);
      if (i + 1 < words.size() && !words[i + 1].starts_with("--")) out["extra"].push_back(words[++i]);
    } else if (is_flag(**option)) {
      out[key_of(**option)] = true;
    } else if (equals != std::string::npos) {
      put(**option, word.substr(equals + 1));
    } else if (++i < words.size()) {
      put(**option, words[i]);
    }
  }
  return out;
}

/// One argument as a property.
Json property_of(const CLI::Option& option, const OptionValues* values, Place place, bool closed) {
  Json one{{"type", is_flag(option) ? "boolean" : option.get_type_name() == "N" ? "number" : "string"}};
  if (one["type"] == "number") one["type"] = {"number", "string"};  // sweeps take lists: "1,8,64"
  if (values != nullptr && !values->choices.empty() && closed) one["enum"] = values->choices;
  Json out = is_list(option) ? Json{{"type", "array"}, {"items", one}} : one;
  out["description"] = option.get_description();
  if (!option.get_positional() && !option.get_type_name().empty() && !is_flag(option))
    out["x-value"] = option.get_type_name();
  const Place from = values != nullptr && values->place != Place::none ? values->place : place;
  if (const auto words = place_words(from); !words.empty()) out["x-names"] = words;
  if (option.get_positional()) out["x-positional"] = true;
  return out;
}

}  // namespace

Json Program::schema_of(const CLI::App& command, const std::string& path) const {
  Json properties = Json::object(), required = Json::array(), examples = Json::array();
  std::size_t place = 0;
  const auto places = places_.find(&command);
  for (const auto* option : options_of(command)) {
    const auto known = values_.find(option);
    Place here = Place::none;
    if (option->get_positional() && places != places_.end() && place < places->second.size())
      here = places->second[place++];
    // Pictures and derivations have forms of their own, so that the usual ones are no closed list.
    const bool closed = key_of(*option) != "output" || option->get_type_name() != "FORMAT";
    properties[key_of(*option)] =
        property_of(*option, known == values_.end() ? nullptr : &known->second, here, closed);
    if (option->get_required()) required.push_back(key_of(*option));
  }
  if (command.get_allow_extras())
    properties["extra"] = {
        {"type", "array"},
        {"items", {{"type", "string"}}},
        {"description", "inputs by name, --NAME VALUE each: mlsysim resolver show NAME lists them"}};
  const auto depth = static_cast<std::size_t>(std::count(path.begin(), path.end(), ' ')) + 1;
  for (const auto& line : example_lines(command.get_footer())) {
    if (!(line + " ").starts_with(path + " ")) continue;
    const auto words = shell_words(line);
    if (const auto instance = words ? instance_of(command, *words, depth) : std::nullopt; instance)
      examples.push_back(*instance);
  }
  return {{"$schema", "http://json-schema.org/draft-07/schema#"},
          {"title", path},
          {"description", command.get_description()},
          {"type", "object"},
          {"properties", properties},
          {"required", required},
          {"additionalProperties", false},
          {"examples", examples}};
}

Answer Program::schema_asked(const std::vector<std::string>& words) const {
  if (words.empty()) return schema("plan");
  Json all = Json::object();
  const std::function<void(const CLI::App&, const std::string&)> walk = [&](const CLI::App& at,
                                                                            const std::string& path) {
    if (commands_.count(&at) > 0) all[path] = schema_of(at, path);
    for (const auto* sub : at.get_subcommands(nullptr)) walk(*sub, path + " " + sub->get_name());
  };
  if (words == std::vector<std::string>{"commands"}) {
    walk(app_, "mlsysim");
    return {detail::json_document(all)};
  }
  const CLI::App* at = &app_;
  std::string path = "mlsysim";
  for (const auto& word : words) {
    const CLI::App* sub = nullptr;
    for (const auto* s : at->get_subcommands(nullptr))
      if (s->get_name() == word) sub = s;
    if (sub == nullptr) {
      if (at == &app_ && words.size() == 1) return schema(word);
      throw LookupError({.id = "mlsysim.cli.160",
                         .message = fmt::format("there is no command '{} {}'", path, word),
                         .key = word,
                         .found = fmt::format("'{}'", word),
                         .expected = "a command, as mlsysim --help lists them",
                         .hint = "mlsysim schema commands prints all of them"});
    }
    at = sub;
    path += " " + word;
  }
  walk(*at, path);
  return {detail::json_document(all.size() == 1 ? all.begin().value() : all)};
}

}  // namespace mlsysim::cli
