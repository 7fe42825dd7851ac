#pragma once
/// Entries that plugins add to the zoo.

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

/// From now on `standard_zoo()` has these entries beside those of files, on every thread; they replace what
/// was contributed before. References to the zoos before stay valid: they are kept until the process ends.
/// @throws ErrorList with every problem; nothing is then changed
void publish_contributions(std::vector<ZooContribution> contributed);

}  // namespace mlsysim
