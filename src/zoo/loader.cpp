#include <mlsysim/zoo/loader.hpp>

#include "detail/gather.hpp"
#include "detail/zoo_cache.hpp"
#include "detail/zoo_directory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <mutex>
#include <system_error>

namespace mlsysim {
namespace detail {
namespace {

namespace fs = std::filesystem;

/// Reads one file into the list of documents; problems are collected.
void read_document(const fs::path& file, const std::string& cache_key, TreeCache& cache,
                   Authorship authorship, std::vector<Document>& documents, Problems& problems) {
  try {
    auto source = std::make_shared<SourceText>(read_source(file));
    auto tree = cache.take(cache_key, source->bytes);
    if (!tree) tree = parse_yaml(*source, problems);
    if (!tree) return;
    Document document{std::move(source), std::move(*tree), {}, authorship};
    if (settle_schema(document, problems)) documents.push_back(std::move(document));
  } catch (const Error& error) {
    problems.add(error.facts());
  }
}

void read_folder(const fs::path& folder, Authorship authorship, const LoadOptions& options,
                 std::vector<Document>& documents, Problems& problems) {
  try {
    TreeCache cache = options.cache == ZooCache::use ? TreeCache::read(folder / kCacheName) : TreeCache();
    for (const auto& name : yaml_files(folder))
      read_document(folder / name, name, cache, authorship, documents, problems);
  } catch (const Error& error) {
    problems.add(error.facts());
  }
}

void read_all(const std::vector<Document>& documents, Zoo& zoo, const Zoo* base, Problems& problems) {
  std::vector<PendingLink> links;
  for (const auto& document : documents)
    if (document.kind == "references") read_references(document, zoo, base, problems);
  for (const auto& document : documents)
    if (document.kind != "references") read_entries(document, zoo, base, problems, links);
  settle_links(links, zoo, base, problems);
}

}  // namespace

Gathered gather(const LoadOptions& options, std::span<const ZooContribution> contributed) {
  Gathered out;
  std::vector<Document> documents;
  const auto shipped = options.directory.empty() ? zoo_directory() : options.directory;
  read_folder(shipped, Authorship::shipped, options, documents, out.problems);
  auto additional = options.additional;
  if (options.environment == ZooEnvironment::use) {
    auto folders = environment_folders();
    std::error_code failed;
    if (!folders.empty() && (folders.front() == shipped || fs::equivalent(folders.front(), shipped, failed)))
      folders.erase(folders.begin());
    additional.insert(additional.begin(), folders.begin(), folders.end());
  }
  TreeCache none;
  for (const auto& path : additional) {
    std::error_code failed;
    if (fs::is_directory(path, failed))
      read_folder(path, Authorship::user, options, documents, out.problems);
    else
      read_document(path, "", none, Authorship::user, documents, out.problems);
  }
  for (const auto& c : contributed) {
    auto source = std::make_shared<SourceText>(SourceText{c.name, c.text});
    auto tree = parse_yaml(*source, out.problems);
    if (!tree) continue;
    Document document{std::move(source), std::move(*tree), {}, Authorship::shipped, c.origin};
    if (settle_schema(document, out.problems)) documents.push_back(std::move(document));
  }
  read_all(documents, out.zoo, nullptr, out.problems);
  return out;
}

Gathered gather_text(SourceText source, const Zoo* base) {
  Gathered out;
  auto shared = std::make_shared<SourceText>(std::move(source));
  auto tree = parse_yaml(*shared, out.problems);
  if (!tree) return out;
  std::vector<Document> documents;
  documents.push_back({std::move(shared), std::move(*tree), {}, Authorship::user});
  if (settle_schema(documents.front(), out.problems)) read_all(documents, out.zoo, base, out.problems);
  return out;
}

}  // namespace detail

Zoo load_zoo(const LoadOptions& options) {
  auto gathered = detail::gather(options);
  gathered.problems.raise("the zoo cannot be loaded");
  return std::move(gathered.zoo);
}

Zoo load_zoo(const LoadOptions& options, std::span<const ZooContribution> contributed) {
  auto gathered = detail::gather(options, contributed);
  gathered.problems.raise("the zoo cannot be loaded");
  return std::move(gathered.zoo);
}

namespace {

std::atomic<const Zoo*> published{nullptr};
std::mutex publishing;
const Zoo* plain = nullptr;  // what ships and what the user has, once it was read; guarded by `publishing`

/// Readers may hold references into any zoo there ever was, so none is freed.
const Zoo& publish(Zoo zoo) {
  static auto& kept = *new std::deque<Zoo>;
  const Zoo& last = kept.emplace_back(std::move(zoo));
  published.store(&last, std::memory_order_release);
  return last;
}

}  // namespace

const Zoo& standard_zoo() {
  if (const auto* zoo = published.load(std::memory_order_acquire)) return *zoo;
  const std::lock_guard lock(publishing);
  if (const auto* zoo = published.load(std::memory_order_acquire)) return *zoo;
  plain = &publish(load_zoo());
  return *plain;
}

void publish_contributions(std::vector<ZooContribution> contributed) {
  const std::lock_guard lock(publishing);
  // Contributions are withdrawn without reading anything: it may be the end of the program, after that of the
  // tables that reading needs.
  if (plain == nullptr) plain = &publish(load_zoo());
  if (contributed.empty())
    published.store(plain, std::memory_order_release);
  else
    (void)publish(load_zoo({}, contributed));
}

Zoo load_file(const std::filesystem::path& file, const Zoo& base) {
  auto gathered = detail::gather_text(detail::read_source(file), &base);
  gathered.problems.raise(fmt::format("{} cannot be loaded", file.generic_string()));
  return std::move(gathered.zoo);
}

Zoo load_text(std::string text, const std::string& name, const Zoo& base) {
  auto gathered = detail::gather_text({name, std::move(text)}, &base);
  gathered.problems.raise(fmt::format("{} cannot be loaded", name));
  return std::move(gathered.zoo);
}

LintReport lint(const LoadOptions& options) {
  const auto gathered = detail::gather(options);
  return {gathered.problems.all(), detail::warnings_of(gathered.zoo)};
}

}  // namespace mlsysim
