#pragma once
/// Writes the reference pages of resolvers in Markdown, from their field tables, equations and examples.
///
/// A page has purpose, walls, inputs, outputs, equations in LaTeX, source, fallacies and an example that
/// runs.
/// Example: the resolver SingleNodeModel gives the page SingleNodeModel.md. The last page is the index
/// README.md.

#include <mlsysim/resolver_api/resolver.hpp>
#include <mlsysim/specs/zoo.hpp>

#include <string>
#include <vector>

namespace mlsysim {

/// A page: its file name and its text in Markdown.
struct ResolverPage {
  std::string file;
  std::string text;
};

/// The page of one resolver.
[[nodiscard]] std::string resolver_page(const Resolver& resolver, const Zoo& zoo);
/// The pages of all resolvers of the standard registry that are not laws, and their index README.md; in
/// order.
[[nodiscard]] std::vector<ResolverPage> resolver_pages(const Zoo& zoo);

}  // namespace mlsysim
