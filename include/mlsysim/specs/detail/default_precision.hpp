#pragma once
/// The number format that is meant on a device whose entry states none.
///
/// Example: a core with bf16 alone computes in bf16, one with fp16 and bf16 in fp16.

#include <mlsysim/specs/hardware.hpp>

namespace mlsysim::detail {

/// Takes another default precision where fp16 is the default and has no rate: bf16, fp32 or the widest.
void settle_default_precision(ComputeCore& core);

}  // namespace mlsysim::detail
