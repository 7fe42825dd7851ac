// Flags of engines that serve, as a plan.

#include "detail/settings.hpp"

#include <mlsysim/engine/field_input.hpp>
#include <mlsysim/specs/device_name.hpp>
#include <mlsysim/specs/usual_request.hpp>
#include <mlsysim/units/unit.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace mlsysim::detail {
namespace {

/// How the ranks of a launch divide a model.
struct Ranks {
  double tp = 1, pp = 1, ep = 1;  ///< degrees of the plan
  double copies = 1;              ///< engines that share the requests
  double devices = 1;
  double fullest = 1;  ///< layers of the fullest device over the mean, where shares are given
};

/// Attention in groups inside the tensor-parallel ranks: each group has whole sequences, and the experts are
/// spread over all.
void divide_attention(Settings& s, Ranks& r, double groups) {
  if (std::fmod(r.tp, groups) != 0)
    s.clash("tp", "the ranks do not divide into groups of attention",
            fmt::format("{} ranks, {} groups", r.tp, groups), "a number of groups that divides the ranks");
  r.tp /= groups;
  r.ep = groups;
}

Ranks ranks_of(Settings& s, LaunchFormat format) {
  Ranks r{.tp = s.number_or("tp", 1), .pp = s.number_or("pp", 1)};
  const double dp = s.number_or("dp", 1);
  if (s.number_or("cp", 1) > 1)
    s.end("cp", FlagUse::contradicts,
          "a served sequence is not divided: the plan has fewer devices than the launch");
  r.devices = r.tp * r.pp * dp;
  r.copies = dp;
  if (format == LaunchFormat::vllm && s.on("expert_parallel")) {
    if (dp > 1) r.ep = dp;
    if (dp > 1)
      s.end("expert_parallel", FlagUse::used,
            fmt::format("experts are spread over {} ranks; the plan divides them {} ways over {} groups",
                        r.tp * dp, r.tp, r.ep));
    else
      s.end("expert_parallel", FlagUse::ignored,
            fmt::format("with one replica the plan divides each expert {} ways: the same bytes", r.tp));
  }
  if (format == LaunchFormat::sglang) {
    const bool inside = s.on("attention_parallel");
    const double groups = inside ? dp : s.number_or("attention_dp", 1);
    if (inside) r.devices = r.tp * r.pp;
    r.copies = inside ? 1 : dp;
    if (groups > 1) divide_attention(s, r, groups);
  }
  if (format == LaunchFormat::trtllm && s.on("attention_parallel")) {
    r.copies = r.tp;
    divide_attention(s, r, r.tp);
  }
  if (const double ep = s.number_or("ep", 1); ep > 1) {
    if (std::fmod(r.tp * r.ep, ep) != 0)
      s.clash("ep", "the experts are not spread over the ranks evenly",
              fmt::format("{} over {} ranks", ep, r.tp * r.ep), "a divisor of the ranks");
    s.end(
        "ep", FlagUse::used,
        fmt::format(
            "experts spread over {} of {} ranks; the plan divides each {} ways and spreads them over {}: the "
            "same bytes",
            ep, r.tp * r.ep, r.tp, r.ep));
  }
  return r;
}

/// Devices with a share of the layers, and the layers of the fullest one over the mean.
struct DeviceShares {
  double devices = 0, fullest = 1;
};

DeviceShares device_shares(const Settings& s) {
  auto shares = s.text("device_shares");
  std::replace(shares.begin(), shares.end(), '/', ',');
  double with_layers = 0, largest = 0, sum = 0;
  for (std::string_view rest = shares; !rest.empty();) {
    const auto share = rest.substr(0, std::min(rest.find(','), rest.size()));
    rest.remove_prefix(std::min(share.size() + 1, rest.size()));
    const double part = number_of(share).value_or(0);
    if (part > 0) ++with_layers, largest = std::max(largest, part), sum += part;
  }
  return with_layers < 1 ? DeviceShares{} : DeviceShares{with_layers, largest * with_layers / sum};
}

/// Says what unequal shares change. Devices that work one after the other take as long for a step as with
/// equal shares, and the plan is called by the shares, which it cannot state.
void say_shares(Settings& s, Launch& launch, const Ranks& r) {
  if (r.pp == 1)
    return s.end("device_shares", FlagUse::contradicts,
                 fmt::format("the {:g} devices are taken to hold as much each: by these shares one holds "
                             "{:.3g} times the weights and cache of that",
                             r.devices, r.fullest));
  s.end("device_shares", FlagUse::used,
        fmt::format("one of the {:g} devices holds {:.3g} times the layers of an equal share, and "
                    "kv_cache_memory leaves room for them; a step takes as long as with equal shares",
                    r.pp, r.fullest));
  launch.fields.emplace("name", fmt::format("{}-launch with {} {}", name_of(launch.format),
                                            s.flag_name("device_shares"), s.text("device_shares")));
}

/// llama.cpp lays layers on all devices that it sees, one after the other, or with `--split-mode row` a part
/// of each layer on each device. What the caller says of degrees stays.
void spread_layers(Settings& s, Launch& launch, const Zoo& zoo, Ranks& r) {
  const auto mode = s.text("split");
  const auto* model = s.model;
  double seen = seen_devices(s, launch, zoo).value_or(1);
  if (const auto shares = device_shares(s); shares.devices >= 1) {
    seen = shares.devices;
    r.fullest = shares.fullest;
  }
  if (mode == "none") seen = 1;
  const auto degree = [&](const char* field) {
    const auto given = launch.fields.find(field);
    return given == launch.fields.end() ? std::nullopt : number_of(given->second);
  };
  const auto tp = degree("tp_size"), pp = degree("pp_size");
  const double most = model == nullptr ? seen : model->layers().value_or(seen);
  r.tp = tp.value_or(mode == "row" ? std::max(1.0, std::floor(seen / pp.value_or(1))) : 1);
  r.pp = pp.value_or(mode == "row" ? 1 : std::clamp(std::floor(seen / r.tp), 1.0, most));
  r.devices = r.tp * r.pp;
  if (r.fullest > 1) say_shares(s, launch, r);
  if (r.pp > 1 && !pp)
    launch.notes.push_back(
        fmt::format("layers are spread over {} devices, which work one after the other", r.pp));
}

/// Tokens of a chunk of a prompt, where prompts are divided.
std::optional<double> chunk_of(Settings& s, const Launch& launch, const Ranks& r) {
  if (launch.format == LaunchFormat::sglang) {
    const auto chunk = s.number("chunk");
    if (!chunk) return std::nullopt;
    if (*chunk <= 0) {
      s.end("chunk", FlagUse::used, "prompts are not divided");
      return std::nullopt;
    }
    // Groups of attention share the chunk.
    return std::max(1.0, std::floor(*chunk / (s.on("attention_parallel") ? r.ep : 1)));
  }
  const bool chunked = s.flag("chunked").value_or(launch.format == LaunchFormat::vllm);
  if (!chunked && launch.format == LaunchFormat::vllm)
    if (const auto most = s.number("pass_tokens"), context = s.number("context");
        most && context && *most < *context)
      s.clash("pass_tokens", "a prompt that is not divided does not fit into a pass",
              fmt::format("{} tokens of a pass, {} of a request", *most, *context),
              "passes as long as a request");
  return chunked ? s.number("pass_tokens") : std::nullopt;
}

/// Prompts that the engine was told not to divide: its budget holds whole ones.
void put_undivided(Settings& s, Launch& launch) {
  const bool sglang = launch.format == LaunchFormat::sglang;
  const bool off = sglang ? s.number_or("chunk", 1) <= 0 : !s.flag("chunked").value_or(true);
  if (!off) return;
  launch.fields["chunked_prefill"] = "false";
  if (const auto tokens = sglang ? std::nullopt : s.number("pass_tokens"))
    launch.fields["prefill_chunk_tokens"] = count_text(*tokens);
}

/// vLLM, SGLang and TensorRT-LLM give every rank as many heads.
void check_heads(const Settings& s, const Launch& launch, const Ranks& r) {
  if (launch.format == LaunchFormat::llama_cpp || !(s.model->heads().value_or(0) > 0)) return;
  if (const double heads = *s.model->heads(); std::fmod(heads, r.tp) != 0)
    s.clash("tp", "the heads are not spread over the ranks evenly",
            fmt::format("{} heads, {} ranks", heads, r.tp), "a divisor of the heads");
}

/// vLLM and SGLang do not start for requests longer than the positions of the checkpoint, unless the launch
/// stretches them or says that it means it.
void check_positions(const Settings& s, Launch& launch) {
  auto asked = s.number("context");
  if (launch.format == LaunchFormat::llama_cpp)
    if (const auto all = s.number("all_context"))
      asked = std::floor(*all / std::max(1.0, s.number_or("requests", 1)));
  const bool vllm = launch.format == LaunchFormat::vllm;
  const double most = s.positions.value_or(HUGE_VAL);
  const auto planned = launch.fields.find("seq_len");  // what the caller says of requests
  const bool stated = asked.has_value();
  if (!stated && holds_prompt(s.model) && planned != launch.fields.end()) asked = number_of(planned->second);
  if (!asked || *asked <= most) return;
  if (!stated || (!vllm && launch.format != LaunchFormat::sglang)) {
    launch.notes.push_back(fmt::format("a request of {:g} tokens is longer than the {:g} positions of {}",
                                       *asked, most, s.model->name));
    return;
  }
  const auto stretches = [](const FlagFinding& f) {
    return f.flag == "rope-scaling" || f.flag == "hf-overrides" || f.flag == "json-model-override-args";
  };
  if (s.on("long_context") || std::any_of(launch.findings.begin(), launch.findings.end(), stretches)) return;
  s.clash("context", "the engine does not start for requests longer than the positions of the model",
          fmt::format("{:g} tokens of a request, {:g} positions of {}", *asked, most, s.model->name),
          fmt::format("at most {:g}, scaled positions (rope scaling), {}=1, or the config.json of a "
                      "checkpoint that has more as --model",
                      most,
                      vllm ? "VLLM_ALLOW_LONG_MAX_MODEL_LEN" : "SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN"));
}

/// A server starts a rank on each device that it sees, and ends where it sees fewer.
void check_visible(const Settings& s, const Launch& launch, const Ranks& r) {
  const auto list = s.text("visible");
  if (list.empty() || launch.format == LaunchFormat::llama_cpp) return;
  const double seen = 1 + static_cast<double>(std::count(list.begin(), list.end(), ','));
  if (r.devices <= seen * s.number_or("nodes", 1)) return;
  s.clash("visible", "the engine sees fewer devices than it starts ranks",
          fmt::format("{:g} devices ({}), {:g} ranks", seen, list, r.devices),
          "as many devices as ranks, or fewer ranks");
}

/// Says which weights the engine does not run on the device: rows `refused` of its table.
void note_refused(const Settings& s, Launch& launch, const Zoo& zoo) {
  const auto* device = zoo.find<HardwareNode>(launch.fields.at("hardware"));
  const auto* model = s.model;
  if (device == nullptr) return;
  std::set<std::string> formats;
  if (const auto own = launch.fields.find("weight_format"); own != launch.fields.end())
    formats.insert(own->second);
  else if (model != nullptr)
    for (const auto& stored : model->formats) formats.emplace(name_of(stored.precision));
  for (const auto& row : flag_table(launch.format).refused())
    if (formats.contains(row.text) && concerns(row, device))
      launch.findings.push_back({.flag = s.flag_name(s.has("weight_format") ? "weight_format" : "model"),
                                 .value = row.text,
                                 .use = FlagUse::contradicts,
                                 .what = fmt::format("{} does not run such weights on {}: {}",
                                                     name_of(launch.format), device->name, row.source)});
}

/// A model of words that answers with vectors or scores: a request is the pass over its prompt.
void put_pooling(const Settings& s, Launch& launch) {
  if (!s.on("pooling") || launch.mode != Mode::serve) return;
  launch.fields.emplace("output_tokens", "1");
  launch.notes.push_back(
      "a request is answered with the pass over its prompt, as one of one token: no steps follow");
}

/// Towers lie in memory where the engine loads them; llama.cpp does so from a file of their own, which it
/// finds by itself in a repository.
void put_towers(const Settings& s, Launch& launch) {
  const auto asked = s.text("towers");
  const auto tower = [](const Stack& stack) { return stack.role == StackRole::tower; };
  if (launch.mode != Mode::serve || std::none_of(s.model->stacks.begin(), s.model->stacks.end(), tower))
    return;
  const bool finds = launch.format != LaunchFormat::llama_cpp || s.flag_name("model") == "hf-repo";
  if (asked.empty() ? finds : asked != "false") return;
  launch.fields["towers"] = "false";
  launch.notes.push_back(
      fmt::format("the towers of {} are not loaded: it reads no images and no sound", s.model->name));
}

/// The load that a benchmark states beside the flags of its engine.
void put_load(const Settings& s, Launch& launch) {
  for (const auto& [quantity, field] :
       {std::pair("prompt", "seq_len"), {"answer", "output_tokens"}, {"batch", "batch_size"}})
    if (const auto number = s.number(quantity)) launch.fields.emplace(field, count_text(*number));
  if (s.has("batch")) launch.fields.emplace("load", name_of(Load::burst));
}

void put_draft(Settings& s, Launch& launch) {
  if (const auto method = s.text("draft_method"); !method.empty() && !launch.fields.contains("draft_model"))
    s.end("draft_method", FlagUse::contradicts,
          "speculation is priced with a draft model, or with a head: eagle, mtp or medusa");
  const auto tokens = s.number("draft_tokens");
  if (!tokens) return;
  if (launch.fields.contains("draft_model"))
    launch.fields["draft_tokens"] = count_text(*tokens);
  else
    s.end("draft_tokens", FlagUse::contradicts,
          "speculation is priced with a draft model of its own: name one with --draft-model");
}

}  // namespace

bool places_itself(const Settings& s) {
  const bool placed = s.has("device_layers") || s.has("device_shares") || s.has("placed_tensors");
  return !placed && s.flag("places_itself").value_or(true);
}

bool serves(LaunchFormat format) { return !engine_entry(format).empty(); }

std::string_view engine_entry(LaunchFormat format) {
  switch (format) {
    case LaunchFormat::vllm:
      return "vllm";
    case LaunchFormat::sglang:
      return "sglang";
    case LaunchFormat::trtllm:
      return "tensorrt_llm";
    case LaunchFormat::llama_cpp:
      return "llama_cpp";
    default:
      return {};
  }
}

std::optional<double> seen_devices(const Settings& s, const Launch& launch, const Zoo& zoo) {
  const auto given = [&](const char* field) {
    const auto at = launch.fields.find(field);
    return at == launch.fields.end() ? std::nullopt : number_of(at->second);
  };
  if (const auto all = given("accelerators")) return all;
  const double nodes = given("node_count").value_or(s.number_or("nodes", 1));
  if (const auto list = s.text("visible"); !list.empty())
    return nodes * (1 + static_cast<double>(std::count(list.begin(), list.end(), ',')));
  if (const auto each = s.number("per_node")) return nodes * *each;
  const auto& name = launch.fields.at("hardware");
  if (const auto* fleet = zoo.find<Fleet>(name)) return fleet->total_accelerators();
  const auto many = counted_machine(zoo, name);
  const auto one = many ? many->name : std::string_view(name);
  const auto* node = zoo.find<Node>(one);
  if (const auto called = nodes_called(zoo, one); node == nullptr && called.size() == 1)
    node = called.front();
  if (node != nullptr) return node->accelerators_per_node * (many ? many->count : nodes);
  const double all = chips_of_slice(one) * (many ? many->count : 1);
  return many || all > 1 ? std::optional(all) : std::nullopt;
}

namespace {

/// The rack of this name; null where it is none.
const HardwareNode* rack_called(const Zoo& zoo, std::string_view name) {
  const auto* device = zoo.find<HardwareNode>(name);
  if (const auto called = devices_called(zoo, name); device == nullptr && called.size() == 1)
    device = called.front();
  return device != nullptr && device->part != nullptr ? device : nullptr;
}

double devices_in(const HardwareNode& rack) {
  return rack.accelerator_count / std::max(1.0, rack.part->accelerator_count);
}

}  // namespace

bool takes_machine(Launch& launch, const Zoo& zoo, double devices) {
  auto& name = launch.fields.at("hardware");
  const auto many = names_a_file(name) ? std::nullopt : counted_machine(zoo, name);
  const bool of_devices = many && nodes_called(zoo, many->name).empty() &&
                          zoo.find<Node>(many->name) == nullptr && zoo.find<Fleet>(many->name) == nullptr &&
                          zoo.find<Pod>(many->name) == nullptr;
  if (of_devices && devices <= many->count) {
    if (devices < many->count)
      launch.notes.push_back(fmt::format("the launch uses {} of the {} devices", devices, many->count));
    name = std::string(many->name);
  }
  if (names_a_file(name)) return true;
  if (const auto* rack = rack_called(zoo, name); rack != nullptr && devices < devices_in(*rack)) {
    launch.notes.push_back(
        fmt::format("the launch uses {} of the {} devices of {}", devices, devices_in(*rack), rack->name));
    name = rack->part->name;
  }
  if (zoo.find<HardwareNode>(name) != nullptr || slice_called(zoo, name)) return true;
  const auto called = [&](const auto& all) {
    if (all.size() != 1) return false;
    launch.notes.push_back(fmt::format("'{}' is taken for {} of the zoo", name, all.front()->name));
    name = all.front()->name;
    return true;
  };
  if (zoo.find<Node>(name) == nullptr && !called(nodes_called(zoo, name)))
    return zoo.find<Fleet>(name) == nullptr && called(devices_called(zoo, name));
  const Node& node = *zoo.find<Node>(name);
  if (devices < node.accelerators_per_node && node.accelerator != nullptr) {
    launch.notes.push_back(fmt::format("the launch uses {} of the {} devices of {}", devices,
                                       node.accelerators_per_node, node.name));
    name = node.accelerator->name;
  }
  return true;
}

void put_format(Settings& s, Launch& launch, std::string_view quantity, const char* field) {
  if (!s.has(quantity)) return;
  const auto word = s.text(quantity);
  if (choice_of<Precision>(word))
    launch.fields[field] = word;
  else
    s.end(quantity, FlagUse::contradicts,
          fmt::format("'{}' is no format of the library: say --precision", word));
}

namespace {

/// The positions of the model, where llama.cpp takes them for the length of its cache: nothing says how long
/// it is, or `-c 0` does. Of several devices the plan decides what fits.
std::optional<double> own_context(const Settings& s, const Launch& launch, const Ranks& r) {
  const bool own = launch.format == LaunchFormat::llama_cpp && s.number_or("all_context", 0) < 1 && r.pp == 1;
  return own ? s.positions : std::nullopt;
}

/// How the engine was told to divide the memory of a device.
EngineShares shares_of(Settings& s, LaunchFormat format, std::map<std::string, std::string>& fields) {
  EngineShares out;
  out.fraction = s.number("memory_fraction");
  out.pass_tokens = format == LaunchFormat::sglang && s.number_or("chunk", -1) > 0 ? s.number("chunk")
                                                                                   : s.number("pass_tokens");
  out.block_tokens = s.number("page");
  // The margin is that of an engine that places the layers by itself.
  if (format == LaunchFormat::llama_cpp) {
    if (const auto margin = s.number("free_margin")) out.margin = *margin * unit::MiB;
    if (!places_itself(s)) {
      out.margin = Data<>();
      s.end("free_margin", FlagUse::ignored, "the launch says where the layers lie");
    }
  }
  if (const auto bytes = s.number("cache_bytes")) {
    fields["kv_cache_memory"] = count_text(*bytes) + " B";
    out.fraction.reset();
    s.end("memory_fraction", FlagUse::ignored,
          "the bytes of the cache are given, and the share has no say then");
  }
  return out;
}

/// Whether the launch leaves a quantity to its engine in so many words: --max-model-len auto.
bool leaves_open(const Launch& launch, std::string_view quantity) {
  const auto& rows = flag_table(launch.format).rows();
  return std::ranges::any_of(launch.findings, [&](const FlagFinding& f) {
    return f.use == FlagUse::ignored && std::ranges::any_of(rows, [&](const FlagRow& row) {
             return row.sets == quantity && row.flag == f.flag;
           });
  });
}

/// Tokens of the answers of a plan, as the scenario of its fields has them.
double answer_of(const std::map<std::string, std::string>& fields) {
  if (const auto given = fields.find("output_tokens"); given != fields.end())
    return number_of(given->second).value_or(0);
  const auto load = fields.find("load");
  return load != fields.end() && load->second == name_of(Load::burst) ? 0 : UsualRequest::answer;
}

}  // namespace

namespace {

/// Degrees, devices and machines.
void put_devices(Settings& s, Launch& launch, const Zoo& zoo, const Ranks& r) {
  auto& fields = launch.fields;
  fields["tp_size"] = count_text(r.tp);
  if (r.pp > 1) fields["pp_size"] = count_text(r.pp);
  if (r.ep > 1) fields["ep_size"] = count_text(r.ep);
  if (takes_machine(launch, zoo, r.devices)) {
    fields["accelerators"] = count_text(r.devices);
    // Slurm's machines, where one does not hold the ranks.
    const double per_node = s.number_or("per_node", 0);
    const bool spread = per_node > 0 && r.devices > per_node;
    const double nodes = s.number_or("nodes", spread ? std::ceil(r.devices / per_node) : 1);
    if (nodes > 1) {
      if (std::fmod(r.devices, nodes) != 0)
        s.clash("nodes", "the ranks are not spread over the machines evenly",
                fmt::format("{} ranks, {} machines", r.devices, nodes), "a divisor of the ranks");
      fields["node_count"] = count_text(nodes);
    }
  } else if (s.number_or("nodes", 1) > 1) {
    s.end("nodes", FlagUse::ignored, "the machine that was named has its own");
  }
}

}  // namespace

void serving_fields(Settings& s, Launch& launch, const Zoo& zoo) {
  auto& fields = launch.fields;
  Ranks r = ranks_of(s, launch.format);
  if (launch.format == LaunchFormat::llama_cpp) spread_layers(s, launch, zoo, r);
  check_heads(s, launch, r);
  check_positions(s, launch);
  check_visible(s, launch, r);
  put_devices(s, launch, zoo, r);
  put_format(s, launch, "format", "precision");
  if (const auto word = s.text("weight_format"); !word.empty()) {
    // AWQ and GPTQ are methods, mostly of 4 bits: the name of a checkpoint states its bits, and stays.
    const bool named = fields.contains("weight_format"), method = word == "int4";
    if (choice_of<WeightFormat>(word) && !(named && method))
      fields["weight_format"] = word;
    else if (!named)
      s.end("weight_format", FlagUse::contradicts,
            fmt::format("'{}' says no bits, and the name of the checkpoint states none: --weight-format does",
                        word));
  }
  // With a weight format, the engine's data type names the format of the activations alone.
  if (fields.contains("weight_format")) fields.erase("precision");
  note_refused(s, launch, zoo);
  put_format(s, launch, "cache_format", "kv_precision");
  if (const auto chunk = chunk_of(s, launch, r)) fields["prefill_chunk_tokens"] = count_text(*chunk);
  put_undivided(s, launch);
  if (s.on("eager")) fields["execution"] = "eager";
  put_draft(s, launch);
  put_pooling(s, launch);
  put_load(s, launch);
  put_towers(s, launch);
  put_host_memory(s, launch, zoo, r.tp * r.ep * r.pp);

  ServingSetup setup{.engine = engine_entry(launch.format),
                     .context = s.number("context"),
                     .positions = s.positions,
                     .requests = s.number("requests")};
  setup.fullest = r.fullest;
  setup.limits_itself = leaves_open(launch, "context");
  setup.shares = shares_of(s, launch.format, fields);
  if (setup.shares.fraction)
    fields["memory_fraction"] = count_text(*setup.shares.fraction);
  else if (setup.shares.margin == Data<>())
    fields["memory_fraction"] = "1";
  const auto own = own_context(s, launch, r);
  if (const auto all = own ? own : s.number("all_context"); all && *all >= 1) {
    setup.tokens = *all;
    setup.context = std::max(1.0, std::floor(*all / std::max(1.0, setup.requests.value_or(1))));
  }
  setup.shortens = own && s.flag("places_itself").value_or(true);
  if (setup.requests && *setup.requests < 1) setup.requests.reset();
  if (setup.requests) {
    if (!s.has("batch")) fields["batch_size"] = count_text(*setup.requests * r.copies);
    setup.requests = std::max(1.0, *setup.requests * r.copies * r.tp * r.pp / r.devices);
  }
  if (setup.context && !own && holds_prompt(s.model) && !fields.contains("seq_len")) {
    const double answer = launch.mode == Mode::serve ? answer_of(fields) : 0;
    fields["seq_len"] = count_text(std::max(1.0, *setup.context - answer));
    launch.notes.push_back(
        fmt::format("every request is taken to be as long as the engine admits{}: --seq-len{} otherwise",
                    answer > 0 ? fmt::format(", with {:g} tokens of answer", answer) : "",
                    answer > 0 ? " and --output-tokens say" : " says"));
  }
  launch.serving = setup;
}

}  // namespace mlsysim::detail
