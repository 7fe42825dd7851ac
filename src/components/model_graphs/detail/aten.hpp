#pragma once
/// Operators of PyTorch.

#include "builder.hpp"

namespace mlsysim::detail {

/// The bare name of an operator: "addmm" of "torch.ops.aten.addmm.default".
[[nodiscard]] std::string_view aten_name(std::string_view target);
/// Fills in what an operator computes. @param transposed of a convolution
Rule count_aten(ProgramOp& op, std::string_view name, const OpTypes& types, bool transposed);

}  // namespace mlsysim::detail
