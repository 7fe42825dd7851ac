#include <mlsysim/resolver_api/report.hpp>

#include <mlsysim/resolver_api/field_text.hpp>

#include <fmt/format.h>

namespace mlsysim {

std::vector<Assumption> defaults_used(std::span<const FieldInfo> inputs, const FieldMask& supplied) {
  std::vector<Assumption> out;
  for (std::size_t i = 0; i < inputs.size() && i < supplied.size(); ++i) {
    const auto& f = inputs[i];
    if (supplied[i] || f.required) continue;
    out.push_back({f.name, field_text(f, f.default_value),
                   f.default_source.empty() ? "default" : std::string(f.default_source)});
  }
  return out;
}

std::vector<Assumption> RunReport::assumptions() const {
  auto all = defaults_used(inputs, supplied);
  all.insert(all.end(), notes.assumptions.begin(), notes.assumptions.end());
  return all;
}

std::string RunReport::text() const {
  std::string out = resolver;
  if (!fidelity.empty()) out += fmt::format(" at {} fidelity", fidelity);
  if (seconds) out += fmt::format(", {:.3g} s", *seconds);
  out += "\n  " + verification.text();
  for (const auto& a : assumptions())
    out += fmt::format("\n  assumed {} = {} ({})", a.name.view(), a.value.str(), a.source.view());
  for (const auto& w : notes.warnings) out += "\n  warning: " + w;
  return out;
}

}  // namespace mlsysim
