#pragma once
/// Fits the compile time of torch.compile to compile records by linear least squares.
///
///   compile_time = per_graph * graphs + per_operator * operators + per_guard * guards
///
/// It uses records that state their operators and a positive time. Fitted times may be negative. At least
/// three records are needed, with columns that are linearly independent.
/// Example: (graphs, operators, guards, s) = (1, 100, 50, 1.55), (3, 100, 100, 2.6), (2, 300, 100, 4.1) give
/// per_graph 0.5 s, per_operator 10 ms and per_guard 1 ms.

#include <mlsysim/ops/graph_breaks/ingest.hpp>

namespace mlsysim {

/// The three fitted times, and the records behind them.
struct CompileTimeFit {
  /// One record that was fitted to.
  struct Point {
    std::string source;
    double graphs = 0, operators = 0, guards = 0;
    Time<> measured{}, fitted{};
  };
  Time<> per_graph{}, per_operator{}, per_guard{};
  std::vector<Point> points;
};

/// Fits to every record that says its operators and its time.
/// @throws InputError for fewer than three of them, and for linearly dependent columns
[[nodiscard]] CompileTimeFit fit_compile_time(const CompileRecords& records);

}  // namespace mlsysim
