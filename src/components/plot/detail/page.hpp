#pragma once
// Parts of a page that needs nothing from elsewhere.

#include <mlsysim/plot/picture.hpp>

#include <string>
#include <string_view>

namespace mlsysim::detail {

/// Everything up to and including <body>: no script may run, only the style of the page itself counts.
[[nodiscard]] std::string page_head(std::string_view title);
/// The SVG, and its numbers behind a click.
[[nodiscard]] std::string html_picture(const Picture& picture);

}  // namespace mlsysim::detail
