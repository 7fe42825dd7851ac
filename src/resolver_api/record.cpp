#include <mlsysim/resolver_api/record.hpp>

#include <mlsysim/resolver_api/input_guard.hpp>
#include <mlsysim/units/near_miss.hpp>

#include <fmt/format.h>

#include <new>

namespace mlsysim {

Record::Record(const Resolver& resolver, Side side)
    : fields_(side == Side::inputs ? resolver.inputs() : resolver.outputs()),
      memory_(nullptr, {&resolver, side}),
      owner_(resolver.info().name) {
  const auto size = side == Side::inputs ? resolver.input_size() : resolver.output_size();
  const std::align_val_t alignment{resolver.alignment()};
  void* raw = ::operator new(size, alignment);
  try {
    if (side == Side::inputs)
      resolver.construct_inputs(raw);
    else
      resolver.construct_outputs(raw);
  } catch (...) {
    ::operator delete(raw, alignment);
    throw;
  }
  memory_.reset(raw);
}

void Record::Release::operator()(void* memory) const {
  if (side == Side::inputs)
    resolver->destroy_inputs(memory);
  else
    resolver->destroy_outputs(memory);
  ::operator delete (memory, std::align_val_t{resolver->alignment()});
}

std::size_t Record::index(std::string_view name) const {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    if (fields_[i].name == name) return i;
    names.push_back(fields_[i].name);
  }
  throw LookupError(
      unknown_name("mlsysim.resolve.017", fmt::format("{} has no field '{}'", owner_, name), name, names));
}

Record& Record::set(std::string_view name, const DynamicValue& value) {
  const auto i = index(name);
  write_checked(fields_[i], memory_.get(), value);
  if (i < supplied_.size()) supplied_.set(i);
  return *this;
}

DynamicValue Record::get(std::string_view name) const {
  return read_dynamic(fields_[index(name)], memory_.get());
}

ErasedAnswer evaluate(const Resolver& resolver, const Record& inputs, const SearchOptions& search,
                      double (*clock)()) {
  const auto& name = resolver.info().name;
  const auto fields = resolver.inputs();
  for (std::size_t i = 0; i < fields.size() && i < inputs.supplied().size(); ++i)
    if (fields[i].required && !inputs.supplied()[i])
      throw InputError({.id = "mlsysim.resolve.012",
                        .message = fmt::format("input '{}' of {} is missing", fields[i].name, name),
                        .key = fields[i].name,
                        .found = "nothing",
                        .expected = std::string(fields[i].meaning),
                        .reason = BreakReason::missing_field});
  InputGuard(fields).check(inputs.data(), name);
  RunReport report;
  report.resolver = name;
  report.inputs = fields;
  report.supplied = inputs.supplied();
  SolveContext context;
  context.notes = Notes(report.notes);
  context.search = &search;
  Record result(resolver, Side::outputs);
  const double start = clock != nullptr ? clock() : 0;
  const auto status = resolver.solve(inputs.data(), result.data(), context);
  if (clock != nullptr) report.seconds = clock() - start;
  // A name of a choice is static text in the table, so the view outlives the record.
  const auto fidelity = [&](std::span<const FieldInfo> all, const void* object) {
    const auto* f = find_field(all, "fidelity");
    if (f == nullptr || f->kind != ValueKind::choice) return;
    const Value v = f->read(object);
    for (const auto& choice : f->choices)
      if (v == Value(std::string(choice))) report.fidelity = choice;
  };
  fidelity(fields, inputs.data());
  if (status == Status::infeasible) {
    report.verification.not_checked = "there is no result";
    return {Outcome<Record>(std::move(context.why)), std::move(report)};
  }
  check_result(resolver.outputs(), result.data(), name, {fields, inputs.data()});
  fidelity(resolver.outputs(), result.data());
  report.verification = resolver.verify(inputs.data(), result.data());
  return {Outcome<Record>(std::move(result)), std::move(report)};
}

}  // namespace mlsysim
