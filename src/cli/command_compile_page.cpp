// The report of compile records as one page: no script, nothing from elsewhere, for archives.

#include "commands_compile.hpp"

#include <mlsysim/report/detail/markup.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

namespace mlsysim::cli {
namespace {

using mlsysim::detail::markup_escaped;

constexpr std::size_t kCategories = Choices<BreakCategory>::names.size();
using ByCategory = std::array<double, kCategories>;

/// Fills with white digits on them: each has a contrast of 4.5 or more.
constexpr std::array<const char*, kCategories> kFills{"#0b5394", "#38761d", "#990000", "#741b47", "#7f6000",
                                                      "#134f5c", "#b45f06", "#351c75", "#5b0f00", "#0c343d",
                                                      "#274e13", "#4c1130", "#783f04", "#434343"};

std::string style() {
  std::string out =
      "body{font:15px/1.5 sans-serif;margin:2em;color:#111;background:#fff}table{border-collapse:collapse}"
      "td,th{border:1px solid #767676;padding:.2em .6em;text-align:left}.n{text-align:right}"
      "label{margin:0 1em 0 .2em}svg text{font:13px sans-serif}";
  for (std::size_t i = 0; i < kCategories; ++i)
    out += fmt::format("#f{0}:checked~table tr[class]:not(.c{0}){{display:none}}", i);
  return out;
}

/// A bar for each commit, a part for each category; the number stands in the part, the words in its title.
std::string bars(const std::map<std::string, ByCategory>& commits) {
  constexpr double kWidth = 600, kRow = 28, kNames = 180;
  double most = 1;
  for (const auto& [commit, counts] : commits) {
    double sum = 0;
    for (const double n : counts) sum += n;
    most = std::max(most, sum);
  }
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{:g}\" height=\"{:g}\" role=\"img\">"
      "<title>Breaks of each commit by category</title><desc>Bars of {} commits, the longest of {:g} "
      "breaks</desc>\n",
      kWidth + kNames, kRow * static_cast<double>(commits.size()) + 4, commits.size(), most);
  double y = 2;
  for (const auto& [commit, counts] : commits) {
    out += fmt::format("<text x=\"0\" y=\"{:g}\">{}</text>", y + 17, markup_escaped(commit.substr(0, 24)));
    double x = kNames;
    for (std::size_t i = 0; i < kCategories; ++i) {
      if (counts[i] == 0) continue;
      const double width = kWidth * counts[i] / most;
      out += fmt::format(
          "<g><title>{0}: {1:g}</title><rect x=\"{2:g}\" y=\"{3:g}\" width=\"{4:g}\" height=\"24\" "
          "fill=\"{5}\" stroke=\"#fff\"/><text x=\"{6:g}\" y=\"{7:g}\" fill=\"#fff\">{8}{1:g}</text></g>\n",
          Choices<BreakCategory>::names[i], counts[i], x, y, width, kFills[i], x + 4, y + 17,
          width > 200 ? fmt::format("{} ", Choices<BreakCategory>::names[i]) : std::string());
      x += width;
    }
    y += kRow;
  }
  return out + "</svg>\n";
}

/// Every break with its whole reason; a choice above the table leaves one category.
std::string breaks(const CompileRecords& all, const ByCategory& counts) {
  std::string choices =
                  "<input type=\"radio\" name=\"f\" id=\"all\" checked><label for=\"all\">all</label>\n",
              rows;
  for (std::size_t i = 0; i < kCategories; ++i)
    if (counts[i] > 0)
      choices += fmt::format(
          "<input type=\"radio\" name=\"f\" id=\"f{0}\"><label for=\"f{0}\">{1} ({2:g})</label>\n", i,
          Choices<BreakCategory>::names[i], counts[i]);
  for (const auto& r : all.records)
    for (const auto& b : r.breaks) {
      const auto place = b.place();
      rows += fmt::format(
          "<tr class=\"c{}\"><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td>"
          "<td><details><summary>{}</summary><pre>{}</pre></details></td></tr>\n",
          static_cast<std::size_t>(b.category), markup_escaped(r.family), markup_escaped(r.model),
          markup_escaped(r.commit), name_of(b.category), markup_escaped(b.gb_id),
          place.file.empty()
              ? std::string()
              : markup_escaped(fmt::format("{}:{} {}", place.file, place.line, place.function)),
          markup_escaped(b.type), markup_escaped(b.reason));
    }
  return choices +
         "<table><thead><tr><th>family</th><th>model</th><th>commit</th><th>category</th><th>id</th>"
         "<th>place</th><th>reason</th></tr></thead><tbody>\n" +
         rows + "</tbody></table>\n";
}

}  // namespace

std::string compile_page(const CompileRecords& all, const std::vector<Table>& tables) {
  ByCategory counts{};
  std::map<std::string, ByCategory> commits;
  for (const auto& r : all.records) {
    auto& of_commit = commits[r.commit];
    for (const auto& b : r.breaks) {
      counts[static_cast<std::size_t>(b.category)] += 1;
      of_commit[static_cast<std::size_t>(b.category)] += 1;
    }
  }
  std::string out = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Compile records</title>\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
      "'unsafe-inline'\">\n<style>{}</style></head><body>\n<h1>Compile records</h1>\n<h2>Breaks of each "
      "commit</h2>\n{}<h2>Breaks</h2>\n<div>{}</div>\n",
      style(), bars(commits), breaks(all, counts));
  for (const auto& t : tables)
    if (!t.rows.empty())
      out += fmt::format("<h2>{}</h2>\n{}", markup_escaped(t.title), mlsysim::detail::html_table(t));
  return out + "</body></html>\n";
}

}  // namespace mlsysim::cli
