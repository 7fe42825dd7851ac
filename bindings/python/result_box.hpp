#pragma once
/// Results of the library as Python objects that convert a field when it is asked for.
///
/// `_Result` is a plain C type: making one costs an allocation, and no field is converted that nobody reads.
/// The classes of the resolvers (SingleNodeModel.Result, ...) derive from it in Python.

#include "bindings.hpp"

#include <mlsysim/resolver_api/report.hpp>
#include <mlsysim/resolver_api/resolver.hpp>

#include <memory>
#include <optional>
#include <vector>

namespace mlsysim::python {

/// A result with the inputs that it came from.
class Box {
 public:
  /// Memory of its own for both structs, constructed.
  explicit Box(std::shared_ptr<const Resolver> resolver);
  /// A result that lives elsewhere.
  Box(std::shared_ptr<const Resolver> resolver, const void* result, std::shared_ptr<const void> owner);
  Box(const Box&) = delete;
  Box& operator=(const Box&) = delete;
  ~Box();

  [[nodiscard]] const Resolver& resolver() const { return *resolver_; }
  [[nodiscard]] const std::shared_ptr<const Resolver>& share_resolver() const { return resolver_; }
  [[nodiscard]] void* inputs() const { return inputs_; }
  [[nodiscard]] void* own_result() const { return own_; }
  [[nodiscard]] const void* result() const { return result_; }

  FieldMask supplied;
  std::vector<py::object> keeps;  ///< Python objects that the inputs point to
  /// Assumptions and warnings; written when asked for, by solving once more while listening.
  [[nodiscard]] const NoteBook& notes() const;
  void set_notes(NoteBook notes) { notes_ = std::move(notes); }
  void mark_supplied_unknown() { has_inputs_ = false; }
  [[nodiscard]] bool has_inputs() const { return has_inputs_; }

 private:
  std::shared_ptr<const Resolver> resolver_;
  std::shared_ptr<const void> owner_;
  void* inputs_ = nullptr;
  void* own_ = nullptr;
  const void* result_ = nullptr;
  bool has_inputs_ = true;
  mutable std::optional<NoteBook> notes_;
};

/// An instance of `type`, a Python class derived from `_Result`.
[[nodiscard]] py::object make_result(PyTypeObject* type, std::shared_ptr<const Box> box);
/// The box inside of a result. @throws py::type_error for anything else
[[nodiscard]] const std::shared_ptr<const Box>& box_of(py::handle result);
/// Adds `_Result` to the module.
void bind_result_type(py::module_& m);

}  // namespace mlsysim::python
