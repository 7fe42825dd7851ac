#pragma once
/// The container of everything that is known by name: devices, models, systems, grids, prices.

#include <mlsysim/spec/infrastructure.hpp>
#include <mlsysim/spec/provenance.hpp>
#include <mlsysim/spec/scalar_figure.hpp>
#include <mlsysim/spec/system_extra.hpp>
#include <mlsysim/spec/workload.hpp>

#include <concepts>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mlsysim {

/// A type that a Zoo holds; a closed list.
template <class T>
concept ZooSpec = std::same_as<T, HardwareNode> || std::same_as<T, Workload> || std::same_as<T, Node> ||
                  std::same_as<T, NetworkFabric> || std::same_as<T, Fleet> || std::same_as<T, Pod> ||
                  std::same_as<T, Rack> || std::same_as<T, StorageTier> || std::same_as<T, GridProfile> ||
                  std::same_as<T, CoolingProfile> || std::same_as<T, Datacenter> || std::same_as<T, ScalarFigure>;

/// Specs and their provenance, owned at addresses that never change while the Zoo lives, also when it is moved.
///
/// Names are exact: the canonical name of an entry or one of its declared aliases. Reading is thread-safe; adding
/// is not. A moved-from Zoo may only be destroyed or assigned to.
class Zoo {
 public:
  Zoo();
  ~Zoo();
  Zoo(Zoo&&) noexcept;
  Zoo& operator=(Zoo&&) noexcept;

  /// The spec of this name or alias. @throws LookupError with near misses
  template <ZooSpec T>
  [[nodiscard]] const T& at(std::string_view name) const;
  /// The spec of this name or alias, or null.
  template <ZooSpec T>
  [[nodiscard]] const T* find(std::string_view name) const;
  /// All specs of a type, in load order.
  template <ZooSpec T>
  [[nodiscard]] std::span<const T* const> all() const;
  /// Canonical names of all specs of a type, in load order.
  template <ZooSpec T>
  [[nodiscard]] std::vector<std::string> names() const;
  /// The one spec of a type, for a file that holds a single entry. @throws LookupError when there are none or several
  template <ZooSpec T>
  [[nodiscard]] const T& only() const;

  /// Adds a spec; its name and entry pointer are set from `entry`.
  /// @throws InputError when a name or alias is taken; the Zoo is then unchanged: nothing silently shadows
  template <ZooSpec T>
  T& add(T spec, Entry entry);

  /// The named scalar figure, e.g. "cloud.electricity". @throws LookupError with near misses
  [[nodiscard]] const ScalarFigure& scalar(std::string_view name) const { return at<ScalarFigure>(name); }

  /// What is known about a spec beside its figures. @throws LookupError for a spec that was made by hand
  template <ZooSpec T>
  [[nodiscard]] static const Entry& entry_of(const T& spec) {
    if (spec.entry == nullptr) refuse_handmade(spec.name, ObjectType<T>::name);
    return *spec.entry;
  }
  /// All entries, of every kind, in load order.
  [[nodiscard]] std::span<const Entry* const> entries() const;

  /// The work that is cited by this key. @throws LookupError with near misses
  [[nodiscard]] const Reference& reference(std::string_view key) const;
  [[nodiscard]] const Reference* find_reference(std::string_view key) const;
  [[nodiscard]] std::span<const Reference* const> references() const;
  /// @throws InputError when the key is taken
  const Reference& add_reference(Reference reference);

 private:
  struct Shelves;
  [[noreturn]] static void refuse_handmade(const std::string& name, std::string_view type);
  std::unique_ptr<Shelves> shelves_;
};

template <>
struct ObjectType<Zoo> {
  static constexpr std::string_view name = "zoo";
};

}  // namespace mlsysim
