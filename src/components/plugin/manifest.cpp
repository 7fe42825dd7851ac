#include <mlsysim/plugin/manifest.hpp>

#include "detail/elf.hpp"
#include "detail/services.hpp"

#include <mlsysim/units/near_miss.hpp>
#include <mlsysim/zoo/detail/yaml_document.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace mlsysim::plugin {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kLargest = 64 * 1024;
constexpr std::string_view kSchema = "mlsysim/plugin@1";
const std::vector<std::string> kKeys{"schema",  "name",     "version",  "summary",   "license",
                                     "library", "variants", "zoo",      "registers", "config",
                                     "abi",     "sha256",   "priority", "isolated"};

/// One manifest being read; problems are collected.
class ManifestReader {
 public:
  explicit ManifestReader(const YamlDocument& document, const fs::path& file) : document_(document) {
    out_.file = file;
  }

  Manifest read() {
    const auto& root = document_.root();
    if (root.kind != YamlValue::Kind::map) {
      problem(root, "a manifest is a map", "", root.describe(), "keys such as name, version, library");
    } else {
      for (const auto& [key, value] : root.pairs)
        if (std::find(kKeys.begin(), kKeys.end(), key.text) == kKeys.end())
          problem(key, fmt::format("unknown key '{}'", key.text), key.text, fmt::format("'{}'", key.text),
                  fmt::format("one of {}", fmt::join(kKeys, ", ")), did_you_mean(key.text, kKeys));
      if (const auto schema = text("schema", true); !schema.empty() && schema != kSchema)
        problem(*root.find("schema"), "another schema", "schema", fmt::format("'{}'", schema),
                fmt::format("'{}'", kSchema));
      head();
      code();
      rest();
    }
    if (!problems_.empty()) {
      const auto count = problems_.size();
      throw ErrorList({.id = "mlsysim.plugin.060",
                       .message = fmt::format("{} is no manifest of a plugin: {} problem{}", document_.file(),
                                              count, count == 1 ? "" : "s"),
                       .key = document_.file(),
                       .where = {document_.file()}},
                      std::move(problems_));
    }
    return std::move(out_);
  }

 private:
  void problem(const YamlValue& at, std::string message, std::string key, std::string found,
               std::string expected, std::string hint = {}) {
    problems_.push_back(document_.placed({.id = "mlsysim.plugin.061",
                                          .message = std::move(message),
                                          .key = std::move(key),
                                          .found = std::move(found),
                                          .expected = std::move(expected),
                                          .hint = std::move(hint)},
                                         at));
  }
  /// The text of a key; empty, with a problem where it is needed, when there is none.
  std::string text(std::string_view key, bool needed) {
    const auto* value = document_.root().find(key);
    if (value == nullptr) {
      if (needed)
        problem(document_.root(), fmt::format("the key '{}' is missing", key), std::string(key),
                "no such key", "a text");
      return {};
    }
    return scalar(*value, std::string(key));
  }
  std::string scalar(const YamlValue& value, const std::string& key) {
    if (value.kind == YamlValue::Kind::scalar && !value.text.empty()) return value.text;
    problem(value, fmt::format("'{}' is no text", key), key, value.describe(), "a text");
    return {};
  }

  void head() {
    out_.name = text("name", true);
    if (!out_.name.empty() && (!detail::is_name(out_.name) || out_.name == "mlsysim"))
      problem(*document_.root().find("name"), "the name cannot be used", "name",
              fmt::format("'{}'", out_.name), "letters, digits, '-' and '_'");
    out_.version = text("version", true);
    out_.summary = text("summary", false);
    out_.license = text("license", false);
  }

  /// A path beside the manifest; it may leave that folder only when it is absolute.
  fs::path beside(const YamlValue& at, const std::string& given, const std::string& key) {
    if (given.empty()) return {};
    fs::path path(given);
    if (path.is_absolute()) return path;
    const auto folder = out_.file.parent_path();
    auto whole = (folder / path).lexically_normal();
    const auto relative = whole.lexically_relative(
        folder.lexically_normal().empty() ? fs::path(".") : folder.lexically_normal());
    std::error_code failed;
    const auto real = fs::weakly_canonical(whole, failed);
    const auto real_folder = fs::weakly_canonical(folder.empty() ? fs::path(".") : folder, failed);
    const auto real_relative = real.lexically_relative(real_folder);
    const auto leaves = [](const fs::path& p) { return p.empty() || *p.begin() == ".."; };
    if (path.lexically_normal().begin() != path.lexically_normal().end() &&
        *path.lexically_normal().begin() == "..") {
      problem(at, fmt::format("'{}' leaves the folder of the manifest", key), key, fmt::format("'{}'", given),
              "a path below the manifest");
      return {};
    }
    if (leaves(relative) || leaves(real_relative)) {
      problem(at, fmt::format("'{}' leaves the folder of the manifest", key), key,
              fmt::format("'{}', which is {}", given, real.generic_string()),
              "a file below the manifest, not a link out of it");
      return {};
    }
    return whole;
  }

  void code() {
    const auto& root = document_.root();
    const auto* library = root.find("library");
    const auto* variants = root.find("variants");
    if (library != nullptr && variants != nullptr)
      problem(*variants, "a plugin has a library or variants", "variants", "both", "one of them");
    if (library != nullptr) out_.library = beside(*library, scalar(*library, "library"), "library");
    if (variants != nullptr) {
      if (variants->kind != YamlValue::Kind::map) {
        problem(*variants, "'variants' is no map", "variants", variants->describe(),
                "{x86-64-v3: file.so, x86-64: other.so}");
      } else {
        std::vector<std::string> have;
        for (const auto& [key, value] : variants->pairs) have.push_back(key.text);
        for (const auto& name : machine_variants())
          if (const auto* value = variants->find(name); value != nullptr && out_.variant.empty()) {
            out_.variant = name;
            out_.library = beside(*value, scalar(*value, "variants." + name), "variants." + name);
          }
        if (out_.variant.empty())
          problem(*variants, fmt::format("no variant for this CPU (have: {})", fmt::join(have, ", ")),
                  "variants", fmt::format("{}", fmt::join(have, ", ")),
                  fmt::format("one of {}", fmt::join(machine_variants(), ", ")),
                  "build the plugin for this machine");
      }
    }
    if (const auto* zoo = root.find("zoo")) {
      if (zoo->kind != YamlValue::Kind::sequence)
        problem(*zoo, "'zoo' is no list", "zoo", zoo->describe(), "[devices.yaml]");
      else
        for (const auto& item : zoo->items)
          if (auto path = beside(item, scalar(item, "zoo"), "zoo"); !path.empty())
            out_.zoo.push_back(std::move(path));
    }
    if (library == nullptr && variants == nullptr && out_.zoo.empty() && problems_.empty())
      problem(root, "the plugin brings nothing", "library", "neither library nor zoo",
              "library: FILE.so, or zoo: [FILE.yaml]");
    if (out_.sha256 = text("sha256", false);
        !out_.sha256.empty() &&
        (out_.sha256.size() != 64 || out_.sha256.find_first_not_of("0123456789abcdef") != std::string::npos))
      problem(*root.find("sha256"), "'sha256' is no digest", "sha256", fmt::format("'{}'", out_.sha256),
              "64 lower-case hexadecimal digits");
  }

  std::uint32_t whole(const YamlValue& value, const std::string& key, std::uint32_t most) {
    std::uint32_t n = 0;
    const auto* end = value.text.data() + value.text.size();
    const auto [at, error] = std::from_chars(value.text.data(), end, n);
    if (value.kind != YamlValue::Kind::scalar || error != std::errc() || at != end || n > most)
      problem(value, fmt::format("'{}' is no whole number", key), key, value.describe(),
              fmt::format("0 to {}", most));
    return n;
  }

  void rest() {
    const auto& root = document_.root();
    if (const auto* abi = root.find("abi")) {
      if (abi->kind != YamlValue::Kind::map)
        problem(*abi, "'abi' is no map", "abi", abi->describe(), "{major: 1, min_minor: 0}");
      for (const auto& [key, value] : abi->pairs) {
        if (key.text == "major")
          out_.abi_major = whole(value, "abi.major", 1000000);
        else if (key.text == "min_minor")
          out_.abi_min_minor = whole(value, "abi.min_minor", 1000000);
        else
          problem(key, fmt::format("unknown key '{}'", key.text), key.text, fmt::format("'{}'", key.text),
                  "major, min_minor");
      }
    }
    if (const auto* list = root.find("registers")) {
      out_.says_what_it_registers = true;
      if (list->kind != YamlValue::Kind::sequence)
        problem(*list, "'registers' is no list", "registers", list->describe(), "[model acme/X]");
      for (const auto& item : list->items) {
        const auto line = scalar(item, "registers");
        const auto blank = line.find(' ');
        if (blank == std::string::npos)
          problem(item, "an item of 'registers' is a kind and a name", "registers", fmt::format("'{}'", line),
                  "model acme/X");
        else
          out_.registers.emplace_back(line.substr(0, blank), line.substr(blank + 1));
      }
    }
    if (const auto* config = root.find("config")) {
      if (config->kind != YamlValue::Kind::map)
        problem(*config, "'config' is no map", "config", config->describe(), "{option: value}");
      for (const auto& [key, value] : config->pairs)
        out_.config.emplace_back(key.text, scalar(value, "config." + key.text));
    }
    if (const auto* priority = root.find("priority"))
      out_.priority = static_cast<int>(whole(*priority, "priority", 1000000));
    if (const auto isolated = text("isolated", false); !isolated.empty()) {
      if (isolated != "true" && isolated != "false")
        problem(*root.find("isolated"), "'isolated' is no flag", "isolated", fmt::format("'{}'", isolated),
                "true or false");
      out_.isolated = isolated == "true";
    }
  }

  const YamlDocument& document_;
  Manifest out_;
  std::vector<ErrorFacts> problems_;
};

}  // namespace

Manifest parse_manifest(std::string text, const fs::path& file) {
  if (text.size() > kLargest)
    throw InputError({.id = "mlsysim.plugin.062",
                      .message = "a manifest is too large",
                      .key = file.generic_string(),
                      .found = fmt::format("{} bytes", text.size()),
                      .expected = fmt::format("at most {}", kLargest),
                      .where = {file.generic_string()}});
  const auto document = YamlDocument::parse(std::move(text), file.generic_string());
  return ManifestReader(document, file).read();
}

Manifest read_manifest(const fs::path& file) {
  std::error_code failed;
  if (!fs::is_regular_file(file, failed))
    throw InputError({.id = "mlsysim.plugin.063",
                      .message = "there is no manifest",
                      .key = file.generic_string(),
                      .found = "no regular file",
                      .expected = "a *.plugin.yaml",
                      .where = {file.generic_string()}});
  return parse_manifest(detail::read_file(file, kLargest), file);
}

std::vector<std::string> machine_variants() {
  std::vector<std::string> out;
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512vl"))
    out.emplace_back("x86-64-v4");
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2"))
    out.emplace_back("x86-64-v3");
  out.emplace_back("x86-64");
#elif defined(__aarch64__)
  out.emplace_back("aarch64");
#endif
  return out;
}

}  // namespace mlsysim::plugin
