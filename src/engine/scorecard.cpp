#include <mlsysim/engine/scorecard.hpp>
#include <mlsysim/reflect/detail/aliases.hpp>
#include <mlsysim/units/format.hpp>

namespace mlsysim {

std::string Metric::text(int digits) const {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "yes" : "no";
  if (const auto* words = std::get_if<std::string>(&value)) return *words;
  if (const auto* number = std::get_if<double>(&value)) {
    if (exps.dimensionless()) return pretty(*number, digits);
    return pretty(AnyQuantity::from_base(*number, exps), digits);
  }
  return {};
}

double Metric::number() const {
  const auto* base = std::get_if<double>(&value);
  if (base == nullptr)
    throw InputError({.id = "mlsysim.engine.001",
                      .message = "'" + name.str() + "' is not a number",
                      .key = name.str(),
                      .found = "'" + text() + "'",
                      .expected = "a number"});
  return unit.empty() ? *base : AnyQuantity::from_base(*base, exps).in(unit);
}

const Metric* EvaluationLevel::find(std::string_view wanted) const {
  for (const auto& m : metrics)
    if (m.name == wanted) return &m;
  const auto canonical = canonical_name(wanted);
  return canonical.empty() ? nullptr : find(canonical);
}

std::string_view name_of(EvaluationLevel::Status status) {
  static constexpr std::string_view names[] = {"PASS", "FAIL", "SKIPPED"};
  return names[static_cast<std::size_t>(status)];
}

std::vector<const EvaluationLevel*> SystemEvaluation::levels() const {
  std::vector<const EvaluationLevel*> out{&feasibility, &performance, &macro};
  for (const auto& level : further) out.push_back(&level);
  return out;
}

bool SystemEvaluation::passed_all() const {
  for (const auto* level : levels())
    if (level->status == EvaluationLevel::Status::fail) return false;
  return true;
}

const Metric* SystemEvaluation::find(std::string_view path) const {
  const auto dot = path.find('.');
  if (dot == std::string_view::npos) return nullptr;
  const auto level = path.substr(0, dot), metric = path.substr(dot + 1);
  for (const auto* one : levels())
    if (one->level_name == level) return one->find(metric);
  return nullptr;
}

bool rests_on_class(const Assumption& a) {
  const auto name = a.name.view();
  const auto of_device = [&](std::string_view group) { return name.starts_with(group); };
  return a.source.view().starts_with("class ") &&
         (of_device("efficiency.") || of_device("kernels.") || of_device("tiles.") ||
          of_device("collectives.") || of_device("draw.") || of_device("compute."));
}

}  // namespace mlsysim
