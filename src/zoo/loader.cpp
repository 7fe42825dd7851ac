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

using Documents = std::vector<std::shared_ptr<const Document>>;

/// Reads one file into the list of documents; problems are collected.
void read_document(const fs::path& file, const std::string& cache_key, TreeCache& cache,
                   Authorship authorship, Documents& documents, Problems& problems) {
  try {
    Document document;
    document.authorship = authorship;
    if (auto tree = cache.take_unchanged(cache_key, file)) {
      document.sound = cache.sound();
      document.tree = std::move(*tree);
      // Only messages need the text, and a sound file has none.
      document.source = std::make_shared<SourceText>(document.sound ? SourceText{file.generic_string(), {}}
                                                                    : read_source(file));
    } else {
      auto source = std::make_shared<SourceText>(read_source(file));
      tree = parse_yaml(*source, problems);
      document.source = std::move(source);
      if (!tree) return;
      document.tree = std::move(*tree);
    }
    if (settle_schema(document, problems))
      documents.push_back(std::make_shared<const Document>(std::move(document)));
  } catch (const Error& error) {
    problems.add(error.facts());
  }
}

/// The files of a folder. They are sound together: where one has changed since the cache was written, has
/// gone or is new, entries of the others may no longer find what they refer to, and all are read.
/// @param caches takes the cache that was used
void read_folder(const fs::path& folder, Authorship authorship, const LoadOptions& options,
                 Documents& documents, std::vector<TreeCache>& caches, Problems& problems) {
  try {
    TreeCache cache = options.cache == ZooCache::use ? TreeCache::read(folder / kCacheName) : TreeCache();
    if (authorship != Authorship::shipped) cache.set_sound(false);
    Documents read;
    const auto names = yaml_files(folder);
    for (const auto& name : names) read_document(folder / name, name, cache, authorship, read, problems);
    const bool sound = cache.sound() && cache.size() == 0 && read.size() == names.size() &&
                       std::all_of(read.begin(), read.end(), [](const auto& d) { return d->sound; });
    for (auto& document : read) {
      if (document->sound && !sound) {
        Document doubtful = *document;
        doubtful.sound = false;
        doubtful.source = std::make_shared<SourceText>(read_source(document->source->file));
        document = std::make_shared<const Document>(std::move(doubtful));
      }
      documents.push_back(std::move(document));
    }
    caches.push_back(std::move(cache));
  } catch (const Error& error) {
    problems.add(error.facts());
  }
}

/// Announces the entries of sound files and reads those of the others.
void read_all(const Documents& documents, Zoo& zoo, const Zoo* base, Problems& problems) {
  std::vector<PendingLink> links;
  const auto each = [&](bool references, auto&& read) {
    for (const auto& document : documents)
      if ((document->kind == "references") == references) read(document);
  };
  each(true, [&](const auto& d) {
    if (d->sound) return defer_all(d, zoo);
    read_references(*d, zoo, base, problems);
  });
  each(false, [&](const auto& d) {
    if (d->sound) return defer_all(d, zoo);
    read_entries(*d, zoo, base, problems, links);
  });
  settle_links(links, zoo, base, problems);
}

}  // namespace

Gathered gather(const LoadOptions& options, std::span<const ZooContribution> contributed) {
  Gathered out;
  Documents documents;
  std::vector<TreeCache> caches;
  const auto shipped = options.directory.empty() ? zoo_directory() : options.directory;
  read_folder(shipped, Authorship::shipped, options, documents, caches, out.problems);
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
      read_folder(path, Authorship::user, options, documents, caches, out.problems);
    else
      read_document(path, "", none, Authorship::user, documents, out.problems);
  }
  for (const auto& c : contributed) {
    auto source = std::make_shared<SourceText>(SourceText{c.name, c.text});
    auto tree = parse_yaml(*source, out.problems);
    if (!tree) continue;
    Document document{std::move(source), std::move(*tree), {}, Authorship::shipped, c.origin};
    if (settle_schema(document, out.problems))
      documents.push_back(std::make_shared<const Document>(std::move(document)));
  }
  read_all(documents, out.zoo, nullptr, out.problems);
  for (const auto& cache : caches) cache.rest();
  return out;
}

bool are_sound(std::vector<Document> documents) {
  Documents settled;
  Zoo zoo;
  Problems problems;
  for (auto& document : documents)
    if (settle_schema(document, problems))
      settled.push_back(std::make_shared<const Document>(std::move(document)));
  read_all(settled, zoo, nullptr, problems);
  return problems.empty();
}

Gathered gather_text(SourceText source, const Zoo* base) {
  Gathered out;
  auto shared = std::make_shared<SourceText>(std::move(source));
  auto tree = parse_yaml(*shared, out.problems);
  if (!tree) return out;
  Document document{std::move(shared), std::move(*tree), {}, Authorship::user};
  if (settle_schema(document, out.problems))
    read_all({std::make_shared<const Document>(std::move(document))}, out.zoo, base, out.problems);
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
  // Lint reads every entry.
  auto all = options;
  all.cache = ZooCache::ignore;
  const auto gathered = detail::gather(all);
  return {gathered.problems.all(), detail::warnings_of(gathered.zoo)};
}

}  // namespace mlsysim
