#include "support/catch.hpp"

#include <mlsysim/physics/activations.hpp>
#include <mlsysim/units/unit.hpp>

using namespace mlsysim;
namespace u = mlsysim::unit;

TEST_CASE("activations of an 8B-wide model, unsharded", "[physics]") {
  // 34 s b h = 34 * 1024 * 8 * 4096 = 1.140851 GB per layer, 36.5072 GB in 32 layers.
  auto r = TransformerActivations::solve(
      {.seq_len = 1024, .batch_size = 8, .hidden = 4096, .heads = 32, .element_bytes = 2 * u::B});
  CHECK_THAT(32.0 * r.selective.in(u::GB), WithinRel(36.5072, 1e-6));
  // One sequence of 4096, nothing recomputed: 34 s h + 5 a s^2 = 3.254780 GB per layer, 104.153 GB in 32.
  r = TransformerActivations::solve(
      {.seq_len = 4096, .batch_size = 1, .hidden = 4096, .heads = 32, .element_bytes = 2 * u::B});
  CHECK_THAT(32.0 * r.none.in(u::GB), WithinRel(104.153, 1e-6));
  // full keeps 2 bytes per element of the layer input
  CHECK_THAT(r.full.in(u::B), WithinRel(2.0 * 4096 * 4096, 1e-15));
}

TEST_CASE("tensor and sequence parallelism divide activations as published", "[physics]") {
  // GPT-3: s 2048, h 12288, a 96: 5 a s / h = 80 (Korthikanti et al., section 5). In units of s b h, t = 8:
  TransformerActivations::Inputs<double> in{.seq_len = 2048,
                                            .batch_size = 1,
                                            .hidden = 12288,
                                            .heads = 96,
                                            .element_bytes = 2 * u::B,
                                            .tp_size = 8};
  const double sbh = 2048.0 * 12288.0;
  const auto tensor = TransformerActivations::solve(in);
  CHECK_THAT(tensor.none.in(u::B) / sbh, WithinRel(10 + 24.0 / 8 + 80.0 / 8, 1e-14));
  CHECK_THAT(tensor.selective.in(u::B) / sbh, WithinRel(13.0, 1e-14));
  CHECK_THAT(tensor.full.in(u::B) / sbh, WithinRel(2.0, 1e-14));
  in.sequence_parallel = 1;
  const auto sequence = TransformerActivations::solve(in);
  CHECK_THAT(sequence.none.in(u::B) / sbh, WithinRel((34 + 80.0) / 8, 1e-14));
  CHECK_THAT(sequence.selective.in(u::B) / sbh, WithinRel(34.0 / 8, 1e-14));
  CHECK_THAT(sequence.full.in(u::B) / sbh, WithinRel(2.0 / 8, 1e-14));
}

TEST_CASE("on one device sequence parallelism changes nothing", "[physics]") {
  TransformerActivations::Inputs<double> in{
      .seq_len = 100, .batch_size = 3, .hidden = 64, .heads = 4, .element_bytes = 4 * u::B};
  const auto off = TransformerActivations::solve(in);
  in.sequence_parallel = 1;
  const auto on = TransformerActivations::solve(in);
  CHECK_THAT(on.none.base(), WithinRel(off.none.base(), 1e-15));
  CHECK_THAT(on.selective.base(), WithinRel(off.selective.base(), 1e-15));
  CHECK_THAT(off.selective.in(u::B),
             WithinRel(34.0 * 100 * 3 * 64 * 2, 1e-14));  // 4-byte elements: twice the bytes
}
