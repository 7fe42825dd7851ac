#pragma once
/// Escaping of text for XML and HTML.
///
/// Example: `markup_escaped("a < b & c")` is "a &lt; b &amp; c".

#include <string>
#include <string_view>

namespace mlsysim::detail {

/// Escapes `<`, `>`, `&` and quotes. Control characters other than tab and newline are left out.
[[nodiscard]] std::string markup_escaped(std::string_view text);

}  // namespace mlsysim::detail
