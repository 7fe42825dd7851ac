#pragma once
/// Keywords of Python calls into the structs of the library.

#include "bindings.hpp"

#include <mlsysim/reflect/describe.hpp>
#include <mlsysim/resolver_api/input_guard.hpp>
#include <mlsysim/resolver_api/report.hpp>

#include <span>
#include <string_view>
#include <vector>

namespace mlsysim::python {

/// Writes keywords into a struct. None means "not given" where an input may be left out; "model" means
/// "workload".
class Keywords {
 public:
  /// @param owner name for messages
  Keywords(std::span<const FieldInfo> fields, std::string_view owner);
  ~Keywords();
  Keywords(const Keywords&) = delete;
  Keywords& operator=(const Keywords&) = delete;

  /// Index of a keyword. @throws InputError with near misses
  [[nodiscard]] std::size_t index_of(PyObject* name) const;
  /// Checks and stores one value. Objects are added to `keeps`.
  void write(std::size_t index, void* object, PyObject* value, FieldMask& supplied,
             std::vector<py::object>& keeps) const;
  void write_all(const py::dict& values, void* object, FieldMask& supplied,
                 std::vector<py::object>& keeps) const;
  /// @throws InputError naming what is missing
  void require(const FieldMask& supplied) const;
  [[nodiscard]] std::span<const FieldInfo> fields() const { return fields_; }

 private:
  std::span<const FieldInfo> fields_;
  std::string_view owner_;
  std::vector<PyObject*> names_;   ///< interned: a keyword of a call site is the same object
  std::vector<BaseRange> ranges_;  ///< of numbers, in base units
  FieldMask required_;
};

}  // namespace mlsysim::python
