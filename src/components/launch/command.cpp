// The command of a script that starts an engine, and what its launchers say.

#include "detail/command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace mlsysim::detail {
namespace {

std::string_view base(std::string_view path) {
  const auto slash = path.find_last_of('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

bool one_of(std::string_view word, std::initializer_list<std::string_view> all) {
  return std::find(all.begin(), all.end(), word) != all.end();
}

using Words = std::vector<ShellWord>;

std::string_view word_at(const Words& words, std::size_t i) {
  return i < words.size() ? std::string_view(words[i].text) : "";
}

bool is_python(std::string_view word) {
  return base(word).starts_with("python") &&
         base(word).find_first_not_of("0123456789.", 6) == std::string_view::npos;
}

/// Programs that start a script of Python on every device.
bool is_rank_launcher(std::string_view word) {
  return one_of(base(word), {"torchrun", "deepspeed", "torch.distributed.run", "torch.distributed.launch"});
}

/// Words of a shell, and programs without flags, behind which the program follows at once.
bool precedes(std::string_view word) {
  return one_of(word, {"exec", "eval", "nohup", "time", "setsid", "if", "then", "else", "elif", "do", "while",
                       "until", "!", "{"});
}

/// Programs that start the same script on many ranks, and variables that this text does not set.
bool starts_ranks(std::string_view word) {
  return word.starts_with('$') || one_of(base(word), {"srun", "mpirun", "mpiexec", "orterun", "prun"});
}

/// Programs behind whose own flags another program stands.
bool passes_on(std::string_view word) {
  return starts_ranks(word) ||
         one_of(
             base(word),
             {"env",    "export", "sudo",    "timeout", "nice",    "ionice",      "numactl",   "taskset",
              "stdbuf", "docker", "podman",  "nerdctl", "enroot",  "singularity", "apptainer", "uv",
              "uvx",    "pipx",   "pdm",     "poetry",  "pixi",    "conda",       "mamba",     "micromamba",
              "nsys",   "ncu",    "rocprof", "ray",     "kubectl", "ssh",         "tini",      "dumb-init",
              "bash",   "sh",     "zsh",     "sbatch",  "tmux",    "screen"});
}

/// An engine by the name of its module or script.
std::optional<LaunchFormat> engine_of_script(std::string_view script) {
  if (one_of(script, {"vllm.entrypoints.openai.api_server", "vllm.entrypoints.api_server", "dynamo.vllm"}) ||
      one_of(base(script), {"benchmark_latency.py", "benchmark_throughput.py"}) ||
      script.ends_with("vllm/entrypoints/openai/api_server.py"))
    return LaunchFormat::vllm;
  if (one_of(script, {"sglang.launch_server", "sglang.bench_one_batch", "dynamo.sglang"}) ||
      script.ends_with("sglang/launch_server.py"))
    return LaunchFormat::sglang;
  if (script == "dynamo.trtllm") return LaunchFormat::trtllm;
  if (script == "llama_cpp.server") return LaunchFormat::llama_cpp;
  if (script == "torchtitan.train" || script.ends_with("torchtitan/train.py"))
    return LaunchFormat::torchtitan;
  if (base(script).starts_with("pretrain_") && script.ends_with(".py")) return LaunchFormat::megatron;
  return std::nullopt;
}

struct Start {
  LaunchFormat format;
  std::size_t at, skip;
};

/// The place of the benchmark of trtllm-bench that runs an engine, behind options of all of them.
std::size_t bench_of_trtllm(const Words& words, std::size_t i) {
  const auto run =
      std::find_if(words.begin() + static_cast<std::ptrdiff_t>(i), words.end(), [](const ShellWord& w) {
        return one_of(w.text, {"throughput", "latency"});
      });
  return static_cast<std::size_t>(run - words.begin());
}

/// An engine that is the program at a place.
std::optional<Start> engine_at(const Words& words, std::size_t i) {
  const auto program = base(word_at(words, i));
  if (program == "vllm" && word_at(words, i + 1) == "serve") return Start{LaunchFormat::vllm, i, 2};
  if (program == "sglang" && word_at(words, i + 1) == "serve") return Start{LaunchFormat::sglang, i, 2};
  // "uvx vllm@0.12.0 serve": the release is one of the words before.
  if ((program.starts_with("vllm@") || program.starts_with("vllm==")) && word_at(words, i + 1) == "serve")
    return Start{LaunchFormat::vllm, i + 1, 1};
  // Benchmarks that run the engine themselves, with a load that their words state.
  if (program == "vllm" && word_at(words, i + 1) == "bench" &&
      one_of(word_at(words, i + 2), {"latency", "throughput"}))
    return Start{LaunchFormat::vllm, i, 3};
  if (one_of(program, {"llama-server", "llama-cli", "llama-run", "llama-bench"}))
    return Start{LaunchFormat::llama_cpp, i, 1};
  // The names that these had until 2024, where a model of theirs follows.
  if (one_of(program, {"main", "server"}) &&
      std::any_of(words.begin() + static_cast<std::ptrdiff_t>(i), words.end(),
                  [](const ShellWord& w) { return w.text.ends_with(".gguf"); }))
    return Start{LaunchFormat::llama_cpp, i, 1};
  if (program == "trtllm-serve")
    return Start{LaunchFormat::trtllm, i, word_at(words, i + 1) == "serve" ? 2U : 1U};
  if (program == "trtllm-bench" && bench_of_trtllm(words, i) < words.size())
    return Start{LaunchFormat::trtllm, i, 1};
  if (program == "trl" && word_at(words, i + 1) == "vllm-serve") return Start{LaunchFormat::vllm, i, 2};
  // DPO, GRPO and their like run several models in a step.
  if (program == "trl" && word_at(words, i + 1) == "sft") return Start{LaunchFormat::trainer, i, 2};
  if (one_of(program, {"axolotl", "llamafactory-cli"}) && word_at(words, i + 1) == "train")
    return Start{LaunchFormat::trainer, i, 2};
  if (program == "tune" && word_at(words, i + 1) == "run") return Start{LaunchFormat::trainer, i, 2};
  return std::nullopt;
}

/// Whether the words behind a script are arguments of the Trainer of transformers.
bool trains(const Words& words, std::size_t i) {
  for (; i < words.size(); ++i)
    for (const std::string_view mark : {"--per_device_train_batch_size", "--model_name_or_path",
                                        "--per-device-train-batch-size", "--model-name-or-path"})
      if (word_at(words, i).substr(0, word_at(words, i).find('=')) == mark) return true;
  return false;
}

std::optional<Start> script_at(const Words& words, std::size_t i) {
  const auto word = word_at(words, i);
  if (const auto format = engine_of_script(word)) return Start{*format, i, 1};
  if (one_of(word, {"axolotl.cli.train", "llamafactory.cli"}) || (word.ends_with(".py") && trains(words, i)))
    return Start{LaunchFormat::trainer, i, 1};
  return std::nullopt;
}

/// The engine whose script or module stands behind an interpreter, or behind a launcher of ranks. Flags of a
/// launcher have values; those of an interpreter have none.
std::optional<Start> script_behind(const Words& words, std::size_t i, bool ranks) {
  for (++i; i < words.size(); ++i) {
    const auto word = word_at(words, i);
    if (word == "-m" || word == "--module")
      return is_rank_launcher(word_at(words, i + 1)) ? script_behind(words, i + 1, true)
                                                     : script_at(words, i + 1);
    if (word.ends_with(".py")) return script_at(words, i);
    if (word == "-X" || word == "-W") ++i;
    const bool flag = word.size() > 1 && (word.starts_with('-') || word.starts_with('$'));
    if (!ranks && (!flag || word == "-c")) return std::nullopt;
  }
  return std::nullopt;
}

std::optional<Start> started(const Words& words, std::size_t first) {
  for (std::size_t i = first; i < words.size(); ++i) {
    const auto word = word_at(words, i), before = i > first ? word_at(words, i - 1) : "";
    auto found = engine_at(words, i);
    if (!found && is_python(word)) found = script_behind(words, i, false);
    if (!found && is_rank_launcher(word)) found = script_behind(words, i, true);
    if (!found && word == "launch" && base(before) == "accelerate") found = script_behind(words, i, true);
    if (!found && word == "-m" && i > first)
      found = script_at(words, i + 1);  // the image has the interpreter
    const bool alone =
        i == first || starts_ranks(word_at(words, first)) || passes_on(before) || before == "run";
    if (!found && alone && word.ends_with(".py")) found = script_at(words, i);
    if (found) return found;
    if (i == first && !passes_on(word) && base(word) != "accelerate") return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

namespace {

/// The text of a word that another shell reads: bash -c '...', ssh node1 '...', tmux new -d '...', sbatch
/// --wrap='...'. Empty for other words.
std::string_view inner_command(const Words& command, std::size_t first, std::size_t i) {
  const auto word = word_at(command, i), before = word_at(command, i - 1);
  const auto program = base(word_at(command, first));
  constexpr std::string_view wrap = "--wrap";
  if (program == "sbatch" && before == wrap) return word;
  if (program == "sbatch" && word.starts_with("--wrap=")) return word.substr(wrap.size() + 1);
  const bool spaced = word.find(' ') != std::string_view::npos;
  if (spaced && i >= first + 2 && program == "ssh" && i + 1 == command.size()) return word;
  if (spaced && one_of(program, {"tmux", "screen"})) return word;
  const bool shell = i >= first + 1 && one_of(before, {"-c", "-lc", "-ec", "-xc", "-exc", "-lec"}) &&
                     i >= 2 && one_of(base(word_at(command, i - 2)), {"bash", "sh", "zsh"});
  return shell ? word : std::string_view();
}

/// torchtitan's own script, which takes what it trains from its environment: CONFIG_FILE and NGPU, or MODULE
/// and CONFIG since 0.3.
std::optional<EngineCommand> titan_command(const Words& command, std::size_t first,
                                           const ShellScript& script) {
  const auto variable = [&](std::string_view name) -> const ShellWord* {
    const auto found = std::find_if(script.assignments.begin(), script.assignments.end(),
                                    [&](const auto& assigned) { return assigned.first == name; });
    return found == script.assignments.end() ? nullptr : &found->second;
  };
  const auto* config = variable("CONFIG_FILE") != nullptr ? variable("CONFIG_FILE") : variable("CONFIG");
  if (config == nullptr) return std::nullopt;
  for (auto i = command.begin() + static_cast<std::ptrdiff_t>(first); i != command.end(); ++i) {
    if (!one_of(base(i->text), {"run_train.sh", "run_llama_train.sh"})) continue;
    EngineCommand out{LaunchFormat::torchtitan, {command.begin(), i}, {i + 1, command.end()}, i->text};
    if (variable("NGPU") == nullptr)  // its default
      for (const char* word : {"--nproc_per_node", "8"}) out.before.push_back({word, i->line});
    out.words.insert(out.words.begin(), {{"--job.config_file", config->line}, *config});
    return out;
  }
  return std::nullopt;
}

}  // namespace

std::optional<EngineCommand> engine_command(const Words& command, const ShellScript& script) {
  const auto from = [&](std::size_t i) { return command.begin() + static_cast<std::ptrdiff_t>(i); };
  std::size_t first = 0;
  while (precedes(word_at(command, first))) ++first;
  const bool passes = passes_on(word_at(command, first));
  for (std::size_t i = first + 1; passes && i < command.size(); ++i)
    if (const auto text = inner_command(command, first, i); !text.empty()) {
      for (const auto& inner : split_shell(text, "command line", script.variables).commands)
        if (auto engine = engine_command(inner, script)) {
          engine->before.insert(engine->before.begin(), command.begin(), from(i));
          for (auto* words : {&engine->before, &engine->words})
            for (auto& word : *words) word.line = command[i].line;
          return engine;
        }
      if (!one_of(base(word_at(command, first)), {"tmux", "screen"})) return std::nullopt;
    }
  if (auto titan = titan_command(command, first, script)) return titan;
  if (const auto start = started(command, first)) {
    EngineCommand out{start->format,
                      {command.begin(), from(start->at)},
                      {from(start->at + start->skip), command.end()},
                      command[start->at].text};
    if (base(out.program) == "trtllm-bench")
      out.words.erase(out.words.begin() + static_cast<std::ptrdiff_t>(bench_of_trtllm(out.words, 0)));
    if (base(out.program) == "llama-bench")  // in its words these are numbers of tokens
      for (auto& word : out.words)
        for (const auto& [own, flag] : {std::pair("-p", "--n-prompt"), {"-n", "--n-gen"}})
          if (word.text == own) word.text = flag;
    return out;
  }
  // The program of vLLM's image is the server.
  for (std::size_t i = first + 1; passes && i < command.size(); ++i)
    if (base(command[i].text).starts_with("vllm-openai")) {
      const bool serve = word_at(command, i + 1) == "serve";  // behind --entrypoint vllm
      return EngineCommand{
          LaunchFormat::vllm, {command.begin(), from(i + 1)}, {from(serve ? i + 2 : i + 1), command.end()}};
    }
  // The program of llama.cpp's server image is the server, too.
  for (std::size_t i = first + 1; passes && i < command.size(); ++i)
    if (base(command[i].text).starts_with("llama.cpp:server"))
      return EngineCommand{
          LaunchFormat::llama_cpp, {command.begin(), from(i + 1)}, {from(i + 1), command.end()}};
  return std::nullopt;
}

namespace {

/// Names under which images and packages of an engine are published.
std::vector<std::string_view> published(LaunchFormat format) {
  switch (format) {
    case LaunchFormat::vllm:
      return {"vllm-openai", "vllm"};
    case LaunchFormat::sglang:
      return {"sglang"};
    case LaunchFormat::trtllm:
      return {"tensorrt-llm", "tensorrt_llm"};
    default:
      return {};
  }
}

/// The version that follows the name of a package and one of `==`, `@`, `:`; empty where none follows.
std::string version_behind(std::string_view word, std::string_view package) {
  const auto begin = base(word);
  if (!begin.starts_with(package)) return {};
  auto rest = begin.substr(package.size());
  if (rest.starts_with('[')) rest = rest.substr(std::min(rest.find(']') + 1, rest.size()));  // extras
  // A tag may name what lies beneath first: vllm:rocm6.4.1_vllm_0.9.1_20250702.
  const auto inner = rest.find(fmt::format("_{}_", package));
  if (inner != std::string_view::npos)
    if (rest = rest.substr(inner + package.size() + 2); rest.find('_') != std::string_view::npos)
      rest = rest.substr(0, rest.find('_'));
  // An image of a release engine may name its part: tensorrt-llm/release:1.2.0.
  bool found = inner != std::string_view::npos;
  for (const std::string_view sign : {"==", "@", ":v", ":"})
    if (rest.starts_with(sign)) {
      rest.remove_prefix(sign.size());
      found = true;
      break;
    }
  if (!found) return {};
  if (rest.starts_with('v')) rest.remove_prefix(1);
  const auto end = rest.find_first_not_of("0123456789abcdefghijklmnopqrstuvwxyz.");
  rest = rest.substr(0, end);
  return rest.empty() || std::isdigit(static_cast<unsigned char>(rest.front())) == 0 ? std::string()
                                                                                     : std::string(rest);
}

}  // namespace

std::string stated_release(const EngineCommand& command) {
  for (const auto& word : command.before)
    for (const auto package : published(command.format)) {
      // NVIDIA's own images of other engines have its month of release: nvcr.io/nvidia/vllm:25.09-py3.
      if (word.text.starts_with(fmt::format("nvcr.io/nvidia/{}:", package))) continue;
      if (auto version = version_behind(word.text, package); !version.empty()) return version;
      const auto part = word.text.find(std::string(package) + "/release:");
      if (part != std::string::npos)
        if (auto version = version_behind(word.text.substr(part + package.size() + 1), "release");
            !version.empty())
          return version;
    }
  return {};
}

double ranks_of_launcher(const EngineCommand& command, const ShellScript& script) {
  const auto& words = command.before;
  const auto slurm = [&](const char* variable) {
    const auto found = script.batch.find(variable);
    return found == script.batch.end() ? 0 : number_of(found->second).value_or(0);
  };
  std::string_view launcher;
  double ranks = 0, nodes = 0, per_node = 0;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto word = word_at(words, i);
    const auto program = base(word);
    if (is_rank_launcher(program) && program != "deepspeed") return 0;
    if (program == "accelerate") return 0;
    if (one_of(program, {"srun", "mpirun", "mpiexec", "orterun", "prun", "deepspeed"})) launcher = program;
    if (launcher.empty()) continue;
    const auto equals = word.find('=');
    const auto flag = word.substr(0, equals);
    const auto value = equals != std::string_view::npos ? word.substr(equals + 1) : word_at(words, i + 1);
    const auto count = number_of(value).value_or(0);
    if (launcher == "deepspeed") {
      if (flag != "--include") continue;
      // "host1:0,1@host2:0,1"
      for (std::string_view rest = value; !rest.empty();) {
        const auto host = rest.substr(0, std::min(rest.find('@'), rest.size()));
        rest.remove_prefix(std::min(host.size() + 1, rest.size()));
        if (host.find(':') == std::string_view::npos) return 0;  // all devices of a host
        ranks += 1 + static_cast<double>(std::count(host.begin(), host.end(), ','));
      }
    } else if (one_of(flag, {"-n", "-np", "--np", "--ntasks"})) {
      ranks = count;
    } else if (launcher == "srun" && one_of(flag, {"-N", "--nodes"})) {
      nodes = count;
    } else if (flag == "--ntasks-per-node" || flag == "-ppn" || flag == "--npernode") {
      per_node = count;
    }
  }
  if (ranks > 0 || launcher != "srun") return ranks;
  if (nodes <= 0) nodes = std::max(1.0, slurm("SLURM_NNODES"));
  if (per_node <= 0) per_node = slurm("SLURM_NTASKS_PER_NODE");
  return per_node > 0 ? nodes * per_node : slurm("SLURM_NTASKS");
}

}  // namespace mlsysim::detail
