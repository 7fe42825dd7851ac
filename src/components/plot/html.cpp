// A picture as a page: the SVG, and below it the numbers. Nothing is fetched and nothing runs.

#include "detail/page.hpp"

#include <mlsysim/plot/render.hpp>
#include <mlsysim/report/detail/markup.hpp>
#include <mlsysim/units/detail/markup.hpp>

#include <fmt/format.h>

namespace mlsysim {
namespace detail {

std::string page_head(std::string_view title) {
  return fmt::format(
      R"(<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="generator" content="mlsysim">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{}</title>
<style>
:root{{color-scheme:light dark}}
body{{font:16px/1.5 system-ui,sans-serif;margin:2em auto;max-width:52em;padding:0 1em}}
h1{{font-size:1.5em}}h2{{font-size:1.15em;margin-top:2em}}
svg{{max-width:100%;height:auto;border:1px solid #8888}}
table{{border-collapse:collapse;font-size:.85em}}th,td{{padding:.15em .7em;text-align:left;border-bottom:1px solid #8884}}
td.n{{text-align:right;font-variant-numeric:tabular-nums}}
pre{{overflow-x:auto;font-size:.8em;background:#8881;padding:.8em}}
input[type=radio]+label{{margin:0 1em 0 .2em}}.answer{{font-size:1.15em;font-weight:600}}summary{{cursor:pointer}}.wide,.eq{{overflow-x:auto}}.eq{{margin:.3em 0 .3em 1em}}math{{font-size:1.1em;math-style:normal}}
</style></head><body>
)",
      detail::markup_escaped(title));
}

std::string html_picture(const Picture& picture) {
  std::string out = to_svg(picture) + "<details><summary>the numbers</summary>\n";
  for (const auto& mark : picture.marks) out += html_table(mark.data);
  return out + "</details>\n";
}

}  // namespace detail

std::string to_html(const Picture& picture) {
  return detail::page_head(picture.title) + "<p>" + detail::markup_escaped(picture.description) + "</p>\n" +
         detail::html_picture(picture) + "</body></html>\n";
}

}  // namespace mlsysim
