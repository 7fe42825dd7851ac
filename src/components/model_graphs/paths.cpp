// From a path to a program, and from a program to a model.

#include <mlsysim/model_graphs/model_path.hpp>

#include "detail/builder.hpp"
#include "detail/variants.hpp"

#include <mlsysim/files/detail/files.hpp>
#include <mlsysim/files/detail/roots.hpp>
#include <mlsysim/model_files/detail/today.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

namespace mlsysim {
namespace {

constexpr std::array<std::string_view, 8> kEndings{".mlir",   ".stablehlo", ".hlo", ".bc",
                                                   ".mlirbc", ".onnx",      ".pt2", ".log"};
constexpr std::uint64_t kMostBytes = 2ull << 30;
/// Limit of an unpacked file: 64 MiB plus 200 bytes per packed byte. Program text compresses 50-fold.
constexpr std::uint64_t kFreeUnpacked = 64ull << 20, kMostUnpacked = 200;

/// The path without what binds sizes, and that.
std::pair<std::string, std::string> parted(std::string_view path) {
  const auto mark = path.rfind('?');
  if (mark == std::string_view::npos) return {std::string(path), {}};
  return {std::string(path.substr(0, mark)), std::string(path.substr(mark + 1))};
}

/// "batch=8&seq=128"; loops by their name: "while.0=10".
void bind_sizes(ProgramOptions& options, std::string_view text, const std::string& path) {
  while (!text.empty()) {
    const auto end = text.find('&');
    const auto one = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    const auto is = one.rfind('=');
    double n = 0;
    const auto number = is == std::string_view::npos ? std::string_view() : one.substr(is + 1);
    const auto [last, error] = std::from_chars(number.data(), number.data() + number.size(), n);
    if (number.empty() || error != std::errc() || last != number.data() + number.size() || n < 0)
      throw InputError("mlsysim.programs.012", "a size is not bound to a number", std::string(one),
                       fmt::format("'{}'", one), "name=number", "write file?name=number&name=number", {path});
    const std::string name(one.substr(0, is));
    (name.starts_with("while.") ? options.trips : options.dims)[name] = n;
  }
}

/// A program may be packed with gzip, as logs of TORCH_TRACE are kept.
std::string_view without_packing(std::string_view path) {
  return path.ends_with(".gz") ? path.substr(0, path.size() - 3) : path;
}

[[noreturn]] void unreadable(const std::string& path, std::string found) {
  throw InputError("mlsysim.programs.013", "the file cannot be read", path, std::move(found),
                   "a program of at most 2 GiB", "look at the path, its permissions and its size", {path});
}

files::FileBytes unpacked(const std::string& path) {
  files::FileBytes out;
  const auto most = std::min(kMostBytes, kFreeUnpacked + kMostUnpacked * files::size_of(path));
  out.found = files::read_unpacked(path, [&](std::string_view piece) {
    if (out.bytes.size() + piece.size() > most)
      unreadable(path, fmt::format("more than {} MiB when it is unpacked", most >> 20));
    out.bytes += piece;
  });
  if (!out.found.empty()) out.fault = files::ReadFault::unreadable;
  return out;
}

std::string bytes_of(const std::string& path) {
  auto got = path.ends_with(".gz") ? unpacked(path) : files::try_read(path, kMostBytes);
  if (got.fault != files::ReadFault::none) unreadable(path, std::move(got.found));
  return std::move(got.bytes);
}

std::string entry_name(std::string name) {
  name.resize(without_packing(name).size());
  if (const auto slash = name.find_last_of('/'); slash != std::string::npos) name.erase(0, slash + 1);
  for (const auto end : kEndings)
    if (name.ends_with(end)) name.resize(name.size() - end.size());
  for (auto& c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  if (name.empty() || std::isalpha(static_cast<unsigned char>(name[0])) == 0) name.insert(0, "Program_");
  return name;
}

}  // namespace

bool is_program_file(std::string_view path) {
  const auto parts = parted(path);
  const auto file = without_packing(parts.first);
  return std::any_of(kEndings.begin(), kEndings.end(),
                     [&](std::string_view end) { return file.ends_with(end); });
}

Program read_program(const std::filesystem::path& given, const ProgramOptions& asked) {
  auto [path, sizes] = parted(given.string());
  ProgramOptions options = asked;
  bind_sizes(options, sizes, path);
  return read_program_text(bytes_of(path), path, options);
}

namespace {

/// A text of no known ending is tried as MLIR where it has a function; else it is none of a program's.
void expect_function(std::string_view text, const std::string& path) {
  for (const std::string_view ending : {".mlir", ".stablehlo", ".bc"})
    if (without_packing(path).ends_with(ending)) return;
  if (text.find("func") != std::string_view::npos) return;
  throw InputError(
      "mlsysim.programs.031", "this is not a program", "", "text without a function",
      fmt::format("a file that ends in one of {}", fmt::join(kEndings, ", ")),
      "give StableHLO, MHLO or HLO text, ONNX, an archive of torch.export or a log of TORCH_TRACE", {path});
}

Program read_by_ending(std::string bytes, const std::string& path, const ProgramOptions& options) {
  const auto form = without_packing(path);
  if (bytes.starts_with("ML\xefR")) return detail::read_portable(bytes, path, options);
  if (form.ends_with(".onnx")) return read_onnx(bytes, path, options);
  if (form.ends_with(".hlo") || bytes.starts_with("HloModule"))
    return read_hlo(std::move(bytes), path, options);
  if (form.ends_with(".pt2")) return read_pt2(bytes, path, options);
  if (form.ends_with(".log")) return detail::largest(read_torch_trace(bytes, path, options), path);
  expect_function(bytes, path);
  return read_mlir(std::move(bytes), path, options);
}

}  // namespace

Program read_program_text(std::string bytes, const std::string& path, const ProgramOptions& options) {
  auto out = read_by_ending(std::move(bytes), path, options);
  detail::note_strides(out);
  return out;
}

bool names_model(std::string_view path) {
  return is_program_file(path) || is_model_file(std::string(path)) || has_other_reader(path);
}

ModelFile model_of_path(const std::string& path, const ProgramOptions& options) {
  if (is_program_file(path)) return program_model(read_program(path, options));
  return !is_model_file(path) && has_other_reader(path) ? read_by_other(path) : read_model(path);
}

ModelFile program_model(const Program& p) {
  ModelFile m;
  m.workload = program_workload(p);
  m.entry.kind = "model";
  m.entry.name = m.workload.name = entry_name(p.name);
  m.entry.origin = "user";
  m.entry.source.kind = SourceKind::secondary;
  m.entry.source.note = p.format + (p.version.empty() ? "" : " " + p.version);
  m.entry.source.recorded = detail::today();
  m.entry.where.file = p.name;
  m.notes = p.notes;
  m.notes.push_back(
      fmt::format("amounts are in {}, the format of most of its arithmetic: as the program is "
                  "written, run it with --precision of that format",
                  main_format(p).name));
  for (const auto& [name, count] : p.unknown)
    m.notes.push_back(
        fmt::format("'{}' ({:g} times) has no rule: priced by what it reads and writes", name, count));
  for (const auto& b : p.branches)
    m.notes.push_back(
        fmt::format("{}: {:g} to {:g} multiply-adds, the most is taken", b.name, b.least, b.most));
  return m;
}

}  // namespace mlsysim
