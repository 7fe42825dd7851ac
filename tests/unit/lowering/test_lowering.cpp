// The operator list: counts against published models, divisions of a plan, and the one memory model.

#include <support/catch.hpp>
#include <support/zoo_entries.hpp>

#include <mlsysim/physics/activations.hpp>
#include <mlsysim/specs/conventions.hpp>
#include <mlsysim/specs/zoo.hpp>
#include <mlsysim/timing/pass_estimator.hpp>
#include <mlsysim/timing/step.hpp>
#include <mlsysim/timing/views.hpp>
#include <mlsysim/zoo/loader.hpp>

#include <cmath>

using namespace mlsysim;
using Catch::Matchers::WithinRel;

namespace {

Plan<> plan_of(double batch, double tokens, double context) {
  Plan<> p;
  p.batch = batch;
  p.new_tokens = tokens;
  p.context = context;
  set_storage(p, training_storage(Precision::bf16, OptimizerKind::adam));
  return p;
}

ListTotals<> forward(const Workload& w, Phase phase, const Plan<>& plan) {
  const auto v = model_view(w, phase);
  OpList<> ops;
  const auto range = lower(v.structure, v.shape(), v.layers, plan, ops);
  return totals_of(ops, range.forward_end);
}

}  // namespace

TEST_CASE("parameters counted from shapes agree with the published ones to 1 %", "[lowering][zoo]") {
  int counted = 0;
  for (const Workload* w : standard_zoo().all<Workload>()) {
    if (!w->has_shape() || !w->parameters) continue;
    INFO(w->name);
    CHECK_THAT(parameter_count(*w).base(), WithinRel(w->parameters->base(), 0.01));
    ++counted;
  }
  CHECK(counted >= 65);
}

TEST_CASE("every language model with published parameters is counted, or says why not", "[lowering][zoo]") {
  for (const Workload* w : standard_zoo().all<Workload>()) {
    if (w->category != "language") continue;
    INFO(w->name);
    // GPT-4's shape was never published: the entry is an estimate of totals.
    CHECK((w->has_shape() || w->architecture == Architecture::opaque || !parts_without_law(*w).empty()));
  }
}

TEST_CASE("exact parameter counts of released configurations", "[lowering][golden]") {
  // Counted independently from the configuration files of the releases.
  CHECK(parameter_count(model("Llama2_7B")).base() == 6738415616.0);
  CHECK(parameter_count(model("Llama3_8B")).base() == 8030261248.0);
  CHECK(parameter_count(model("Llama3_405B")).base() == 405853388800.0);
  CHECK(parameter_count(model("Qwen3_0_6B")).base() == 596049920.0);
  CHECK(parameter_count(model("Qwen3_8B")).base() == 8190735360.0);
  CHECK(parameter_count(model("Qwen3_30B_A3B")).base() == 30532122624.0);
  CHECK_THAT(parameter_count(model("Mixtral_8x7B")).base(), WithinRel(46702792704.0, 1e-12));
  CHECK_THAT(parameter_count(model("DeepSeek_V3")).base(), WithinRel(671026419200.0, 1e-7));
  CHECK_THAT(parameter_count(model("Kimi_K2")).base(), WithinRel(1026408232448.0, 1e-7));
  CHECK_THAT(active_parameter_count(model("Mixtral_8x7B")).base(), WithinRel(12879925248.0, 1e-12));
  CHECK_THAT(active_parameter_count(model("Qwen3_30B_A3B")).base(), WithinRel(3353032704.0, 1e-12));
}

TEST_CASE("attention and feed-forward in parallel have one norm and one join", "[lowering]") {
  // PaLM 540B: 118 layers of width 18432 (chowdhery2022palm, Table 1).
  const Workload& palm = model("PaLM_540B");
  Workload in_turn = palm;
  in_turn.stacks[0].residual.parallel = false;
  in_turn.stacks[0].residual.norms = 2;
  const auto joins = [](const Workload& w, bool sequence_parallel) {
    auto v = model_view(w, Phase::prefill);
    v.structure.sequence_parallel = sequence_parallel;
    Plan<> plan = plan_of(1, 1024, 1024);
    plan.tp = 8;
    OpList<> ops;
    lower(v.structure, v.shape(), v.layers, plan, ops);
    double count = 0;
    for (const auto& op : ops.span())
      if (op.kind == OpKind::collective && op.comm_group == CommGroup::tp &&
          op.place == StageScope::every_block)
        count += op.count;
    return count;
  };
  CHECK(joins(palm, false) == 118);
  CHECK(joins(in_turn, false) == 236);
  // A scatter and a gather for each.
  CHECK(joins(palm, true) == 236);
  CHECK(joins(in_turn, true) == 472);
  // Embedding 256000 x 18432; a layer: queries and output 48 x 256 wide, one key and value head, three
  // matrices of 73728, one norm; one norm at the end.
  const double h = 18432, layer = h * (2.0 * 48 * 256 + 2.0 * 256 + 3.0 * 73728) + h;
  CHECK_THAT(parameter_count(palm).base(), WithinRel(256000 * h + 118 * layer + h, 1e-12));
  CHECK_THAT(parameter_count(in_turn).base(), WithinRel(256000 * h + 118 * (layer + h) + h, 1e-12));
}

TEST_CASE("an encoder and the decoder over it are counted, each stack alone", "[lowering]") {
  Workload t5 = model("T5_Small");
  t5.parameters.reset();
  CHECK(parameter_count(t5).base() == 60506624);  // as its weight files have it
  t5.stacks[0].mixer.grouped->heads.reset();
  CHECK_THROWS_WITH(parameter_count(t5), ContainsSubstring("heads"));
  Workload bart = model("BART_Large");
  const double stated = bart.parameters->base();
  bart.parameters.reset();
  CHECK_THAT(parameter_count(bart).base(), WithinRel(stated, 1e-3));
}

TEST_CASE("an encoder runs before the answer and never again", "[lowering]") {
  const Workload& w = model("whisper_large_v3");
  auto plan = plan_of(2, 1, 1);
  plan.encoded = 1500;
  const auto prompt = forward(w, Phase::prefill, plan);
  // 32 layers of 12 h^2 weights over 3,000 frames, a convolution of 4,224 values each, all pairs of frames;
  // then keys and values of them in each layer of the decoder.
  const double h = 1280, frames = 2 * 1500, layers = 32;
  const double encoder = 2 * frames * (12 * h * h * layers + 4224 * h),
               pairs = 4 * frames * 1500 * h * layers, keys = 2 * frames * 2 * h * h * layers;
  CHECK_THAT(prompt.work.base(), WithinRel(encoder + pairs + keys, 5e-3));
  plan.context = 100;
  const auto step = forward(w, Phase::decode, plan);
  CHECK(step.params().base() == prompt.params().base());
  CHECK(step.work.base() < 1e-3 * prompt.work.base());
  // A step holds what the decoder has said so far, and what the encoder has read: 2 h values a token.
  CHECK_THAT(step.state.base(), WithinRel(2 * layers * 2 * h * 2 * (100 + 1500), 1e-12));
  // One pass over both has all weights; those of the encoder lie beside an answer.
  const auto pass = forward(w, Phase::inference, plan_of(1, 448, 448));
  CHECK(pass.params().base() == parameter_count(w).base());
  CHECK_THAT(pass.params().base() - step.params().base(), WithinRel(637e6, 5e-3));
}

TEST_CASE("a decode step does two FLOP per weight and token, and attention", "[lowering]") {
  const Workload& w = model("Llama3_8B");
  const auto t = forward(w, Phase::decode, plan_of(1, 1, 1));
  // The embedding is a lookup; norms and rotations are a few FLOP a value.
  const double products = parameter_count(w).base() - 128256.0 * 4096.0;
  CHECK_THAT(t.work.base(), WithinRel(2 * products, 2e-3));
}

TEST_CASE("ResNet-50 does 4.1 G multiply-adds", "[lowering][golden]") {
  const auto t = forward(model("ResNet50"), Phase::inference, plan_of(1, 1, 1));
  CHECK_THAT(t.work.base(), WithinRel(8.2e9, 0.02));
  CHECK_THAT(t.params().base(), WithinRel(25.557e6, 1e-3));
}

TEST_CASE("square kernels of three with step one multiply 2.25 times less in fp32", "[lowering]") {
  const Workload& w = model("ResNet50");
  const auto v = model_view(w, Phase::inference);
  OpList<> ops;
  lower(v.structure, v.shape(), v.layers, plan_of(1, 1, 1), ops);
  std::size_t fewer = 0;
  for (const auto& op : ops.span())
    if (op.fewer_products != 1) {
      ++fewer;
      CHECK(op.fewer_products == 36.0 / 16);
    }
  CHECK(fewer > 0);
}

TEST_CASE("training passes over the outputs of convolutions again to normalise them", "[lowering]") {
  const Workload& w = model("ResNet50");
  // The slow twin: statistics, normalization and activation read and write 3 + 2 arrays, the end of a block 2
  // + 1 more.
  double arrays = 0, blocks = 0;
  for (const auto& layer : w.convolution) {
    if (!layer.batch_norm) continue;
    const double side = std::ceil(*layer.size / *layer.stride);
    const double times = layer.times.value_or(1);
    arrays += times * *layer.out * side * side * (layer.residual ? 8 : 5);
    if (layer.residual) blocks += times;
  }
  CHECK(blocks == 16);
  const auto training = forward(w, Phase::training, plan_of(1, 1, 1)),
             inference = forward(w, Phase::inference, plan_of(1, 1, 1));
  CHECK_THAT((training.memory_bytes - inference.memory_bytes).base(), WithinRel(2 * arrays, 1e-12));
  CHECK(training.params() == inference.params());
}

TEST_CASE("a bias gradient reads the gradient of the output once", "[lowering]") {
  const auto bias_traffic = [](const char* name) {
    const auto v = model_view(model(name), Phase::training);
    OpList<> ops;
    lower(v.structure, v.shape(), v.layers, plan_of(1, 1024, 1024), ops);
    Data<> sum;
    for (const auto& op : ops.span())
      if (op.name == "bias_gradient") sum += op.memory_bytes * op.count;
    return sum;
  };
  CHECK(bias_traffic("Llama3_8B") == Data<>());
  // Queries, keys and values 3 h, output h, feed-forward 4 h + h: nine values a token and layer of 2 bytes.
  CHECK_THAT(bias_traffic("GPT3").base(), WithinRel(96.0 * 1024 * 9 * 12288 * 2, 1e-12));
}

TEST_CASE("BERT-base does 22.35 GFLOP on 128 tokens", "[lowering][golden]") {
  const auto t = forward(model("BERT_Base"), Phase::inference, plan_of(1, 128, 128));
  CHECK_THAT(t.work.base(), WithinRel(22.35e9, 0.01));
}

TEST_CASE("KV cache of the list is the closed form", "[lowering]") {
  // 2 * layers * kv_heads * head_dim * bytes per token.
  CHECK_THAT(kv_cache_bytes(model("Llama3_8B"), 2048, 1, Precision::fp16).base(),
             WithinRel(2.0 * 32 * 8 * 128 * 2048 * 2, 1e-12));
  // Latent attention: layers * (kv_lora_rank + rope_head_dim), without the factor 2.
  CHECK_THAT(kv_cache_bytes(model("DeepSeek_V3"), 4096, 1, Precision::fp16).base(),
             WithinRel(287834112.0, 1e-12));
  // A windowed layer holds its window, not the context.
  const auto& gemma = model("Gemma3_27B");
  CHECK(kv_cache_bytes(gemma, 131072, 1, Precision::bf16).base() <
        0.5 * 2.0 * *gemma.layers() * *gemma.kv_heads() * *gemma.head_dim() * 131072 * 2);
}

TEST_CASE("activations of a GPT layer are Korthikanti's 34 s b h", "[lowering][golden]") {
  // Korthikanti et al. (2022), table 2: GPT-3, one layer, dropout, fused attention keeps no scores.
  const auto v = model_view(model("GPT3"), Phase::training);
  auto structure = v.structure;
  structure.dropout = true;
  OpList<> ops;
  const auto range = lower(structure, v.shape(), v.layers, plan_of(1, 2048, 2048), ops);
  const double layers = 96;
  const auto layer_kept = [&](const Lowered<>& made) {
    return made.totals[StageScope::every_block].saved_bytes.base() / layers;
  };
  CHECK_THAT(layer_kept(range), WithinRel(34.0 * 2048 * 12288, 0.001));
  // Unfused attention keeps 5 a s^2 b more.
  structure.kernel = AttentionKernel::unfused;
  const auto again = lower(structure, v.shape(), v.layers, plan_of(1, 2048, 2048), ops);
  CHECK_THAT(layer_kept(again), WithinRel(34.0 * 2048 * 12288 + 5.0 * 96 * 2048 * 2048, 0.001));
  // Recomputing the attention core leaves the 34 again; whole blocks leave their input.
  structure.recomputed = parts_of(Recomputation::selective);
  CHECK_THAT(layer_kept(lower(structure, v.shape(), v.layers, plan_of(1, 2048, 2048), ops)),
             WithinRel(34.0 * 2048 * 12288, 0.001));
  structure.recomputed = parts_of(Recomputation::full);
  CHECK_THAT(layer_kept(lower(structure, v.shape(), v.layers, plan_of(1, 2048, 2048), ops)),
             WithinRel(2.0 * 2048 * 12288, 0.001));
}

TEST_CASE("dividing a model over devices divides its weights and its work", "[lowering]") {
  const Workload& w = model("Llama3_70B");
  const auto whole = forward(w, Phase::prefill, plan_of(1, 2048, 2048));
  auto divided = plan_of(1, 2048, 2048);
  divided.tp = 8;
  const auto part = forward(w, Phase::prefill, divided);
  // Norms are copied; everything else is divided.
  CHECK_THAT(part.params().base() * 8, WithinRel(whole.params().base(), 2e-4));
  CHECK_THAT(part.work.base() * 8, WithinRel(whole.work.base(), 0.01));
  CHECK_THAT(part.state.base() * 8, WithinRel(whole.state.base(), 1e-9));

  auto stages = plan_of(1, 2048, 2048);
  stages.pp = 4;
  const auto v = model_view(w, Phase::prefill);
  OpList<> ops;
  const auto middle = lower(v.structure, v.shape(), v.layers, stages, ops).totals.stage(0, 0);
  CHECK_THAT(middle.params().base() * 4, WithinRel(whole.params().base() - 2 * 128256.0 * 8192, 1e-4));
}

TEST_CASE("one device of everything costs nothing for communication", "[lowering]") {
  const auto v = model_view(model("DeepSeek_V3"), Phase::training);
  auto structure = v.structure;
  structure.zero_stage = 3;
  structure.sequence_parallel = true;
  Device<> device;
  device.compute.dense = device.compute.vector = 1.0 * unit::PFLOP / unit::s;
  device.memory.bandwidth = 3.0 * unit::TB / unit::s;
  Links<> links;
  links.level1.bandwidth = links.level2.bandwidth = 100.0 * unit::GB / unit::s;
  links.level1.latency = links.level2.latency = 1.0 * unit::us;
  OpList<> ops;
  (void)lower(structure, v.shape(), v.layers, plan_of(1, 4096, 4096), ops);
  for (const auto& op : ops.span()) {
    INFO(op.name);
    CHECK(price(op, device, links).network.base() == 0);
  }
}

TEST_CASE("the parts of the memory add up, and ZeRO divides what it says", "[lowering]") {
  const Workload& w = model("Llama3_8B");
  auto plan = plan_of(1, 4096, 4096);
  plan.dp = 64;
  Device<> device;
  device.memory.capacity = 80.0 * unit::GB;
  device.conventions.memory_fragmentation = 0.03;
  device.conventions.memory_reserve = 1.0 * unit::GB;
  Data<> before = 1e9 * unit::GB;
  for (int stage = 0; stage <= 3; ++stage) {
    auto v = model_view(w, Phase::training);
    v.structure.zero_stage = stage;
    OpList<> ops;
    const auto range = lower(v.structure, v.shape(), v.layers, plan, ops);
    const auto t = totals_of(ops, range.forward_end);
    const auto m = memory_of(v.structure, plan, device, demand_of(v.structure, plan, t, v.blocks(plan)));
    const Data<> sum = m.weights + m.kv_cache + m.activations + m.gradients + m.optimizer_states +
                       m.communication_buffers + m.fragmentation + m.reserve;
    CHECK_THAT(m.total.base(), WithinRel(sum.base(), 1e-12));
    CHECK(m.total < before);
    before = m.total;
    CHECK_THAT((m.weights + m.gradients + m.optimizer_states).base() / t.params().base(),
               WithinRel(stage == 0   ? 16.0
                         : stage == 1 ? 4 + 12.0 / 64
                         : stage == 2 ? 2 + 14.0 / 64
                                      : 16.0 / 64,
                         1e-9));
  }
}

TEST_CASE("recomputation trades time for memory", "[lowering]") {
  auto v = model_view(model("Llama3_8B"), Phase::training);
  const auto plan = plan_of(1, 4096, 4096);
  const auto run = [&](Recomputation r) {
    v.structure.recomputed = parts_of(r);
    OpList<> ops;
    const auto range = lower(v.structure, v.shape(), v.layers, plan, ops);
    Work<> work;
    for (const auto& op : ops.span())
      if (op.pass != Pass::update) work += op.work * op.count;
    return std::pair{work, totals_of(ops, range.forward_end).saved_bytes};
  };
  const auto none = run(Recomputation::none), full = run(Recomputation::full);
  CHECK(full.second < 0.2 * none.second);
  // One more forward pass of the blocks: a little less than 4/3.
  CHECK(full.first.base() / none.first.base() > 1.25);
  CHECK(full.first.base() / none.first.base() < 4.0 / 3.0);
}

TEST_CASE("a small batch touches few experts, a large one all", "[lowering]") {
  const Workload& w = model("Mixtral_8x7B");
  const double all = parameter_count(w).base() * 2, few = active_parameter_count(w).base() * 2;
  const auto one = forward(w, Phase::decode, plan_of(1, 1, 16));
  const auto many = forward(w, Phase::decode, plan_of(512, 1, 16));
  CHECK_THAT(one.memory_bytes.base(), WithinRel(few, 0.03));
  CHECK(many.memory_bytes.base() > all);
}

TEST_CASE("every model with a shape lowers in every phase it has", "[lowering][zoo]") {
  Device<> device;
  device.compute.dense = device.compute.vector = 1.0 * unit::PFLOP / unit::s;
  device.memory.bandwidth = 3.0 * unit::TB / unit::s;
  device.memory.capacity = 80.0 * unit::GB;
  Links<> links;
  links.level1.bandwidth = links.level2.bandwidth = 100.0 * unit::GB / unit::s;
  for (const Workload* w : standard_zoo().all<Workload>()) {
    if (!w->has_shape()) continue;
    for (const Phase phase : {Phase::prefill, Phase::decode, Phase::training, Phase::inference}) {
      INFO(w->name << " " << name_of(phase));
      const auto v = model_view(*w, phase);
      const double tokens = phase == Phase::decode ? 1 : 64;
      const Plan<> plan = plan_of(2, tokens, 64);
      const auto& estimator = operator_estimator<double>();
      const PassRequest<> request{v, plan, device.kernels.issue};
      if (phase == Phase::training) {
        const auto step = estimator.step(request, device, links, 1, 2, 2);
        CHECK(std::isfinite(step.total.base()));
        CHECK(step.total > Time<>());
        CHECK(estimator.step_memory(v, plan, device).total > Data<>());
      } else {
        const auto pass = phase == Phase::prefill  ? estimator.prefill(request, device, links, 64)
                          : phase == Phase::decode ? estimator.decode(request, device, links)
                                                   : estimator.inference(request, device, links);
        CHECK(std::isfinite(pass.total.base()));
        CHECK(pass.total > Time<>());
        CHECK(estimator.pass_memory(v, plan, device).total > Data<>());
      }
      OpList<> ops;
      (void)lower(v.structure, v.shape(), v.layers, plan, ops);
      CHECK(ops.size() > 0);
      // None of them allocates, but for networks that list every convolution.
      CHECK((ops.size() < OpList<>::capacity || w->architecture == Architecture::cnn));
    }
  }
}

TEST_CASE("a list costs what its operators cost one by one", "[lowering]") {
  // A list knows collectives again and leaves out what costs nothing; both must not show.
  Notes quiet;
  const auto& hardware = standard_zoo().at<HardwareNode>("H100");
  const auto device = device_view(hardware, Precision::bf16, conventions_of(standard_zoo()), quiet);
  const auto links = links_view(hardware, 8, conventions_of(standard_zoo()), quiet, Phase::training);
  for (const char* name : {"Llama3_70B", "DeepSeek_V3", "GPT3"})
    for (const double tp : {1.0, 4.0, 8.0})
      for (const double pp : {1.0, 4.0}) {
        INFO(name << " tp " << tp << " pp " << pp);
        auto v = model_view(model(name), Phase::training);
        v.structure.recomputed = part::all;
        v.structure.zero_stage = 2;
        Plan<> plan = plan_of(2, 1024, 1024);
        plan.tp = tp;
        plan.pp = pp;
        plan.dp = 4;
        OpList<> ops;
        (void)lower(v.structure, v.shape(), v.layers, plan, ops);
        const auto costs = price_list<double>(ops.span(), device, links, device.kernels.issue);
        Time<> all, network, joins;
        for (const auto& op : ops) {
          const auto cost = price(op, device, links);
          all += cost.total;
          network += cost.network;
          if (op.comm_group == CommGroup::tp) joins += cost.network;
        }
        Time<> total, exchanged;
        for (const auto& pass : costs.at)
          for (const auto& place : pass) {
            total += place.total;
            exchanged += place.network;
          }
        CHECK_THAT(total.base(), WithinRel(all.base(), 1e-13));
        CHECK_THAT(exchanged.base(), WithinRel(network.base(), 1e-13));
        CHECK_THAT(costs.between(CommGroup::tp).base(), WithinRel(joins.base(), 1e-13));
        if (tp > 1) CHECK(joins > Time<>());
      }
}

TEST_CASE("of fewer sequences than expert-parallel ranks none is divided", "[lowering]") {
  const auto v = model_view(model("Mixtral_8x7B"), Phase::prefill);
  const auto work = [&](double batch, OpGroup group) {
    Plan<> plan = plan_of(batch, 1024, 1024);
    plan.ep = 8;
    plan.rank_imbalance = 1.0;
    OpList<> ops;
    (void)lower(v.structure, v.shape(), v.layers, plan, ops);
    Work<> sum;
    for (const auto& op : ops)
      // A rank chooses experts for its own tokens, and adds up what returns for them.
      if (op.group == group && op.name != "router" && op.name != "expert_choice" && op.name != "expert_sum")
        sum += op.work * op.count;
    return sum.base();
  };
  for (const double batch : {1.0, 2.0, 4.0}) {
    INFO(batch);
    CHECK(work(batch, OpGroup::attention) == work(8, OpGroup::attention));
    CHECK(work(batch, OpGroup::norm) == work(8, OpGroup::norm));
    // Rows of the experts are dealt evenly, whoever has the sequence.
    CHECK_THAT(work(batch, OpGroup::experts), WithinRel(work(8, OpGroup::experts) * batch / 8, 1e-12));
  }
  CHECK_THAT(work(32, OpGroup::attention), WithinRel(work(8, OpGroup::attention) * 4, 1e-12));
}

TEST_CASE("gradients travel by the bucket, large blocks one by one", "[lowering]") {
  const auto exchange_of = [](const char* name, int stage) {
    auto v = model_view(model(name), Phase::training);
    v.structure.zero_stage = stage;
    Plan<> plan = plan_of(1, 64, 64);
    plan.dp = 16;
    plan.exchange_bucket = 25.0 * unit::MiB;
    OpList<> ops;
    const auto lowered = lower(v.structure, v.shape(), v.layers, plan, ops);
    const Data<> gradients = plan.gradient_bytes * lowered.totals[StageScope::every_block].params();
    for (const auto& op : ops)
      if (op.comm_group == CommGroup::dp && op.place == StageScope::every_block &&
          op.collective != Collective::all_gather) {
        CHECK_THAT((op.message * op.count).base(), WithinRel(gradients.base(), 1e-12));
        CHECK(op.count == lowered.exchanges);
        return std::pair{op.count, gradients / (25.0 * unit::MiB)};
      }
    return std::pair{0.0, 0.0};
  };
  for (const char* name : {"ResNet50", "GPT2_Small", "MobileNetV2"}) {
    INFO(name);
    const auto [count, buckets] = exchange_of(name, 0);
    CHECK(count == std::ceil(buckets));
  }
  CHECK(exchange_of("Llama3_8B", 0).first == 32);
  CHECK(exchange_of("GPT2_Small", 3).first == 12);  // block by block
}

TEST_CASE("the blocks of a convolutional network are its layer records", "[lowering]") {
  const auto v = model_view(model("ResNet50"), Phase::training);
  CHECK(v.blocks(Plan<>{}) == static_cast<double>(v.layers.size()));
  CHECK(model_view(model("Llama3_8B"), Phase::training).blocks(Plan<>{}) == 32);
}

TEST_CASE("weights that are not trained have no gradients, and their inputs do", "[lowering]") {
  const auto v = model_view(model("Llama3_8B"), Phase::training);
  const auto work = [&](double trainable, Pass pass) {
    Plan<> plan = plan_of(1, 1024, 1024);
    plan.trainable = trainable;
    OpList<> ops;
    const auto lowered = lower(v.structure, v.shape(), v.layers, plan, ops);
    Work<> sum;
    for (const auto& op : ops)
      if (op.pass == pass) sum += op.work * op.count;
    if (pass == Pass::weight_gradient && trainable == 1.0)
      CHECK_THAT(sum.base(), WithinRel(totals_of(ops, lowered.forward_end).weight_work.base(), 1e-12));
    return sum.base();
  };
  CHECK_THAT(work(0.25, Pass::weight_gradient), WithinRel(0.25 * work(1, Pass::weight_gradient), 1e-12));
  CHECK(work(0, Pass::weight_gradient) == 0);
  CHECK(work(0.25, Pass::backward) == work(1, Pass::backward));
}
