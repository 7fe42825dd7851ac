#include "ranks.hpp"

#include "cli/output.hpp"

#include <mlsysim/units/error.hpp>

#include <fmt/format.h>

#include <dlfcn.h>
#include <cstdio>
#include <cstring>
#include <filesystem>

namespace mlsysim::cli {
namespace {

namespace fs = std::filesystem;
constexpr const char* kComponent = "mlsysim-mpi.so";

/// Beside the program, or where it is installed: never elsewhere, and no variable is looked at.
std::string component() {
  std::error_code none;
  const auto folder = fs::read_symlink("/proc/self/exe", none).parent_path();
  for (const auto& path : {folder / kComponent, folder / "../libexec/mlsysim" / kComponent})
    if (fs::exists(path, none)) return path.string();
  throw InputError({.id = "mlsysim.cli.161",
                    .message = "this installation has no component for MPI",
                    .key = "--mpi",
                    .found = fmt::format("no {} beside the program", kComponent),
                    .expected = "a build that found MPI",
                    .hint = "install libopenmpi-dev and build again, or use --shard auto and mlsysim merge"});
}

constexpr Fault kNoRanks{.id = "mlsysim.cli.162",
                         .message = "MPI does not begin",
                         .key = "--mpi",
                         .expected = "a run of mpirun, or one process",
                         .hint = "mpirun -n 4 mlsysim ... --mpi"};

const mlsysim_ranks* opened() {
  void* const library = ::dlopen(component().c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) throw InputError(kNoRanks.with({.found = ::dlerror()}));
  const auto open = reinterpret_cast<mlsysim_open_ranks_t>(::dlsym(library, "mlsysim_open_ranks"));
  const auto* const r = open == nullptr ? nullptr : open();
  if (r == nullptr) throw InputError(kNoRanks.with({.found = "no ranks"}));
  return r;
}

void check(int wrong, int with) {
  if (wrong != 0)
    throw InputError({.id = "mlsysim.cli.163",
                      .message = "a rank does not answer",
                      .key = "--mpi",
                      .found = fmt::format("error {} with rank {}", wrong, with),
                      .expected = "its part",
                      .hint = "run again; with --state 'part-{shard}.json' --resume what was done is kept"});
}

}  // namespace

const mlsysim_ranks& ranks() {
  static const mlsysim_ranks* const one = opened();
  return *one;
}

void send_to(const mlsysim_ranks& r, int rank, std::string_view text) {
  check(r.send(text.data(), text.size(), rank), rank);
}

std::string received_from(const mlsysim_ranks& r, int rank) {
  const char* bytes = nullptr;
  unsigned long long size = 0;
  check(r.receive(rank, &bytes, &size), rank);
  return {bytes, size};
}

std::string joined_over_ranks(
    const mlsysim_ranks& r, std::string own,
    const std::function<std::string(const std::string&, const std::string&)>& join) {
  for (int step = 1; step < r.size; step *= 2) {
    if (r.rank % (2 * step) != 0) {
      send_to(r, r.rank - step, own);
      return {};
    }
    if (r.rank + step >= r.size) continue;
    own = join(own, received_from(r, r.rank + step));
  }
  return own;
}

std::vector<double> numbers_of_ranks(const mlsysim_ranks& r, const std::vector<double>& own) {
  const auto bytes = joined_over_ranks(
      r, std::string(reinterpret_cast<const char*>(own.data()), own.size() * sizeof(double)),
      [](const std::string& a, const std::string& b) { return a + b; });
  std::vector<double> out(bytes.size() / sizeof(double));
  if (!out.empty()) std::memcpy(out.data(), bytes.data(), out.size() * sizeof(double));
  return out;
}

void refuse_interrupted_rank(const std::string& found) {
  throw InputError({.id = "mlsysim.cli.165",
                    .message = "a rank was interrupted",
                    .key = "--mpi",
                    .found = found,
                    .expected = "all of its part",
                    .hint = "run again; with --state and --resume what was done is kept"});
}

Answer on_ranks(const std::function<Answer()>& command) {
  const auto& r = ranks();
  try {
    auto answer = command();
    r.close();
    return answer;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "mlsysim: rank %d of %d: %s", r.rank, r.size, error_text(error).c_str());
    std::fflush(stderr);
    r.abandon(static_cast<int>(Exit::bad_input));
    throw;
  }
}

}  // namespace mlsysim::cli
