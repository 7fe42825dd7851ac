#pragma once
// The numbers of the specs that a struct points to, as inputs that can move: "hardware.memory.bandwidth",
// "fleet.node.accelerator.compute.dense.fp16", "conventions.textbook_efficiency".

#include <mlsysim/spec/hardware.hpp>
#include <mlsysim/table/describe.hpp>

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace mlsysim::detail {

template <class M>
inline constexpr bool is_number_v = false;
template <>
inline constexpr bool is_number_v<double> = true;
template <class D>
inline constexpr bool is_number_v<Quantity<D, double>> = true;

[[nodiscard]] inline double& base_of(double& x) { return x; }
template <class D>
[[nodiscard]] double& base_of(Quantity<D, double>& x) {
  static_assert(sizeof(x) == sizeof(double));
  return reinterpret_cast<double&>(x);
}

/// Calls `number(path, row, exponents, x)` for every number that is there, its path as the zoo's files name it, and
/// `pointer(path, member)` for every pointer to another spec. Lists and maps are left out.
template <class S, class Number, class Pointer>
void for_each_number(S& object, const std::string& prefix, Number& number, Pointer& pointer) {
  const auto visit = [&]<class R, class M>(const std::string& path, const R& row, M& member) {
    if constexpr (is_number_v<M>) {
      number(path, row, Access<M>::exps, base_of(member));
    } else if constexpr (is_optional_v<M>) {
      if constexpr (is_number_v<typename M::value_type>)
        if (member) number(path, row, Access<M>::exps, base_of(*member));
    } else if constexpr (std::is_same_v<M, RatePerPrecision>) {
      for (std::size_t i = 0; i < kPrecisions; ++i)
        if (member.rates[i])
          number(fmt::format("{}.{}", path, name_of(static_cast<Precision>(i))), row, ComputeRate<>::dimension::exps, base_of(*member.rates[i]));
    } else if constexpr (std::is_pointer_v<M>) {
      pointer(path, member);
    } else if constexpr (HasFields<M>) {
      for_each_number(member, path + ".", number, pointer);
    }
  };
  for_each_field<S>([&](const auto& row) { visit(prefix + std::string(row.name), row, object.*row.member); });
}

/// The figures of the specs that the fields of one object point to, and of the specs that those point to.
class SpecFigures {
 public:
  SpecFigures() = default;
  /// Where no conventions are given, the standard ones are meant.
  SpecFigures(std::span<const FieldInfo> fields, const void* object);

  /// The figures as fields of a law: name, unit, meaning and range. They have no place in a struct.
  [[nodiscard]] const std::vector<FieldInfo>& inputs() const { return inputs_; }
  [[nodiscard]] const std::vector<double>& point() const { return point_; }

  /// Copies that a call needs; they live as long as this.
  using Copies = std::vector<std::shared_ptr<std::byte>>;
  /// Points `object` to copies of its specs that hold these numbers. Where none has moved there is nothing to do.
  [[nodiscard]] Copies apply(const double* numbers, void* object) const;

 private:
  struct Object {
    const void* base;
    std::shared_ptr<std::byte> (*clone)(const void*);
    std::string_view type;
    std::optional<FieldInfo> field;  ///< of the root that points here; else the parent does
    std::size_t parent = 0, offset = 0;
  };
  struct Figure {
    std::size_t object, offset;
  };

  template <class S>
  void add(const S& spec, const std::string& prefix, Object place);

  std::vector<Object> objects_;
  std::vector<Figure> figures_;
  std::vector<FieldInfo> inputs_;
  std::vector<double> point_;
};

}  // namespace mlsysim::detail
