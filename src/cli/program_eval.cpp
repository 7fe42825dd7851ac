// Commands about one scenario: eval, serve, train, explain, sweep; and the options that describe one.

#include "program.hpp"

#include <mlsysim/reflect/detail/aliases.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace mlsysim::cli {
namespace {

const char* short_form(std::string_view field) {
  if (field == "batch_size") return "-b,";
  if (field == "precision") return "-p,";
  if (field == "efficiency") return "-e,";
  if (field == "seq_len") return "-s,";
  return "";
}

/// "--tp-size,--tp": the name that help shows first, then the other one. The second name of the batch size is
/// a load of its own.
std::string option_names(std::string_view field) {
  const auto second = field == "batch_size" ? std::string_view() : second_name(field);
  std::string first = "--" + dashed(field);
  if (second.empty()) return short_form(field) + first;
  const auto other = "--" + dashed(second);
  return short_form(field) + (shows_second(field) ? other + "," + first : first + "," + other);
}

constexpr std::size_t kHelpColumns = 80;  // of a line of help, behind the option

constexpr const char* kEvalExamples =
    "Examples:\n"
    "  mlsysim eval Llama3_70B H100 --accelerators 8 --precision fp8 --batch-size 16 --output-tokens 512\n"
    "  mlsysim eval Llama3_8B Research_256 --mode train --batch-size 1024 --seq-len 4096 --zero-stage 1\n"
    "  mlsysim eval plan.yaml --region Quebec -o json\n"
    "  mlsysim eval Llama3_70B H100 --accelerators 8 --interval 80\n"
    "HARDWARE is a device (H100), a node (DGX_H100), a pod or a cluster (Research_256) of the zoo, or a YAML "
    "file.\n"
    "Quantities carry their unit: --intra-node-bandwidth '450 GB/s'. Options replace what a plan says.\n"
    "Exit codes: 0 fine, 1 bad input, 2 does not fit, 3 an assertion of the plan failed.";

constexpr const char* kCommonGroup = "Scenario";

/// Options that --help shows; --help-all has the rest.
bool is_common(std::string_view field, std::optional<Mode> mode) {
  for (const std::string_view name :
       {"mode", "batch_size", "seq_len", "accelerators", "tp_size", "pp_size", "ep_size", "precision"})
    if (field == name) return true;
  if (mode == Mode::train)
    return field == "zero_stage" || field == "recomputation" || field == "microbatch_size";
  return field == "arrival_rate" || field == "output_tokens" || field == "engine" ||
         (!mode && field == "zero_stage");
}

struct OptionGroup {
  const char* title;
  std::string_view fields;  // separated by blanks
};
constexpr OptionGroup kOptionGroups[] = {
    {"Workload and load",
     " name mode batch_size load arrival_rate seq_len output_tokens cached_prefix_len seq_len_cv seq_len_law "
     "output_tokens_cv output_tokens_law fidelity also "},
    {"Devices and links",
     " accelerators node_count accelerators_per_node intra_node_bw fabric_bandwidth nics_per_node "
     "host_memory "
     "host_memory_bandwidth "},
    {"Parallelism",
     " tp_size pp_size ep_size prefill_replicas prefill_tp_size prefill_ep_size decode_replicas "
     "network_bandwidth cp_size expert_tp_size schedule v_stages sequence_parallel zero_stage "
     "shard_size "},
    {"Number formats",
     " precision weight_format weight_bits kv_precision gradient_precision moment_precision states "
     "dispatch_precision "},
    {"Serving",
     " engine towers memory_fraction kv_cache_memory execution attention_kernel kernel_fusion "
     "prefill_chunk_tokens "
     "chunked_prefill "
     "draft_model "
     "draft_acceptance_rate "
     "draft_tokens draft_acceptance_decay acceptance_length "},
    {"Training",
     " training_tokens gradient_accumulation_steps recomputation recomputed_share dropout optimizer "
     "trainable_fraction "
     "lora_rank lora_modules "
     "fused_loss microbatch_size microbatch_count backward_prefetch offload_activations offload_states "
     "offload_gradients "
     "offload_weights offload_experts "},
    {"Communication",
     " collective_algorithm overlap_efficiency overlap_slowdown tp_overlap congestion_factor "
     "straggler_factor "},
    {"Experts", " expert_copies expert_overlap rank_imbalance "},
    {"Power and clocks", " efficiency power_cap clock_limit host_power network_power "},
    {"Money and carbon",
     " grid datacenter duration_days kwh_price unit_cost rent payment infrastructure_multiplier "},
};
const char* group_of(std::string_view field) {
  for (const auto& g : kOptionGroups)
    if (g.fields.find(fmt::format(" {} ", field)) != std::string_view::npos) return g.title;
  return "Other";
}

/// Meaning and unit of an option; its default follows where the line stays within kHelpColumns.
std::string brief_help(const FieldInfo& f) {
  std::string out(f.meaning);
  if (!f.unit.empty()) out += fmt::format(" [{}]", f.unit);
  auto whole = f.default_source.empty() ? out : fmt::format("{} (default: {})", out, f.default_source);
  return whole.size() <= kHelpColumns ? whole : out;
}

/// Sets a field; numbers of requests under two names must not contradict each other.
void give_field(ScenarioRequest& request, const std::string& name, const std::string& text) {
  constexpr std::array<std::string_view, 3> counts{"batch_size", "concurrency", "burst"};
  const bool is_count = std::find(counts.begin(), counts.end(), name) != counts.end();
  for (const auto other : counts) {
    const auto found = request.fields.find(std::string(other));
    if (!is_count || other == name || found == request.fields.end()) continue;
    const bool one_load = other == counts[0] || name == counts[0];
    if (one_load && found->second == text) continue;
    throw InputError({.id = "mlsysim.cli.256",
                      .message = "two loads are given",
                      .key = name,
                      .found = fmt::format("{} {} and {} {}", other, found->second, name, text),
                      .expected = "one of batch_size, concurrency and burst",
                      .hint = "leave one out"});
  }
  request.fields[name] = text;
}

}  // namespace

std::string dashed(std::string_view name) {
  std::string out(name);
  std::replace(out.begin(), out.end(), '_', '-');
  return out;
}

std::string help_of(const FieldInfo& f) {
  std::string out(f.meaning);
  if (!f.unit.empty()) out += fmt::format(" [{}]", f.unit);
  if (!f.choices.empty() && f.name != "mode") out += fmt::format(": {}", fmt::join(f.choices, ", "));
  if (!f.default_source.empty()) out += fmt::format(" (default: {})", f.default_source);
  return out;
}

std::string type_word(const FieldInfo& f) {
  if (f.kind == ValueKind::quantity) return "QUANTITY";
  if (f.kind == ValueKind::object) return "NAME";
  if (f.kind == ValueKind::choice) return "NAME";
  return f.kind == ValueKind::flag ? "true|false" : f.kind == ValueKind::text ? "TEXT" : "N";
}

void Program::traffic_option(CLI::App& app) {
  offer(app, "--request-trace,--traffic-file", traffic_.file,
        "Take lengths, prefixes and arrivals from recorded requests", "FILE")
      ->group(shows_all_ ? "Workload and load" : "");
}

void Program::interval_option(CLI::App& app, int& level) {
  auto* option =
      offer(app, "--interval", level, "Add ranges that should contain PERCENT of measurements", "PERCENT")
          ->expected(0, 1)
          ->default_str("80")
          ->check(CLI::IsMember({"50", "80", "95"}));
  values_[option].choices = {"50", "80", "95"};
}

/// One option per field of the table of Scenario, but for those that the command has as lists.
void Program::scenario_options(CLI::App& app, std::optional<Mode> fixed,
                               std::span<const std::string_view> lists) {
  if (!is_asked(app)) return;
  for (const auto& f : describe<Scenario>()) {
    if (f.name == "workload" || f.name == "hardware" || f.name == "fleet" || f.name == "conventions")
      continue;
    if (fixed && f.name == "mode") continue;
    if (std::find(lists.begin(), lists.end(), f.name) != lists.end()) continue;
    if (fixed) {
      const auto used = fields_used_in(*fixed);
      if (std::find(used.begin(), used.end(), f.name) == used.end()) continue;
    }
    auto* option = app.add_option_function<std::string>(
        option_names(f.name),
        [this, name = f.name](const std::string& text) { give_field(scenario_, name, text); },
        shows_all_ ? help_of(f) : brief_help(f));
    option->type_name(type_word(f))
        ->group(shows_all_                 ? group_of(f.name)
                : is_common(f.name, fixed) ? kCommonGroup
                                           : "");
    auto& values = values_[option];
    values.choices.assign(f.choices.begin(), f.choices.end());
    if (f.name == "grid") values.place = Place::grid;
    if (f.name == "datacenter") values.place = Place::datacenter;
  }
  if (std::find(lists.begin(), lists.end(), "batch_size") == lists.end() &&
      fixed.value_or(Mode::serve) == Mode::serve)
    for (const Load load : {Load::concurrency, Load::burst})
      app.add_option_function<std::string>(
             fmt::format("--{}", name_of(load)),
             [this, load](const std::string& text) {
               give_field(scenario_, std::string(name_of(load)), text);
             },
             load == Load::burst
                 ? "requests that all arrive at once: a static batch (batch_size with load burst)"
                 : "requests that are kept in flight, a new one for each that ends (batch_size)")
          ->type_name("NUMBER")
          ->group(shows_all_ ? "Workload and load" : "");
  traffic_option(app);
  auto* region = app.add_option("--region", scenario_.region, "name of a grid or of a datacenter");
  region->type_name("NAME")->group(shows_all_ ? "Money and carbon" : "");
  values_[region].place = Place::grid;
  if (fixed)
    app.preparse_callback([this, mode = *fixed](std::size_t) { scenario_.fields["mode"] = name_of(mode); });
}

void Program::limit_options(CLI::App& app, const std::function<void(ServiceLimit)>& take) {
  const auto limit = [&](const char* options, const char* time, const char* about) {
    app.add_option_function<std::string>(
           options, [take, time](const std::string& text) { take(ServiceLimit::parse(time, text)); }, about)
        ->type_name("LIMIT")
        ->group("Limits");
  };
  limit("--ttft", "ttft", "limit of the time to first token: '2 s', 'p99 2 s' (p50, p90, p95, p99)");
  limit("--itl,--tpot", "itl",
        "limit of the mean time between tokens of a request: '30 ms', 'p99 50 ms' (p90, p99 over requests)");
  limit("--e2e", "e2e", "limit of the time of a whole request: '20 s', 'p99 30 s'");
}

void Program::eval_commands() {
  const auto target = [this](CLI::App& app, const char* name, const char* about) {
    return app
        .add_option_function<std::string>(
            name, [this](const std::string& text) { scenario_.targets.push_back(text); }, about)
        ->type_name("");
  };
  const auto targets = [target](CLI::App& app, const char* machine) {
    target(app, "MODEL", "a model of the zoo or a YAML file with one; or a plan file, alone")->required();
    target(app, machine, "a device, node, pod or cluster of the zoo, or a YAML file with one");
  };
  const auto run = [this] { return eval(scenario_, render_); };
  auto* e = command(app_, "eval", "Estimate fit, speed, cost and carbon of a model on hardware, or of a plan",
                    kEvalExamples, run, {Place::model, Place::machine});
  targets(*e, "HARDWARE");
  scenario_options(*e, std::nullopt);
  interval_option(*e, scenario_.interval);
  const auto limited = [this](ServiceLimit limit) { scenario_.limits.push_back(std::move(limit)); };
  limit_options(*e, limited);
  auto* here =
      command(app_, "audit", "Run eval on the NVIDIA devices of this machine, as their driver names them",
              "Examples:\n  mlsysim audit\n  mlsysim audit Llama3_70B --precision fp8 --batch-size 16",
              [this] { return audit(scenario_, render_); }, {Place::model});
  target(*here, "MODEL", "a model of the zoo or a YAML file with one (default: Llama3_8B)");
  scenario_options(*here, std::nullopt);
  interval_option(*here, scenario_.interval);
  limit_options(*here, limited);
  auto* s =
      command(app_, "serve", "Run eval --mode serve",
              "Examples:\n  mlsysim serve Llama3_8B H100 --batch-size 32 --seq-len 1024 --output-tokens 256\n"
              "  mlsysim serve Llama3_70B H100 --accelerators 8 --precision fp8",
              run, {Place::model, Place::machine});
  targets(*s, "HARDWARE");
  scenario_options(*s, Mode::serve);
  interval_option(*s, scenario_.interval);
  limit_options(*s, limited);
  auto* t = command(
      app_, "train", "Run eval --mode train",
      "Examples:\n  mlsysim train Llama3_8B Research_256 --batch-size 1024 --seq-len 4096 --zero-stage 1\n"
      "  mlsysim train Llama3_8B H100 --accelerators 16 --pp-size 4 --batch-size 32",
      run, {Place::model, Place::machine});
  targets(*t, "FLEET");
  scenario_options(*t, Mode::train);
  interval_option(*t, scenario_.interval);
  explain_command();
  sweep_command();
}

void Program::explain_command() {
  auto* x = command(
      app_, "explain", "Show where a number comes from, equation by equation",
      "Examples:\n"
      "  mlsysim explain Llama3_70B H100 itl --accelerators 8\n"
      "  mlsysim explain plan.yaml ttft\n"
      "  mlsysim explain Llama3_70B H100 cost_per_token --accelerators 8 --open CostPerToken -o latex\n"
      "  mlsysim explain Roofline work='1 TFLOP' traffic='1 GB' peak='989 TFLOP/s' bandwidth='3.35 TB/s' "
      "time\n"
      "  mlsysim explain Llama3_70B H100          lists what can be explained\n"
      "A law that is called many times is written out once; --verbose writes out every call. -o latex, json "
      "and markdown\n"
      "hold the same derivation; -o csv the operators of the pass, or the numbers of each call.",
      [this] { return explain_metric(scenario_, explain_, render_); },
      {Place::model, Place::machine, Place::metric});
  demand(
      *x, "WORDS", scenario_.targets,
      "MODEL HARDWARE, a plan file, or a resolver with key=value; then the RESULT: without one, what can be "
      "explained is listed");
  offer(*x, "--open", explain_.open, "laws whose every operation is shown, separated by commas", "LAW,...")
      ->delimiter(',');
  scenario_options(*x, std::nullopt);
  interval_option(*x, scenario_.interval);
}

void Program::sweep_command() {
  auto* w = command(
      app_, "sweep", "Estimate every combination of devices, batch sizes and other inputs",
      "Examples:\n  mlsysim sweep Llama3_8B A100,H100,H200 --batch-size 1,8,64 --precision bf16 -o csv\n"
      "  mlsysim sweep Llama3_70B H100,H200 --accelerators 8 --axis batch_size=1..256 --axis "
      "seq_len=1024..8192*2 \\\n"
      "    --minimize cost_per_token --top 5 --show itl,ttft --shard 1/4 --state part1.json\n"
      "  mlsysim sweep ServingModel workload=Llama3_8B hardware=H100 --axis tp_size=1,2,4 --show itl "
      "--interval 80\n"
      "Each row has the numbers that mlsysim eval has for its point.",
      [this] {
        search_.command = "sweep";
        if (names_a_resolver(sweep_.model)) {
          scenario_.targets = sweep_.hardware;
          scenario_.targets.insert(scenario_.targets.begin(), sweep_.model);
          return search(scenario_, search_, render_);
        }
        if (sweep_.hardware.empty())
          throw InputError({.id = "mlsysim.cli.199",
                            .message = "a sweep of a model needs a machine",
                            .key = "HARDWARE",
                            .found = fmt::format("sweep {}", sweep_.model),
                            .expected = "devices of the zoo, separated by commas",
                            .hint = fmt::format("mlsysim sweep {} H100,H200", sweep_.model)});
        return sweep(sweep_, scenario_, search_, render_);
      },
      {Place::model, Place::device});
  demand(*w, "MODEL", sweep_.model, "a model of the zoo, or a YAML file; or a resolver");
  offer(*w, "HARDWARE", sweep_.hardware,
        "devices of the zoo, separated by commas; or the inputs of the resolver as key=value", "")
      ->delimiter(',');
  offer(*w, "-b,--batch-size,--concurrency", sweep_.batch_sizes,
        "samples of one batch, or requests in flight of a served model, separated by commas (default: one)",
        "N,...")
      ->delimiter(',');
  w->add_option_function<std::vector<std::string>>(
       "--burst",
       [this](const std::vector<std::string>& counts) {
         sweep_.batch_sizes = counts;
         scenario_.fields["load"] = name_of(Load::burst);
       },
       "requests that all arrive at once, separated by commas")
      ->delimiter(',')
      ->type_name("N,...")
      ->group(shows_all_ ? "Workload and load" : "");
  offer(*w, option_names("arrival_rate"), sweep_.rates,
        "requests that arrive, Poisson, separated by commas: 1,2,4/s", "RATE,...")
      ->delimiter(',');
  offer(*w, option_names("accelerators"), sweep_.devices, "devices in use, separated by commas", "N,...")
      ->delimiter(',');
  auto* p = offer(*w, "-p,--precision", sweep_.precisions,
                  "precisions, separated by commas (default: as in eval)", "NAME,...")
                ->delimiter(',');
  values_[p].choices.assign(Choices<Precision>::names.begin(), Choices<Precision>::names.end());
  constexpr std::array<std::string_view, 4> lists{"batch_size", "precision", "arrival_rate", "accelerators"};
  scenario_options(*w, std::nullopt, lists);
  interval_option(*w, search_.interval);
  search_options(*w);
}

}  // namespace mlsysim::cli
