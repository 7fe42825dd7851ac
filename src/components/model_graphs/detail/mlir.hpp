#pragma once
/// MLIR text as it stands: statements with their values, types, attributes and regions. What they compute is
/// decided when the program is expanded.

#include "builder.hpp"

namespace mlsysim::detail {

/// A type: its arrays in order (none for a token, several for a tuple), and how many belong to each member.
struct MlirType {
  std::vector<TensorType> leaves;
  std::vector<std::uint32_t> members;  ///< of a tuple
};

struct MlirRegion;
/// One statement.
struct MlirOp {
  std::string_view name;                             ///< with its dialect
  std::string_view attributes;                       ///< everything between name and types, to look into
  std::string_view symbol;                           ///< "@f", without the sign
  std::string_view location;                         ///< text or name of the location
  std::vector<std::uint32_t> operands;               ///< local values
  std::uint32_t first_result = 0, result_count = 0;  ///< local values, one after the other
  std::vector<std::uint32_t> in_types, out_types;
  std::vector<MlirRegion> regions;
  std::size_t offset = 0;
};
struct MlirRegion {
  std::vector<std::uint32_t> arguments;
  std::vector<std::uint32_t> argument_types;
  std::vector<MlirOp> ops;
};
struct MlirFunction {
  std::string_view name;
  MlirRegion body;
  std::uint32_t locals = 0;  ///< values are numbered from 0 in each function
  bool is_private = false;
};
struct MlirModule {
  std::vector<MlirFunction> functions;
  std::vector<MlirOp> globals;
  std::vector<MlirType> types;
  std::unordered_map<std::string_view, std::string_view> locations;  ///< "#loc3": its text
};

/// @throws InputError with line and column
[[nodiscard]] MlirModule parse_mlir(std::string_view text, const std::string& file);
/// Line of a byte, from 1.
[[nodiscard]] std::size_t line_of(std::string_view text, std::size_t offset);

/// The list of integers that follows a key: "dims = [0, 2]", "limit_indices = dense<[1, 128]>", "array<i64:
/// 1, 2>".
[[nodiscard]] std::vector<std::int64_t> integers_after(std::string_view attributes, std::string_view key);
/// Where a whole word stands; npos where it does not.
[[nodiscard]] std::size_t find_key(std::string_view attributes, std::string_view key);

}  // namespace mlsysim::detail
