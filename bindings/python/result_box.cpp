#include "result_box.hpp"

#include "quantities.hpp"
#include "values.hpp"

#include <mlsysim/resolver_api/field_text.hpp>

#include <new>

namespace mlsysim::python {
namespace {

void* reserve(std::size_t size, std::size_t alignment) {
  return ::operator new (size, std::align_val_t{alignment});
}
void release(void* memory, std::size_t alignment) { ::operator delete (memory, std::align_val_t{alignment}); }

struct ResultObject {
  PyObject_HEAD std::shared_ptr<const Box> box;
};

PyTypeObject* result_type = nullptr;

void result_dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  reinterpret_cast<ResultObject*>(self)->box.~shared_ptr();
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* refuse_new(PyTypeObject*, PyObject*, PyObject*) {
  PyErr_SetString(PyExc_TypeError, "results are made by the solve() of their resolver");
  return nullptr;
}

/// Reads one field; `closure` is its row in the table.
PyObject* read_field(PyObject* self, void* closure) {
  const auto& row = *static_cast<const FieldInfo*>(closure);
  try {
    const auto& box = *reinterpret_cast<ResultObject*>(self)->box;
    return to_python(row, read_dynamic(row, box.result())).release().ptr();
  } catch (...) {
    set_python_error();
    return nullptr;
  }
}

/// Gives a class one attribute per field of `names` ("memory.weights" under the name "weights").
void add_fields(const py::type& type, const std::shared_ptr<Resolver>& resolver, const py::dict& names) {
  auto* py_type = reinterpret_cast<PyTypeObject*>(type.ptr());
  // Descriptors point to the table; a class lives as long as the process, so both stay.
  static auto* kept = new std::vector<std::shared_ptr<const Resolver>>;
  kept->push_back(resolver);
  for (const auto& [attribute, field] : names) {
    const FieldInfo* row = find_field(resolver->outputs(), field.cast<std::string>());
    auto* def = new PyGetSetDef{};
    auto* texts = new std::pair<std::string, std::string>(
        attribute.cast<std::string>(),
        std::string(row->meaning) + (row->unit.empty() ? "" : " [" + std::string(row->unit) + "]"));
    def->name = texts->first.c_str();
    def->doc = texts->second.c_str();
    def->get = &read_field;
    def->closure = const_cast<FieldInfo*>(row);
    const auto descriptor = py::reinterpret_steal<py::object>(PyDescr_NewGetSet(py_type, def));
    if (!descriptor) throw py::error_already_set();
    py::setattr(type, attribute, descriptor);
  }
}

py::object base_value(const Value& value) {
  if (const auto* x = std::get_if<double>(&value)) return py::float_(*x);
  if (const auto* b = std::get_if<bool>(&value)) return py::bool_(*b);
  if (const auto* s = std::get_if<std::string>(&value)) return py::str(*s);
  return py::none();
}

/// All fields in base units, for equality and pickling.
py::tuple base_values(py::handle result) {
  const auto& box = *box_of(result);
  const auto fields = box.resolver().outputs();
  py::tuple t(fields.size());
  for (std::size_t i = 0; i < fields.size(); ++i) t[i] = base_value(fields[i].read(box.result()));
  return t;
}

py::list assumptions_of(py::handle result) {
  const auto& box = *box_of(result);
  py::list out;
  const auto add = [&](const Assumption& a) {
    out.append(py::make_tuple(a.name.view(), a.value.str(), a.source.view()));
  };
  if (box.has_inputs())
    for (const auto& a : defaults_used(box.resolver().inputs(), box.supplied)) add(a);
  for (const auto& a : box.notes().assumptions) add(a);
  return out;
}

py::list warnings_of(py::handle result) {
  py::list out;
  for (const auto& w : box_of(result)->notes().warnings) out.append(w);
  return out;
}

py::object rebuild(const py::type& type, const std::shared_ptr<Resolver>& resolver, const py::tuple& values,
                   const py::list& assumptions, const py::list& warnings) {
  auto box = std::make_shared<Box>(resolver);
  const auto fields = resolver->outputs();
  if (values.size() != fields.size())
    throw InputError({.id = "mlsysim.python.014",
                      .message = "this result was saved by another version of " + resolver->info().name,
                      .found = std::to_string(values.size()) + " fields",
                      .expected = std::to_string(fields.size())});
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const py::object v = values[i];
    if (!v.is_none()) fields[i].write(box->own_result(), to_dynamic(v).value);
  }
  NoteBook notes;
  for (const auto& row : assumptions) {
    const auto t = row.cast<py::tuple>();
    notes.assumptions.push_back(
        {t[0].cast<std::string>(), t[1].cast<std::string>(), t[2].cast<std::string>()});
  }
  for (const auto& w : warnings) notes.warnings.push_back(w.cast<std::string>());
  box->set_notes(std::move(notes));
  box->mark_supplied_unknown();
  return make_result(reinterpret_cast<PyTypeObject*>(type.ptr()), std::move(box));
}

py::dict inputs_of(py::handle result) {
  const auto& box = *box_of(result);
  py::dict d;
  if (!box.has_inputs()) return d;
  for (const auto& f : box.resolver().inputs())
    d[py::str(f.name)] = to_python(f, read_dynamic(f, box.inputs()));
  return d;
}

std::string verification_of(py::handle result) {
  const auto& box = *box_of(result);
  if (!box.has_inputs()) return "not checked: the inputs are not kept with this result";
  return box.resolver().verify(box.inputs(), box.result()).text();
}

}  // namespace

Box::Box(std::shared_ptr<const Resolver> resolver) : resolver_(std::move(resolver)) {
  const auto alignment = resolver_->alignment();
  inputs_ = reserve(resolver_->input_size(), alignment);
  try {
    resolver_->construct_inputs(inputs_);
    own_ = reserve(resolver_->output_size(), alignment);
    resolver_->construct_outputs(own_);
  } catch (...) {
    if (own_ != nullptr) release(own_, alignment);
    release(inputs_, alignment);
    throw;
  }
  result_ = own_;
}

Box::Box(std::shared_ptr<const Resolver> resolver, const void* result, std::shared_ptr<const void> owner)
    : resolver_(std::move(resolver)), owner_(std::move(owner)), result_(result), has_inputs_(false) {}

Box::~Box() {
  const auto alignment = resolver_->alignment();
  if (own_ != nullptr) {
    resolver_->destroy_outputs(own_);
    release(own_, alignment);
  }
  if (inputs_ != nullptr) {
    resolver_->destroy_inputs(inputs_);
    release(inputs_, alignment);
  }
}

const NoteBook& Box::notes() const {
  if (!notes_) {
    notes_.emplace();
    if (inputs_ != nullptr && has_inputs_) {
      Box again(resolver_);
      SolveContext context;
      context.notes = Notes(*notes_);
      (void)resolver_->solve(inputs_, again.own_, context);
    }
  }
  return *notes_;
}

py::object make_result(PyTypeObject* type, std::shared_ptr<const Box> box) {
  PyObject* self = type->tp_alloc(type, 0);
  if (self == nullptr) throw py::error_already_set();
  ::new (&reinterpret_cast<ResultObject*>(self)->box) std::shared_ptr<const Box>(std::move(box));
  return py::reinterpret_steal<py::object>(self);
}

const std::shared_ptr<const Box>& box_of(py::handle result) {
  if (!PyObject_TypeCheck(result.ptr(), result_type)) throw py::type_error("expected a result of a resolver");
  return reinterpret_cast<ResultObject*>(result.ptr())->box;
}

void bind_result_type(py::module_& m) {
  static PyType_Slot slots[] = {
      {Py_tp_dealloc, reinterpret_cast<void*>(&result_dealloc)},
      {Py_tp_new, reinterpret_cast<void*>(&refuse_new)},
      {Py_tp_doc, const_cast<char*>("Result of a resolver; fields convert when read.")},
      {0, nullptr}};
  static PyType_Spec spec{"_mlsysim._Result", sizeof(ResultObject), 0,
                          Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};
  result_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  if (result_type == nullptr) throw py::error_already_set();
  m.attr("_Result") = py::reinterpret_borrow<py::object>(reinterpret_cast<PyObject*>(result_type));

  m.def("_add_fields", &add_fields);
  m.def("_nested", [](const py::object& result, const py::type& type) {
    return make_result(reinterpret_cast<PyTypeObject*>(type.ptr()), box_of(result));
  });
  m.def("_base_values", [](const py::object& r) { return base_values(r); });
  m.def("_assumptions", [](const py::object& r) { return assumptions_of(r); });
  m.def("_warnings", [](const py::object& r) { return warnings_of(r); });
  m.def("_verification", [](const py::object& r) { return verification_of(r); });
  m.def("_inputs", [](const py::object& r) { return inputs_of(r); });
  m.def("_rebuild", &rebuild);
}

}  // namespace mlsysim::python
