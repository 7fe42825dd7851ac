#pragma once
// A device and models with round figures, so that what a test expects can be worked out on paper.

#include "worked.hpp"

#include <mlsysim/resolvers/defaults.hpp>
#include <mlsysim/specs/conventions.hpp>

namespace worked {

/// 100 TFLOP/s at fp16 and int4, 1 TB/s, 100 GB, 1 kW, nothing else. Arithmetic runs at its full rate and
/// software takes no time; half of the power is drawn when idle, and a facility adds nothing.
struct HandMachine {
  HardwareNode device;
  Conventions conventions = conventions_or_standard(nullptr);

  HandMachine() {
    device.name = "Hand";
    device.compute.default_precision = Precision::fp16;
    for (const Precision p : {Precision::fp16, Precision::bf16, Precision::int8, Precision::int4})
      device.compute.dense[p] = 100.0 * unit::TFLOP / unit::s;
    device.memory.capacity = 100.0 * unit::GB;
    device.memory.bandwidth = 1.0 * unit::TB / unit::s;
    device.power.tdp = 1000.0 * unit::W;
    device.dispatch_overhead = Time<>();
    device.host_link.bandwidth = 100.0 * unit::GB / unit::s;
    conventions.textbook_efficiency = 1;
    conventions.textbook_layer_overhead = Time<>();
    conventions.textbook_activation_share = 0;
    conventions.idle_fraction = 0.5;
    conventions.pue = 1;
  }
  HandMachine(const HandMachine&) = delete;
  HandMachine& operator=(const HandMachine&) = delete;
};

/// A decoder of 1 Gparam: eight layers of eight heads of 128, so that a token of its cache has 2 x 8 x 1024
/// values.
inline Workload hand_decoder() {
  Workload w;
  w.name = "HandDecoder";
  w.architecture = Architecture::decoder;
  w.parameters = 1.0 * unit::Gparam;
  w.inference.per = WorkUnit::token;
  w.stacks = {plain_decoder({.layers = 8, .hidden = 1024, .heads = 8, .vocab = 32000, .ffn = 4096})};
  return w;
}

/// An encoder of 100 Mparam that takes 512 tokens, and of which the work of a sequence of 128 is
/// published: 25.6 GFLOP.
inline Workload hand_encoder() {
  Workload w = hand_decoder();
  w.name = "HandEncoder";
  w.architecture = Architecture::encoder;
  w.stacks[0].role = StackRole::encoder;
  w.parameters = 0.1 * unit::Gparam;
  w.max_positions = 512;
  w.inference = {.work = 25.6 * unit::GFLOP, .per = WorkUnit::sequence, .sequence_length = 128};
  return w;
}

}  // namespace worked
