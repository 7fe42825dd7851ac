// The head of a portable artifact: magic, bytecode version, producer.

#include "detail/builder.hpp"
#include "detail/versions.hpp"

#include <fmt/format.h>

namespace mlsysim {

std::optional<ProgramVersion> portable_version(std::string_view bytes) {
  // "ML\xefR", the bytecode version as a variable-length number, then the producer as a text that ends with
  // 0.
  if (!bytes.starts_with("ML\xefR")) return std::nullopt;
  const auto head = bytes.substr(0, 256);
  const auto at = head.find("StableHLO_v");
  if (at == std::string_view::npos) return std::nullopt;
  return version_in(head.substr(at + 11));
}

std::optional<ProgramVersion> version_in(std::string_view text) {
  ProgramVersion v;
  int* parts[] = {&v.major, &v.minor, &v.patch};
  std::size_t i = 0;
  for (int k = 0; k < 3; ++k) {
    int n = 0, digits = 0;
    for (; i < text.size() && text[i] >= '0' && text[i] <= '9' && digits < 6; ++i, ++digits)
      n = 10 * n + (text[i] - '0');
    if (digits == 0) return std::nullopt;
    *parts[k] = n;
    if (i < text.size() && text[i] == '.') ++i;
  }
  return v;
}

std::string ProgramVersion::text() const { return fmt::format("{}.{}.{}", major, minor, patch); }

void check_stablehlo_version(const ProgramVersion& v, const std::string& file) {
  if (kOldestStableHlo <= v && !(kNewestStableHlo < ProgramVersion{v.major, v.minor, 0})) return;
  const auto range = fmt::format("{} to {}", kOldestStableHlo.text(), kNewestStableHlo.text());
  if (kNewestStableHlo < v)
    throw InputError("mlsysim.programs.014",
                     fmt::format("the program needs StableHLO {}, this build knows up to {}", v.text(),
                                 kNewestStableHlo.text()),
                     "version", v.text(), range,
                     fmt::format("ask the producer to target <= {}", kNewestStableHlo.text()), {file},
                     BreakReason::version_mismatch);
  throw InputError("mlsysim.programs.015",
                   fmt::format("the program is StableHLO {}, older than the minimum {}", v.text(),
                               kOldestStableHlo.text()),
                   "version", v.text(), range, "ask the producer to export it again", {file},
                   BreakReason::version_mismatch);
}

namespace detail {

Program read_portable(std::string_view bytes, const std::string& name, const ProgramOptions&) {
  const auto version = portable_version(bytes);
  if (version) check_stablehlo_version(*version, name);
  throw InputError("mlsysim.programs.016", "the operators of a portable artifact are not read", "",
                   version ? fmt::format("StableHLO bytecode {}", version->text()) : "MLIR bytecode",
                   "StableHLO as text",
                   "mlsysim.stablehlo_text(path) in Python turns it into text (pip install "
                   "jaxlib), or stablehlo-translate --deserialize",
                   {name}, BreakReason::unsupported_op);
}

}  // namespace detail
}  // namespace mlsysim
