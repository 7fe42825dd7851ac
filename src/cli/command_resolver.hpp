#pragma once
/// Commands about resolvers that run one or write its page, and about the walls.

#include "commands.hpp"

namespace mlsysim::cli {

struct ResolverRunRequest {
  std::string name;
  std::vector<std::string> words;  ///< `--key value`, `--key=value` or `key=value`
};
/// Runs one resolver with inputs of the command line.
[[nodiscard]] Answer resolver_run(const ResolverRunRequest& request, const RenderOptions& options);
/// The page of one resolver, or the names of all pages; writes them into a folder, or checks that they are
/// current there.
[[nodiscard]] Answer resolver_docs(const std::string& name, const std::string& write,
                                   const std::string& check);

/// All walls, or one with its resolvers and their fallacies. @param number text; empty for all
[[nodiscard]] Answer walls_command(const std::string& number, const RenderOptions& options);

}  // namespace mlsysim::cli
