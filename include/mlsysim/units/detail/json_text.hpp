#pragma once
// JSON as text, in the one form in which names of somebody else cannot stop it: bytes that are no UTF-8 are
// replaced, where nlohmann's own default throws. A template, so that a room that writes no JSON takes in
// nothing of it.

#include <string>

namespace mlsysim::detail {

/// On one line, or with `indent` blanks a level.
template <class Json> [[nodiscard]] std::string json_text(const Json& json, int indent = -1) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

/// In ASCII alone, which can be cut anywhere.
template <class Json> [[nodiscard]] std::string json_ascii(const Json& json) {
  return json.dump(-1, ' ', true, Json::error_handler_t::replace);
}

/// A file or an answer of its own: with indentation and a last newline.
template <class Json> [[nodiscard]] std::string json_document(const Json& json, int indent = 2) {
  return json_text(json, indent) + "\n";
}

}  // namespace mlsysim::detail
