#include "support/catch.hpp"

#include <mlsysim/lowering/diffusion.hpp>
#include <mlsysim/timing/views.hpp>
#include <mlsysim/units/unit.hpp>

#include <array>
#include <string_view>
#include <vector>

using namespace mlsysim;

namespace {

/// Sums over the operators of a stage, all executions. `shape` weighs every extent, so that none can change
/// for another.
struct Sums {
  double operators = 0, executions = 0, work = 0, bytes = 0, messages = 0, held = 0, shape = 0;
};

Sums sums_of(const DiffusionStage& stage) {
  Sums s;
  for (const auto& op : stage.ops.span()) {
    s.operators += 1;
    s.executions += op.count;
    s.work += op.count * (op.work / unit::FLOP);
    s.bytes += op.count * (op.memory_bytes / unit::B);
    s.messages += op.count * (op.message / unit::B);
    s.held += op.working_set / unit::B;
    s.shape += op.count *
               (op.m + 2 * op.n + 3 * op.k + 5 * op.copies + 7 * op.group_heads + 11 * op.merged_matrices +
                13 * op.ranks + 17 * op.stride + 19 * op.biased + 23 * op.attended_keys);
  }
  return s;
}

std::array<Sums, 3> stages_of(const DiffusionNetwork& network, const DiffusionTask& task) {
  std::array<DiffusionStage, 3> stages;
  for (auto& stage : stages) set_storage(stage.plan, inference_storage(Precision::bf16, std::nullopt));
  list_text_encoder(network, task, stages[0]);
  list_denoiser(network, task, stages[1]);
  list_decoder(network, task, stages[2]);
  return {sums_of(stages[0]), sums_of(stages[1]), sums_of(stages[2])};
}

/// The operators of a stage that have this name, in order.
std::vector<Op<>> named(const DiffusionStage& stage, std::string_view name) {
  std::vector<Op<>> found;
  for (const auto& op : stage.ops.span())
    if (op.name == name) found.push_back(op);
  return found;
}

/// A U-Net as Stable Diffusion 1.5 has it.
const DiffusionNetwork kUnet{.unet_width = 320,
                             .decoder_width = 128,
                             .encoder_layers = 12,
                             .encoder_hidden = 768,
                             .encoder_width = 3072,
                             .encoded_tokens = 77};
/// Patches and text in one attention, as in FLUX.
const DiffusionNetwork kJoint{.height = 1024,
                              .layers = 57,
                              .single_layers = 38,
                              .hidden = 3072,
                              .heads = 24,
                              .width = 12288,
                              .text_tokens = 512,
                              .text_weights = true,
                              .query_key_norm = DenoiserNorm::rms,
                              .rotation = DenoiserRotation::stacked,
                              .decoder_width = 128,
                              .latent_channels = 16};
/// Attention of its own to the text, as in PixArt.
const DiffusionNetwork kCross{.height = 768,
                              .image_width = 1024,
                              .layers = 28,
                              .hidden = 1152,
                              .heads = 16,
                              .width = 4608,
                              .cross_tokens = 300,
                              .fp32_norms = true,
                              .modulation = Modulation::table,
                              .encoder_layers = 24,
                              .encoder_hidden = 4096,
                              .encoder_width = 10240,
                              .encoded_tokens = 300};
/// A video, with everything that the others leave out.
const DiffusionNetwork kVideo{.height = 480,
                              .image_width = 720,
                              .frames = 49,
                              .layers = 40,
                              .hidden = 1408,
                              .heads = 16,
                              .width = 6144,
                              .second_attentions = 8,
                              .skips = 19,
                              .text_tokens = 226,
                              .frame_patch = 2,
                              .modulation = Modulation::shift,
                              .query_key_norm = DenoiserNorm::layer,
                              .rotation = DenoiserRotation::halves,
                              .decoder_width = 96,
                              .decoder_blocks = 3,
                              .latent_channels = 8,
                              .frame_scale = 4};

}  // namespace

TEST_CASE("lowering: stages of a diffusion pipeline keep their sums", "[lowering]") {
  struct Case {
    DiffusionNetwork network;
    DiffusionTask task;
    std::array<Sums, 3> stages;
  };
  const Sums none;
  const std::array cases{
      Case{kUnet,
           {.outputs = 1, .steps = 50, .evaluations = 2},
           {Sums{20, 147, 35397153792, 432285696, 11590656, 14674944, 480289},
            Sums{445, 28650, 86441410560000, 290388057600, 0, 3300389632, 170176850},
            Sums{113, 113, 2516938915840, 7386016512, 0, 7278723072, 3438061}}},
      Case{kUnet,
           {.outputs = 4, .steps = 20, .evaluations = 2, .devices = 2, .ring = 2},
           {Sums{20, 147, 141588615168, 1049665536, 46362624, 58699776, 518335},
            Sums{445, 11460, 138306256896000, 364077711360, 0, 13201558528, 104553380},
            Sums{113, 113, 10067755663360, 29247351552, 0, 29114892288, 12592636}}},
      Case{kJoint,
           {.outputs = 1, .steps = 28},
           {none, Sums{33, 36176, 2.0832051045335e+15, 3313655955456, 0, 2349969408, 376201140},
            Sums{113, 113, 10481884463104, 29247855360, 0, 29115285504, 12629809}}},
      Case{kJoint,
           {.outputs = 2, .steps = 28, .evaluations = 1, .devices = 4, .ring = 2, .ulysses = 2},
           {none, Sums{38, 61712, 1.04209958987366e+15, 2530517090304, 135555710976, 1260085248, 366226672},
            Sums{113, 113, 20963768926208, 58396695296, 0, 58230571008, 24835894}}},
      Case{kCross,
           {.outputs = 3, .steps = 20, .evaluations = 2},
           {Sums{20, 291, 16890008371200, 30583160832, 1430323200, 803782656, 4103079},
            Sums{16, 10640, 603032706662400, 1224571944960, 0, 1796235264, 107639840}, none}},
      Case{kCross,
           {.outputs = 1, .steps = 20, .evaluations = 2, .devices = 4, .ulysses = 4},
           {Sums{20, 291, 5630002790400, 16368402432, 476774400, 267927552, 3898359},
            Sums{19, 17920, 51608294277120, 162446376960, 7927234560, 166993920, 48954640}, none}},
      Case{kVideo,
           {.outputs = 1, .steps = 50, .evaluations = 2},
           {none, Sums{23, 44450, 4.957385479168e+15, 6973321984000, 0, 3587100672, 408314850},
            Sums{138, 138, 219801823948800, 398160641088, 0, 397972656000, 235480056}}},
      Case{kVideo,
           {.outputs = 1, .steps = 50, .evaluations = 2, .devices = 8, .ring = 4, .ulysses = 2},
           {none, Sums{33, 97250, 680009907840000, 1726404448000, 171759104000, 575991168, 254005425},
            Sums{138, 138, 219801823948800, 398160641088, 0, 397972656000, 235480056}}}};
  for (const auto& c : cases) {
    const auto found = stages_of(c.network, c.task);
    for (std::size_t i = 0; i < found.size(); ++i) {
      CAPTURE(&c - cases.data(), i);
      CHECK(found[i].operators == c.stages[i].operators);
      CHECK(found[i].executions == Approx(c.stages[i].executions).epsilon(1e-12));
      CHECK(found[i].work == Approx(c.stages[i].work).epsilon(1e-12));
      CHECK(found[i].bytes == Approx(c.stages[i].bytes).epsilon(1e-12));
      CHECK(found[i].messages == Approx(c.stages[i].messages).epsilon(1e-12));
      CHECK(found[i].held == Approx(c.stages[i].held).epsilon(1e-12));
      CHECK(found[i].shape == Approx(c.stages[i].shape).epsilon(1e-12));
    }
  }
}

TEST_CASE("lowering: the work of a denoiser is that of its matrices and pairs of tokens", "[lowering]") {
  // Queries, keys, values, outputs and two matrices four times as wide, for 4,096 patches and 512 tokens of
  // text; scores and sums of every pair. Modulation and the ends of the network add less than 0.1 %.
  const double tokens = 4608, hidden = 3072;
  const double work = 28 * 57 * (24 * hidden * hidden * tokens + 4 * tokens * tokens * hidden);
  const auto one = stages_of(kJoint, {.outputs = 1, .steps = 28})[1];
  CHECK(one.work > work);
  CHECK(one.work < 1.001 * work);
  // Devices divide all of it but what each of them computes of a text of its own.
  const auto four = stages_of(kJoint, {.outputs = 1, .steps = 28, .devices = 4, .ring = 2, .ulysses = 2})[1];
  CHECK(4 * four.work == Approx(one.work).epsilon(0.001));
  CHECK(one.messages == 0);
  CHECK(four.messages > 0);
}

TEST_CASE("lowering: a decoder of videos works over three frames, by hand", "[lowering]") {
  // Four frames, two of each latent frame: ceil(3 / 2 + 1) = 3 latent frames of 8 x 8. The finest of four
  // levels is 2 wide, the coarsest 8.
  const DiffusionNetwork d{.height = 64,
                           .frames = 4,
                           .decoder_width = 2,
                           .decoder_blocks = 0,
                           .latent_channels = 5,
                           .frame_scale = 2};
  DiffusionStage stage;
  set_storage(stage.plan, inference_storage(Precision::bf16, std::nullopt));
  list_decoder(d, {.outputs = 7}, stage);
  const auto made = named(stage, "convolution");
  CHECK(made.front().m == 7 * 3 * 8 * 8);
  CHECK(made.front().n == 8);
  CHECK(made.front().k == 5 * 3 * 3 * 3);
  // Every level doubles both sides; the frames become four and no more.
  CHECK(made.back().m == Approx(7 * 4 * 64 * 64).epsilon(1e-12));
  CHECK(made.back().n == 3);
  CHECK(made.back().k == 2 * 3 * 3 * 3);
  CHECK(named(stage, "attention").empty());  // decoders of images attend to all pixels once
}

TEST_CASE("lowering: ranks of a ring alone trade no heads, by hand", "[lowering]") {
  DiffusionNetwork d{.height = 64, .layers = 3, .hidden = 64, .heads = 2, .width = 256, .text_tokens = 4};
  DiffusionStage stage;
  set_storage(stage.plan, inference_storage(Precision::bf16, std::nullopt));
  list_denoiser(d, {.outputs = 1, .devices = 2, .ring = 2}, stage);
  CHECK(named(stage, "head_copy").empty());
  CHECK(named(stage, "head_exchange").empty());
  // 4 x 4 patches and four tokens of text: each rank sends the keys and values of ten, 2 B a value.
  REQUIRE(named(stage, "ring_exchange").size() == 1);
  CHECK(named(stage, "ring_exchange")[0].message.base() == 2 * 2 * 10 * 64);
  CHECK(named(stage, "ring_exchange")[0].count == 3);
  DiffusionStage other;
  set_storage(other.plan, inference_storage(Precision::bf16, std::nullopt));
  list_denoiser(d, {.outputs = 1, .devices = 2, .ulysses = 2}, other);
  CHECK(named(other, "ring_merge").empty());
  CHECK(named(other, "ring_exchange").empty());
  CHECK(named(other, "head_exchange").size() == 1);
}

TEST_CASE("lowering: a task that says nothing is one output in one pass on one device", "[lowering]") {
  const DiffusionTask one;
  CHECK((one.outputs == 1 && one.steps == 1 && one.evaluations == 1));
  CHECK((one.devices == 1 && one.ring == 1 && one.ulysses == 1));
}
