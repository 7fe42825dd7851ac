#pragma once
// The part of a sweep that is kept while its points are evaluated. Adding blocks in any order and merging in
// any order gives the same.

#include "explore/search/point_kernel.hpp"

#include <mlsysim/resolver_api/non_dominated.hpp>
#include <mlsysim/resolver_api/points.hpp>

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace mlsysim::detail {

/// Those of one question over part of a space.
class Reduction {
 public:
  Reduction() = default;
  Reduction(const Question& question, std::size_t constraints);

  /// Takes the current block of a kernel; its points are [first, first + points) of the whole space.
  void add(PointKernel& kernel, std::uint64_t first);
  /// The same for points that are not neighbors.
  void add(PointKernel& kernel, std::span<const std::uint64_t> indices);
  void skip(const std::string& reason, double points);
  void merge(const Reduction& other);

  [[nodiscard]] nlohmann::ordered_json to_json() const;
  static Reduction from_json(const nlohmann::ordered_json& json, const Question& question,
                             std::size_t constraints);

  /// Points that have numbers.
  double evaluated = 0;
  PointCounts counts;
  std::vector<NearMiss> misses;  ///< by constraint
  TopK top;
  NonDominated front;
  std::map<int, double> bins;
  double zero_or_less = 0;

 private:
  template <class IndexOf> void add_block(PointKernel& kernel, IndexOf index_of);
  std::size_t objectives_ = 0;
};

}  // namespace mlsysim::detail
