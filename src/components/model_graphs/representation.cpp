// Finds the format and version of a program, and its operators that are newer than a version.

#include <mlsysim/model_graphs/representation.hpp>

#include "detail/versions.hpp"

#include <mlsysim/model_graphs/program.hpp>

#include <fmt/format.h>

#include <array>
#include <cctype>

namespace mlsysim {
namespace {

/// A StableHLO operator and the newest version that was seen without it.
struct Late {
  std::string_view op, after;
};
/// From the artifacts that hold all operators of a version, openxla/stablehlo 3c9301c, stablehlo/tests/vhlo:
/// those of 0.14.0, 1.0.0 and 1.8.0 lack these, the next one has them.
constexpr std::array kLate{
    Late{"collective_broadcast", "0.14.0"}, Late{"composite", "0.14.0"}, Late{"tan", "1.0.0"},
    Late{"async_start", "1.8.0"},           Late{"async_done", "1.8.0"}, Late{"collective_reduce", "1.8.0"}};

/// Whether the text has this word, and not as the beginning of a longer one.
bool has_word(std::string_view text, std::string_view word) {
  for (auto at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    const auto end = at + word.size();
    const char next = end < text.size() ? text[end] : ' ';
    if (std::isalnum(static_cast<unsigned char>(next)) == 0 && next != '_') return true;
  }
  return false;
}

std::string name_of_format(std::string_view format) {
  if (format == "StableHLO text") return "stablehlo";
  if (format == "MHLO text") return "mhlo";
  if (format == "HLO text") return "hlo";
  if (format == "ONNX") return "onnx";
  if (format == "TORCH_TRACE") return "torch_trace";
  return std::string(format);
}

}  // namespace

std::string Representation::text() const {
  if (!version.empty()) return name + ":" + version;
  return newer_than.empty() ? name : name + ":>" + newer_than;
}

Representation representation_of(const Program& p) {
  Representation r;
  r.name = name_of_format(p.format);
  if (r.name == "stablehlo") {
    std::optional<ProgramVersion> newest;
    for (const auto& [op, after] : kLate) {
      if (!has_word(p.text, fmt::format("stablehlo.{}", op))) continue;
      r.late.push_back(fmt::format("{} (after {})", op, after));
      if (const auto v = version_in(after); !newest || *newest < *v) newest = v;
    }
    if (newest) r.newer_than = newest->text();
  } else if (r.name == "onnx" || r.name == "torch.export") {
    // "opset 17, ir 8", "schema 8.2"
    const auto at = p.version.find_first_of("0123456789");
    if (at != std::string::npos) r.version = p.version.substr(at, p.version.find(',') - at);
  }
  return r;
}

std::optional<Representation> representation_of(std::string_view bytes) {
  const auto version = portable_version(bytes);
  if (!version) return std::nullopt;
  return Representation{.name = "stablehlo", .version = version->text(), .newer_than = {}, .late = {}};
}

}  // namespace mlsysim
