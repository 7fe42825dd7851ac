#pragma once
/// Resolver that is described at run time by field lists and a function, as Python and plugins define it.
///
/// Values are checked against kind, dimension and range on the way in and out.
/// Example: "Halver" with an input `time` in ms and an output `half` in ms gives 5 ms for 10 ms. A result in
/// GB throws DimensionError.

#include <mlsysim/resolver_api/dynamic_value.hpp>
#include <mlsysim/resolver_api/resolver.hpp>

#include <deque>
#include <functional>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace mlsysim {

/// A field of a resolver made at run time; texts are owned.
struct DynamicField {
  std::string name;
  ValueKind kind = ValueKind::any;  ///< `any`: accepts every kind; a value brings its dimension with it
  std::string unit{};               ///< of a quantity, for display; fixes its dimension
  std::string meaning{};
  std::string object_type{};           ///< of an object
  std::vector<std::string> choices{};  ///< of a choice
  bool required = true;                ///< of an input: must be met in a pipeline
  DynamicValue default_value{};        ///< of an input that is not required
  std::string default_source{};
  double low = -kUnbounded, high = kUnbounded;  ///< display unit
  bool integral = false;                        ///< a count: derivatives are steps to the next one
  bool shared = true;                           ///< linked by its name, as a key of the vocabulary is

  /// Copies kind, unit, meaning, range and choices from another resolver's field.
  [[nodiscard]] static DynamicField like(const FieldInfo& field);
};

/// Answer of a resolver made at run time: one value per output, in order, or the reason why there is none.
using DynamicAnswer = std::variant<std::vector<DynamicValue>, Infeasible>;
/// Receives one value per input, in order. Exceptions pass through unchanged.
using DynamicSolve =
    std::function<DynamicAnswer(std::span<const DynamicValue> inputs, SolveContext& context)>;

/// A resolver over values that are described at run time. Not thread-safe unless its info says so.
class DynamicResolver final : public Resolver {
 public:
  /// @throws InputError for fields without name, twice the same name, or a unit that is none
  DynamicResolver(ResolverInfo info, std::vector<DynamicField> inputs, std::vector<DynamicField> outputs,
                  DynamicSolve solve);

  [[nodiscard]] std::span<const FieldInfo> inputs() const override { return input_fields_; }
  [[nodiscard]] std::span<const FieldInfo> outputs() const override { return output_fields_; }
  [[nodiscard]] std::size_t input_size() const override { return size(inputs_); }
  [[nodiscard]] std::size_t output_size() const override { return size(outputs_); }
  void construct_inputs(void* memory) const override { construct(inputs_, memory); }
  void destroy_inputs(void* memory) const override { destroy(inputs_, memory); }
  void construct_outputs(void* memory) const override { construct(outputs_, memory); }
  void destroy_outputs(void* memory) const override { destroy(outputs_, memory); }
  Status solve(const void* in, void* out, SolveContext& context) const override;
  [[nodiscard]] Verification verify(const void* in, const void* out) const override;

 private:
  struct Side {
    std::vector<DynamicField> fields;
    std::deque<std::vector<std::string_view>> choices;
  };
  static std::vector<FieldInfo> describe_side(Side& side, const std::string& resolver);
  static std::size_t size(const Side& side);
  static void construct(const Side& side, void* memory);
  static void destroy(const Side& side, void* memory);

  Side inputs_, outputs_;
  std::vector<FieldInfo> input_fields_, output_fields_;
  DynamicSolve solve_;
};

}  // namespace mlsysim
