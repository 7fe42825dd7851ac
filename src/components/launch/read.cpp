// From a text to a launch: which format it has, which flags it holds, which plan they make.

#include "detail/command.hpp"
#include "detail/load_line.hpp"
#include "detail/manifest.hpp"
#include "detail/unread.hpp"

#include <mlsysim/engine/detail/checkpoints.hpp>
#include <mlsysim/engine/evaluator.hpp>
#include <mlsysim/engine/field_input.hpp>
#include <mlsysim/engine/plan_file.hpp>
#include <mlsysim/files/detail/files.hpp>
#include <mlsysim/files/detail/roots.hpp>
#include <mlsysim/specs/device_name.hpp>
#include <mlsysim/specs/releases.hpp>
#include <mlsysim/units/unit.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

namespace mlsysim {
namespace {

using detail::Given;

bool has_line(std::string_view text, std::string_view begin) {
  return text.starts_with(begin) || text.find(fmt::format("\n{}", begin)) != std::string_view::npos;
}

bool ends(std::string_view name, std::initializer_list<std::string_view> all) {
  return std::any_of(all.begin(), all.end(), [&](std::string_view e) { return name.ends_with(e); });
}

/// The format of a YAML file by the keys of its first column.
std::optional<LaunchFormat> yaml_format(std::string_view text) {
  const auto any = [&](std::initializer_list<std::string_view> keys) {
    return std::any_of(keys.begin(), keys.end(), [&](std::string_view k) { return has_line(text, k); });
  };
  if (any({"base_model:", "model_name_or_path:", "per_device_train_batch_size:"}) ||
      text.find("_component_: torchtune.") != std::string_view::npos)
    return LaunchFormat::trainer;
  if (any({"compute_environment:", "distributed_type:", "fsdp_config:"})) return LaunchFormat::accelerate;
  if (any({"trainer:", "exp_manager:", "train:", "ddp:"})) return LaunchFormat::nemo;
  if (any({"kv_cache_config:", "cuda_graph_config:", "enable_attention_dp:", "tensor_parallel_size:",
           "moe_config:", "max_batch_size:"}))
    return LaunchFormat::trtllm;
  if (any({"tp-size:", "mem-fraction-static:", "model-path:"})) return LaunchFormat::sglang;
  if (any({"tensor-parallel-size:", "max-num-seqs:", "gpu-memory-utilization:"})) return LaunchFormat::vllm;
  return std::nullopt;
}

std::optional<LaunchFormat> script_format(std::string_view text, const std::string& name) {
  const auto script = detail::split_shell(text, name);
  std::optional<LaunchFormat> found;
  for (const auto& command : script.commands)
    if (const auto engine = detail::engine_command(command, script)) found = found.value_or(engine->format);
  const auto known = [](const auto& assigned) {
    return detail::flag_table(LaunchFormat::mlperf).find(assigned.first, {}) != nullptr;
  };
  if (!found && ends(name, {".sh"}) &&
      std::any_of(script.assignments.begin(), script.assignments.end(), known))
    return LaunchFormat::mlperf;
  return found;
}

/// The words of a command without those that change no prediction: its place among the machines of a job, its
/// address, its logs. The order of flags is none.
std::vector<std::string> with_effect(const std::vector<detail::ShellWord>& words, LaunchFormat format) {
  std::vector<std::string> out;
  const auto begins = [&](std::size_t i) { return i < words.size() && words[i].text.starts_with('-'); };
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string flag = words[i].text.substr(0, words[i].text.find('='));
    const auto name = std::min(flag.find_first_not_of('-'), flag.size());
    const auto* row = begins(i) ? detail::flag_table(format).find(flag.substr(name), {}) : nullptr;
    const bool rank = flag == "--node-rank" || flag == "--node_rank" || flag == "--machine_rank" ||
                      flag == "--machine-rank";
    const bool idle = rank || (row != nullptr && row->sets.empty() && row->use == FlagUse::ignored);
    std::string all = words[i].text;
    while (begins(i) && i + 1 < words.size() && !begins(i + 1)) all += " " + words[++i].text;
    if (!idle) out.push_back(std::move(all));
  }
  std::sort(out.begin(), out.end());
  return out;
}

/// The one command of a script that starts this engine.
detail::EngineCommand only_command(const detail::ShellScript& script, LaunchFormat format,
                                   const std::string& name) {
  std::optional<detail::EngineCommand> found;
  for (const auto& command : script.commands) {
    auto engine = detail::engine_command(command, script);
    if (!engine || engine->format != format) continue;
    if (found && with_effect(found->words, format) == with_effect(engine->words, format))
      continue;  // the same on the other nodes of a job
    if (found)
      throw InputError({.id = "mlsysim.launch.004",
                        .message = "the script starts several engines",
                        .found = fmt::format("another one in line {}", command.front().line),
                        .expected = "one",
                        .hint = "import them one by one, each as a command line in quotes",
                        .where = {.file = name, .line = command.front().line}});
    found = std::move(engine);
  }
  if (!found)
    throw InputError(detail::kNoLaunch.with({.found = fmt::format("no command of {}", name_of(format)),
                                             .hint = "look at --format",
                                             .where = {name}}));
  return std::move(*found);
}

/// Assignments of a config_*.sh: `: "${NAME:=value}"` is one too. What the shell would compute is not used.
std::vector<Given> assignments_of(const LaunchQuestion& q) {
  const auto script = detail::split_shell(q.text, q.name);
  std::vector<Given> out;
  for (const auto& [key, word] : script.assignments)
    out.push_back({.key = key, .value = word.text, .where = {.file = q.name, .line = word.line}});
  if (out.empty())
    throw InputError(detail::kNoLaunch.with(
        {.found = "no assignment", .hint = "give the config_*.sh of a submission", .where = {q.name}}));
  return out;
}

void put_assignments(const detail::FlagTable& table, const LaunchQuestion& q, detail::Settings& settings) {
  for (const auto& given : assignments_of(q)) {
    const auto* row = table.find(given.key, given.where);
    const bool computed = given.value.find_first_of("$`") != std::string::npos;
    if (computed)
      settings.put_unknown(given, "the shell computes it, and nothing is run here");
    else if (row == nullptr)
      settings.put_unknown(given, "");
    else if (!given.value.empty())
      settings.put(*row, given);
  }
}

/// The model of a GGUF file or of a repository of such files: "models/Qwen3-8B-Q4_K_M-00001-of-00002.gguf",
/// "Qwen/Qwen3-8B-GGUF:Q4_K_M". Of a repository whose name states no format llama.cpp takes Q4_K_M.
detail::ModelName gguf_model(const std::string& place, const Zoo& zoo) {
  std::string name = place;
  if (ends(name, {".gguf"})) {
    name.erase(name.size() - 5);
    if (const auto slash = name.rfind('/'); slash != std::string::npos) name.erase(0, slash + 1);
    if (const auto part = name.rfind("-of-"); part != std::string::npos && part > 6) name.erase(part - 6);
  }
  auto model = detail::model_of(name, zoo, true);
  if (ends(name, {"-GGUF", "-gguf"}) && model.weight_format.empty() && !model.as_published)
    model = detail::model_of(name + ":Q4_K_M", zoo, true);
  if (!model.entry.empty() && model.weight_format.empty() && !model.as_published)
    model.notes.push_back(
        fmt::format("'{}' does not state its format: it is taken as the model is published, and "
                    "--weight-format says otherwise",
                    place));
  return model;
}

/// Files that a script writes, and the folder beside it.
detail::NamedFiles named_files(const LaunchQuestion& q, const detail::ShellScript& script) {
  detail::NamedFiles out{.written = {}, .folder = q.folder};
  for (const auto& [path, text] : script.files)
    out.written[std::filesystem::path(path).lexically_normal().string()] = text;
  return out;
}

/// Reads the files of DeepSpeed and of Accelerate that a launch of the Trainer names. What its words say
/// counts more than what the files do.
void put_named_files(detail::Settings& settings, const detail::NamedFiles& files) {
  for (const auto& [quantity, format] : {std::pair("deepspeed_file", LaunchFormat::deepspeed),
                                         {"accelerate_file", LaunchFormat::accelerate}}) {
    const std::filesystem::path path(settings.text(quantity));
    if (path.empty() || !files.holds(path)) continue;
    const auto& table = detail::flag_table(format);
    auto keys = detail::flatten_yaml(files.text(path), path.string());
    std::erase_if(keys, [&](const Given& key) {
      const auto* row = table.find(key.key, key.where);
      const bool said = row != nullptr && !row->sets.empty() && settings.has(row->sets);
      if (said) settings.put_ignored(*row, key, "the launch itself says it");
      return said;
    });
    put_keys(table, keys, settings);
    settings.end(quantity, FlagUse::used, "the file was read");
    settings.forget(quantity);
  }
}

/// Defaults of TRL's own commands; the arguments of transformers have other
/// defaults.
void put_trl_defaults(const detail::FlagTable& table, const detail::EngineCommand& command,
                      detail::Settings& settings, Launch& launch) {
  if (command.program != "trl" && command.program.find("trl/scripts/") == std::string::npos) return;
  for (const auto& usual : table.defaults()) {
    if (usual.when != "trl" || settings.has(usual.sets)) continue;
    if (usual.sets == "bf16" && settings.on("fp16")) continue;
    const detail::FlagRow row{.flag = usual.sets, .sets = usual.sets};
    settings.put(row, {.key = usual.sets, .value = usual.text, .where = {}});
    launch.notes.push_back(
        fmt::format("{} is {}, as no word says otherwise: {}", usual.sets, usual.text, usual.source));
  }
}

/// A script of a method that runs more than one model in a step: "dpo.py", "run_grpo.py".
void note_method(const detail::EngineCommand& command, Launch& launch) {
  auto script = command.program.substr(command.program.find_last_of('/') + 1);
  script = "_" + script.substr(0, script.find('.')) + "_";
  std::replace(script.begin(), script.end(), '-', '_');
  for (const std::string_view method : {"dpo", "grpo", "ppo", "rloo", "kto", "gkd", "orpo", "reward"})
    if (script.find(fmt::format("_{}_", method)) != std::string::npos)
      launch.findings.push_back({.flag = command.program,
                                 .value = std::string(method),
                                 .use = FlagUse::contradicts,
                                 .what = "a step of plain training is predicted: one model, one batch"});
}

/// The kind of the head that proposes tokens, where a launch has one: its method, or the name of the head, by
/// which vLLM tells it too.
std::optional<std::string> head_of(const detail::Settings& settings) {
  const auto method = settings.text("draft_method");
  const auto kind = detail::head_in(method.empty() ? settings.text("draft_model") : method);
  return kind.empty() || (!method.empty() && kind != method) ? std::nullopt
                                                             : std::optional<std::string>(kind);
}

/// The model of a builder of torchtune: "torchtune.models.llama3_1.qlora_llama3_1_8b" is "llama3_1_8b".
std::string builder_model(std::string_view name) {
  name.remove_prefix(name.rfind('.') + 1);
  for (const std::string_view begin : {"qlora_", "lora_"})
    if (name.starts_with(begin)) name.remove_prefix(begin.size());
  return std::string(name);
}

/// A model and a machine, from the caller or from the launch.
void name_parts(Launch& launch, detail::Settings& settings, const LaunchQuestion& q, const Zoo& zoo) {
  for (const auto& [key, text] : q.fields) launch.fields[key] = text;
  const auto name = [&](std::string_view field, std::string_view quantity) {
    if (!settings.has(quantity)) return;
    // A file of a repository says more than the repository.
    auto asked = settings.text(quantity == "model" && settings.has("model_file") ? "model_file" : quantity);
    if (asked.starts_with("torchtune.models.")) asked = builder_model(asked);
    if (q.fields.contains(std::string(field))) return;
    auto model =
        launch.format == LaunchFormat::llama_cpp ? gguf_model(asked, zoo) : detail::model_of(asked, zoo);
    if (model.entry.empty() && quantity == "model" && settings.has("model_family"))  // "llama3", and "8B"
      model = detail::model_of(settings.text("model_family") + "_" + asked, zoo);
    if (model.entry.empty() && quantity == "draft_model" && head_of(settings)) return;  // below
    if (model.entry.empty())
      throw LookupError({.id = "mlsysim.launch.012",
                         .message = fmt::format("the zoo has no model '{}'", asked.substr(0, 80)),
                         .key = settings.flag_name(quantity),
                         .found = fmt::format("'{}'", asked.substr(0, 80)),
                         .expected = "a model of the zoo under its usual name",
                         .hint = fmt::format("{}name one with --{}: an entry of the zoo, or its config.json",
                                             detail::known_beginning(asked, zoo),
                                             quantity == "model" ? "model" : "draft-model"),
                         .where = settings.where(quantity),
                         .reason = BreakReason::unknown_model});
    for (auto& note : model.notes) launch.notes.push_back(std::move(note));
    launch.fields[std::string(field)] = model.entry;
    if (quantity == "model") settings.positions = detail::positions_of(model.checkpoint);
    if (model.weight_format.empty()) return;
    if (quantity != "model" || launch.mode != Mode::serve) {
      launch.notes.push_back(fmt::format("the format that '{}' states has no effect here", asked));
      return;
    }
    launch.fields.emplace("weight_format", model.weight_format);  // what the caller says stays
    if (!model.cache_format.empty()) launch.fields.emplace("kv_precision", model.cache_format);
  };
  name("workload", "model");
  if (!launch.fields.contains("workload"))
    if (auto model = detail::model_of_shape(settings, zoo, launch.notes); !model.empty())
      launch.fields["workload"] = std::move(model);
  name("draft_model", "draft_model");
  if (const auto head = head_of(settings); head && !launch.fields.contains("draft_model"))
    launch.fields["draft_model"] = *head;
  for (const auto& [field, word, option] :
       {std::tuple("workload", "model", "--model Llama3_70B"), {"hardware", "machine", "--hardware H100"}})
    if (!launch.fields.contains(field))
      throw InputError({.id = "mlsysim.launch.013",
                        .message = fmt::format("the launch does not say its {}", word),
                        .key = field,
                        .found = "no flag with it",
                        .expected = fmt::format("a {} of the zoo, or a file with one", word),
                        .hint = fmt::format("add {}", option),
                        .where = {.file = q.name}});
}

}  // namespace

std::optional<LaunchFormat> launch_format(std::string_view text, std::string_view name) {
  if (text.size() > detail::kLongestLaunch || text.find('\0') != std::string_view::npos) return std::nullopt;
  if (ends(name, {".toml"})) return LaunchFormat::torchtitan;
  if (ends(name, {".json"})) {
    for (const std::string_view key :
         {"\"zero_optimization\"", "\"train_batch_size\"", "\"train_micro_batch_size_per_gpu\""})
      if (text.find(key) != std::string_view::npos) return LaunchFormat::deepspeed;
    return std::nullopt;
  }
  if (const auto manifest = detail::read_manifest(text, std::string(name))) {
    const auto found = script_format(manifest->script, std::string(name));
    if (!found) detail::refuse_manifest(*manifest, name);
    return found;
  }
  return ends(name, {".yaml", ".yml"}) ? yaml_format(text) : script_format(text, std::string(name));
}

namespace {

/// Takes the machine that a launch names itself, unless the caller names one.
void take_named_machine(const std::string& called, const Zoo& zoo, LaunchQuestion& q, Launch& out) {
  if (called.empty() || q.fields.contains("hardware")) return;
  const auto take = [&](const std::string& name, const std::optional<Data<>>& memory) {
    q.fields["hardware"] = name;
    out.notes.push_back(fmt::format("the machine is the one that it names, '{}': {} of the zoo{}", called,
                                    name, memory ? fmt::format(", with {:.3g} GB", *memory / unit::GB) : ""));
  };
  if (const auto slice = slice_called(zoo, called))
    return take(slice->device.name, slice->device.memory.capacity);
  if (const auto devices = devices_called(zoo, called); devices.size() == 1)
    return take(devices.front()->name, devices.front()->memory.capacity);
  if (const auto nodes = nodes_called(zoo, called); nodes.size() == 1)
    take(nodes.front()->name, std::nullopt);
}

/// Puts the commands of a manifest in place of its text, and names the machine that it asks for.
void take_manifest(detail::Manifest manifest, const Zoo& zoo, LaunchQuestion& q, Launch& out) {
  q.text = std::move(manifest.script);
  out.notes.push_back(fmt::format("the launch was read from {}", manifest.kind));
  out.notes.insert(out.notes.end(), manifest.notes.begin(), manifest.notes.end());
  const bool named = q.fields.contains("hardware");
  take_named_machine(manifest.machine, zoo, q, out);
  if (manifest.slice.empty() || (!named && !manifest.machine.empty())) return;
  const auto* device = named ? zoo.find<HardwareNode>(q.fields["hardware"]) : nullptr;
  if (device != nullptr && !device->partition_profiles.empty()) {
    const auto slice = slice_called(zoo, fmt::format("{} {}", device->name, manifest.slice));
    q.fields["hardware"] = slice->device.name;
    out.notes.push_back(fmt::format("the launch asks for a slice of {}: {}, with {:.3g} GB", device->name,
                                    slice->device.name, *slice->device.memory.capacity / unit::GB));
  } else if (!named || q.fields["hardware"].find(manifest.slice) == std::string::npos) {
    out.notes.push_back(fmt::format(
        "a slice of a device is asked for, '{0}': --hardware 'A100 {0}' names one", manifest.slice));
  }
}

/// Says which release stands in for one that nobody has described.
void note_release(Launch& launch, const Zoo& zoo) {
  const auto& engine = launch.fields.at("engine");
  if (names_a_file(engine) || release_name(engine).version.empty()) return;
  if (auto words = release_or_nearest(zoo, engine).stands_in; !words.empty())
    launch.notes.push_back(std::move(words));
}

/// An engine on the machines for which the zoo has its port, a runtime that extends it: llama.cpp on a Mac is
/// llama_cpp_metal.
void take_port(Launch& launch, std::string_view engine, const Zoo& zoo) {
  auto& named = launch.fields.at("engine");
  const auto machine = launch.fields.find("hardware");
  const auto* device = machine == launch.fields.end() ? nullptr : zoo.find<HardwareNode>(machine->second);
  if (device == nullptr || named != engine) return;
  for (const auto* c = device->device_class; c != nullptr; c = c->like) {
    const auto* port = zoo.find<ServingEngine>(c->runtimes.serve);
    for (const auto* r = port; r != nullptr; r = r->extends)
      if (r->name == engine && r != port) {
        named = port->name;
        launch.notes.push_back(fmt::format("{} on {} is {}", engine, device->name, named));
        return;
      }
  }
}

/// Whether a text speaks of machines beside the one that it starts an engine on.
bool spans_machines(std::string_view text) {
  for (const std::string_view word :
       {"ray start", "ray_cluster", "RAY_", "backend ray", "backend=ray", "srun ", "mpirun ", "LWS_",
        "LeaderWorkerSet", "--headless", "multi-node", "SKYPILOT_NODE"})
    if (text.find(word) != std::string_view::npos) return true;
  return false;
}

/// The model that a launch names, of the zoo or of a file.
const Workload* launched_model(const Launch& launch, FieldReader& reader) {
  const auto value = reader.read(*find_field(describe<Scenario>(), "workload"), launch.fields.at("workload"));
  return static_cast<const Workload*>(std::get<ObjectRef>(value.value).object);
}

/// Takes the model of the launch, and its positions where its checkpoint has no others.
void take_model(const Workload& model, detail::Settings& settings) {
  settings.model = &model;
  if (!settings.positions) settings.positions = model.max_positions;
}

/// A server of a model that answers in one pass generates nothing, whatever its flags say of steps.
void settle_mode(const Workload& model, Launch& launch) {
  launch.mode = usual_mode(model);
  if (launch.mode == Mode::serve) return;
  launch.fields["mode"] = name_of(launch.mode);
  switch (model.architecture) {
    case Architecture::encoder_decoder:
      launch.notes.push_back(
          fmt::format("'{}' is an encoder and a decoder: a whole pass is predicted, and no "
                      "steps of generation",
                      model.name));
      return;
    case Architecture::ssm:
      launch.notes.push_back(
          fmt::format("no rule is known for the state spaces of '{}': a step of one token "
                      "is predicted, and no prompts",
                      model.name));
      return;
    default:
      launch.notes.push_back(fmt::format("'{}' answers in one pass and generates no tokens", model.name));
  }
}

/// Drops the fields that a pass without steps has no use for.
void drop_idle(Launch& launch) {
  if (launch.mode != Mode::infer) return;
  const auto used = fields_used_in(launch.mode);
  std::vector<std::string> idle;
  for (const auto& [field, text] : launch.fields)
    if (std::find(used.begin(), used.end(), field) == used.end()) idle.push_back(field);
  for (const auto& field : idle) launch.fields.erase(field);
  if (!idle.empty()) launch.notes.push_back(fmt::format("no effect on one pass: {}", fmt::join(idle, ", ")));
}

/// Takes the load that a comment of the launch states where the caller states none.
void take_load(LaunchQuestion& q, Launch& launch) {
  for (auto& [field, text] : detail::stated_load(q.text))
    if (q.fields.emplace(field, text).second)
      launch.notes.push_back(fmt::format("{} {} is that of the comment in the launch", field, text));
}

/// Follows what llama.cpp does until a model fits, and leaves room for the layers of the fullest device.
void settle_memory(const LaunchQuestion& q, const detail::Settings& settings, Launch& out, const Zoo& zoo) {
  if (out.serving->shortens) detail::shorten_context(out, zoo);
  // Ports of llama.cpp run where host and device mostly share one memory.
  if (out.mode == Mode::serve && out.fields.at("engine") == name_of(LaunchFormat::llama_cpp) &&
      detail::places_itself(settings))
    detail::place_layers(out, zoo);
  if (!q.fields.contains("memory_fraction") && !q.fields.contains("kv_cache_memory"))
    detail::leave_room(out, zoo);
}

}  // namespace

Launch read_launch(const LaunchQuestion& asked, const Zoo& zoo) {
  LaunchQuestion q = asked;
  if (q.text.size() > detail::kLongestLaunch || q.text.find('\0') != std::string::npos)
    throw InputError({.id = "mlsysim.launch.001",
                      .message = "the launch is no text, or too long",
                      .found = fmt::format("{} B", q.text.size()),
                      .expected = fmt::format("at most {} B without zeros", detail::kLongestLaunch),
                      .hint = "give the command or the configuration file",
                      .where = {.file = q.name}});
  const auto format = q.format ? q.format : launch_format(q.text, q.name);
  if (!format)
    throw InputError(detail::kNoLaunch.with(
        {.found = detail::unread_program(q), .hint = detail::what_instead(q), .where = {q.name}}));
  const auto& table = detail::flag_table(*format);
  Launch out{.format = *format, .version = table.version, .source = table.source};
  detail::Settings settings(table, out.findings);
  if (detail::serves(*format)) take_load(q, out);
  bool yaml = ends(q.name, {".yaml", ".yml", ".json"});
  if (auto manifest = detail::read_manifest(q.text, q.name)) {
    if (!script_format(manifest->script, q.name)) detail::refuse_manifest(*manifest, q.name);
    take_manifest(std::move(*manifest), zoo, q, out);
    yaml = false;
  }
  detail::NamedFiles files{.written = {}, .folder = q.folder};
  const bool serves = detail::serves(*format);
  if (*format == LaunchFormat::mlperf)
    put_assignments(table, q, settings);
  else if (ends(q.name, {".toml"}))
    put_keys(table, detail::flatten_toml(q.text, q.name), settings);
  else if (yaml || *format == LaunchFormat::deepspeed || *format == LaunchFormat::accelerate ||
           *format == LaunchFormat::nemo)
    put_keys(table, detail::flatten_yaml(q.text, q.name), settings);
  else {
    const auto script = detail::split_shell(q.text, q.name);
    const auto command = only_command(script, *format, q.name);
    take_named_machine(script.machine, zoo, q, out);
    files = named_files(q, script);
    put_words(table, command, q.name, files, settings);
    if (!serves) detail::put_environment(table, script, q.name, settings);
    if (*format == LaunchFormat::llama_cpp)
      detail::put_llama_environment(table, script, command, q.name, settings);
    if (serves) detail::put_long_context(script, command, q.name, settings);
    // Ranks of a server may lie on machines of which the text shows one.
    if (!serves || *format == LaunchFormat::llama_cpp || !spans_machines(q.text))
      detail::put_visible(script, command, q.name, settings);
    detail::put_ranks(script, command, q.name, settings);
    if (*format == LaunchFormat::megatron) detail::put_script(command, q.name, settings);
    if (*format == LaunchFormat::trainer) {
      note_method(command, out);
      put_trl_defaults(table, command, settings, out);
    }
    if (const auto release = detail::stated_release(command); !release.empty())
      out.fields["engine"] = fmt::format("{}@{}", detail::engine_entry(*format), release);
  }
  if (*format == LaunchFormat::trainer) put_named_files(settings, files);
  if (serves) out.fields.emplace("engine", detail::engine_entry(*format));
  out.mode = serves ? Mode::serve : Mode::train;
  out.fields["mode"] = name_of(out.mode);
  name_parts(out, settings, q, zoo);
  FieldReader reader(zoo);
  take_model(q.model != nullptr ? *q.model : *launched_model(out, reader), settings);
  if (serves && !q.fields.contains("mode")) settle_mode(*settings.model, out);
  if (serves)
    detail::serving_fields(settings, out, zoo);
  else
    detail::training_fields(settings, out, zoo);
  if (serves) take_port(out, detail::engine_entry(*format), zoo);
  if (serves) note_release(out, zoo);
  if (serves) drop_idle(out);
  for (const auto& [key, text] : q.fields)  // the caller has the last word
    if (key != "hardware") out.fields[key] = text;
  if (out.serving) settle_memory(q, settings, out, zoo);
  settings.finish();
  return out;
}

BuiltScenario Launch::build(const Zoo& zoo) const {
  ScenarioBuilder builder(zoo);
  for (const auto& [field, text] : fields) builder.set(field, text);
  return builder.build();
}

namespace {

/// A text as a plain scalar of YAML where it can be one, else in quotes.
std::string scalar(std::string_view text) {
  const bool plain =
      !text.empty() &&
      std::all_of(text.begin(), text.end(),
                  [](unsigned char c) {
                    return std::isalnum(c) != 0 || c == '_' || c == '.' || c == '-' || c == '/' || c == ' ';
                  }) &&
      std::isalnum(static_cast<unsigned char>(text.front())) != 0 && text.back() != ' ';
  if (plain) return std::string(text);
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) < 32)
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    else
      out += c;
  }
  return out + '"';
}

/// One line without control characters, for a comment.
std::string one_line(std::string_view text) {
  std::string out(text.substr(0, 200));
  std::replace_if(
      out.begin(), out.end(), [](unsigned char c) { return c < 32 || c == 127; }, ' ');
  return out;
}

}  // namespace

std::string launch_plan(const Launch& launch) {
  std::string out =
      fmt::format("# From a launch of {}; flags as of {}.\n", name_of(launch.format), launch.version);
  for (const auto& f : launch.findings)
    if (f.use == FlagUse::contradicts)
      out += fmt::format("# {} {} contradicts: {}\n", one_line(f.flag), one_line(f.value), one_line(f.what));
  const auto name = launch.fields.find("name");
  out += fmt::format("version: \"1\"\nname: {}\n", name == launch.fields.end()
                                                       ? fmt::format("{}-launch", name_of(launch.format))
                                                       : scalar(name->second));
  std::string section;
  for (const auto& key : plan_keys()) {
    const auto field = launch.fields.find(std::string(key.field));
    if (key.field.empty() || key.field == "name" || field == launch.fields.end()) continue;
    if (key.section != section && !key.section.empty()) out += fmt::format("{}:\n", key.section);
    section = key.section;
    out += fmt::format("{}{}: {}\n", section.empty() ? "" : "  ", key.key, scalar(field->second));
  }
  return out;
}

}  // namespace mlsysim
