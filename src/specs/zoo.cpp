#include <mlsysim/specs/zoo.hpp>

#include <mlsysim/specs/releases.hpp>
#include <mlsysim/units/near_miss.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <utility>

namespace mlsysim {
namespace detail {

struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
};
template <class V> using ByName = std::unordered_map<std::string, V, TextHash, std::equal_to<>>;

template <class V> std::vector<std::string> keys_of(const ByName<V>& map) {
  std::vector<std::string> keys;
  keys.reserve(map.size());
  for (const auto& [key, value] : map) keys.push_back(key);
  std::sort(keys.begin(), keys.end());  // hash order would leak into messages
  return keys;
}

}  // namespace detail

using detail::ByName;
using detail::keys_of;

struct Zoo::Shelves {
  /// The place of a spec or of a reference, which is filled at once or when it is first asked for. Its
  /// position is that in load order.
  struct Slot {
    std::atomic<const void*> object{nullptr};
    std::string name{};            ///< of a spec
    const Entry* entry = nullptr;  ///< of a spec that is there
    std::size_t position = 0, entry_position = 0;
    DeferredReader read{};
    std::atomic<bool> reading{false};  ///< what is added under its name now is its object
    std::atomic<bool> ready{false};    ///< it is read, and so is what it refers to

    [[nodiscard]] const void* there() const { return object.load(std::memory_order_acquire); }
  };
  /// Objects of one type. Deques keep addresses while they grow.
  template <class T> struct Shelf {
    std::deque<T> objects;
    std::vector<const T*> order;
    std::deque<Slot> slots;
    ByName<Slot*> by_name;              // names, aliases and keys
    std::atomic<std::size_t> whole{0};  ///< slots when all of them were read last

    void read_all(Zoo& zoo) {
      if (whole.load(std::memory_order_acquire) == slots.size()) return;
      for (Slot& slot : slots) (void)object_of(slot, zoo);
      whole.store(slots.size(), std::memory_order_release);
    }
    Slot& new_slot(DeferredReader read) {
      Slot& slot = slots.emplace_back();
      slot.position = order.size();
      slot.read = std::move(read);
      order.push_back(nullptr);
      return slot;
    }
    const T& fill(Slot& slot, T object) {
      const T& there = objects.emplace_back(std::move(object));
      order[slot.position] = &there;
      return there;
    }
    static const T* object_of(Slot& slot, Zoo& zoo) {
      if (!slot.ready.load(std::memory_order_acquire)) {
        // The first to come reads; other threads wait in the reader, and the same thread comes again where
        // entries refer to each other.
        const bool first = !slot.reading.exchange(true, std::memory_order_acq_rel);
        try {
          slot.read(zoo);
        } catch (...) {
          if (first) {  // read again when it is asked for again
            slot.object.store(nullptr, std::memory_order_release);
            slot.reading.store(false, std::memory_order_release);
          }
          throw;
        }
        if (first) slot.ready.store(true, std::memory_order_release);
      }
      return static_cast<const T*>(slot.there());
    }
    [[nodiscard]] Slot* find(std::string_view name) const {
      const auto it = by_name.find(name);
      return it == by_name.end() ? nullptr : it->second;
    }
  };

  ZooSpecs::apply<std::tuple, Shelf> specs;
  std::deque<Entry> entries;
  std::vector<const Entry*> entry_order;
  Shelf<Reference> references;

  template <class T> Shelf<T>& shelf() { return std::get<Shelf<T>>(specs); }
  /// A slot for an entry whose names are free. @throws InputError when one is taken, or given twice
  template <class T> Slot& announce(const Entry& entry, DeferredReader read, Zoo& zoo);
  Slot& announce_reference(const std::string& key, DeferredReader read);

  static void check_names(const Entry& entry, const std::function<const Entry*(std::string_view)>& holder,
                          std::string_view type);
  [[noreturn]] static void not_there(std::string_view name, std::string_view type,
                                     const std::vector<std::string>& known, std::size_t count);
  [[noreturn]] static void not_one(std::string_view type, const std::vector<std::string>& names);
};

template <class T>
Zoo::Shelves::Slot& Zoo::Shelves::announce(const Entry& entry, DeferredReader read, Zoo& zoo) {
  auto& of_type = shelf<T>();
  check_names(
      entry,
      [&](std::string_view name) -> const Entry* {
        Slot* slot = of_type.find(name);
        if (slot == nullptr) return nullptr;
        (void)Shelf<T>::object_of(*slot, zoo);
        return slot->entry;
      },
      ObjectType<T>::name);
  Slot& slot = of_type.new_slot(std::move(read));
  slot.name = entry.name;
  slot.entry_position = entry_order.size();
  entry_order.push_back(nullptr);
  of_type.by_name.emplace(entry.name, &slot);
  for (const auto& alias : entry.aliases) of_type.by_name.emplace(alias, &slot);
  return slot;
}

void Zoo::Shelves::check_names(const Entry& entry,
                               const std::function<const Entry*(std::string_view)>& holder,
                               std::string_view type) {
  const auto refuse_taken = [&](const std::string& name, std::string_view what) {
    const Entry* there = holder(name);
    if (there == nullptr) return;
    const Entry& other = *there;
    throw InputError(
        {.id = other.name == name && entry.name == name ? "mlsysim.spec.003" : "mlsysim.spec.004",
         .message = fmt::format("the {} '{}' of {} '{}' is taken", what, name, entry.kind, entry.name),
         .key = name,
         .found = fmt::format("'{}', which already names {} '{}'{}", name, other.kind, other.name,
                              other.where.file.empty() ? "" : " at " + other.where.text()),
         .expected = fmt::format("a {} that no other {} has", what, type),
         .hint = "choose another; nothing silently shadows an entry",
         .where = entry.where});
  };
  refuse_taken(entry.name, "name");
  for (std::size_t i = 0; i < entry.aliases.size(); ++i) {
    const auto& alias = entry.aliases[i];
    refuse_taken(alias, "alias");
    const bool twice =
        std::find(entry.aliases.begin(), entry.aliases.begin() + static_cast<std::ptrdiff_t>(i), alias) !=
        entry.aliases.begin() + static_cast<std::ptrdiff_t>(i);
    if (alias == entry.name || twice)
      throw InputError(
          {.id = "mlsysim.spec.008",
           .message = fmt::format("the alias '{}' of {} '{}' is given twice", alias, entry.kind, entry.name),
           .key = alias,
           .found = fmt::format("'{}'", alias),
           .expected = "aliases that differ from the name and from each other",
           .hint = "leave it out",
           .where = entry.where});
  }
}

void Zoo::Shelves::not_there(std::string_view name, std::string_view type,
                             const std::vector<std::string>& known, std::size_t count) {
  const auto near = did_you_mean(name, known);
  throw LookupError(
      {.id = "mlsysim.spec.001",
       .message = fmt::format("the zoo has no {} named '{}'", type, name),
       .key = std::string(type),
       .found = fmt::format("'{}'", name),
       .expected = fmt::format("the exact name or alias of one of {} entries", count),
       .hint = fmt::format("{}{}`mlsysim zoo list {}` lists them", near, near.empty() ? "" : " ", type)});
}

void Zoo::Shelves::not_one(std::string_view type, const std::vector<std::string>& names) {
  throw LookupError(
      {.id = "mlsysim.spec.002",
       .message = fmt::format("there is not exactly one {}", type),
       .key = std::string(type),
       .found = names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", ")),
       .expected = "one entry",
       .hint = names.empty() ? fmt::format("add an entry of this kind") : "name the one that is meant"});
}

namespace {

/// Says which releases are known where one of them is asked for that is not.
void refuse_release(const Zoo& zoo, std::string_view name) {
  const auto asked = release_name(name);
  const auto known = releases_of(zoo, asked.family);
  if (asked.version.empty() || known.empty()) return;
  throw LookupError({.id = "mlsysim.spec.009",
                     .message = fmt::format("release {} of {} is not known", asked.version, asked.family),
                     .key = "engine",
                     .found = fmt::format("'{}'", name),
                     .expected = fmt::format("one of {}", fmt::join(known, ", ")),
                     .hint = fmt::format("'{}' alone is its current entry", asked.family)});
}

}  // namespace

Zoo::Zoo() : shelves_(std::make_unique<Shelves>()) {}
Zoo::~Zoo() = default;
Zoo::Zoo(Zoo&&) noexcept = default;
Zoo& Zoo::operator=(Zoo&&) noexcept = default;

// Reading what was deferred changes a Zoo only in what it has not told yet.
Zoo& Zoo::filling() const { return const_cast<Zoo&>(*this); }

template <ZooSpec T> const T* Zoo::find(std::string_view name) const {
  if (auto* slot = shelves_->shelf<T>().find(name)) return Shelves::Shelf<T>::object_of(*slot, filling());
  if constexpr (std::is_same_v<T, ServingEngine>)
    return find_release(*this, name);
  else
    return nullptr;
}

template <ZooSpec T> const T& Zoo::at(std::string_view name) const {
  if (const T* spec = find<T>(name)) return *spec;
  if constexpr (std::is_same_v<T, ServingEngine>) refuse_release(*this, name);
  const auto& shelf = shelves_->shelf<T>();
  Shelves::not_there(name, ObjectType<T>::name, keys_of(shelf.by_name), shelf.order.size());
}

template <ZooSpec T> bool Zoo::is_read(std::string_view name) const {
  const auto* slot = shelves_->shelf<T>().find(name);
  return slot != nullptr && slot->there() != nullptr;
}

template <ZooSpec T> std::span<const T* const> Zoo::all() const {
  shelves_->shelf<T>().read_all(filling());
  return shelves_->shelf<T>().order;
}

template <ZooSpec T> std::vector<std::string> Zoo::names() const {
  std::vector<std::string> out;
  for (const auto& slot : shelves_->shelf<T>().slots) out.push_back(slot.name);  // no entry is read for it
  return out;
}

template <ZooSpec T> const T& Zoo::only() const {
  const auto specs = all<T>();
  if (specs.size() == 1) return *specs.front();
  Shelves::not_one(ObjectType<T>::name, names<T>());
}

template <ZooSpec T> T& Zoo::add(T spec, Entry entry) {
  auto& shelf = shelves_->shelf<T>();
  auto* slot = shelf.find(entry.name);
  const bool deferred =
      slot != nullptr && slot->there() == nullptr && slot->reading.load(std::memory_order_acquire);
  if (!deferred) slot = &shelves_->announce<T>(entry, {}, *this);
  const Entry& kept = shelves_->entries.emplace_back(std::move(entry));
  shelves_->entry_order[slot->entry_position] = slot->entry = &kept;
  spec.name = kept.name;
  spec.entry = &kept;
  const T& added = shelf.fill(*slot, std::move(spec));
  slot->object.store(&added, std::memory_order_release);
  if (!deferred) slot->ready.store(true, std::memory_order_release);
  return const_cast<T&>(added);
}

template <ZooSpec T> void Zoo::defer(Entry names, DeferredReader read) {
  (void)shelves_->announce<T>(names, std::move(read), *this);
}

std::span<const Entry* const> Zoo::entries() const {
  ZooSpecs::for_each([&]<class T>() { shelves_->shelf<T>().read_all(filling()); });
  return shelves_->entry_order;
}

const Reference* Zoo::find_reference(std::string_view key) const {
  auto* slot = shelves_->references.find(key);
  return slot == nullptr ? nullptr : Shelves::Shelf<Reference>::object_of(*slot, filling());
}

bool Zoo::is_reference_read(std::string_view key) const {
  const auto* slot = shelves_->references.find(key);
  return slot != nullptr && slot->there() != nullptr;
}

const Reference& Zoo::reference(std::string_view key) const {
  if (const auto* reference = find_reference(key)) return *reference;
  throw LookupError({.id = "mlsysim.spec.005",
                     .message = fmt::format("there is no reference '{}'", key),
                     .key = std::string(key),
                     .found = fmt::format("'{}'", key),
                     .expected = "a key of references.yaml",
                     .hint = did_you_mean(key, keys_of(shelves_->references.by_name))});
}

std::span<const Reference* const> Zoo::references() const {
  shelves_->references.read_all(filling());
  return shelves_->references.order;
}

Zoo::Shelves::Slot& Zoo::Shelves::announce_reference(const std::string& key, DeferredReader read) {
  if (references.find(key) != nullptr)
    throw InputError({.id = "mlsysim.spec.006",
                      .message = fmt::format("the reference '{}' is given twice", key),
                      .key = key,
                      .found = fmt::format("'{}'", key),
                      .expected = "a key that no other reference has",
                      .hint = "choose another key, or cite the one that is there"});
  Slot& slot = references.new_slot(std::move(read));
  references.by_name.emplace(key, &slot);
  return slot;
}

void Zoo::defer_reference(const std::string& key, DeferredReader read) {
  (void)shelves_->announce_reference(key, std::move(read));
}

const Reference& Zoo::add_reference(Reference reference) {
  auto* slot = shelves_->references.find(reference.key);
  const bool deferred =
      slot != nullptr && slot->there() == nullptr && slot->reading.load(std::memory_order_acquire);
  if (!deferred) slot = &shelves_->announce_reference(reference.key, {});
  const Reference& kept = shelves_->references.fill(*slot, std::move(reference));
  slot->object.store(&kept, std::memory_order_release);
  if (!deferred) slot->ready.store(true, std::memory_order_release);
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

const void* find_spec(const Zoo& zoo, std::string_view type, std::string_view name) {
  const void* found = nullptr;
  (void)with_spec_type(type, [&]<class T>() { found = zoo.find<T>(name); });
  return found;
}

std::vector<std::string> spec_names(const Zoo& zoo, std::string_view type) {
  std::vector<std::string> names;
  (void)with_spec_type(type, [&]<class T>() { names = zoo.names<T>(); });
  return names;
}

std::shared_ptr<void> blank_spec(std::string_view type) {
  std::shared_ptr<void> spec;
  (void)with_spec_type(type, [&]<class T>() { spec = std::make_shared<T>(); });
  return spec;
}

const TableInfo* spec_table(std::string_view type) {
  const TableInfo* table = nullptr;
  (void)with_spec_type(type, [&]<class T>() { table = &field_table<T>(); });
  return table;
}

#define MLSYSIM_INSTANTIATE(T)                             \
  template const T* Zoo::find<T>(std::string_view) const;  \
  template const T& Zoo::at<T>(std::string_view) const;    \
  template std::span<const T* const> Zoo::all<T>() const;  \
  template std::vector<std::string> Zoo::names<T>() const; \
  template const T& Zoo::only<T>() const;                  \
  template T& Zoo::add<T>(T, Entry);                       \
  template void Zoo::defer<T>(Entry, DeferredReader);      \
  template bool Zoo::is_read<T>(std::string_view) const;
MLSYSIM_INSTANTIATE(DeviceClass)
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
MLSYSIM_INSTANTIATE(KernelFamily)
MLSYSIM_INSTANTIATE(ServingEngine)
MLSYSIM_INSTANTIATE(ScalarFigure)
#undef MLSYSIM_INSTANTIATE

}  // namespace mlsysim
