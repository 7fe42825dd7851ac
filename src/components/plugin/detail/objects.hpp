#pragma once
/// Entries of the zoo as plugins see them: handles, and figures by path.

#include "services.hpp"

#include <mutex>
#include <unordered_map>

/// An object in the host's memory.
struct MlsObject {
  const void* spec;
  std::string_view type;  ///< static
};

namespace mlsysim::plugin::detail {

/// Handles of objects: one for each object, valid as long as the table. Thread-safe.
class ObjectTable {
 public:
  [[nodiscard]] const MlsObject* handle(ObjectRef object);
  /// The object of a handle. @throws PluginFault INVALID_ARGUMENT for an address that is none
  [[nodiscard]] ObjectRef object(const MlsObject* handle) const;

 private:
  mutable std::mutex mutex_;
  std::unordered_map<const void*, std::unique_ptr<MlsObject>> by_spec_;
  std::unordered_set<const MlsObject*> known_;
};

/// The static name of an object type, or empty: "hardware".
[[nodiscard]] std::string_view object_type(std::string_view name);
[[nodiscard]] std::vector<std::string> object_types();
[[nodiscard]] std::size_t count_objects(const Zoo& zoo, std::string_view type);
[[nodiscard]] ObjectRef object_at(const Zoo& zoo, std::string_view type, std::size_t index);
/// @throws LookupError with near misses
[[nodiscard]] ObjectRef find_object(const Zoo& zoo, std::string_view type, std::string_view name);
/// Every figure, MLS_NONE where it is not known, and those that follow: "compute.peak_flops", "size".
void read_object(ObjectRef object, ObjectTable& handles, const Visit& visit);

/// The services of this process.
class LocalServices : public Services {
 public:
  using Log = std::function<void(std::int32_t level, std::string_view text)>;
  explicit LocalServices(Log log = {}) : log_(std::move(log)) {}

  [[nodiscard]] ObjectTable& objects() { return objects_; }

  void log(std::int32_t level, std::string_view text) override;
  std::uint64_t zoo_count(std::string_view type) override;
  const MlsObject* zoo_at(std::string_view type, std::uint64_t index) override;
  const MlsObject* zoo_find(std::string_view type, std::string_view name) override;
  void object_field(const MlsObject* object, std::string_view path, const Visit& visit) override;
  void object_read(const MlsObject* object, const Visit& visit) override;
  double convert(double number, std::string_view from, std::string_view to) override;
  void evaluate(MlsCall* call, std::string_view resolver, std::span<const MlsNamed> inputs,
                const Visit& visit) override;
  bool cancel_requested(MlsCall* call) override;

 private:
  Log log_;
  ObjectTable objects_;
};

/// The unit of a dimension as text that is never freed.
[[nodiscard]] std::string_view static_unit(const Exponents& exps);
/// A value of a field as it crosses: numbers in base units. Texts live as long as `value`.
[[nodiscard]] MlsValue to_c(const Value& value, const Exponents& exps, ObjectTable& handles);
/// A value that a plugin gave, with its dimension; `declared` is the unit of a number that names none.
[[nodiscard]] DynamicValue from_c(const MlsValue& value, std::string_view declared,
                                  const ObjectTable& handles);

}  // namespace mlsysim::plugin::detail
