#pragma once
// Evaluates points of a space block by block: constants filled once per subject, axes by runs, expressions on
// top.

#include "explore/search/block_kernels.hpp"

#include <mlsysim/explore/search/explore.hpp>
#include <mlsysim/resolvers/detail/once.hpp>
#include <mlsysim/tape/columns.hpp>
#include <mlsysim/tape/grid.hpp>

#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mlsysim::detail {

/// The expressions of a question over one subject. Where the subject is a law they and it are one tape over
/// the numbers that vary: constants are folded into it, and results that are not asked for are not computed.
struct Compiled {
  std::vector<Expression> objectives, show;
  std::vector<double> signs;  ///< +1 minimize, -1 maximize
  std::vector<ConstraintExpression> constraints;
  std::optional<Expression> histogram;
  bool is_law = false;
  Tape tape;  ///< of a law; inputs: the columns; results: in the order of `all`

  Compiled(const Question& question, const LawEntry& entry);
  /// Records the tape of a law for the columns of a space.
  void record(const Subject& subject, const Space& space);

  /// The tape ready for points anywhere, and for points in their order; made by the thread that asks first.
  [[nodiscard]] const ColumnProgram& program() const;
  [[nodiscard]] const GridProgram& grid() const;
  [[nodiscard]] bool has_grid() const { return is_law && sizes_.size() <= GridProgram::kMostAxes; }

  // Position of the value of each expression.
  [[nodiscard]] std::size_t shown_at(std::size_t k) const { return k; }
  [[nodiscard]] std::size_t left_at(std::size_t c) const { return show.size() + 2 * c; }
  [[nodiscard]] std::size_t right_at(std::size_t c) const { return left_at(c) + 1; }
  [[nodiscard]] std::size_t objective_at(std::size_t k) const {
    return show.size() + 2 * constraints.size() + k;
  }
  [[nodiscard]] std::size_t histogram_at() const { return objective_at(objectives.size()); }
  [[nodiscard]] std::size_t expressions() const { return histogram_at() + (histogram ? 1 : 0); }
  /// All expressions in that order.
  [[nodiscard]] std::vector<const Expression*> all() const;

 private:
  std::vector<std::size_t> sizes_;  ///< rows of the axes over numbers
  std::vector<GridInput> inputs_;   ///< one a column
  mutable Once program_made_, grid_made_;
  mutable std::optional<ColumnProgram> program_;
  mutable std::optional<GridProgram> grid_;
};
/// The place of each column's axis among the axes over numbers.
[[nodiscard]] std::vector<std::size_t> axes_of_columns(const Space& space,
                                                       std::span<const Space::Column> columns);
/// Texts of all constraints, implicit ones first.
[[nodiscard]] std::vector<std::string> constraint_texts(const Question& question, const LawEntry& entry);

/// One subject of a space with block buffers; not thread-safe.
class PointKernel {
 public:
  static constexpr std::size_t kBlock = 256;

  PointKernel(const Space& space, const Question& question);
  /// Makes points [outer * inner, ...) current. Returns the reason when there is no subject.
  [[nodiscard]] std::string bind(std::uint64_t outer);
  /// The same for a subject that is at hand, shared by threads.
  void use(std::shared_ptr<const Subject> subject, std::shared_ptr<const Compiled> compiled);

  /// Evaluates inner points [at, at + points), at most kBlock.
  void run(std::uint64_t at, std::size_t points);
  /// Evaluates these inner points, at most kBlock.
  void run(std::span<const std::uint64_t> points);
  /// Evaluates the points of a box, at most kBlock, in order of their index: rows [low, high) of each axis
  /// over numbers.
  /// @param axes the axis of each column, see `axes_of_columns`
  void run(std::span<const std::uint32_t> low, std::span<const std::uint32_t> high,
           std::span<const std::size_t> axes);

  [[nodiscard]] const Subject& subject() const { return *subject_; }
  /// The bound subject, for `use` in another kernel.
  [[nodiscard]] const std::shared_ptr<const Subject>& shared_subject() const { return subject_; }
  [[nodiscard]] const std::shared_ptr<const Compiled>& shared_compiled() const { return compiled_; }
  [[nodiscard]] const Compiled& compiled() const { return *compiled_; }
  [[nodiscard]] const std::vector<Space::Column>& columns() const { return columns_; }
  /// Marks points that miss a constraint or hold no number; see MissWord.
  [[nodiscard]] const MissWord* misses();
  /// Values over the block of an expression that the question shows, of the two sides of a constraint, of an
  /// objective as it is stated, and of what a histogram counts.
  [[nodiscard]] const double* shown(std::size_t k) const { return value(compiled_->shown_at(k)); }
  [[nodiscard]] const double* left_side(std::size_t c) const { return value(compiled_->left_at(c)); }
  [[nodiscard]] const double* right_side(std::size_t c) const { return value(compiled_->right_at(c)); }
  [[nodiscard]] const double* stated_objective(std::size_t k) const {
    return value(compiled_->objective_at(k));
  }
  [[nodiscard]] const double* counted() const { return value(compiled_->histogram_at()); }
  /// Distance of the sides of constraint `c` at point `p` of the block, over the larger one; not finite where
  /// a side is not.
  [[nodiscard]] double relative_excess(std::size_t c, std::size_t p) const;
  /// Signed objective k (smaller is better).
  [[nodiscard]] const double* objective(std::size_t k);
  [[nodiscard]] std::size_t points() const { return points_; }
  /// Points of the block whose resolver failed, and why; none has numbers.
  [[nodiscard]] const std::vector<std::pair<std::size_t, std::string>>& failures() const { return failures_; }

 private:
  /// Doubles from one column to the next: 64 bytes more than a block, or columns 4 KiB apart evict each
  /// other.
  static constexpr std::size_t kStride = kBlock + 8;

  void evaluate(std::size_t points);
  void call_each(std::size_t points);
  void fill(const Space::Column& c, double& filled, double* to, std::uint64_t at, std::size_t points);
  [[nodiscard]] const double* value(std::size_t expression) const { return out_[expression]; }

  const Space& space_;
  const Question& question_;
  std::shared_ptr<const Subject> subject_;
  std::shared_ptr<const Compiled> compiled_;
  std::vector<Space::Column> columns_;
  std::optional<ColumnProgram::Workspace> workspace_;
  std::optional<GridProgram::Workspace> grid_workspace_;
  std::vector<double> buffer_;
  std::vector<const double*> in_;  ///< by column
  std::vector<double*> out_;       ///< by expression
  std::vector<double> filled_;     ///< value that a whole column holds; NaN where it varies
  std::vector<double> slots_;      ///< of one point of a subject that is called
  std::vector<std::vector<double>> objectives_;
  std::array<MissWord, kBlock> misses_{};
  std::size_t points_ = 0;
  std::vector<std::pair<std::size_t, std::string>> failures_;
};

}  // namespace mlsysim::detail
