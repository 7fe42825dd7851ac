// Headers of safetensors and GGUF files.

#include "samples.hpp"
#include "support/catch.hpp"

#include <mlsysim/model_files/model_file.hpp>
#include <mlsysim/model_files/weights.hpp>

using namespace mlsysim;
using namespace mlsysim::samples;

TEST_CASE("tensors of a safetensors file tile its data", "[model_files]") {
  const auto file = safetensors(R"({"a":{"dtype":"BF16","shape":[2,3],"data_offsets":[0,12]},
                                    "b":{"dtype":"F32","shape":[],"data_offsets":[12,16]},"__metadata__":{"x":"y"}})");
  const auto tensors = safetensors_header(file, file.size() + 16, "m.safetensors");
  REQUIRE(tensors.size() == 2);
  CHECK(tensors[0].elements() == 6);
  CHECK(tensors[1].bytes == 4);
  CHECK_THROWS_AS(safetensors_header(file, file.size() + 15, "m"), InputError);
  CHECK_THROWS_AS(safetensors_header(file.substr(0, 20), file.size() + 16, "m"), InputError);
  const auto hole = safetensors(R"({"a":{"dtype":"BF16","shape":[2],"data_offsets":[2,6]}})");
  CHECK_THROWS_AS(safetensors_header(hole, hole.size() + 6, "m"), InputError);
  const auto overlap = safetensors(R"({"a":{"dtype":"BF16","shape":[2],"data_offsets":[0,4]},
                                       "b":{"dtype":"BF16","shape":[2],"data_offsets":[2,6]}})");
  CHECK_THROWS_AS(safetensors_header(overlap, overlap.size() + 6, "m"), InputError);
}

TEST_CASE("a GGUF header is a model", "[model_files]") {
  const auto file = gguf_llama();
  const auto model = read_gguf(file, file.size() + 100000, "Tiny-Q8.gguf");
  CHECK(model.workload.name == "Tiny_Q8");
  CHECK(*model.workload.layers() == 2);
  CHECK(*model.workload.kv_heads() == 2);
  CHECK(*model.workload.stacks[0].input.vocab == 96);
  CHECK_FALSE(model.workload.stacks[0].output.tied);
  REQUIRE(model.workload.formats.size() == 2);
  // Q8_0: 34 bytes for 32 values.
  const auto& q8 = model.workload.formats[1];
  CHECK(q8.precision == Precision::int8);
  CHECK((*q8.block + *q8.scale / unit::B) / *q8.block == Approx(34.0 / 32));
  CHECK_THROWS_AS(read_gguf(file, 64, "m.gguf"), InputError);
  CHECK_THROWS_AS(read_gguf(file.substr(0, 50), 64, "m.gguf"), InputError);
  CHECK_THROWS_AS(read_gguf("GGUX", 4, "m.gguf"), InputError);
}
