#pragma once
/// Facts that tell variants of one network apart.

#include <mlsysim/model_graphs/program.hpp>

namespace mlsysim::detail {

/// Notes on which convolutions of a network a stride stands: two ResNet-50s of one name differ by that, and
/// by 6 % of their multiply-adds.
void note_strides(Program& program);

}  // namespace mlsysim::detail
