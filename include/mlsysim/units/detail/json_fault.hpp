#pragma once
/// Message for an error of nlohmann_json, in the words of this library.
///
/// Example: a syntax error gives "text that is no JSON at line 1, column 7", a missing key "no member
/// 'version'".

#include <algorithm>
#include <string>

namespace mlsysim::detail {

/// @param fault exception of nlohmann_json, whose ids are stable. A template, so that components that read no
/// JSON do not include that library
template <class Fault> [[nodiscard]] std::string json_fault(const Fault& fault) {
  const std::string words = fault.what();
  if (fault.id < 200) {
    const auto from = words.find("at line "), to = words.find(':', from);
    return "text that is no JSON" +
           (from < to && to != std::string::npos ? " " + words.substr(from, to - from) : std::string());
  }
  if (fault.id == 403) {
    const auto from = words.find('\''), to = words.rfind('\'');
    auto name = from < to ? words.substr(from + 1, std::min<std::size_t>(to - from - 1, 60)) : std::string();
    for (char& c : name)
      if (c < 32 || c > 126) c = '?';
    return "no member '" + name + "'";
  }
  if (fault.id == 406) return "a number beyond all bounds";
  return fault.id >= 400 ? "a list that is too short" : "a member of another kind than expected";
}

}  // namespace mlsysim::detail
