// Words of a command, filed under the flags of its engine.

#include "detail/command.hpp"

#include <mlsysim/files/detail/files.hpp>
#include <mlsysim/files/detail/roots.hpp>
#include <mlsysim/zoo/loader.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>

namespace mlsysim::detail {
namespace {

/// Keys and values of a recipe that comes with torchtune; none of one that the zoo does not have.
std::vector<std::pair<std::string, std::string>> keys_of_recipe(const std::string& recipe) {
  static const auto all = flatten_yaml(
      files::read(zoo_directory() / "launch" / "torchtune_recipes.yaml", "a table of recipes", 1 << 20),
      "torchtune_recipes.yaml");
  std::vector<std::pair<std::string, std::string>> out;
  const auto begin = "recipes." + recipe + ".";
  for (const auto& given : all)
    if (given.key.starts_with(begin)) out.emplace_back(given.key.substr(begin.size()), given.value);
  return out;
}

/// Whether a word is a flag rather than a value; -1 and -0.5 are values.
bool is_flag(std::string_view word) {
  return word.size() > 1 && word[0] == '-' && !number_of(word).has_value();
}

/// Reads a command's words one by one.
class WordReader {
 public:
  WordReader(const FlagTable& table, const std::string& name, const NamedFiles& files, Settings& settings)
      : table_(table), name_(name), files_(files), settings_(settings) {}

  void read(const std::vector<ShellWord>& words, bool strict) {
    for (std::size_t i = 0; i < words.size(); ++i) {
      where_ = {.file = name_, .line = words[i].line};
      if (words[i].text.empty() || words[i].text == "--") continue;
      if (!is_flag(words[i].text)) {
        if (strict) positional(words[i].text);
        continue;
      }
      flag(words, i, strict);
    }
    for (const auto& given : from_file_)
      if (table_.file_wins || !from_words_.contains(given.key)) put_keys(table_, {given}, settings_);
  }

 private:
  void positional(const std::string& word) {
    if (table_.engine == name_of(LaunchFormat::trainer)) return recipe(word);
    const FlagRow* model = table_.find("model", where_);
    const bool takes_model = model != nullptr && model->sets == "model" && !settings_.has("model");
    if (!takes_model)
      throw InputError({.id = "mlsysim.launch.007",
                        .message = fmt::format("the word '{}' belongs to no flag", word.substr(0, 80)),
                        .key = word.substr(0, 80),
                        .found = fmt::format("'{}'", word.substr(0, 80)),
                        .expected = "a flag, or the value of one",
                        .hint = "quote values that hold spaces",
                        .where = where_});
    settings_.put(*model, {.key = "model", .value = word, .where = where_});
  }

  /// A recipe in a file, a key of it that is replaced, or a name that a launcher knows.
  void recipe(const std::string& word) {
    if (word.ends_with(".yaml") || word.ends_with(".yml"))
      return file(*table_.find("config", where_), {.key = "config", .value = word, .where = where_});
    const auto equals = word.find('=');
    Given given{.key = word.substr(0, equals), .value = {}, .where = where_};
    if (equals != std::string::npos) given.value = word.substr(equals + 1);
    const FlagRow* row = table_.find(given.key, where_);
    const bool alone = equals == std::string::npos;  // a recipe by its name: full_finetune_distributed
    if (row == nullptr || row->takes == Takes::file || (alone && row->takes != Takes::switched))
      return settings_.put_unknown(given, "");
    given.has_value = !alone;
    from_words_.insert(row->flag);
    settings_.put(*row, given);
  }

  void flag(const std::vector<ShellWord>& words, std::size_t& i, bool strict) {
    const auto& word = words[i].text;
    const auto equals = word.find('=');
    std::string key = word.substr(0, equals);
    key.erase(0, key.find_first_not_of('-'));
    Given given{.key = key, .value = {}, .where = where_, .has_value = equals != std::string::npos};
    if (given.has_value) given.value = word.substr(equals + 1);
    const FlagRow* row = table_.find(key, where_);
    bool negated = false;
    if (row == nullptr && key.starts_with("no-")) {
      row = table_.find(key.substr(3), where_);
      negated = row != nullptr && row->takes == Takes::toggle;
      if (!negated) row = nullptr;
    }
    if (row == nullptr && strict && dotted(key)) row = table_.section_of(key);
    if (row == nullptr) return unknown(words, i, std::move(given), strict);
    from_words_.insert(row->flag);
    if (row->takes == Takes::switched || row->takes == Takes::toggle) {
      // trtllm, dotted keys and the parser of transformers give a value even to these.
      const auto next = i + 1 < words.size() ? std::string_view(words[i + 1].text) : "";
      const bool truth = next == "true" || next == "True" || next == "false" || next == "False";
      const bool value = truth || (dotted(key) && !is_flag(next));
      if (!given.has_value && !next.empty() && value) given = {key, words[++i].text, where_};
      if (negated) given = {key, "false", where_};
      settings_.put(*row, given);
      return;
    }
    if (!given.has_value) take(words, i, *row, given);
    put(*row, given);
  }

  static bool dotted(std::string_view key) { return key.find('.') != std::string_view::npos; }

  void take(const std::vector<ShellWord>& words, std::size_t& i, const FlagRow& row, Given& given) {
    const bool none = i + 1 >= words.size() || is_flag(words[i + 1].text);
    if (none && row.takes == Takes::words && !row.why.empty()) return;  // older releases take no value
    if (none)
      throw InputError({.id = "mlsysim.launch.005",
                        .message = fmt::format("'{}' has no value", words[i].text.substr(0, 80)),
                        .key = row.flag,
                        .found = i + 1 >= words.size() ? "the end of the command"
                                                       : fmt::format("'{}'", words[i + 1].text.substr(0, 80)),
                        .expected = "a value",
                        .hint = "write the value behind the flag",
                        .where = where_});
    given.value = words[++i].text;
    given.has_value = true;
    while (row.takes == Takes::words && i + 1 < words.size() && !is_flag(words[i + 1].text))
      given.value += "," + words[++i].text;
  }

  void put(const FlagRow& row, const Given& given) {
    if (row.takes == Takes::file) return file(row, given);
    const bool parts = row.takes == Takes::json && given.value.find('{') != std::string::npos;
    if (parts && row.sets.empty() && row.why.empty()) {
      put_keys(table_, flatten_yaml(given.value, fmt::format("{} of {}", row.flag, name_), row.flag),
               settings_);
      return;
    }
    settings_.put(row, given);
  }

  void unknown(const std::vector<ShellWord>& words, std::size_t& i, Given given, bool strict) {
    if (!strict) return;  // a launcher's own
    const bool value = !given.has_value && i + 1 < words.size() && !is_flag(words[i + 1].text);
    if (value) given.value = words[++i].text;
    settings_.put_unknown(given, value ? "the word behind it is taken for its value" : "");
  }

  /// The file of --config: beside the launch, and nowhere else.
  void file(const FlagRow& row, const Given& given) {
    const std::filesystem::path path(given.value);
    if (table_.engine == name_of(LaunchFormat::trainer) && !path.has_extension()) return shipped(row, given);
    if (table_.engine == name_of(LaunchFormat::torchtitan) && !files_.holds(path)) return titan(row, given);
    if (!files_.reachable(path))
      throw InputError({.id = "mlsysim.launch.011",
                        .message = "the file that the launch names is not read",
                        .key = given.key,
                        .found = fmt::format("'{}'", given.value.substr(0, 80)),
                        .expected = "a file in the folder of the launch, or below it",
                        .hint = "put it there, or import the file by itself",
                        .where = where_});
    auto keys = path.extension() == ".toml" ? flatten_toml(files_.text(path), path.string())
                                            : flatten_yaml(files_.text(path), path.string());
    for (auto& key : keys) {
      const FlagRow* known = table_.find(key.key, key.where);
      // vLLM also takes the negated form of a flag as a key.
      if (known == nullptr && key.key.starts_with("no-") && key.value == "true") {
        known = table_.find(key.key.substr(3), key.where);
        if (known != nullptr && known->takes == Takes::toggle)
          key.value = "false";
        else
          known = nullptr;
      }
      if (known != nullptr) key.key = known->flag;
      from_file_.push_back(std::move(key));
    }
  }

  /// A job of torchtitan that is not beside the launch: llama3_8b.toml, or llama3_8b of its registry. The
  /// name says the model.
  void titan(const FlagRow& row, const Given& given) {
    settings_.put_ignored(row, given,
                          "the file is not beside the launch: its name says the model, and --batch-size and "
                          "--seq-len say what else it states");
    from_file_.push_back({.key = table_.find("model.flavor", where_)->flag,
                          .value = std::filesystem::path(given.value).stem().string(),
                          .where = where_});
  }

  /// A recipe that comes with torchtune: what the zoo has of its file. Of others the name says model and
  /// method: llama3_1/8B_qlora.
  void shipped(const FlagRow& row, const Given& given) {
    const auto keys = keys_of_recipe(given.value);
    const auto slash = given.value.find('/');
    settings_.put_ignored(row, given,
                          !keys.empty() ? "a recipe that comes with torchtune 0.6.1, as it is there"
                                        : "a recipe that comes with torchtune, of which the name is "
                                          "read: 'tune cp' writes it as a file");
    for (const auto& [key, value] : keys)
      if (const auto* known = table_.find(key, where_))
        from_file_.push_back({.key = known->flag, .value = value, .where = where_});
    if (!keys.empty() || slash == std::string::npos) return;
    std::string size = given.value.substr(slash + 1, given.value.find('_', slash) - slash - 1);
    for (char& c : size) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    const std::string_view method = given.value.find("_qlora") != std::string::npos  ? "qlora_"
                                    : given.value.find("_lora") != std::string::npos ? "lora_"
                                                                                     : "";
    const auto family = given.value.substr(0, slash);
    for (const auto& [key, value] :
         {std::pair("model._component_",
                    fmt::format("torchtune.models.{}.{}{}_{}", family, method, family, size)),
          {"dtype", "bf16"}})
      from_file_.push_back({.key = table_.find(key, where_)->flag, .value = value, .where = where_});
  }

  const FlagTable& table_;
  const std::string& name_;
  const NamedFiles& files_;
  Settings& settings_;
  Location where_;
  std::set<std::string> from_words_;
  std::vector<Given> from_file_;
};

}  // namespace

bool NamedFiles::holds(const std::filesystem::path& path) const {
  return written.contains(path.lexically_normal().string()) ||
         (reachable(path) && files::exists(folder / path));
}

bool NamedFiles::reachable(const std::filesystem::path& path) const {
  if (written.contains(path.lexically_normal().string())) return true;
  return !path.empty() && !folder.empty() && path.is_relative() &&
         std::none_of(path.begin(), path.end(), [](const auto& part) { return part == ".."; });
}

std::string NamedFiles::text(const std::filesystem::path& path) const {
  const auto own = written.find(path.lexically_normal().string());
  return own != written.end() ? own->second
                              : files::read(folder / path, "a configuration file", kLongestLaunch);
}

void put_words(const FlagTable& table, const EngineCommand& command, const std::string& name,
               const NamedFiles& files, Settings& settings) {
  WordReader reader(table, name, files, settings);
  if (command.format == LaunchFormat::megatron || command.format == LaunchFormat::trainer ||
      command.format == LaunchFormat::torchtitan)
    reader.read(command.before, false);  // torchrun's counts
  reader.read(command.words, true);
}

void put_keys(const FlagTable& table, const std::vector<Given>& keys, Settings& settings) {
  std::set<const FlagRow*> sections;
  for (const auto& given : keys) {
    const FlagRow* row = table.find(given.key, given.where);
    const bool section = row == nullptr && (row = table.section_of(given.key)) != nullptr;
    if (row == nullptr)
      settings.put_unknown(given, "");
    else if (!section)
      settings.put(*row, given);
    else if (sections.insert(row).second)
      settings.put(*row, {row->flag, "...", given.where});
  }
}

}  // namespace mlsysim::detail
