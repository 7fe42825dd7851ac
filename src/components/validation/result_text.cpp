#include "detail/result_text.hpp"

#include <mlsysim/validation/report.hpp>

#include <mlsysim/units/any_quantity.hpp>
#include <mlsysim/units/format.hpp>

#include <fmt/format.h>

namespace mlsysim::detail {

std::string percent(double share, bool sign) {
  const double x = 100 * share;
  const int digits = x < 9.95 && x > -9.95 ? 1 : 0;
  return sign ? fmt::format("{:+.{}f} %", x, digits) : fmt::format("{:.{}f} %", x, digits);
}

std::string percent_of(double share, const ErrorStatistics& compared, const TableResult& result) {
  if (compared.rows == 0) return {};
  return percent(share) +
         (compared.rows < result.errors.rows ? fmt::format(" ({} rows)", compared.rows) : std::string());
}

Exponents exponents_of(const Measurand& measurand) {
  return measurand.unit().empty() ? Exponents{}
                                  : AnyQuantity::parse(fmt::format("1 {}", measurand.unit())).exponents();
}

std::string shown(double base, const MeasuredTable& table) { return shown_value(base, *table.measurand); }

std::string terms_text(const PredictedRow& row, const MeasuredTable& table) {
  // Terms of a rate are times; facts name their unit.
  const auto unit =
      table.measurand->kind() == MeasurandKind::rate ? dim::time::exps : exponents_of(*table.measurand);
  std::string out;
  for (const auto& t : row.terms) {
    const auto value =
        t.role == TermRole::fact ? pretty(t.base, 3) : pretty(AnyQuantity::from_base(t.base, unit), 3);
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", t.name, value);
  }
  return out;
}

std::size_t left_out_rows(const TableResult& result) {
  std::size_t sum = 0;
  for (const auto& l : result.left_out) sum += l.rows;
  return sum;
}

}  // namespace mlsysim::detail

namespace mlsysim {

std::string shown_value(double base, const Measurand& measurand) {
  const auto exps = detail::exponents_of(measurand);
  return exps.dimensionless() ? pretty(base, 4) : pretty(AnyQuantity::from_base(base, exps), 4);
}

}  // namespace mlsysim
