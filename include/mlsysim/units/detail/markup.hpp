#pragma once
/// Text inside XML and HTML.

#include <string>
#include <string_view>

namespace mlsysim::detail {

/// A text as a part of XML or HTML; control characters, which neither allows, are left out.
[[nodiscard]] std::string markup_escaped(std::string_view text);

}  // namespace mlsysim::detail
