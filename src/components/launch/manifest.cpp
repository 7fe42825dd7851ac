// Launches inside manifests: the commands of docker-compose, Kubernetes and SkyPilot as text of a shell.

#include "detail/manifest.hpp"

#include "detail/command.hpp"

#include <mlsysim/zoo/detail/yaml_document.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace mlsysim::detail {
namespace {

/// Whether a line begins with a key of the outermost map.
bool has_key(std::string_view text, std::string_view key) {
  return text.starts_with(key) || text.find(fmt::format("\n{}", key)) != std::string_view::npos;
}

std::string_view kind_of_manifest(std::string_view text) {
  if (has_key(text, "services:")) return "a docker-compose file";
  if (has_key(text, "apiVersion:") && has_key(text, "kind:")) return "a manifest of Kubernetes";
  if (has_key(text, "run:") && (has_key(text, "resources:") || has_key(text, "setup:")))
    return "a task of SkyPilot";
  return {};
}

/// One word in quotes, with `${NAME}` and `$(NAME)` left to be set.
std::string quoted(std::string text) {
  for (auto at = text.find("$("); at != std::string::npos; at = text.find("$(", at + 2)) {
    const auto end = text.find(')', at);
    if (end == std::string::npos) break;
    text[at + 1] = '{';
    text[end] = '}';
  }
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\' || c == '`') out += '\\';
    out += c;
  }
  return out + '"';
}

/// The words of `command`, `args` or `entrypoint`: a list has one word in each item, a text is split.
std::string words_of(const YamlValue* value) {
  if (value == nullptr) return {};
  std::string out;
  if (value->kind == YamlValue::Kind::sequence)
    for (const auto& item : value->items) out += ' ' + quoted(item.text);
  if (value->kind == YamlValue::Kind::scalar) {
    out = ' ' + value->text;
    for (auto at = out.find("\\\n"); at != std::string::npos; at = out.find("\\\n", at))
      out.replace(at, 2, " ");
    std::replace(out.begin(), out.end(), '\n', ' ');
  }
  return out;
}

class ManifestReader {
 public:
  std::string text;                 ///< of a shell
  std::vector<std::string> images;  ///< in the order of the file

  /// @param before lines of documents above this one
  void read(const YamlValue& value, int before) {
    for (const auto& item : value.items) read(item, before);
    if (const auto* run = value.find("run"); run != nullptr && value.find("image") == nullptr)
      if (run->kind == YamlValue::Kind::scalar) text += run->text + "\n";
    if (value.find("image") != nullptr) container(value, before);
    for (const auto& [key, inner] : value.pairs)  // "x-...": parts of a compose file that anchors repeat
      if (key.text != "environment" && key.text != "env" && !key.text.starts_with("x-")) read(inner, before);
  }

 private:
  /// A container as `docker run`, with what its environment states in front.
  void container(const YamlValue& value, int before) {
    const auto image = value.find("image")->text;
    std::string words;
    const YamlValue* first = nullptr;
    for (const auto* key : {"entrypoint", "command", "args"})
      if (const auto* part = value.find(key)) {
        words += words_of(part);
        if (first == nullptr) first = part;
      }
    images.push_back(image);
    for (const auto* key : {"environment", "env"})
      if (const auto* list = value.find(key)) environment(*list);
    // Messages name lines of this text: it has as many as the manifest.
    const auto line = static_cast<std::ptrdiff_t>(first == nullptr ? 0 : first->where.line + before);
    for (auto at = std::count(text.begin(), text.end(), '\n') + 1; at < line; ++at) text += '\n';
    text += fmt::format("docker run {}{}\n", quoted(image), words);
  }

  void environment(const YamlValue& list) {
    const auto set = [this](std::string_view name, const std::string& value) {
      const bool plain = !name.empty() && std::isdigit(static_cast<unsigned char>(name.front())) == 0 &&
                         std::all_of(name.begin(), name.end(),
                                     [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
      if (plain && value.find('\n') == std::string::npos)
        text += fmt::format("{}={} ; ", name, quoted(value));
    };
    for (const auto& [key, value] : list.pairs) set(key.text, value.text);
    for (const auto& item : list.items) {
      if (const auto* name = item.find("name"))
        if (const auto* value = item.find("value")) set(name->text, value->text);
      if (const auto equals = item.text.find('='); equals != std::string::npos)
        set(item.text.substr(0, equals), item.text.substr(equals + 1));
    }
  }
};

}  // namespace

std::optional<Manifest> read_manifest(std::string_view text, const std::string& name) {
  const auto kind = kind_of_manifest(text);
  if (kind.empty()) return std::nullopt;
  ManifestReader reader;
  // The documents of a file one by one.
  int before = 0;
  std::string document;
  const auto flush = [&] {
    if (document.find_first_not_of(" \t\r\n") != std::string::npos)
      reader.read(YamlDocument::parse(document, name, YamlForm::foreign).root(), before);
    before += static_cast<int>(std::count(document.begin(), document.end(), '\n')) + 1;
    document.clear();
  };
  for (std::string_view rest = text; !rest.empty();) {
    const auto line = rest.substr(0, std::min(rest.find('\n'), rest.size()));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    if (line.starts_with("---"))
      flush();
    else
      document += fmt::format("{}\n", line);
  }
  flush();
  return Manifest{std::string(kind), std::move(reader.text), std::move(reader.images)};
}

}  // namespace mlsysim::detail
