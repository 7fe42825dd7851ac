#pragma once
/// Inputs or result of a type-erased resolver, in memory of their own, with checked access by field name.
///
/// Example: `in.set("weights", 8_GB).set("capacity", 80_GB)`, then `evaluate(resolver, in)`, and
/// `outcome->get("memory_utilization")` is 0.1. A misspelled name throws LookupError with near misses.

#include <mlsysim/resolver_api/dynamic_value.hpp>
#include <mlsysim/resolver_api/outcome.hpp>
#include <mlsysim/resolver_api/report.hpp>
#include <mlsysim/resolver_api/resolver.hpp>
#include <mlsysim/resolver_api/search.hpp>

#include <memory>
#include <string_view>

namespace mlsysim {

/// Which of a resolver's two structs.
enum class Side : std::uint8_t { inputs, outputs };

/// A struct of a resolver in memory of its own. The resolver outlives it. Movable.
class Record {
 public:
  Record(const Resolver& resolver, Side side);

  [[nodiscard]] std::span<const FieldInfo> fields() const { return fields_; }
  [[nodiscard]] const void* data() const { return memory_.get(); }
  [[nodiscard]] void* data() { return memory_.get(); }
  /// Stores a value. @throws LookupError with near misses, DimensionError, InputError, DomainError
  Record& set(std::string_view name, const DynamicValue& value);
  /// The value of a field. @throws LookupError with near misses
  [[nodiscard]] DynamicValue get(std::string_view name) const;
  /// Fields that `set` was called for.
  [[nodiscard]] const FieldMask& supplied() const { return supplied_; }

 private:
  [[nodiscard]] std::size_t index(std::string_view name) const;
  struct Release {
    const Resolver* resolver;
    Side side;
    void operator()(void* memory) const;
  };
  std::span<const FieldInfo> fields_;
  std::unique_ptr<void, Release> memory_;
  FieldMask supplied_;
  std::string_view owner_;
};

/// A result of an erased resolver or the reason why there is none, with its report.
struct ErasedAnswer {
  Outcome<Record> outcome;
  RunReport report;
};

/// The checked way to run an erased resolver: ranges and required inputs before, verification after.
/// @throws InputError for a required input that was not set, and what the resolver throws
[[nodiscard]] ErasedAnswer evaluate(const Resolver& resolver, const Record& inputs,
                                    const SearchOptions& search = {}, double (*clock)() = nullptr);

}  // namespace mlsysim
