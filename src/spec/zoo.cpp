#include <mlsysim/spec/zoo.hpp>

#include <mlsysim/units/near_miss.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace mlsysim {
namespace {

struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
};
template <class V>
using ByName = std::unordered_map<std::string, V, TextHash, std::equal_to<>>;

/// Specs of one type. A deque keeps addresses while it grows.
template <class T>
struct Shelf {
  std::deque<T> specs;
  std::vector<const T*> order;
  ByName<const T*> by_name;  // names and aliases
};

template <class V>
std::vector<std::string> keys_of(const ByName<V>& map) {
  std::vector<std::string> keys;
  keys.reserve(map.size());
  for (const auto& [key, value] : map) keys.push_back(key);
  std::sort(keys.begin(), keys.end());  // hash order would leak into messages
  return keys;
}

}  // namespace

struct Zoo::Shelves {
  ZooSpecs::apply<std::tuple, Shelf> specs;
  std::deque<Entry> entries;
  std::vector<const Entry*> entry_order;
  std::deque<Reference> references;
  std::vector<const Reference*> reference_order;
  ByName<const Reference*> reference_by_key;

  template <class T>
  Shelf<T>& shelf() {
    return std::get<Shelf<T>>(specs);
  }
};

Zoo::Zoo() : shelves_(std::make_unique<Shelves>()) {}
Zoo::~Zoo() = default;
Zoo::Zoo(Zoo&&) noexcept = default;
Zoo& Zoo::operator=(Zoo&&) noexcept = default;

template <ZooSpec T>
const T* Zoo::find(std::string_view name) const {
  const auto& by_name = shelves_->shelf<T>().by_name;
  const auto it = by_name.find(name);
  return it == by_name.end() ? nullptr : it->second;
}

template <ZooSpec T>
const T& Zoo::at(std::string_view name) const {
  if (const T* spec = find<T>(name)) return *spec;
  const auto& shelf = shelves_->shelf<T>();
  const auto type = ObjectType<T>::name;
  const auto near = did_you_mean(name, keys_of(shelf.by_name));
  throw LookupError({.id = "mlsysim.spec.001",
                     .message = fmt::format("the zoo has no {} named '{}'", type, name),
                     .key = std::string(name),
                     .found = fmt::format("'{}'", name),
                     .expected = fmt::format("the exact name or alias of one of {} entries", shelf.order.size()),
                     .hint = fmt::format("{}{}`mlsysim zoo list {}` lists them", near, near.empty() ? "" : " ", type)});
}

template <ZooSpec T>
std::span<const T* const> Zoo::all() const {
  return shelves_->shelf<T>().order;
}

template <ZooSpec T>
std::vector<std::string> Zoo::names() const {
  std::vector<std::string> out;
  for (const T* spec : all<T>()) out.push_back(spec->name);
  return out;
}

template <ZooSpec T>
const T& Zoo::only() const {
  const auto specs = all<T>();
  if (specs.size() == 1) return *specs.front();
  const auto type = ObjectType<T>::name;
  throw LookupError({.id = "mlsysim.spec.002",
                     .message = fmt::format("there is not exactly one {}", type),
                     .key = std::string(type),
                     .found = specs.empty() ? "none" : fmt::format("{}", fmt::join(names<T>(), ", ")),
                     .expected = "one entry",
                     .hint = specs.empty() ? fmt::format("add an entry of this kind")
                                           : "name the one that is meant"});
}

template <ZooSpec T>
T& Zoo::add(T spec, Entry entry) {
  auto& shelf = shelves_->shelf<T>();
  const auto refuse_taken = [&](const std::string& name, std::string_view what) {
    const auto it = shelf.by_name.find(name);
    if (it == shelf.by_name.end()) return;
    const T& other = *it->second;
    throw InputError(
        {.id = other.name == name && entry.name == name ? "mlsysim.spec.003" : "mlsysim.spec.004",
         .message = fmt::format("the {} '{}' of {} '{}' is taken", what, name, entry.kind, entry.name),
         .key = name,
         .found = fmt::format("'{}', which already names {} '{}'{}", name, other.entry->kind, other.name,
                              other.entry->where.file.empty() ? "" : " at " + other.entry->where.text()),
         .expected = fmt::format("a {} that no other {} has", what, ObjectType<T>::name),
         .hint = "choose another; nothing silently shadows an entry",
         .where = entry.where});
  };
  refuse_taken(entry.name, "name");
  for (std::size_t i = 0; i < entry.aliases.size(); ++i) {
    const auto& alias = entry.aliases[i];
    refuse_taken(alias, "alias");
    const bool twice = std::find(entry.aliases.begin(), entry.aliases.begin() + static_cast<std::ptrdiff_t>(i), alias) !=
                       entry.aliases.begin() + static_cast<std::ptrdiff_t>(i);
    if (alias == entry.name || twice)
      throw InputError({.id = "mlsysim.spec.008",
                        .message = fmt::format("the alias '{}' of {} '{}' is given twice", alias, entry.kind, entry.name),
                        .key = alias,
                        .found = fmt::format("'{}'", alias),
                        .expected = "aliases that differ from the name and from each other",
                        .hint = "leave it out",
                        .where = entry.where});
  }
  Entry& kept = shelves_->entries.emplace_back(std::move(entry));
  shelves_->entry_order.push_back(&kept);
  T& added = shelf.specs.emplace_back(std::move(spec));
  added.name = kept.name;
  added.entry = &kept;
  shelf.order.push_back(&added);
  shelf.by_name.emplace(kept.name, &added);
  for (const auto& alias : kept.aliases) shelf.by_name.emplace(alias, &added);
  return added;
}

std::span<const Entry* const> Zoo::entries() const { return shelves_->entry_order; }

const Reference* Zoo::find_reference(std::string_view key) const {
  const auto it = shelves_->reference_by_key.find(key);
  return it == shelves_->reference_by_key.end() ? nullptr : it->second;
}

const Reference& Zoo::reference(std::string_view key) const {
  if (const auto* reference = find_reference(key)) return *reference;
  throw LookupError({.id = "mlsysim.spec.005",
                     .message = fmt::format("there is no reference '{}'", key),
                     .key = std::string(key),
                     .found = fmt::format("'{}'", key),
                     .expected = "a key of references.yaml",
                     .hint = did_you_mean(key, keys_of(shelves_->reference_by_key))});
}

std::span<const Reference* const> Zoo::references() const { return shelves_->reference_order; }

const Reference& Zoo::add_reference(Reference reference) {
  if (find_reference(reference.key) != nullptr)
    throw InputError({.id = "mlsysim.spec.006",
                      .message = fmt::format("the reference '{}' is given twice", reference.key),
                      .key = reference.key,
                      .found = fmt::format("'{}'", reference.key),
                      .expected = "a key that no other reference has",
                      .hint = "choose another key, or cite the one that is there"});
  Reference& kept = shelves_->references.emplace_back(std::move(reference));
  shelves_->reference_order.push_back(&kept);
  shelves_->reference_by_key.emplace(kept.key, &kept);
  return kept;
}

void Zoo::refuse_handmade(const std::string& name, std::string_view type) {
  throw LookupError({.id = "mlsysim.spec.007",
                     .message = fmt::format("{} '{}' is not from the zoo", type, name),
                     .key = name,
                     .found = "a spec without an entry",
                     .expected = "a spec from Zoo::at or Zoo::add",
                     .hint = "add it to a Zoo with its source first"});
}

std::string_view spec_name(const ObjectRef& object) {
  std::string_view name;
  if (object.object != nullptr)
    (void)with_spec_type(object.type, [&]<class T>() { name = static_cast<const T*>(object.object)->name; });
  return name;
}

#define MLSYSIM_INSTANTIATE(T)                                  \
  template const T* Zoo::find<T>(std::string_view) const;       \
  template const T& Zoo::at<T>(std::string_view) const;         \
  template std::span<const T* const> Zoo::all<T>() const;       \
  template std::vector<std::string> Zoo::names<T>() const;      \
  template const T& Zoo::only<T>() const;                       \
  template T& Zoo::add<T>(T, Entry);
MLSYSIM_INSTANTIATE(HardwareNode)
MLSYSIM_INSTANTIATE(Workload)
MLSYSIM_INSTANTIATE(Node)
MLSYSIM_INSTANTIATE(NetworkFabric)
MLSYSIM_INSTANTIATE(Fleet)
MLSYSIM_INSTANTIATE(Pod)
MLSYSIM_INSTANTIATE(Rack)
MLSYSIM_INSTANTIATE(StorageTier)
MLSYSIM_INSTANTIATE(GridProfile)
MLSYSIM_INSTANTIATE(CoolingProfile)
MLSYSIM_INSTANTIATE(Datacenter)
MLSYSIM_INSTANTIATE(ServingEngine)
MLSYSIM_INSTANTIATE(ScalarFigure)
#undef MLSYSIM_INSTANTIATE

}  // namespace mlsysim
