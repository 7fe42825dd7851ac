// Forms of a report.

#include "detail/page.hpp"

#include <mlsysim/plot/render.hpp>
#include <mlsysim/plot/report_page.hpp>
#include <mlsysim/report/detail/fitted_table.hpp>
#include <mlsysim/report/detail/markup.hpp>
#include <mlsysim/report/detail/text_layout.hpp>
#include <mlsysim/units/detail/markup.hpp>
#include <mlsysim/version.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <map>

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

/// A table with a choice above it, by style alone: nothing runs. @param number of the table on its page
std::string html_choice(const ChoiceTable& c, std::size_t number) {
  const auto& t = c.table;
  const auto by = column_of(t, c.by);
  const auto behind = c.behind.empty() ? std::string::npos : column_of(t, c.behind);  // npos: none
  std::map<std::string, std::size_t> counts;
  for (const auto& row : t.rows) ++counts[words_of(row[by])];
  std::string style,
      choice = fmt::format(
          "<input type=\"radio\" name=\"t{0}\" id=\"t{0}_\" checked><label for=\"t{0}_\">all ({1})</label>\n",
          number, t.rows.size());
  std::map<std::string, std::size_t> classes;
  for (const auto& [value, count] : counts) {
    const auto k = classes.size();
    classes[value] = k;
    style += fmt::format("#t{0}_{1}:checked~.wide tbody tr:not(.c{1}){{display:none}}", number, k);
    choice += fmt::format(
        "<input type=\"radio\" name=\"t{0}\" id=\"t{0}_{1}\"><label for=\"t{0}_{1}\">{2} ({3})</label>\n",
        number, k, detail::markup_escaped(value), count);
  }
  std::string out =
      fmt::format("<style>{}</style>\n<div>{}<div class=\"wide\"><table><thead><tr>", style, choice);
  for (std::size_t i = 0; i < t.columns.size(); ++i)
    if (i != behind)
      out += fmt::format("<th scope=\"col\">{}</th>", detail::markup_escaped(t.columns[i].name));
  out += "</tr></thead><tbody>\n";
  for (const auto& row : t.rows) {
    out += fmt::format("<tr class=\"c{}\">", classes.at(words_of(row[by])));
    for (std::size_t i = 0; i < row.size(); ++i) {
      const auto text = detail::markup_escaped(words_of(row[i]));
      if (i + 1 == behind)
        out += fmt::format("<td><details><summary>{}</summary><pre>{}</pre></details></td>", text,
                           detail::markup_escaped(words_of(row[behind])));
      else if (i != behind)
        out += fmt::format("<td{}>{}</td>",
                           std::holds_alternative<double>(row[i].value) ? " class=\"n\"" : "", text);
    }
    out += "</tr>\n";
  }
  return out + "</tbody></table></div></div>\n";
}

/// The table of a choice without what is behind it.
Table in_front(const ChoiceTable& c) {
  auto t = c.table;
  if (c.behind.empty()) return t;
  const auto behind = static_cast<std::ptrdiff_t>(column_of(t, c.behind));
  t.columns.erase(t.columns.begin() + behind);
  for (auto& row : t.rows) row.erase(row.begin() + behind);
  return t;
}

/// Words as lines; lines that are there and fit stay.
std::string lines_of(std::string_view words, std::size_t width) {
  std::string out;
  while (!words.empty()) {
    const auto end = std::min(words.find('\n'), words.size());
    const auto line = words.substr(0, end);
    words.remove_prefix(std::min(end + 1, words.size()));
    if (detail::shown_width(line) <= width)
      out.append(line) += '\n';
    else
      for (const auto& part : detail::wrapped(line, width)) out += part + "\n";
  }
  return out;
}

}  // namespace

std::string to_text(const ReportPage& page, const RenderOptions& options, std::size_t columns) {
  if (columns == 0) columns = options.width;
  using detail::Paint;
  const auto head = [&](std::string_view text, Paint paint) {
    return detail::painted(text, paint, options.colour) + "\n";
  };
  std::string out = head(page.title, Paint::bold) + lines_of(page.answer, options.width);
  std::size_t more = 0;
  for (const auto& part : page.parts) {
    out += "\n" + head(part.heading, Paint::bold);
    for (const auto& words : part.words) out += lines_of(words, options.width);
    for (const auto& picture : part.pictures)
      out += "\n" + lines_of(to_text(picture, options.width), options.width);
    for (const auto& c : part.choices) out += "\n" + render_fitted(in_front(c), options, columns);
    for (const auto& table : part.tables)
      out += "\n" + (table.title.empty() ? "" : head(table.title, Paint::dim)) +
             render_fitted(table, options, columns);
    if (options.verbosity == Verbosity::brief) {
      more += part.details.size();
      continue;
    }
    for (const auto& d : part.details) {
      out += "\n" + head(d.summary, Paint::dim) + d.text;
      if (!d.text.ends_with('\n')) out += "\n";
    }
  }
  if (more > 0) out += "\n" + head(fmt::format("{} derivations and lists: --verbose", more), Paint::dim);
  return out;
}

std::string to_html(const ReportPage& page) {
  std::string out = detail::page_head(page.title);
  out += fmt::format("<h1>{}</h1>\n<p class=\"answer\">{}</p>\n", detail::markup_escaped(page.title),
                     detail::markup_escaped(page.answer));
  std::size_t choices = 0;
  for (const auto& part : page.parts) {
    out += fmt::format("<section>\n<h2>{}</h2>\n", detail::markup_escaped(part.heading));
    for (const auto& words : part.words) out += "<p>" + detail::markup_escaped(words) + "</p>\n";
    for (const auto& picture : part.pictures) out += detail::html_picture(picture);
    for (const auto& c : part.choices) out += html_choice(c, ++choices);
    for (const auto& table : part.tables)
      out += fmt::format("<h3>{}</h3>\n", detail::markup_escaped(table.title)) + detail::html_table(table);
    for (const auto& d : part.details)
      out +=
          fmt::format("<details><summary>{}</summary>{}</details>\n", detail::markup_escaped(d.summary),
                      d.html.empty() ? fmt::format("<pre>{}</pre>", detail::markup_escaped(d.text)) : d.html);
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
    for (const auto& c : part.choices) out += render(in_front(c), {.format = OutputFormat::markdown}) + "\n";
    for (const auto& table : part.tables) out += render(table, {.format = OutputFormat::markdown}) + "\n";
    for (const auto& d : part.details)
      out += fmt::format("### {}\n\n", markdown_escaped(d.summary)) + fenced(d.text);
  }
  return out;
}

}  // namespace mlsysim
