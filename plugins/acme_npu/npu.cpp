// A hardware backend: a chip of its own, what it can run, and how long one decode step takes on it.
#include <mlsysim/plugin/mlsysim_plugin.hpp>
#include <mlsysim/resolver_api/contract.hpp>
#include <mlsysim/units/unit.hpp>

#include <charconv>
#include <string_view>
#include <utility>

namespace {

using namespace mlsysim;

constexpr const char* kDevices = R"(schema: mlsysim/hardware@1
entries:
- name: Acme_NPU1
  title: Acme NPU-1, an invented chip
  source: {kind: illustrative, note: An invented chip that shows a backend; no figure is real., recorded: 2026-11-21}
  category: edge
  vendor: Acme
  compute: {dense: {fp8: 200 TFLOP/s, bf16: 100 TFLOP/s}, default_precision: bf16}
  memory: {capacity: 32 GiB, bandwidth: 400 GB/s, type: LPDDR5X}
  power: {tdp: 60 W}
)";
constexpr double kCapacity = 32.0 * (1ULL << 30);

/// Time of one decode step: the chip reads all weights and overlaps arithmetic with it.
struct AcmePredict : Model<AcmePredict> {
  static constexpr std::string_view about = "Time of one decode step on an Acme NPU";
  static constexpr std::string_view law =
      "step_time = max(size / memory.bandwidth, batch_size * 2 FLOP * parameters / compute.peak_flops)";
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
    Time<> step_time;
    double compute_bound = 0;
    static constexpr auto fields() {
      return rows(
          field(&Result::step_time, "step_time", "ms", "time of one step").non_negative(),
          field(&Result::compute_bound, "compute_bound", "", "share of the step that arithmetic needs")
              .within(0, 1));
    }
  };
  Outcome<Result> solve(const Inputs& in) const {
    const auto bytes = in.workload->size(Precision::bf16);
    if (!in.hardware->memory.bandwidth || !in.hardware->memory.capacity)
      throw InputError({.id = "acme.npu.001",
                        .message = in.hardware->name + " has no memory figures",
                        .key = "memory",
                        .found = "nothing",
                        .expected = "capacity and bandwidth",
                        .hint = "choose a device that has them"});
    if (!in.workload->parameters)
      throw InputError({.id = "acme.npu.002",
                        .message = in.workload->name + " has no parameter count",
                        .key = "parameters",
                        .found = "nothing",
                        .expected = "a count",
                        .hint = "choose a model that has one"});
    if (bytes > *in.hardware->memory.capacity)
      return Infeasible{"the weights need " + pretty(AnyQuantity(bytes)) + ", the device has " +
                            pretty(AnyQuantity(*in.hardware->memory.capacity)),
                        "fewer bits per weight, or a larger device",
                        {}};
    const auto read = bytes / *in.hardware->memory.bandwidth;
    const auto work = in.batch_size * 2 * unit::FLOP / unit::param * *in.workload->parameters;
    const auto compute = work / in.hardware->compute.peak_flops();
    const auto step = max(read, compute);
    return Result{step, compute / step};
  }
};

/// Whether a program is in a form of `formats.in` below. The host hands over no other; who asks the plugin
/// itself may. A version that is known from below alone starts with '>'.
bool reads(std::string_view format) {
  constexpr std::string_view stablehlo = "stablehlo";
  if (format == "operators" || format == stablehlo) return true;
  if (!format.starts_with(stablehlo) || format[stablehlo.size()] != ':') return false;
  auto version = format.substr(stablehlo.size() + 1);
  if (version.starts_with('>')) version.remove_prefix(1);
  int major = 0, minor = 0;
  const char* const end = version.data() + version.size();
  const auto dot = std::from_chars(version.data(), end, major).ptr;
  if (dot != end) std::from_chars(dot + 1, end, minor);
  const auto at = std::pair(major, minor);
  return at >= std::pair(0, 9) && at <= std::pair(1, 8);
}

/// Verdict on a program: every operator that does not run is listed.
std::int32_t query(plugin::sdk::SupportQuery& q) {
  using plugin::sdk::cpp_text;
  const auto& program = q.program();
  bool maybe = false, no = false;
  if (const auto format = cpp_text(program.format); !reads(format)) {
    q.reason(MLS_REASON_VERSION, format, 1, "", "this backend reads operator lists and StableHLO 0.9 to 1.8");
    return MLS_VERDICT_NO;
  }
  for (std::uint64_t i = 0; i < program.op_count; ++i) {
    const auto& op = program.ops[i];
    const auto kind = cpp_text(op.kind), name = cpp_text(op.name);
    if (kind == "recurrence") {
      q.reason(MLS_REASON_OTHER, name, op.count, cpp_text(op.location),
               "recurrences run on the host processor");
      maybe = true;
    } else if (kind == "convolution") {
      q.reason(MLS_REASON_UNKNOWN_OP, name, op.count, cpp_text(op.location), "rewrite it as a product");
      no = true;
    } else if (kind != "matmul" && kind != "attention" && kind != "elementwise" && kind != "gather" &&
               kind != "collective") {
      q.reason(MLS_REASON_CUSTOM_CALL, name, op.count, cpp_text(op.location),
               "give a rule for what it costs");
      maybe = true;
    }
    if (q.effort() >= MLS_EFFORT_TYPES) {
      const auto precision = cpp_text(op.precision.size > 0 ? op.precision : program.precision);
      if (!precision.empty() && precision != "bf16" && precision != "fp8") {
        q.reason(MLS_REASON_TYPE, name, op.count, cpp_text(op.location), "the chip computes in bf16 and fp8");
        no = true;
      }
    }
  }
  if (q.effort() >= MLS_EFFORT_ATTRIBUTES && program.memory > kCapacity) {
    q.reason(MLS_REASON_MEMORY, cpp_text(program.name), 1, "",
             "it has 32 GiB; use several, or fewer bits per weight");
    no = true;
  }
  if (no) return MLS_VERDICT_NO;
  // Names alone cannot promise: types and memory are not looked at then.
  if (maybe) return q.aggressive() ? MLS_VERDICT_YES : MLS_VERDICT_MAYBE;
  return q.effort() >= MLS_EFFORT_TYPES ? MLS_VERDICT_YES : MLS_VERDICT_MAYBE;
}

}  // namespace

MLSYSIM_PLUGIN(({.name = "acme-npu",
                 .space = "acme_npu",
                 .version = "1.0.0",
                 .summary = "Backend of an invented chip",
                 .license = "Apache-2.0",
                 .threads = MLS_THREAD_SAFE,
                 .flags = MLS_PLUGIN_UNLOADABLE,
                 .attributes = {{"formats.in", "operators, stablehlo:0.9.0..1.8.0"},
                                {"precisions", "bf16, fp8"},
                                {"variants", "x86-64"}}})) {
  plugin.zoo_text("devices.yaml", kDevices);
  plugin.backend<AcmePredict>("NPU1", "Acme NPU-1", {"Acme_NPU1"}, MLS_EFFORT_TYPES, &query);
}
