#include <mlsysim/plot/resolver_page.hpp>

#include <mlsysim/plot/latex.hpp>
#include <mlsysim/report/resolver_report.hpp>
#include <mlsysim/resolver_api/registry.hpp>
#include <mlsysim/resolvers/walls.hpp>

#include <fmt/format.h>

namespace mlsysim {
namespace {

constexpr std::string_view kWritten =
    "<!-- Written by `mlsysim resolver docs --write docs/reference/resolvers`. Do not edit. -->\n\n";

/// The part of the Markdown report from its first table on.
std::string tables_of(const Resolver& r) {
  RenderOptions options;
  options.format = OutputFormat::markdown;
  const auto all = render(r, options);
  const auto first = all.find("\n\n", all.find("- gives"));
  auto tables = first == std::string::npos ? all : all.substr(first + 2);
  if (const auto end = tables.find("\n- fallacy"); end != std::string::npos) tables.resize(end);
  for (const auto& [from, to] : {std::pair{"## inputs", "## Inputs"}, {"## outputs", "## Outputs"}})
    if (const auto at = tables.find(from); at != std::string::npos)
      tables.replace(at, std::string_view(from).size(), to);
  return tables;
}

std::string cited(std::string_view key, const Zoo& zoo) {
  const auto* reference = zoo.find_reference(key);
  if (reference == nullptr) return fmt::format("`{}`", key);
  return reference->url.empty() ? reference->text : fmt::format("[{}]({})", reference->text, reference->url);
}

std::string law_section(const Resolver& law, const Zoo& zoo) {
  const LawEntry& entry = *law.law();
  const auto& info = entry.info;
  std::string out = fmt::format("### {}\n\n", info.id);
  const auto latex = to_latex(entry);
  if (latex.loops || latex.long_winded) {
    out += fmt::format("```text\n{}\n```\n\n", info.equation);
  } else {
    out += "$$\n\\begin{aligned}\n";
    for (std::size_t i = 0; i < latex.equations.size(); ++i) {
      auto line = latex.equations[i];
      line.insert(line.find(" = ") + 1, "&");
      out += line + (i + 1 < latex.equations.size() ? " \\\\\n" : "\n");
    }
    out += "\\end{aligned}\n$$\n\n";
  }
  out += fmt::format("Assumes: {}. Source: {}{}{}.\n\n", info.assumptions, cited(info.source, zoo),
                     info.where.empty() ? "" : ", ", info.where);
  return out;
}

}  // namespace

std::string resolver_page(const Resolver& r, const Zoo& zoo) {
  const auto& i = r.info();
  std::string out = fmt::format("# {}\n\n{}", i.name, kWritten);
  out += fmt::format("A {}: {}.\n\n", name_of(i.tier), i.about);
  for (const int number : i.walls) {
    const Wall& w = wall(number);
    out += fmt::format("* Wall {}, {} ({}): {}.\n", w.number, w.name, w.domain, w.constraint);
  }
  if (!i.law.empty()) out += fmt::format("\n```text\n{}\n```\n", i.law);
  if (!i.source.empty()) out += fmt::format("\nSource: {}.\n", cited(i.source, zoo));
  if (const auto example = example_of(i.name); !example.empty())
    out += fmt::format("\n## Example\n\n```sh run\nmlsysim resolver run {} {}\n```\n", i.name, example);
  out += "\n" + tables_of(r);
  if (const auto laws = laws_of(i.name); !laws.empty()) {
    out += "\n## Laws\n\n";
    for (const auto name : laws)
      if (const auto* law = ResolverRegistry::standard().find(name); law != nullptr && law->law() != nullptr)
        out += law_section(*law, zoo);
  }
  if (!i.fallacies.empty()) out += out.ends_with("\n\n") ? "## Fallacies\n\n" : "\n## Fallacies\n\n";
  for (const auto& f : i.fallacies) out += fmt::format("* *{}* {}\n", f.misconception, f.correction);
  while (out.ends_with("\n\n")) out.pop_back();
  return out;
}

std::vector<ResolverPage> resolver_pages(const Zoo& zoo) {
  std::vector<ResolverPage> out;
  std::string index = fmt::format(
      "# Resolvers\n\n{}Every model, solver and optimizer of the catalogue.\n\n| name | tier | walls | about "
      "|\n| --- | --- | --- | --- |\n",
      kWritten);
  for (const auto& r : ResolverRegistry::standard().all()) {
    if (r->law() != nullptr) continue;
    const auto& i = r->info();
    index += fmt::format("| [{0}]({0}.md) | {1} | {2} | {3} |\n", i.name, name_of(i.tier),
                         fmt::format("{}", fmt::join(i.walls, " ")), i.about);
    out.push_back({i.name + ".md", resolver_page(*r, zoo)});
  }
  index +=
      "\n## The 22 walls\n\n| | wall | domain | what cannot be exceeded | equation | resolvers |\n| --- | "
      "--- | --- | --- | --- | --- |\n";
  for (const auto& w : walls())
    index += fmt::format("| {} | {} | {} | {} | {} | {} |\n", w.number, w.name, w.domain, w.constraint,
                         w.equation, fmt::join(resolvers_of_wall(w.number), ", "));
  out.push_back({"README.md", std::move(index)});
  return out;
}

}  // namespace mlsysim
