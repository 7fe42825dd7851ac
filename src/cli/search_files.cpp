#include "search_files.hpp"

#include "file_fault.hpp"

#include <mlsysim/units/error.hpp>

#include <fmt/format.h>

#include <unistd.h>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace mlsysim::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

std::string_view kind_of(fs::file_type type) {
  switch (type) {
    case fs::file_type::directory:
      return "a folder";
    case fs::file_type::character:
    case fs::file_type::block:
      return "a device";
    case fs::file_type::fifo:
      return "a pipe";
    case fs::file_type::socket:
      return "a socket";
    default:
      return "something else";
  }
}

/// A rename would put a file in the place of a device or pipe, and a state must be readable again.
void refuse_irregular(const std::string& path) {
  std::error_code none;
  const auto type = fs::status(path, none).type();
  if (type == fs::file_type::not_found || type == fs::file_type::regular) return;
  throw InputError({.id = "mlsysim.cli.079",
                    .message = "a state needs a file",
                    .key = "--state",
                    .found = fmt::format("'{}', {}", path, kind_of(type)),
                    .expected = "a regular file, or a name that is free",
                    .hint = "choose another name"});
}

}  // namespace

void refuse_state_file(const std::string& path, std::string_view schema, const std::string& found) {
  throw InputError({.id = "mlsysim.cli.077",
                    .message = "a file is no state of a search",
                    .key = path,
                    .found = fmt::format("'{}': {}", path, found),
                    .expected = std::string(schema),
                    .hint = schema == kShardSchema ? "it is written by sweep, optimize or pareto with --state"
                                                   : "it is written by sweep with --rows and --state"});
}

Json read_state_file(const std::string& path, std::string_view schema) {
  refuse_irregular(path);
  std::ifstream in(path, std::ios::binary);
  if (!in) file_fault(path, "a file cannot be read", "check the path");
  std::ostringstream text;
  text << in.rdbuf();
  Json j = Json::parse(text.view(), nullptr, false);
  if (j.is_discarded()) refuse_state_file(path, schema, "text that is not JSON, or only a part of it");
  if (!j.is_object() || !j.contains("schema") || !j["schema"].is_string())
    refuse_state_file(path, schema, "JSON without a schema");
  if (j["schema"] != schema) refuse_state_file(path, schema, j["schema"].get<std::string>());
  if (!j.contains("request") || !j["request"].is_object())
    refuse_state_file(path, schema, "no request in it");
  return j;
}

void replace_state_file(const std::string& path, const std::string& text) {
  refuse_irregular(path);
  std::error_code failed;
  const fs::path to = fs::weakly_canonical(path, failed);
  const std::string target = failed ? path : to.string(), beside = target + ".part";
  std::FILE* f = std::fopen(beside.c_str(), "wb");
  if (f == nullptr) file_fault(path, "a file cannot be written", "check the folder");
  const bool written = std::fwrite(text.data(), 1, text.size(), f) == text.size() && std::fflush(f) == 0 &&
                       ::fsync(::fileno(f)) == 0;
  const int why = errno;
  std::fclose(f);
  if (!written) {
    std::remove(beside.c_str());
    errno = why;
    file_fault(path, "a file cannot be written to its end", "make room on the disk");
  }
  if (std::rename(beside.c_str(), target.c_str()) != 0)
    file_fault(path, "a file cannot be put in place", "check the folder");
}

bool goes_on_from_state(const SearchRequest& asked) {
  if (asked.state.empty()) {
    if (!asked.resume) return false;
    throw InputError({.id = "mlsysim.cli.081",
                      .message = "there is nothing to go on from",
                      .key = "--resume",
                      .found = "no --state",
                      .expected = "--state FILE of the run before",
                      .hint = "add --state"});
  }
  refuse_irregular(asked.state);
  std::error_code none;
  const auto folder = fs::path(asked.state).parent_path();
  if (!folder.empty() && !fs::is_directory(folder, none))
    throw InputError({.id = "mlsysim.cli.085",
                      .message = "a state needs a folder that is there",
                      .key = "--state",
                      .found = fmt::format("'{}'", asked.state),
                      .expected = fmt::format("a folder '{}'", folder.string()),
                      .hint = "make the folder, or choose another"});
  const bool exists = fs::exists(asked.state, none);
  if (exists && !asked.resume && !asked.overwrite)
    throw InputError({.id = "mlsysim.cli.075",
                      .message = "the file exists",
                      .key = "--state",
                      .found = fmt::format("'{}'", asked.state),
                      .expected = "a new file",
                      .hint = "add --resume to go on, or --overwrite"});
  return exists && asked.resume;
}

Shard shard_of(const std::string& text) {
  if (text.empty()) return {};
  unsigned long long k = 0, n = 0;
  char rest = 0;
  if (std::sscanf(text.c_str(), "%llu/%llu%c", &k, &n, &rest) != 2 || k < 1 || k > n)
    throw InputError({.id = "mlsysim.cli.074",
                      .message = "the shard cannot be read",
                      .key = "--shard",
                      .found = fmt::format("'{}'", text),
                      .expected = "k/n, e.g. 3/16"});
  return {k, n};
}

}  // namespace mlsysim::cli
