#pragma once
/// How long a compiler takes, fitted to what it took.

#include <mlsysim/ops/graph_breaks/ingest.hpp>

namespace mlsysim {

/// compile_time = per_graph graphs + per_operator operators + per_guard guards, by least squares.
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
/// @throws InputError for fewer than three of them, and where they do not tell the three parts apart
[[nodiscard]] CompileTimeFit fit_compile_time(const CompileRecords& records);

}  // namespace mlsysim
