#pragma once
/// Entries that plugins add to the zoo, as the text of files.
///
/// Example: a grid in a contribution with the origin "acme" is found in the zoo that `load_zoo` returns, and
/// its entry has the origin "acme".

#include <mlsysim/zoo/loader.hpp>

#include <span>
#include <string>
#include <vector>

namespace mlsysim {

/// The text of one file of entries. The rules on sources are those of the shipped files.
struct ZooContribution {
  std::string origin;  ///< name of the plugin; becomes the origin of its entries
  std::string name;    ///< stands for the file in messages
  std::string text;
};

/// The zoo of `load_zoo` and these entries. @throws ErrorList with every problem of every file
[[nodiscard]] Zoo load_zoo(const LoadOptions& options, std::span<const ZooContribution> contributed);

/// Adds these entries to `standard_zoo()` on every thread, in place of earlier contributions. References into
/// earlier zoos stay valid until the process ends.
/// @throws ErrorList with every problem; nothing is then changed
void publish_contributions(std::vector<ZooContribution> contributed);

}  // namespace mlsysim
