#pragma once
/// The form in which commands write JSON.

#include <nlohmann/json.hpp>

#include <string>

namespace mlsysim::cli {

using Json = nlohmann::ordered_json;

/// Two blanks of indentation and a last newline; text that is not UTF-8 is replaced rather than refused.
[[nodiscard]] inline std::string dumped(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace mlsysim::cli
