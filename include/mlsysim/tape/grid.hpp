#pragma once
/// Runs a tape on a grid of points and computes each node once per row instead of once per point.
///
///     points = size[0] * size[1] * ...        the last axis is the fastest
///     rows of a node = product of the sizes of the axes that it depends on
///
/// Nodes with the same axes form a part. Short parts become tables when the program is made. Longer parts are
/// widened to all axes up to their last one and computed in blocks as the points pass. A part with less to
/// compute than to hand on is dissolved: its nodes are computed where they are used.
/// Example: exp(x) y on 1000 x 1000 points calls exp 1,000 times. One point then costs 3.05 additions
/// (`work_per_point`), against 53 on a grid of one point.

#include <mlsysim/reflect/axis.hpp>
#include <mlsysim/tape/columns.hpp>

#include <cstdint>
#include <vector>

namespace mlsysim {

/// How an input of the tape varies along its axis.
struct GridInput {
  std::size_t axis = 0;
  Axis values;  ///< one a row of the axis
};

/// A tape made ready for a grid. Immutable and safe on any thread; each thread has a workspace of its own.
class GridProgram {
 public:
  static constexpr std::size_t kMostAxes = 63;

  /// @param sizes rows of each axis, slowest first, at most kMostAxes, none 0; their product is below 2^63
  /// @param inputs one per input of the tape
  GridProgram(const Tape& tape, const std::vector<std::size_t>& sizes, std::vector<GridInput> inputs);

  [[nodiscard]] std::size_t results() const { return results_; }
  [[nodiscard]] std::uint64_t points() const { return points_; }
  /// Operations, weighed by their time, that a point costs on average; for tests and reports.
  [[nodiscard]] double work_per_point() const;

  /// Rows of a reader that share a row of a source, or follow its rows one by one.
  struct Segment {
    std::size_t to = 0, length = 0;
    std::uint64_t at = 0;  ///< row of the source
    bool follows = false;
  };

  class Workspace {
   public:
    explicit Workspace(const GridProgram& program);

   private:
    friend class GridProgram;
    struct Window {
      std::vector<double> values;  ///< [outputs, kBlock]
      std::uint64_t first = 0, rows = 0;
    };
    std::vector<ColumnProgram::Workspace> parts_;
    std::vector<Segment> segments_;
    std::vector<Window> windows_;
    std::vector<double*> out_;
  };

  /// Results at points [at, at + points), each into its column of `out`.
  void run(std::uint64_t at, std::size_t points, double* const* out, Workspace& workspace) const;

 private:
  /// Term that neighboring axes add to a source's row: (row of the reader / stride % rows) * weight.
  struct Digit {
    std::uint64_t stride = 1, rows = 1, weight = 1;
  };
  /// Where an input of a part comes from. Its row is the sum over the digits of its pattern, slowest first.
  struct Source {
    std::uint32_t part = 0;   ///< kAxis: an input of the tape
    std::uint32_t which = 0;  ///< input of the tape, or output of the part
    std::uint32_t pattern = 0;
  };
  struct Part {
    ColumnProgram program;
    std::vector<Source> sources;
    std::vector<std::vector<Digit>> patterns;
    std::uint64_t rows = 1;
    double weight = 0;
    bool is_table = false;
    std::vector<double> table;  ///< [outputs, rows]
  };
  class Plan;
  static constexpr std::uint32_t kAxis = ~std::uint32_t{0};

  /// Rows [row, row + rows) of a part into columns.
  void run_part(std::size_t part, std::uint64_t row, std::size_t rows, double* const* out,
                Workspace& workspace) const;
  /// How rows [row, row + count) of a reader follow a source.
  static void divide(const std::vector<Digit>& pattern, std::uint64_t row, std::size_t count,
                     std::vector<Segment>& segments);
  /// Makes a window hold rows [row, last].
  void reach(std::size_t part, std::uint64_t row, std::uint64_t last, Workspace& workspace) const;

  std::vector<GridInput> inputs_;
  std::vector<Part> parts_;  ///< each after those that it reads; the last one has the results
  std::uint64_t points_ = 1;
  std::size_t results_ = 0;
};

}  // namespace mlsysim
