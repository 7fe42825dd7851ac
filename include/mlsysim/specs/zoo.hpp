#pragma once
/// The zoo: a container of devices, models, systems, grids, prices and their sources, by name.
///
/// Example: `zoo.at<HardwareNode>("H100")` has 3.35 TB/s. `at<HardwareNode>("H1000")` throws, and suggests
/// 'H100'.

#include <mlsysim/reflect/value.hpp>
#include <mlsysim/specs/device_class.hpp>
#include <mlsysim/specs/infrastructure.hpp>
#include <mlsysim/specs/provenance.hpp>
#include <mlsysim/specs/scalar_figure.hpp>
#include <mlsysim/specs/serving_engine.hpp>
#include <mlsysim/specs/system_extra.hpp>
#include <mlsysim/specs/workload.hpp>

#include <concepts>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mlsysim {

/// A list of types.
template <class... T> struct SpecList {
  static constexpr std::size_t size = sizeof...(T);
  template <class X> static constexpr bool has = (std::same_as<X, T> || ...);
  /// Calls f<T>() for each type, in order.
  template <class F> static constexpr void for_each(F&& f) { (f.template operator()<T>(), ...); }
  /// W<T...>, for instance a tuple of one container for each.
  template <template <class...> class W, template <class> class Of> using apply = W<Of<T>...>;
};

/// Every spec type that a Zoo holds.
using ZooSpecs =
    SpecList<DeviceClass, HardwareNode, Workload, Node, NetworkFabric, Fleet, Pod, Rack, StorageTier,
             GridProfile, CoolingProfile, Datacenter, KernelFamily, ServingEngine, ScalarFigure>;

// Their tables are made in src/specs/zoo_tables.cpp, once for all units.
extern template const TableInfo& field_table<DeviceClass>();
extern template const TableInfo& field_table<HardwareNode>();
extern template const TableInfo& field_table<Workload>();
extern template const TableInfo& field_table<Node>();
extern template const TableInfo& field_table<NetworkFabric>();
extern template const TableInfo& field_table<Fleet>();
extern template const TableInfo& field_table<Pod>();
extern template const TableInfo& field_table<Rack>();
extern template const TableInfo& field_table<StorageTier>();
extern template const TableInfo& field_table<GridProfile>();
extern template const TableInfo& field_table<CoolingProfile>();
extern template const TableInfo& field_table<Datacenter>();
extern template const TableInfo& field_table<KernelFamily>();
extern template const TableInfo& field_table<ServingEngine>();
extern template const TableInfo& field_table<ScalarFigure>();

/// A type that a Zoo holds.
template <class T>
concept ZooSpec = ZooSpecs::has<T>;

/// Calls f<T>() for the type of this name ("Workload", ...). @return false, and no call, when a Zoo holds
/// none such
template <class F> bool with_spec_type(std::string_view type, F&& f) {
  bool known = false;
  ZooSpecs::for_each([&]<class T>() {
    if (ObjectType<T>::name != type) return;
    known = true;
    f.template operator()<T>();
  });
  return known;
}

/// Specs and their provenance, owned at addresses that never change while the Zoo lives, also when it is
/// moved.
///
/// Names are exact: the canonical name of an entry or one of its declared aliases. A deferred spec has known
/// names and is read at first use. Reading is thread-safe where the readers of deferred specs are. Adding is
/// not. A moved-from Zoo may only be destroyed or assigned to.
class Zoo {
 public:
  Zoo();
  ~Zoo();
  Zoo(Zoo&&) noexcept;
  Zoo& operator=(Zoo&&) noexcept;

  /// The spec of this name or alias. @throws LookupError with near misses
  template <ZooSpec T> [[nodiscard]] const T& at(std::string_view name) const;
  /// The spec of this name or alias, or null.
  template <ZooSpec T> [[nodiscard]] const T* find(std::string_view name) const;
  /// All specs of a type, in load order.
  template <ZooSpec T> [[nodiscard]] std::span<const T* const> all() const;
  /// Canonical names of all specs of a type, in load order.
  template <ZooSpec T> [[nodiscard]] std::vector<std::string> names() const;
  /// The one spec of a type, for a file that holds a single entry. @throws LookupError when there are none or
  /// several
  template <ZooSpec T> [[nodiscard]] const T& only() const;

  /// Adds a spec; its name and entry pointer are set from `entry`.
  /// @throws InputError when a name or alias is taken; the Zoo is then unchanged: nothing silently shadows
  template <ZooSpec T> T& add(T spec, Entry entry);

  /// Reads a deferred entry, with add() or add_reference(). Several threads may call it at once. A reader
  /// locks, and returns where is_read() says that another thread was faster.
  using DeferredReader = std::function<void(Zoo&)>;
  /// Announces a spec that `read` adds when it is first asked for.
  /// @throws InputError when a name or alias is taken
  template <ZooSpec T> void defer(Entry names, DeferredReader read);
  /// Announces a reference that `read` adds when it is first asked for. @throws InputError when the key is
  /// taken
  void defer_reference(const std::string& key, DeferredReader read);
  /// Whether the spec of this name or alias is there, or still deferred.
  template <ZooSpec T> [[nodiscard]] bool is_read(std::string_view name) const;
  [[nodiscard]] bool is_reference_read(std::string_view key) const;

  /// The named scalar figure, e.g. "cloud.electricity". @throws LookupError with near misses
  [[nodiscard]] const ScalarFigure& scalar(std::string_view name) const { return at<ScalarFigure>(name); }

  /// The zoo's entry of a spec. @throws LookupError for a spec that was made by hand
  template <ZooSpec T> [[nodiscard]] static const Entry& entry_of(const T& spec) {
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
  [[nodiscard]] Zoo& filling() const;
  [[noreturn]] static void refuse_handmade(const std::string& name, std::string_view type);
  std::unique_ptr<Shelves> shelves_;
};

template <> struct ObjectType<Zoo> { static constexpr std::string_view name = "zoo"; };

/// The name of the spec behind a reference. Empty where the object is not a spec.
[[nodiscard]] std::string_view spec_name(const ObjectRef& object);
/// The spec of this type ("Workload", ...) with this name or alias, or null.
[[nodiscard]] const void* find_spec(const Zoo& zoo, std::string_view type, std::string_view name);
/// Canonical names of all specs of this type, in load order.
[[nodiscard]] std::vector<std::string> spec_names(const Zoo& zoo, std::string_view type);
/// An empty spec of this type; null where a Zoo holds none such.
[[nodiscard]] std::shared_ptr<void> blank_spec(std::string_view type);
/// The table of this type of specs; null where a Zoo holds none such.
[[nodiscard]] const TableInfo* spec_table(std::string_view type);

}  // namespace mlsysim
