#pragma once
/// JSON documents as text. Bytes that are not UTF-8 are replaced, where the default of nlohmann_json throws.
///
/// The functions are templates, so that components that write no JSON do not include that library.
/// Example: `json_ascii` of {"a": x}, x being the single byte 0xff, is {"a":"\ufffd"}.

#include <string>

namespace mlsysim::detail {

/// On one line, or with `indent` blanks a level.
template <class Json> [[nodiscard]] std::string json_text(const Json& json, int indent = -1) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

/// In ASCII alone, so that a text may be cut at any byte.
template <class Json> [[nodiscard]] std::string json_ascii(const Json& json) {
  return json.dump(-1, ' ', true, Json::error_handler_t::replace);
}

/// A file or an answer of its own: with indentation and a last newline.
template <class Json> [[nodiscard]] std::string json_document(const Json& json, int indent = 2) {
  return json_text(json, indent) + "\n";
}

}  // namespace mlsysim::detail
