// A backend for chips with two memories: what does not fit into the fast one is streamed from the slow one,
// layer by layer, over the link between them. It answers with a plan, not with "does not fit".
#include <mlsysim/plugin/mlsysim_plugin.hpp>
#include <mlsysim/resolver_api/contract.hpp>
#include <mlsysim/units/unit.hpp>

namespace {

using namespace mlsysim;

constexpr const char* kDevices = R"(schema: mlsysim/hardware@1
entries:
- name: Acme_Hybrid1
  title: Acme Hybrid-1, an invented chip with two memories
  source: {kind: illustrative, note: An invented chip that shows offloading; no figure is real., recorded: 2026-11-22}
  category: cloud
  vendor: Acme
  compute: {dense: {fp8: 200 TFLOP/s, bf16: 100 TFLOP/s}, default_precision: bf16}
  memory: {capacity: 16 GiB, bandwidth: 1 TB/s, type: HBM3, second_tier: {capacity: 128 GiB, bandwidth: 200 GB/s, type: LPDDR5X}}
  host_link: {name: chip to chip, bandwidth: 100 GB/s}
  power: {tdp: 300 W}
)";

[[noreturn]] void lacks(const std::string& name, const char* key, const char* expected) {
  throw InputError({.id = "acme.hybrid.001",
                    .message = name + " lacks " + key,
                    .key = key,
                    .found = "nothing",
                    .expected = expected,
                    .hint = "choose one that has it"});
}

/// Both memories, and the way between them. A device without a second memory has nothing to stream from.
struct Memories {
  Data<> fast, slow;
  Bandwidth<> fast_bandwidth, link;

  explicit Memories(const HardwareNode& h) {
    const auto& m = h.memory;
    if (!m.capacity || !m.bandwidth) lacks(h.name, "memory", "capacity and bandwidth");
    fast = *m.capacity;
    fast_bandwidth = *m.bandwidth;
    if (!m.second_tier.capacity) return;
    slow = *m.second_tier.capacity;
    if (!h.host_link.bandwidth) lacks(h.name, "host_link.bandwidth", "a link to the second memory");
    link = *h.host_link.bandwidth;
    // The slow memory itself may be slower than the link.
    if (m.second_tier.bandwidth) link = min(link, *m.second_tier.bandwidth);
  }
};

struct StreamedDecode : Model<StreamedDecode> {
  static constexpr std::string_view about = "One decode step with weights in two memories";
  static constexpr std::string_view law =
      "link_traffic = max(0, size - memory.capacity); step_time = max(size / memory.bandwidth, link_traffic "
      "/ link, batch_size * 2 FLOP * parameters / compute.peak_flops)";
  static constexpr std::string_view source =
      "steady state of a pipeline of three stages: the slowest sets the pace";
  static constexpr bool thread_safe = true;
  struct Inputs {
    const Workload* workload = nullptr;
    const HardwareNode* hardware = nullptr;
    double batch_size = 1;
    static constexpr auto fields() {
      return rows(field(&Inputs::workload, key::workload), field(&Inputs::hardware, key::hardware),
                  field(&Inputs::batch_size, key::batch_size).within(1, 1e9).defaulted("one request"));
    }
  };
  struct Result {
    Time<> step_time, link_time;
    Data<> weights_resident, link_traffic, memory_traffic;
    static constexpr auto fields() {
      return rows(
          field(&Result::step_time, "step_time", "ms",
                "time of one step; a layer is fetched while the one before it runs")
              .non_negative(),
          field(&Result::link_time, "link_time", "ms", "time that the link needs for its bytes")
              .non_negative(),
          field(&Result::weights_resident, "weights_resident", "GB", "weights that stay in the fast memory")
              .non_negative(),
          field(&Result::link_traffic, "link_traffic", "GB", "bytes over the link in one step")
              .non_negative(),
          field(&Result::memory_traffic, "memory_traffic", "GB",
                "bytes read from the fast memory in one step")
              .non_negative());
    }
  };
  Outcome<Result> solve(const Inputs& in) const {
    const Memories m(*in.hardware);
    if (!in.workload->parameters) lacks(in.workload->name, "parameters", "a count");
    const auto bytes = in.workload->size(Precision::bf16);
    if (bytes > m.fast + m.slow)
      return Infeasible{"the weights need " + pretty(AnyQuantity(bytes)) + ", both memories have " +
                            pretty(AnyQuantity(m.fast + m.slow)),
                        "fewer bits per weight, or several devices",
                        {}};
    const auto resident = min(bytes, m.fast), streamed = bytes - resident;
    const auto link_time = streamed > Data<>() ? streamed / m.link : Time<>();
    const auto compute = in.batch_size * 2 * unit::FLOP / unit::param * *in.workload->parameters /
                         in.hardware->compute.peak_flops();
    return Result{max(max(bytes / m.fast_bandwidth, link_time), compute), link_time, resident, streamed,
                  bytes};
  }
};

std::int32_t query(plugin::sdk::SupportQuery& q) {
  using plugin::sdk::cpp_text;
  const auto& program = q.program();
  if (const auto format = cpp_text(program.format); format != "operators") {
    q.reason(MLS_REASON_VERSION, format, 1, "", "this backend reads operator lists only");
    return MLS_VERDICT_NO;
  }
  bool unknown = false;
  for (std::uint64_t i = 0; i < program.op_count; ++i) {
    const auto& op = program.ops[i];
    const auto kind = cpp_text(op.kind);
    if (kind == "matmul" || kind == "attention" || kind == "elementwise" || kind == "gather" ||
        kind == "collective")
      continue;
    q.reason(MLS_REASON_UNKNOWN_OP, cpp_text(op.name), op.count, cpp_text(op.location),
             "give a rule for what it costs");
    unknown = true;
  }
  if (unknown) return MLS_VERDICT_MAYBE;
  return q.effort() >= MLS_EFFORT_TYPES ? MLS_VERDICT_YES : MLS_VERDICT_MAYBE;
}

}  // namespace

MLSYSIM_PLUGIN(({.name = "acme-hybrid",
                 .space = "acme_hybrid",
                 .version = "1.0.0",
                 .summary = "Backend of chips with two memories",
                 .license = "Apache-2.0",
                 .threads = MLS_THREAD_SAFE,
                 .flags = MLS_PLUGIN_UNLOADABLE,
                 .attributes = {{"formats.in", "operators"},
                                {"precisions", "bf16"},
                                {"features", "offload"},
                                {"variants", "x86-64"}},
                 .features = {"offload"}})) {
  plugin.zoo_text("devices.yaml", kDevices);
  plugin.backend<StreamedDecode>("TwoMemories", "Chips with two memories", {"Acme_Hybrid1", "GH200"},
                                 MLS_EFFORT_TYPES, &query);
}
