#include <mlsysim/files/detail/files.hpp>
#include <mlsysim/files/detail/roots.hpp>
#include <mlsysim/model_files/weights.hpp>

#include "detail/json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace mlsysim {
namespace {

constexpr std::uint64_t kHeaderLimit = 100ull << 20;  ///< as the library itself has it
constexpr const char* kHint = "download the file again";

[[noreturn]] void bad(const std::string& file, std::string message, std::string key, std::string found,
                      std::string expected) {
  throw InputError("mlsysim.model_files.020", std::move(message), std::move(key), std::move(found),
                   std::move(expected), kHint, {file});
}

std::uint64_t header_length(std::string_view bytes, std::uint64_t size, const std::string& name) {
  if (bytes.size() < 8)
    bad(name, "the file is too short for a header", "", fmt::format("{} B", bytes.size()),
        "8 B and a header");
  std::uint64_t length = 0;
  for (int i = 7; i >= 0; --i)
    length = length << 8 | static_cast<unsigned char>(bytes[static_cast<std::size_t>(i)]);
  if (length > kHeaderLimit || size < 8 || length > size - 8)
    bad(name, "the header does not fit into the file", "",
        fmt::format("a header of {} B in a file of {} B", length, size),
        fmt::format("at most {} B, and less than the file", kHeaderLimit));
  return length;
}

std::uint64_t whole_number(const detail::Json& value, const std::string& file, const std::string& key) {
  if (!value.is_number_unsigned())
    bad(file, fmt::format("'{}' is no count", key), key, detail::shown(value), "a whole number");
  return value.get<std::uint64_t>();
}

StoredTensor tensor_of(const std::string& name, const detail::Json& json, const std::string& file) {
  StoredTensor t;
  t.name = name;
  const auto member = [&](const char* key) -> const detail::Json& {
    const auto found = json.is_object() ? json.find(key) : json.end();
    if (!json.is_object() || found == json.end())
      bad(file, fmt::format("tensor '{}' has no {}", name, key), name, detail::shown(json),
          "dtype, shape and data_offsets");
    return *found;
  };
  const auto& format = member("dtype");
  if (!format.is_string())
    bad(file, fmt::format("tensor '{}' has no format", name), name, detail::shown(format),
        "a text such as BF16");
  t.format = format.get<std::string>();
  const auto& shape = member("shape");
  if (!shape.is_array() || shape.size() > 16)
    bad(file, fmt::format("tensor '{}' has no shape", name), name, detail::shown(shape), "a list of extents");
  for (const auto& n : shape) t.shape.push_back(whole_number(n, file, name + ".shape"));
  return t;
}

}  // namespace

double StoredTensor::elements() const {
  double n = 1;
  for (const auto x : shape) n *= static_cast<double>(x);
  return n;
}

std::vector<StoredTensor> safetensors_header(std::string_view bytes, std::uint64_t size,
                                             const std::string& name) {
  const auto length = header_length(bytes, size, name);
  if (bytes.size() - 8 < length)
    bad(name, "the header is cut off", "", fmt::format("{} B", bytes.size()),
        fmt::format("{} B", length + 8));
  const auto json = detail::parse_json(bytes.substr(8, static_cast<std::size_t>(length)), name);
  struct Part {
    std::uint64_t begin, end;
    StoredTensor tensor;
  };
  std::vector<Part> parts;
  for (const auto& [key, value] : json.items()) {
    if (key == "__metadata__") continue;
    Part part{0, 0, tensor_of(key, value, name)};
    const auto offsets = value.find("data_offsets");
    if (offsets == value.end() || !offsets->is_array() || offsets->size() != 2)
      bad(name, fmt::format("tensor '{}' has no offsets", key), key, detail::shown(value),
          "data_offsets: [begin, end]");
    part.begin = whole_number((*offsets)[0], name, key + ".data_offsets");
    part.end = whole_number((*offsets)[1], name, key + ".data_offsets");
    if (part.end < part.begin)
      bad(name, fmt::format("tensor '{}' ends before it begins", key), key,
          fmt::format("{} and {}", part.begin, part.end), "begin <= end");
    part.tensor.bytes = part.end - part.begin;
    parts.push_back(std::move(part));
  }
  std::sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  std::uint64_t at = 0;
  std::vector<StoredTensor> out;
  for (auto& part : parts) {
    if (part.begin != at)
      bad(name, fmt::format("tensor '{}' does not begin where the one before ends", part.tensor.name),
          part.tensor.name, fmt::format("byte {}", part.begin), fmt::format("byte {}", at));
    at = part.end;
    out.push_back(std::move(part.tensor));
  }
  if (at != size - 8 - length)
    bad(name, "the tensors are not as long as the file", "", fmt::format("{} B of tensors", at),
        fmt::format("{} B", size - 8 - length));
  return out;
}

std::vector<StoredTensor> safetensors_of(const std::filesystem::path& folder) {
  std::set<std::filesystem::path> parts;
  const auto index = folder / "model.safetensors.index.json";
  if (files::exists(index)) {
    const auto json = detail::parse_json(detail::read_bytes(index, detail::kJsonLimit, detail::Extent::whole),
                                         index.string());
    const auto map = json.find("weight_map");
    if (map == json.end() || !map->is_object())
      bad(index.string(), "the index has no weight_map", "weight_map", "no such key",
          "names of tensors and their files");
    for (const auto& [tensor, file] : map->items()) {
      const auto name =
          file.is_string() ? std::filesystem::path(file.get<std::string>()) : std::filesystem::path();
      // Files of the folder itself, and no others.
      if (name.empty() || name != name.filename() || name == "..")
        bad(index.string(), fmt::format("tensor '{}' lies in no file of the folder", tensor), tensor,
            detail::shown(file), "the name of a file");
      parts.insert(folder / name);
    }
  } else {
    for (auto& file : files::listed(folder, ".safetensors")) parts.insert(std::move(file));
  }
  std::vector<StoredTensor> out;
  for (const auto& file : parts) {
    if (!files::exists(file)) continue;  // a folder with a part of the model
    const auto size = files::size_of(file);
    const auto start = detail::read_bytes(file, 8, detail::Extent::beginning);
    const auto length = header_length(start, size, file.string());
    auto tensors = safetensors_header(detail::read_bytes(file, length + 8, detail::Extent::beginning), size,
                                      file.string());
    out.insert(out.end(), std::make_move_iterator(tensors.begin()), std::make_move_iterator(tensors.end()));
  }
  return out;
}

}  // namespace mlsysim
