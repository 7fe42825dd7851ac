// Forms of a report.

#include "detail/page.hpp"

#include <mlsysim/picture/render.hpp>
#include <mlsysim/picture/report_page.hpp>
#include <mlsysim/report/detail/markup.hpp>
#include <mlsysim/version.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace mlsysim {
namespace {

/// A text in Markdown: nothing in it is markup.
std::string markdown_escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (std::string_view("\\`*_{}[]<>#|!").find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

/// A fence that the text does not hold.
std::string fenced(const std::string& text) {
  std::string fence = "```";
  while (text.find(fence) != std::string::npos) fence += '`';
  return fmt::format("{}text\n{}{}{}\n\n", fence, text, text.ends_with('\n') ? "" : "\n", fence);
}

}  // namespace

std::string to_html(const ReportPage& page) {
  std::string out = detail::page_head(page.title);
  out += fmt::format("<h1>{}</h1>\n<p class=\"answer\">{}</p>\n", detail::markup_escaped(page.title),
                     detail::markup_escaped(page.answer));
  for (const auto& part : page.parts) {
    out += fmt::format("<section>\n<h2>{}</h2>\n", detail::markup_escaped(part.heading));
    for (const auto& words : part.words) out += "<p>" + detail::markup_escaped(words) + "</p>\n";
    for (const auto& picture : part.pictures) out += detail::html_picture(picture);
    for (const auto& table : part.tables)
      out += fmt::format("<h3>{}</h3>\n", detail::markup_escaped(table.title)) + detail::html_table(table);
    for (const auto& d : part.details)
      out += fmt::format("<details><summary>{}</summary><pre>{}</pre></details>\n",
                         detail::markup_escaped(d.summary), detail::markup_escaped(d.text));
    out += "</section>\n";
  }
  return out + fmt::format("<p><small>mlsysim {}</small></p>\n</body></html>\n", version_text);
}

std::string to_markdown(const ReportPage& page) {
  std::string out = fmt::format("# {}\n\n**{}**\n\n<!-- mlsysim {} -->\n\n", markdown_escaped(page.title),
                                markdown_escaped(page.answer), version_text);
  for (const auto& part : page.parts) {
    out += fmt::format("## {}\n\n", markdown_escaped(part.heading));
    for (const auto& words : part.words) out += markdown_escaped(words) + "\n\n";
    for (const auto& picture : part.pictures) out += fenced(to_text(picture));
    for (const auto& table : part.tables) out += render(table, {.format = OutputFormat::markdown}) + "\n";
    for (const auto& d : part.details)
      out += fmt::format("### {}\n\n", markdown_escaped(d.summary)) + fenced(d.text);
  }
  return out;
}

}  // namespace mlsysim
