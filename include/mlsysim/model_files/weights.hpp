#pragma once
/// Reads the tensors that safetensors files list in their headers, without loading the weights.
///
///   elements = product of the shape
///
/// Example: the header {"w":{"dtype":"BF16","shape":[2,3],"data_offsets":[0,12]}} gives 6 elements and 12
/// bytes.

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace mlsysim {

/// One tensor of a file.
struct StoredTensor {
  std::string name, format;  ///< format as the file names it: "BF16", "F8_E4M3", "Q4_K"
  std::vector<std::uint64_t> shape;
  std::uint64_t bytes = 0;

  /// Packed formats hold several weights in one element.
  [[nodiscard]] double elements() const;
};

/// Tensors of a safetensors file from its header. Offsets must tile the data: no hole, no overlap, nothing
/// past the end.
/// @param bytes of the file, at least its header @param size of the whole file [B]
/// @throws InputError
[[nodiscard]] std::vector<StoredTensor> safetensors_header(std::string_view bytes, std::uint64_t size,
                                                           const std::string& name);
/// Tensors of all safetensors files of a folder; headers only are read. The index
/// (model.safetensors.index.json), where there is one, names the files.
[[nodiscard]] std::vector<StoredTensor> safetensors_of(const std::filesystem::path& folder);

}  // namespace mlsysim
