#include <mlsysim/ops/graph_breaks/ingest.hpp>

#include "detail/md5.hpp"
#include "detail/readers.hpp"

#include <mlsysim/files/detail/files.hpp>
#include <mlsysim/files/detail/roots.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

namespace mlsysim {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kLargestDocument = 256ULL << 20;  // [B] of everything but logs, which are not kept
constexpr std::size_t kHead = 1 << 16;                    // [B] by which the form of a file is told

enum class Form : std::uint8_t { log, pickle, text, log_text, document, unknown };

/// The form of a file, by its beginning; a pickle ends with its end, which is not looked for here.
Form form_of(std::string_view head) {
  if (head.size() > 1 && head[0] == '\x80' && head[1] >= 2 && head[1] <= 5) return Form::pickle;
  const auto from = head.find_first_not_of(" \t\r\n");
  if (from != std::string_view::npos && head[from] == '{') return Form::document;
  if (detail::is_trace_log(head)) return Form::log;
  if (detail::is_explain_text(head)) return Form::text;
  return detail::is_log_text(head) ? Form::log_text : Form::unknown;
}

CompileRecord read_form(Form form, std::string_view bytes, const std::string& name,
                        const BreakRegistry& registry) {
  switch (form) {
    case Form::pickle:
      return detail::read_explain_pickle(bytes, name, registry);
    case Form::document:
      return detail::read_explain_document(bytes, name, registry);
    case Form::text:
      return detail::read_explain_text(bytes, registry);
    case Form::log_text:
      return detail::read_log_text(bytes, registry);
    case Form::log: {
      detail::TraceReader reader(registry);
      reader.take(bytes);
      return reader.finish();
    }
    case Form::unknown:
      break;
  }
  throw InputError(
      "mlsysim.compile.001", "the file is no record of a compiler", name,
      fmt::format("none of them in {} bytes", bytes.size()),
      "an explain document (JSON); a log of TORCH_TRACE; the text or pickle of an ExplainOutput; or "
      "a log with a line of [__recompiles], [__graph_breaks], torch._dynamo or a limit of "
      "recompilations",
      "write one with python -m mlsysim.dynamo_export, with TORCH_TRACE=<folder>, or with "
      "TORCH_LOGS=recompiles,graph_breaks",
      {name});
}

/// Reads a file in one pass: its beginning tells its form, logs are not kept.
CompileRecord read_file(const fs::path& file, const BreakRegistry& registry) {
  const auto name = file.generic_string();
  std::string kept;
  std::optional<Form> form;
  detail::TraceReader log(registry);
  detail::Md5 digest;
  const auto unreadable = [&](std::string why) {
    throw InputError("mlsysim.compile.007", "the file cannot be read", name, std::move(why),
                     "a whole file, plain or gzip", "check the path and the permissions", {name});
  };
  const auto decide = [&] {
    form = form_of(kept);
    if (form == Form::unknown) (void)read_form(*form, kept, name, registry);  // which refuses it
    if (form == Form::log) {
      log.take(kept);
      kept.clear();
    }
  };
  auto wrong = files::read_unpacked(file, [&](std::string_view piece) {
    digest.add(piece);
    if (form == Form::log) return log.take(piece);
    // A file that is refused is read no further, because a small file may unpack to any length.
    if (kept.size() + piece.size() > kLargestDocument)
      unreadable(fmt::format("more than {} MiB", kLargestDocument >> 20));
    kept += piece;
    if (!form && kept.size() >= kHead) decide();
  });
  // A log counts up to its fault. A file of another form is refused.
  if (!wrong.empty() && form != Form::log && (form || form_of(kept) != Form::log)) unreadable(wrong);
  if (!form) decide();
  auto out = form == Form::log ? log.finish() : read_form(*form, kept, name, registry);
  if (!wrong.empty()) {
    ++out.read.truncated;
    out.notes.push_back(wrong);
  }
  out.source = name;
  out.digest = digest.text();
  return out;
}

/// "facebook--mms-tts-rus_dynamo_explain.pkl" is facebook/mms-tts-rus.
std::string model_of(const fs::path& file) {
  auto name = file.stem().string();
  if (file.extension() == ".gz") name = fs::path(name).stem().string();
  for (const std::string_view tail : {"_dynamo_explain", "_explain"})
    if (name.ends_with(tail)) name.resize(name.size() - tail.size());
  if (const auto at = name.find("--"); at != std::string::npos) name.replace(at, 2, "/");
  return name;
}

struct Found {
  fs::path file;
  std::string family;  ///< the folder below the one that was named
};

/// Adds the regular files in a folder and below it; `family` is empty in the folder that was named.
void walk(const fs::path& folder, const std::string& family, std::vector<Found>& out) {
  int failed = 0;  // what cannot be listed holds nothing to read
  for (const auto& entry : files::entries_of(folder, failed)) {
    const auto path = folder / entry.name;
    if (entry.folder)
      walk(path, family.empty() ? entry.name : family, out);
    else if (files::exists(path) && files::irregular(path).empty())
      out.push_back({path, family});
  }
}

std::vector<Found> files_of(const std::vector<fs::path>& paths) {
  std::vector<Found> out;
  for (const auto& path : paths) {
    if (!files::is_folder(path)) {
      out.push_back({path, {}});
      continue;
    }
    std::vector<Found> inside;
    walk(path, {}, inside);
    // Nothing to read would be a report without breaks, which looks like success.
    if (inside.empty())
      throw InputError("mlsysim.compile.014", "a folder holds no file", path.generic_string(),
                       "a folder without a regular file in it or below it",
                       "records of a compiler: a file for each, or for each rank",
                       "check the path, and that TORCH_TRACE was set when the program ran",
                       {path.generic_string()});
    std::sort(inside.begin(), inside.end(), [](const Found& a, const Found& b) { return a.file < b.file; });
    out.insert(out.end(), inside.begin(), inside.end());
  }
  return out;
}

void refuse_faults(const CompileRecord& r) {
  const auto& c = r.read;
  if (c.faults() == 0) return;
  throw InputError(
      "mlsysim.compile.008", "the log is damaged", r.source,
      fmt::format("{:g} heads that are no JSON, {:g} payloads unlike their checksum, {:g} unknown kinds, "
                  "{:g} foreign "
                  "lines, {:g} missing strings, {:g} cuts",
                  c.bad_record, c.bad_payload, c.unknown, c.foreign, c.missing, c.truncated),
      "a log without faults", "leave --strict out to count them instead", {r.source});
}

void fill(CompileRecord& r, const Found& found, const IngestHow& how) {
  if (r.model.empty()) r.model = how.model.empty() ? model_of(found.file) : how.model;
  if (r.family.empty()) r.family = how.family.empty() ? found.family : how.family;
  if (r.commit.empty()) r.commit = how.commit;
  if (r.family.empty()) r.family = "unknown";
  if (r.commit.empty()) r.commit = "unknown";
}

}  // namespace

CompileRecords ingest(const std::vector<fs::path>& paths, const IngestHow& how) {
  const auto own = how.registry.empty() ? BreakRegistry() : BreakRegistry::read(how.registry);
  const auto& registry = how.registry.empty() ? BreakRegistry::shipped() : own;
  const bool several = paths.size() > 1 || (!paths.empty() && files::is_folder(paths.front()));
  CompileRecords out;
  std::map<std::string, std::size_t> first;  // digest -> place among the duplicates
  std::map<std::string, std::string> counted;
  for (const auto& found : files_of(paths)) {
    std::optional<CompileRecord> record;
    try {
      record = read_file(found.file, registry);
    } catch (const InputError& error) {
      // Among several files one that is none of these is a line of the report.
      if (!several || how.damage == Damage::refused) throw;
      out.notes.push_back(fmt::format("{}: left out: {}: {}", found.file.generic_string(),
                                      error.facts().message, error.facts().found));
      continue;
    }
    if (how.damage == Damage::refused) refuse_faults(*record);
    fill(*record, found, how);
    if (const auto [at, fresh] = counted.emplace(record->digest, record->source); !fresh) {
      const auto [place, opened] = first.emplace(record->digest, out.duplicates.size());
      if (opened) out.duplicates.push_back({at->second, {}});
      out.duplicates[place->second].others.push_back(record->source);
      if (how.duplicates == Duplicates::once) continue;
    }
    out.records.push_back(std::move(*record));
  }
  return out;
}

CompileRecord read_compile_record(std::string_view bytes, const std::string& name,
                                  const BreakRegistry& registry) {
  auto out = read_form(form_of(bytes.substr(0, kHead)), bytes, name, registry);
  detail::Md5 digest;
  digest.add(bytes);
  out.source = name;
  out.digest = digest.text();
  return out;
}

}  // namespace mlsysim
