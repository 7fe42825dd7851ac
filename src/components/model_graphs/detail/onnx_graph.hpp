#pragma once
/// A node of an ONNX graph as the rules see it: attributes, extents of operands, numbers that are known.

#include "builder.hpp"

#include <mlsysim/units/detail/whole.hpp>

#include <algorithm>
#include <cmath>
#include <optional>

namespace mlsysim::detail {

/// An element type by its number in the schema.
[[nodiscard]] std::string_view onnx_element(int number);

/// An extent that was computed; below zero are symbols.
[[nodiscard]] inline std::int64_t computed_extent(double computed) {
  return whole<std::int64_t>(std::clamp(std::floor(computed), 0.0, 0x1p53));
}

/// Numbers up to this one are computed with before anything runs.
inline constexpr double kLargestWhole = 0x1p40;

/// State of a reader of an ONNX graph, whose nodes are read in order.
struct OnnxState {
  Program& program;
  const ProgramOptions& options;
  const std::string& file;
  /// Whole numbers of small constants, and extents that the program computes with; below zero are symbols.
  std::unordered_map<std::uint32_t, std::vector<std::int64_t>> ints;
  /// Small constants in floating point, and fractions that the program computes from extents.
  std::unordered_map<std::uint32_t, std::vector<double>> floats;
  int symbols = 0;
};

/// A node.
struct OnnxNode {
  std::string_view op;
  std::size_t number = 0;  ///< in the file, from 1
  std::vector<std::uint32_t> operands;
  std::vector<std::string> results;
  std::vector<TensorType> types;  ///< of the results, as they become known
  std::vector<std::vector<std::int64_t>> numbers;
  std::vector<char> remembered;
  std::vector<double> fractions;  ///< of the first result, where it is known and not of whole numbers
  std::map<std::string, std::vector<std::int64_t>, std::less<>> int_lists;
  std::map<std::string, std::string, std::less<>> texts;
  ProgramOp made;
  std::string why;  ///< why extents are not known

  [[nodiscard]] const std::vector<std::int64_t>& ints(std::string_view name) const {
    static const std::vector<std::int64_t> none;
    const auto found = int_lists.find(name);
    return found == int_lists.end() ? none : found->second;
  }
  [[nodiscard]] std::int64_t integer(std::string_view name, std::int64_t otherwise) const {
    const auto& list = ints(name);
    return list.empty() ? otherwise : list[0];
  }
  [[nodiscard]] std::string_view text(std::string_view name) const {
    const auto found = texts.find(name);
    return found == texts.end() ? std::string_view() : std::string_view(found->second);
  }
};

/// Fills in the types of a node's results and what it computes.
class OnnxShapes {
 public:
  OnnxShapes(OnnxNode& node, OnnxState& state) : n_(node), s_(state) {}
  void run();

 private:
  using Dims = std::vector<std::int64_t>;
  static constexpr std::int64_t kLeftOver = INT64_MIN;  ///< -1 of a Reshape, told apart from a symbol

  [[nodiscard]] const TensorType& type(std::size_t i) const { return s_.program.values[n_.operands[i]].type; }
  [[nodiscard]] Dims dims(std::size_t i) const { return i < n_.operands.size() ? type(i).dims : Dims(); }
  [[nodiscard]] const Dims* ints(std::size_t i) const {
    if (i >= n_.operands.size()) return nullptr;
    const auto found = s_.ints.find(n_.operands[i]);
    return found == s_.ints.end() ? nullptr : &found->second;
  }
  /// Numbers of an operand that are known before anything runs; nothing where one of them is a symbol.
  [[nodiscard]] std::optional<std::vector<double>> known(std::size_t i) const;
  /// @param element of the first operand where empty
  TensorType give(std::size_t i, Dims dims, std::string_view element = "");
  void remember(std::size_t i, Dims values);
  void unknown(std::string why);
  [[nodiscard]] std::int64_t new_symbol();
  [[nodiscard]] std::int64_t extent_of(const Dims& dims);
  [[nodiscard]] std::int64_t spatial(std::int64_t size, std::size_t axis, const Dims& kernel) const;
  void reshape(Dims& out, const Dims& x);

  void convolution();
  void product();
  void einsum();
  void pool();
  void reduce();
  bool alias();
  void movement();
  void split(const Dims& x);
  void slice(const Dims& x);
  void gather(const Dims& x);
  bool elementwise();
  void fold();
  void resize();
  void attention();
  void recurrent();

  OnnxNode& n_;
  OnnxState& s_;
};

}  // namespace mlsysim::detail
