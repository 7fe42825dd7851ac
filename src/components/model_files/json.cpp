#include "detail/json.hpp"

#include <mlsysim/files/detail/files.hpp>
#include <mlsysim/files/detail/roots.hpp>
#include <mlsysim/units/detail/json_fault.hpp>
#include <mlsysim/units/detail/json_text.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace mlsysim::detail {
namespace {

constexpr int kDepth = 64;

/// Replaces NaN and Infinity, which Python writes, by null, and measures the depth: both outside strings.
std::string plain_json(std::string_view text, const std::string& file) {
  std::string out(text);
  bool quoted = false;
  int depth = 0;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const char c = out[i];
    if (quoted) {
      if (c == '\\') ++i;
      if (c == '"') quoted = false;
      continue;
    }
    if (c == '"') quoted = true;
    if ((c == '{' || c == '[') && ++depth > kDepth)
      throw InputError("mlsysim.model_files.001", "the file nests too deeply", "",
                       fmt::format("more than {} levels at byte {}", kDepth, i),
                       fmt::format("at most {} levels", kDepth), "give the config.json of a model", {file});
    if (c == '}' || c == ']') --depth;
    for (const std::string_view word : {"-Infinity", "Infinity", "NaN"})
      if (std::string_view(out).substr(i).starts_with(word)) {
        out.replace(i, word.size(), "null");
        i += 3;
        break;
      }
  }
  return out;
}

/// Every number that is read passes here: none is so large or so small that what is computed of it overflows.
/// A largest number of double precision (1e308) stands for "no limit", as Infinity does, and becomes null.
void check_numbers(Json& json, const std::string& path, const std::string& file) {
  constexpr double kLeast = 1e-100, kMost = 1e100, kUnlimited = 1e308;
  if (json.is_number()) {
    const double x = std::abs(json.get<double>());
    if (x >= kUnlimited) {
      json = nullptr;
      return;
    }
    if (x == 0 || (x >= kLeast && x <= kMost)) return;
    throw InputError("mlsysim.model_files.025", fmt::format("'{}' is out of range", path), path, shown(json),
                     fmt::format("0, or a number between {:g} and {:g}", kLeast, kMost),
                     "correct the file, or write the entry by hand (docs/how-to/add-a-model.md)", {file});
  }
  if (json.is_array()) {
    for (std::size_t i = 0; i < json.size(); ++i)
      if (json[i].is_number() || json[i].is_structured())
        check_numbers(json[i], fmt::format("{}[{}]", path, i), file);
  } else if (json.is_object()) {
    for (auto& [key, inner] : json.items())
      if (inner.is_number() || inner.is_structured())
        check_numbers(inner, path.empty() ? key : path + "." + key, file);
  }
}

}  // namespace

Json parse_json(std::string_view text, const std::string& file) {
  const char* hint = "give a config.json as it was downloaded; --format names the engine of a launch";
  if (text.size() > kJsonLimit)
    throw InputError("mlsysim.model_files.002", "the file is too long", "", fmt::format("{} B", text.size()),
                     fmt::format("at most {} B", kJsonLimit), hint, {file});
  Json json;
  try {
    json = Json::parse(plain_json(text, file));
  } catch (const Json::exception& error) {
    throw InputError("mlsysim.model_files.003", "the file is no JSON", "", json_fault(error), "a JSON object",
                     hint, {file});
  }
  if (!json.is_object())
    throw InputError("mlsysim.model_files.003", "the file is no JSON", "", shown(json), "a JSON object", hint,
                     {file});
  check_numbers(json, "", file);
  return json;
}

std::string read_bytes(const std::filesystem::path& path, std::uint64_t limit, Extent extent) {
  const auto unreadable = [&](std::string found) {
    throw InputError("mlsysim.model_files.004", "the file cannot be read", path.string(), std::move(found),
                     "a file that can be read", "look at the path and its permissions", {path.string()});
  };
  if (extent == Extent::whole) {
    auto got = files::try_read(path, limit);
    if (got.fault == files::ReadFault::too_large)
      throw InputError("mlsysim.model_files.002", "the file is too long", "", std::move(got.found),
                       fmt::format("at most {} B", limit), "give a config.json as it was downloaded",
                       {path.string()});
    if (got.fault != files::ReadFault::none) unreadable(std::move(got.found));
    return std::move(got.bytes);
  }
  std::string head;
  auto why = files::read_pieces(path, std::min(files::size_of(path), limit),
                                [&](std::string_view piece) { head += piece; });
  if (!why.empty()) unreadable(std::move(why));
  return head;
}

std::string shown(const Json& value) {
  if (value.is_structured())
    return fmt::format("{} of {} members", value.is_array() ? "a list" : "an object", value.size());
  auto text = json_ascii(value);
  if (text.size() > 60) text = text.substr(0, 57) + "...";
  return text;
}

}  // namespace mlsysim::detail
