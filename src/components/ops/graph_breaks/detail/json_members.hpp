#pragma once
/// Members of a JSON document that may be absent, null or of another kind.

#include "readers.hpp"

#include <nlohmann/json.hpp>

#include <string>

namespace mlsysim::detail {

using Json = nlohmann::ordered_json;

/// A member; null where there is none.
inline const Json& member(const Json& of, const char* name) {
  static const Json none;
  if (!of.is_object()) return none;
  const auto at = of.find(name);
  return at == of.end() ? none : *at;
}
/// A text; empty where it is none.
inline std::string text_of(const Json& json) {
  return json.is_string() ? json.get<std::string>() : std::string();
}
/// A count; 0 where it is none.
inline double count_of(const Json& json) { return json.is_number() ? counted(json.get<double>()) : 0; }

}  // namespace mlsysim::detail
