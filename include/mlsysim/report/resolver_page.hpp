#pragma once
/// Reference pages of resolvers, written from their tables, laws and examples.

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

/// The page of one resolver: purpose, walls, inputs, outputs, laws in LaTeX, source, fallacies and an example
/// that runs.
[[nodiscard]] std::string resolver_page(const Resolver& resolver, const Zoo& zoo);
/// The pages of all resolvers of the standard registry that are not laws, and their index README.md; in
/// order.
[[nodiscard]] std::vector<ResolverPage> resolver_pages(const Zoo& zoo);

}  // namespace mlsysim
