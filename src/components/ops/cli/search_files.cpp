#include "search_files.hpp"

#include <mlsysim/files/detail/files.hpp>
#include <mlsysim/files/detail/seal.hpp>
#include <mlsysim/units/detail/json_text.hpp>
#include <mlsysim/units/error.hpp>

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>

namespace mlsysim::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

/// A state must be readable again, and a rename would put a file in the place of a link, device or pipe.
void refuse_irregular(const std::string& path) {
  const auto kind = files::irregular(path, false);
  if (kind.empty()) return;
  throw InputError({.id = "mlsysim.cli.079",
                    .message = "a state needs a file",
                    .key = "--state",
                    .found = fmt::format("'{}', {}", path, kind),
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
  const std::string text = files::read(path, "a state of a search");
  Json j = Json::parse(text, nullptr, false);
  if (j.is_discarded()) refuse_state_file(path, schema, "text that is not JSON, or only a part of it");
  if (!j.is_object() || !j.contains("schema") || !j["schema"].is_string())
    refuse_state_file(path, schema, "JSON without a schema");
  if (j["schema"] != schema) refuse_state_file(path, schema, j["schema"].get<std::string>());
  if (const auto damage = files::damage_of(text))
    throw InputError({.id = "mlsysim.cli.105",
                      .message = "a state is damaged",
                      .key = path,
                      .found = fmt::format("'{}': {}", path, *damage),
                      .expected = "a state as it was written",
                      .hint = "take a copy of it, or run this part again with --force and without --resume"});
  if (!j.contains("request") || !j["request"].is_object())
    refuse_state_file(path, schema, "no request in it");
  return j;
}

void replace_state_file(const std::string& path, const Json& state) {
  const auto text = detail::json_text(state);
  files::write(path, files::sealed(text) + "\n", {.replace = files::Replace::any, .mode = 0600});
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
                      .hint = "add --resume to go on, or --force"});
  return exists && asked.resume;
}

namespace {

/// Where a scheduler says which task of an array this is, and of how many.
struct ArrayVariables {
  const char *index, *first, *count;
  std::uint64_t base;  ///< index of the first task where no variable says it
};
constexpr ArrayVariables kArrays[] = {
    {"OMPI_COMM_WORLD_RANK", nullptr, "OMPI_COMM_WORLD_SIZE",
     0},  // ranks of mpirun: Open MPI, then MPICH and others
    {"PMI_RANK", nullptr, "PMI_SIZE", 0},
    {"SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_MIN", "SLURM_ARRAY_TASK_COUNT", 1},
    {"JOB_COMPLETION_INDEX", nullptr, nullptr, 0},  // indexed job of Kubernetes
    {"AWS_BATCH_JOB_ARRAY_INDEX", nullptr, "AWS_BATCH_JOB_ARRAY_SIZE", 0},
    {"PBS_ARRAY_INDEX", nullptr, nullptr, 1},
    {"PBS_ARRAYID", nullptr, nullptr, 1},
};

constexpr Fault kArray{
    .id = "mlsysim.cli.112",
    .message = "the task of the array cannot be told",
    .key = "--shard",
    .hint =
        "write --shard auto/COUNT where the scheduler does not say how many tasks there are, or --shard k/n"};

std::optional<std::uint64_t> number_in(const char* variable) {
  const char* text = variable == nullptr ? nullptr : std::getenv(variable);
  if (text == nullptr) return std::nullopt;
  std::uint64_t out = 0;
  const char* const end = text + std::strlen(text);
  const auto [stop, failed] = std::from_chars(text, end, out);
  if (failed != std::errc{} || stop != end)
    throw InputError(
        kArray.with({.found = fmt::format("{}={}", variable, text), .expected = "a whole number"}));
  return out;
}

/// The shard of the task of a job array that this process is. @param count of the tasks; 0: as the scheduler
/// says
Shard shard_of_array(std::uint64_t count) {
  for (const auto& a : kArrays) {
    const auto index = number_in(a.index);
    if (!index) continue;
    const std::uint64_t n = count > 0 ? count : number_in(a.count).value_or(0),
                        first = number_in(a.first).value_or(a.base);
    if (n == 0 || *index < first || *index - first >= n)
      throw InputError(
          kArray.with({.found = fmt::format("{}={} of {} tasks from {}", a.index, *index, n, first),
                       .expected = "a task of the array"}));
    return {*index - first + 1, n};
  }
  throw InputError(kArray.with({.found = "no variable of Slurm, Kubernetes, AWS Batch, PBS or mpirun",
                                .expected = "a task of a job array"}));
}

}  // namespace

Shard shard_of(const std::string& text) {
  if (text.empty()) return {};
  if (text == "auto") return shard_of_array(0);
  if (text.starts_with("auto/")) {
    const Shard all = shard_of("1/" + text.substr(5));
    return shard_of_array(all.n);
  }
  Shard out;
  const char *at = text.data(), *const end = at + text.size();
  const auto number = [&](std::uint64_t& to) {
    const auto [stop, failed] = std::from_chars(at, end, to);  // takes no sign and no blank
    at = stop;
    return failed == std::errc{};
  };
  if (!number(out.k) || at == end || *at++ != '/' || !number(out.n) || at != end || out.k < 1 ||
      out.k > out.n)
    throw InputError({.id = "mlsysim.cli.074",
                      .message = "the shard cannot be read",
                      .key = "--shard",
                      .found = fmt::format("'{}'", text),
                      .expected = "k/n, e.g. 3/16"});
  return out;
}

}  // namespace mlsysim::cli
