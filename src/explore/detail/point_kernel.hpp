#pragma once
// Evaluates points of a space block by block: constants filled once per subject, axes by runs, expressions on top.

#include "block_kernels.hpp"

#include <mlsysim/explore/explore.hpp>
#include <mlsysim/tape/batch.hpp>

#include <array>
#include <string>
#include <utility>
#include <vector>

namespace mlsysim::detail {

/// The expressions of a question over one subject.
struct Compiled {
  std::vector<Expression> objectives, show;
  std::vector<double> signs;  ///< +1 minimise, -1 maximise
  std::vector<ConstraintExpression> constraints;
  std::optional<Expression> histogram;

  Compiled() = default;
  Compiled(const Question& question, const LawEntry& entry);
};
/// Texts of all constraints, implicit ones first.
[[nodiscard]] std::vector<std::string> constraint_texts(const Question& question, const LawEntry& entry);

/// One subject of a space with block buffers; not thread-safe.
class PointKernel {
 public:
  static constexpr std::size_t kBlock = BatchKernel::kBlock;

  PointKernel(const Space& space, const Question& question);
  /// Makes points [outer * inner, ...) current. Returns the reason when there is no subject.
  [[nodiscard]] std::string bind(std::uint64_t outer);
  /// The same for a subject that is at hand, shared by threads.
  void use(std::shared_ptr<const Subject> subject, std::shared_ptr<const Compiled> compiled);

  /// Evaluates inner points [at, at + points), at most kBlock.
  void run(std::uint64_t at, std::size_t points);
  /// Evaluates these inner points, at most kBlock.
  void run(std::span<const std::uint64_t> points);
  /// Evaluates the points of a box, at most kBlock, in order of their index: rows [low, high) of each axis over numbers.
  /// @param axes the axis of each column, see `axes_of_columns`
  void run(std::span<const std::uint32_t> low, std::span<const std::uint32_t> high, std::span<const std::size_t> axes);

  [[nodiscard]] const Subject& subject() const { return *subject_; }
  [[nodiscard]] const Compiled& compiled() const { return *compiled_; }
  [[nodiscard]] const std::vector<Space::Column>& columns() const { return columns_; }
  /// The place of each column's axis among the axes over numbers.
  [[nodiscard]] std::vector<std::size_t> axes_of_columns() const;
  /// Values of an expression over the block; valid until the next call with the same slot of buffers.
  [[nodiscard]] const double* value(const Expression& e, std::size_t buffer);
  /// Marks points that miss a constraint or hold no number; see MissWord.
  [[nodiscard]] const MissWord* misses();
  /// Values of the two sides of constraint c over the block.
  [[nodiscard]] const double* left_side(std::size_t c) { return value(compiled_->constraints[c].left(), compiled_->show.size() + 2 * c); }
  [[nodiscard]] const double* right_side(std::size_t c) { return value(compiled_->constraints[c].right(), compiled_->show.size() + 2 * c + 1); }
  /// Distance of the sides of constraint `c` at point `p` of the block, over the larger one; not finite where a side is not.
  [[nodiscard]] double relative_excess(std::size_t c, std::size_t p);
  /// Objective k as the question states it.
  [[nodiscard]] const double* stated_objective(std::size_t k) {
    return value(compiled_->objectives[k], compiled_->show.size() + 2 * compiled_->constraints.size() + k);
  }
  /// Signed objective k (smaller is better).
  [[nodiscard]] const double* objective(std::size_t k);
  /// All slots of one point of the block.
  [[nodiscard]] std::span<const double* const> slots() const { return pointers_; }
  [[nodiscard]] std::size_t points() const { return points_; }
  /// Points of the block whose resolver failed, and why; none has numbers.
  [[nodiscard]] const std::vector<std::pair<std::size_t, std::string>>& failures() const { return failures_; }

 private:
  void evaluate(std::size_t points);
  void fill(const Space::Column& c, double* to, std::uint64_t at, std::size_t points);

  const Space& space_;
  const Question& question_;
  std::shared_ptr<const Subject> subject_;
  std::shared_ptr<const Compiled> compiled_;
  std::vector<Space::Column> columns_;
  std::vector<double> buffer_, work_;
  std::vector<std::vector<double>> values_, objectives_;
  std::vector<const double*> pointers_;
  std::vector<const double*> in_;
  std::vector<double*> out_;
  std::vector<double> filled_;  ///< value that a whole column holds; NaN where it varies
  std::array<MissWord, kBlock> misses_{};
  std::size_t points_ = 0;
  std::vector<std::pair<std::size_t, std::string>> failures_;
};

}  // namespace mlsysim::detail
