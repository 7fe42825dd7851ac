#include <mlsysim/ops/graph_breaks/compile_time.hpp>

#include <mlsysim/units/error.hpp>

#include <fmt/format.h>

#include <array>
#include <cmath>

namespace mlsysim {
namespace {

constexpr std::size_t kParts = 3;
constexpr double kSame = 1e-9;  // of a column's length: what is left of one that others give

using Column = std::vector<double>;

double dot(const Column& a, const Column& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

/// Solves by orthogonal columns (modified Gram-Schmidt). @return whether the columns are independent
bool least_squares(std::array<Column, kParts> columns, Column right, std::array<double, kParts>& out) {
  std::array<std::array<double, kParts>, kParts> upper{};
  std::array<double, kParts> along{};
  for (std::size_t k = 0; k < kParts; ++k) {
    const double before = std::sqrt(dot(columns[k], columns[k]));
    for (std::size_t j = 0; j < k; ++j) {
      upper[j][k] = dot(columns[j], columns[k]);
      for (std::size_t i = 0; i < right.size(); ++i) columns[k][i] -= upper[j][k] * columns[j][i];
    }
    upper[k][k] = std::sqrt(dot(columns[k], columns[k]));
    if (!(upper[k][k] > kSame * before)) return false;
    for (auto& x : columns[k]) x /= upper[k][k];
    along[k] = dot(columns[k], right);
    for (std::size_t i = 0; i < right.size(); ++i) right[i] -= along[k] * columns[k][i];
  }
  for (std::size_t k = kParts; k-- > 0;) {
    out[k] = along[k];
    for (std::size_t j = k + 1; j < kParts; ++j) out[k] -= upper[k][j] * out[j];
    out[k] /= upper[k][k];
  }
  return true;
}

constexpr const char* kMore = "name more records: logs of TORCH_TRACE of several models";

}  // namespace

CompileTimeFit fit_compile_time(const CompileRecords& records) {
  CompileTimeFit out;
  std::array<Column, kParts> columns;
  Column right;
  for (const auto& r : records.records) {
    if (!(r.op_count > 0) || !(r.compile_time > Time<>())) continue;
    out.points.push_back({r.source, r.graph_count, r.op_count, r.guards, r.compile_time});
    columns[0].push_back(r.graph_count);
    columns[1].push_back(r.op_count);
    columns[2].push_back(r.guards);
    right.push_back(r.compile_time / unit::s);
  }
  if (out.points.size() < kParts)
    throw InputError("mlsysim.compile.012", "too few records say what compiling took", "",
                     fmt::format("{} records with operators and a time", out.points.size()), "three or more",
                     kMore);
  std::array<double, kParts> parts{};
  if (!least_squares(std::move(columns), std::move(right), parts))
    throw InputError("mlsysim.compile.013", "the records do not tell graphs, operators and guards apart", "",
                     fmt::format("{} records in which one goes with the others", out.points.size()),
                     "records of models that differ", kMore);
  out.per_graph = parts[0] * unit::s;
  out.per_operator = parts[1] * unit::s;
  out.per_guard = parts[2] * unit::s;
  for (auto& p : out.points)
    p.fitted = p.graphs * out.per_graph + p.operators * out.per_operator + p.guards * out.per_guard;
  return out;
}

}  // namespace mlsysim
