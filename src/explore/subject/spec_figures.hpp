#pragma once
// The numbers of the specs that a struct points to, as inputs that can move: "hardware.memory.bandwidth",
// "fleet.node.accelerator.compute.dense.fp16", "conventions.textbook_efficiency".

#include <mlsysim/reflect/describe.hpp>
#include <mlsysim/specs/conventions.hpp>
#include <mlsysim/specs/leaves.hpp>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace mlsysim::detail {

/// Whether an input is a size of a model. No one who runs the model can move it.
[[nodiscard]] inline bool is_size_of_model(std::string_view name) {
  for (const std::string_view start : {"workload.", "draft_model.", "totals.", "draft."})
    if (name.starts_with(start)) return true;
  return false;
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
  /// Points `object` to copies of its specs that hold these numbers. Where none has moved there is nothing to
  /// do.
  [[nodiscard]] Copies apply(const double* numbers, void* object) const;

 private:
  struct Object {
    const void* base;
    std::shared_ptr<std::byte> (*clone)(const void*);
    std::string_view type;
    std::optional<FieldInfo> field;  ///< of the root that points here; else the parent does
    std::size_t parent = 0;
    MemberRoute route{};  ///< of the pointer, in the parent
  };
  struct Place {
    std::size_t object;
    const MemberType* type;
    MemberRoute route;
  };

  void add(const ObjectRef& spec, const std::string& prefix, Object place);

  /// Figures of a device that its class gives: they have a path too.
  void add_filled(const HardwareNode& device, const std::string& prefix, std::size_t own);

  const Conventions* conventions_ = nullptr;
  Conventions with_kernels_;  ///< those, with the kernels of the runtime
  std::vector<Object> objects_;
  std::vector<Place> figures_;
  std::vector<FieldInfo> inputs_;
  std::vector<double> point_;
};

}  // namespace mlsysim::detail
