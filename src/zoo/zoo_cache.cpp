#include "detail/zoo_cache.hpp"

#include "detail/gather.hpp"

#include <mlsysim/files/detail/files.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <system_error>
#include <type_traits>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace mlsysim::detail {
namespace {

namespace fs = std::filesystem;

// "MLSZOO", the mark of a cache; the version of this format, then a word whose byte order shows. Change the
// version with YamlNode.
constexpr char kMagic[8] = {'M', 'L', 'S', 'Z', 'O', 'O', '0', '4'};
constexpr std::uint32_t kByteOrder = 0x01020304u;
static_assert(std::is_trivially_copyable_v<YamlNode> && sizeof(YamlNode) == 24);

class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  template <class T> bool get(T& out) {
    std::string_view found;
    if (!text(found, sizeof(T))) return false;
    std::memcpy(&out, found.data(), sizeof(T));
    return true;
  }
  bool text(std::string_view& out, std::size_t size) {
    if (size > bytes_.size()) return false;
    out = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return true;
  }
  /// The next nodes, where they lie.
  bool nodes(std::span<const YamlNode>& out, std::size_t count) {
    std::string_view found;
    if (count > bytes_.size() / sizeof(YamlNode) || !text(found, count * sizeof(YamlNode))) return false;
    if (reinterpret_cast<std::uintptr_t>(found.data()) % alignof(YamlNode) != 0) return false;
    out = {reinterpret_cast<const YamlNode*>(found.data()), count};
    return true;
  }
  [[nodiscard]] std::size_t left() const { return bytes_.size(); }
  [[nodiscard]] bool done() const { return bytes_.empty(); }

 private:
  std::string_view bytes_;
};

template <class T> void put(std::string& out, const T& value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof(T));
}

/// When a file, or where it lies, was last changed [ns]; an older time of modification does not hide it.
std::optional<std::int64_t> changed_at(const fs::path& file) {
  struct stat facts {};
  if (::stat(file.c_str(), &facts) != 0) return std::nullopt;
  return std::int64_t{facts.st_ctim.tv_sec} * 1'000'000'000 + facts.st_ctim.tv_nsec;
}

/// Bytes of a text and the gap behind it, so that nodes may follow.
constexpr std::size_t padded(std::size_t size) {
  return (size + alignof(YamlNode) - 1) / alignof(YamlNode) * alignof(YamlNode);
}

bool get_tree(Reader& in, std::string_view& path, CachedTree& entry) {
  std::uint32_t path_size = 0, pool_size = 0, nodes = 0;
  if (!in.get(path_size) || !in.get(nodes) || !in.get(pool_size) || !in.get(entry.hash) ||
      !in.get(entry.bytes))
    return false;
  auto& [tree_nodes, pool, kept] = entry.tree;
  if (!in.text(path, padded(path_size)) || !in.nodes(tree_nodes, nodes) || !in.text(pool, padded(pool_size)))
    return false;
  path = path.substr(0, path_size);
  pool = pool.substr(0, pool_size);
  return entry.tree.consistent();
}

/// The bytes of a file without a copy of them; a file that is replaced meanwhile stays as it was.
std::shared_ptr<const std::string_view> mapped(const fs::path& file) {
  const int handle = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat facts {};
  if (handle < 0) return nullptr;
  void* at = MAP_FAILED;
  if (::fstat(handle, &facts) == 0 && S_ISREG(facts.st_mode) && facts.st_size > 0 &&
      facts.st_size <= std::int64_t{16 * kLargestFile})
    at = ::mmap(nullptr, static_cast<std::size_t>(facts.st_size), PROT_READ, MAP_PRIVATE, handle, 0);
  ::close(handle);
  if (at == MAP_FAILED) return nullptr;
  return {new std::string_view(static_cast<const char*>(at), static_cast<std::size_t>(facts.st_size)),
          [](const std::string_view* bytes) {
            ::munmap(const_cast<char*>(bytes->data()), bytes->size());
            delete bytes;
          }};
}

}  // namespace

TreeCache TreeCache::parse(std::string_view bytes, std::shared_ptr<const void> kept) {
  std::string_view magic;
  std::uint32_t order = 0, count = 0, sound = 0;
  std::uint64_t hash = 0;
  Reader in(bytes);
  if (!in.text(magic, sizeof kMagic) || magic != std::string_view(kMagic, sizeof kMagic)) return {};
  if (!in.get(order) || order != kByteOrder || !in.get(count) || !in.get(hash)) return {};
  if (content_hash(bytes.substr(bytes.size() - in.left())) != hash || !in.get(sound) || sound > 1) return {};
  TreeCache cache;
  cache.sound_ = sound == 1;
  for (std::uint32_t i = 0; i < count; ++i) {
    std::string_view path;
    CachedTree entry;
    entry.tree.kept = kept;
    if (!get_tree(in, path, entry)) return {};
    cache.add(std::string(path), std::move(entry));
  }
  if (!in.done()) return {};
  return cache;
}

TreeCache TreeCache::read(const fs::path& file) {
  const auto bytes = mapped(file);
  if (bytes == nullptr) return {};
  TreeCache cache = parse(*bytes, bytes);
  cache.mapped_ = bytes;
  cache.written_ = changed_at(file);
  return cache;
}

void TreeCache::rest() const {
  if (mapped_ != nullptr) (void)::madvise(const_cast<char*>(mapped_->data()), mapped_->size(), MADV_DONTNEED);
}

std::optional<YamlTree> TreeCache::take_unchanged(const std::string& path, const fs::path& file) {
  const auto it = trees_.find(path);
  if (it == trees_.end()) return std::nullopt;
  std::error_code no_size;
  const auto size = fs::file_size(file, no_size);
  const auto changed = changed_at(file);
  if (no_size || !changed || size != it->second.bytes || !written_ || *changed >= *written_)
    return take(path, read_source(file).bytes);
  auto tree = std::move(it->second.tree);
  trees_.erase(it);
  return tree;
}

void TreeCache::add(std::string path, CachedTree tree) { trees_[std::move(path)] = std::move(tree); }

std::optional<YamlTree> TreeCache::take(const std::string& path, std::string_view content) {
  const auto it = trees_.find(path);
  if (it == trees_.end() || it->second.bytes != content.size() || it->second.hash != content_hash(content))
    return std::nullopt;
  auto tree = std::move(it->second.tree);
  trees_.erase(it);
  return tree;
}

std::string TreeCache::serialise() const {
  std::string body;
  put(body, static_cast<std::uint32_t>(sound_ ? 1 : 0));
  for (const auto& [path, entry] : trees_) {
    put(body, static_cast<std::uint32_t>(path.size()));
    put(body, static_cast<std::uint32_t>(entry.tree.nodes.size()));
    put(body, static_cast<std::uint32_t>(entry.tree.pool.size()));
    put(body, entry.hash);
    put(body, entry.bytes);
    (body += path).append(padded(path.size()) - path.size(), '\0');
    body.append(reinterpret_cast<const char*>(entry.tree.nodes.data()), entry.tree.nodes.size_bytes());
    (body += entry.tree.pool).append(padded(entry.tree.pool.size()) - entry.tree.pool.size(), '\0');
  }
  std::string out(kMagic, sizeof kMagic);
  put(out, kByteOrder);
  put(out, static_cast<std::uint32_t>(trees_.size()));
  put(out, content_hash(body));
  return out + body;
}

std::vector<std::string> yaml_files(const fs::path& folder) {
  std::vector<std::string> files;
  std::error_code failed;
  for (fs::recursive_directory_iterator it(folder, failed), end; !failed && it != end; it.increment(failed)) {
    // Tables of measurements and of launch flags lie beside the zoo's files but are read one by one, when
    // they are asked for.
    const auto name = it->path().filename();
    if (it.depth() == 0 && (name == "validation" || name == "launch") && it->is_directory()) {
      it.disable_recursion_pending();
      continue;
    }
    const auto extension = it->path().extension();
    if (extension == ".yaml" || extension == ".yml")
      files.push_back(it->path().lexically_relative(folder).generic_string());
  }
  if (failed)
    throw InputError({.id = std::string(id_of(ZooFault::unreadable)),
                      .message = "the folder cannot be read",
                      .key = folder.generic_string(),
                      .found = failed.message(),
                      .expected = "a readable folder",
                      .hint = "check its path and permissions",
                      .where = {.file = folder.generic_string()}});
  std::sort(files.begin(), files.end());
  return files;
}

std::size_t write_cache(const fs::path& zoo, const fs::path& cache) {
  TreeCache trees;
  Problems problems;
  std::vector<Document> documents;
  for (const auto& name : yaml_files(zoo)) {
    auto source = std::make_shared<SourceText>(read_source(zoo / name));
    auto tree = parse_yaml(*source, problems);
    if (!tree) continue;
    trees.add(name, {content_hash(source->bytes), source->bytes.size(), *tree});
    documents.push_back({std::move(source), std::move(*tree), {}, Authorship::shipped});
  }
  problems.raise(fmt::format("the zoo {} cannot be cached", zoo.generic_string()));
  trees.set_sound(are_sound(std::move(documents)));
  try {
    files::write(cache, trees.serialise(), {.mark = {kMagic, 6}});
  } catch (const InputError& error) {
    auto facts = error.facts();
    facts.id = id_of(ZooFault::bad_cache);
    facts.message = "the cache of the zoo cannot be written: " + facts.message;
    throw InputError(std::move(facts));
  }
  return trees.size();
}

}  // namespace mlsysim::detail
