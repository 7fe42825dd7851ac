// Launches inside manifests: the commands of docker-compose, Kubernetes, Helm, SkyPilot and Ollama as text of
// a shell.

#include "detail/manifest.hpp"

#include "detail/command.hpp"

#include <mlsysim/zoo/detail/yaml_document.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <sstream>
#include <utility>

namespace mlsysim::detail {
namespace {

/// Whether a line begins with a key of the outermost map.
bool has_key(std::string_view text, std::string_view key) {
  return text.starts_with(key) || text.find(fmt::format("\n{}", key)) != std::string_view::npos;
}

std::string_view kind_of_manifest(std::string_view text) {
  if (has_key(text, "services:")) return "a docker-compose file";
  if (has_key(text, "apiVersion:") && has_key(text, "kind:")) return "a manifest of Kubernetes";
  if (has_key(text, "run:") && (has_key(text, "resources:") || has_key(text, "setup:")))
    return "a task of SkyPilot";
  if (has_key(text, "servingEngineSpec:") ||
      (has_key(text, "image:") && text.find("\n  repository:") != std::string_view::npos))
    return "the values of a Helm chart";
  if (has_key(text, "modelArtifacts:")) return "the values of llm-d's chart";
  if (has_key(text, "applications:") && text.find("llm_configs:") != std::string_view::npos)
    return "an application of Ray Serve";
  if (has_key(text, "models:") && text.find(" cmd:") != std::string_view::npos)
    return "a configuration of llama-swap";
  if (has_key(text, "jobs:") && text.find(" runs-on:") != std::string_view::npos)
    return "a workflow of GitHub";
  return {};
}

/// The words of `command`, `args` or `entrypoint`: a list has one word in each item, a text is split.
std::string words_of(const YamlValue* value) {
  if (value == nullptr) return {};
  std::string out;
  if (value->kind == YamlValue::Kind::sequence)
    for (const auto& item : value->items) out += ' ' + quoted(item.text);
  if (value->kind == YamlValue::Kind::scalar) {
    out = ' ' + value->text;
    for (auto at = out.find("\\\n"); at != std::string::npos; at = out.find("\\\n", at))
      out.replace(at, 2, " ");
    std::replace(out.begin(), out.end(), '\n', ' ');
  }
  return out;
}

class ManifestReader {
 public:
  std::string text;                 ///< of a shell
  std::vector<std::string> images;  ///< in the order of the file
  std::vector<std::string> notes;
  std::string machine, slice;  ///< slice: the profile of MIG that a pod asks for

  /// @param before lines of documents above this one
  void read(const YamlValue& value, int before) {
    for (const auto& item : value.items) read(item, before);
    if (const auto* macros = value.find("macros")) environment(*macros);  // of llama-swap
    for (const auto& [key, inner] : value.pairs) {
      if (key.text.ends_with("ReplicaSpecs")) job(value, inner);
      beside(key.text, inner);
    }
    if (const auto* run = value.find("run"); run != nullptr && value.find("image") == nullptr)
      if (run->kind == YamlValue::Kind::scalar) {
        task(value);
        text += run->text + "\n";
      }
    if (const auto* model = value.find("modelURL")) {
      if (const auto* image = value.find("repository")) image_ = tagged(*image, value);
      return vllm(*model, value.find("vllmConfig"), before);
    }
    if (const auto* model = value.find("modelArtifacts")) return served_apart(*model, value);
    if (const auto* serve = value.find("serveConfigV2");
        serve != nullptr && !nested_) {  // of Ray on Kubernetes
      nested_ = true;
      const auto inner = YamlDocument::parse(serve->text, "serveConfigV2", YamlForm::foreign);
      return read(inner.root(), before);
    }
    if (const auto* trainer = value.find("trainer");
        trainer != nullptr && trainer->find("command") != nullptr)
      return training_job(*trainer);
    if (const auto* loading = value.find("model_loading_config"))
      if (const auto* model = loading->find(loading->find("model_source") ? "model_source" : "model_id"))
        return vllm(*model, value.find("engine_kwargs"), before);
    if (const auto* form = value.find("modelFormat"))
      if (const auto* kind = form->find("name");
          kind != nullptr && (kind->text == "huggingface" || kind->text == "vLLM" || kind->text == "vllm"))
        return hugging_face_server(value);
    if (const auto* model = value.find("model"); model != nullptr && model->find("uri") != nullptr)
      return model_service(*model->find("uri"), value);
    if (const auto* cmd = value.find("cmd"); cmd != nullptr && cmd->kind == YamlValue::Kind::scalar)
      text += words_of(cmd) + "\n";
    if (value.find("image") != nullptr) container(value, before);
    for (const auto& [key, inner] : value.pairs)  // "x-...": parts of a compose file that anchors repeat
      if (key.text != "environment" && key.text != "env" && !key.text.starts_with("x-")) read(inner, before);
  }

 private:
  /// Copies of a command, and the device that it asks for.
  void beside(std::string_view key, const YamlValue& value) {
    if ((key == "replicas" || key == "replicaCount") && !job_ &&
        value.text.find_first_not_of("01") != std::string::npos)
      notes.push_back(fmt::format("{} {}: the plan is one of them", key, value.text));
    const bool names = key.ends_with("gke-accelerator") || key == "nvidia.com/gpu.product" ||
                       key == "amd.com/gpu.product-name" || key == "accelerator_type" ||
                       key == "k8s.amazonaws.com/accelerator" ||
                       key.ends_with("kubernetes.io/instance-type") || key == "instance_type";
    if (names && machine.empty()) machine = value.text;
    constexpr std::string_view partition = "nvidia.com/mig-";
    if (key.starts_with(partition)) slice = key.substr(partition.size());
    if (key == "requestGPUType" && value.text.starts_with(partition))  // of vLLM's chart
      slice = value.text.substr(partition.size());
    if (key == "leaderWorkerTemplate")  // a leader and its workers are the nodes of one job
      if (const auto* size = value.find("size"); size != nullptr && number_of(size->text))
        text += fmt::format("LWS_GROUP_SIZE={} ; ", quoted(size->text));
  }

  /// The nodes of a training job of Kubeflow: its replicas run the same command, and that of MPI starts it
  /// from one more.
  void job(const YamlValue& whole, const YamlValue& replicas) {
    job_ = true;
    double nodes = 0;
    for (const auto& [role, part] : replicas.pairs) {
      if (role.text == "Launcher") continue;
      const auto* count = part.find("replicas");
      nodes += count == nullptr ? 1 : number_of(count->text).value_or(1);
    }
    text += fmt::format("NNODES={} ; ", count_text(nodes));
    if (const auto* ranks = whole.find("nprocPerNode"); ranks != nullptr && number_of(ranks->text))
      text += fmt::format("NPROC_PER_NODE={} ; ", quoted(ranks->text));
  }

  /// An image with the tag that a chart keeps beside it.
  static std::string tagged(const YamlValue& repository, const YamlValue& beside) {
    const auto* tag = beside.find("tag");
    return tag == nullptr || tag->text.empty() ? repository.text : repository.text + ":" + tag->text;
  }

  /// A job of Kubeflow's trainer: nodes, devices of each, and the command that all run.
  void training_job(const YamlValue& trainer) {
    if (const auto* nodes = trainer.find("numNodes"); nodes != nullptr && number_of(nodes->text))
      text += fmt::format("NNODES={} ; ", quoted(nodes->text));
    const auto* resources = trainer.find("resourcesPerNode");
    const auto* limits = resources == nullptr ? nullptr : resources->find("limits");
    if (const auto* devices = limits == nullptr ? nullptr : limits->find("nvidia.com/gpu"))
      text += fmt::format("NPROC_PER_NODE={} ; ", quoted(devices->text));
    text += words_of(trainer.find("command")) + words_of(trainer.find("args")) + "\n";
  }

  /// A model that llm-d serves, whose prompts may have servers of their own: that of the steps is read.
  void served_apart(const YamlValue& model, const YamlValue& whole) {
    const auto* steps = whole.find("decode");
    const auto* containers = steps == nullptr ? nullptr : steps->find("containers");
    const auto* place = model.find("uri");
    if (place == nullptr || containers == nullptr || containers->items.empty()) return;
    const YamlValue& server = containers->items.front();
    if (const auto* image = server.find("image")) images.push_back(image->text);
    text += fmt::format("vllm serve {}", quoted(place->text));
    const auto* divided = steps->find("parallelism");
    if (const auto* ranks = divided == nullptr ? nullptr : divided->find("tensor"))
      text += fmt::format(" --tensor-parallel-size {}", quoted(ranks->text));
    text += words_of(server.find("args")) + "\n";
    const auto* prompts = whole.find("prefill");
    const auto* create = prompts == nullptr ? nullptr : prompts->find("create");
    if (prompts != nullptr && (create == nullptr || create->text != "false"))
      notes.push_back(
          "prompts have servers of their own: the plan is that of decode, which computes them too");
  }

  /// A model that KServe serves with vLLM, by where it lies.
  void model_service(const YamlValue& model, const YamlValue& whole) {
    images.emplace_back("vllm/vllm-openai");
    text += fmt::format("vllm serve {}", quoted(model.text));
    const auto* divided = whole.find("parallelism");
    if (const auto* ranks = divided == nullptr ? nullptr : divided->find("tensor"))
      text += fmt::format(" --tensor-parallel-size {}", quoted(ranks->text));
    const auto* pod = whole.find("template");
    const auto* containers = pod == nullptr ? nullptr : pod->find("containers");
    if (containers != nullptr)
      for (const auto& container : containers->items) {
        if (const auto* env = container.find("env"))
          for (const auto& item : env->items)
            if (const auto* name = item.find("name"), *value = item.find("value");
                name != nullptr && value != nullptr && name->text == "VLLM_ADDITIONAL_ARGS")
              text += " " + value->text;
        text += words_of(container.find("args"));
      }
    text += '\n';
  }

  /// The devices that a container asks for, as an option of `docker run`: limits of Kubernetes, or devices
  /// that a service of compose reserves.
  static std::string devices_of(const YamlValue& value) {
    const auto* resources = value.find("resources");
    if (const auto* deploy = value.find("deploy"); resources == nullptr && deploy != nullptr)
      resources = deploy->find("resources");
    if (resources == nullptr) return {};
    for (const auto* part : {"limits", "requests", "reservations"}) {
      const auto* amounts = resources->find(part);
      if (amounts == nullptr) continue;
      for (const auto* name : {"nvidia.com/gpu", "amd.com/gpu"})
        if (const auto* count = amounts->find(name)) return fmt::format("--gpus {} ", quoted(count->text));
      const auto* devices = amounts->find("devices");
      if (devices == nullptr || devices->items.empty()) continue;
      if (const auto* count = devices->items[0].find("count"))
        return fmt::format("--gpus {} ", quoted(count->text));
      const auto* ids = devices->items[0].find("device_ids");
      if (ids != nullptr && !ids->items.empty()) return fmt::format("--gpus {} ", ids->items.size());
    }
    return {};
  }

  /// A container as `docker run`, with what its environment states in front.
  void container(const YamlValue& value, int before) {
    const YamlValue& own = *value.find("image");
    const auto* repository = own.find("repository");  // of a chart, which keeps the command beside it
    const auto image = repository != nullptr ? tagged(*repository, own) : own.text;
    std::string words;
    const YamlValue* first = nullptr;
    for (const auto* holder : {&own, &value})
      for (const auto* key : {"entrypoint", "command", "args", "extraArgs", "extraArguments"})
        if (const auto* part = holder->find(key)) {
          words += words_of(part);
          if (first == nullptr) first = part;
        }
    images.push_back(image);
    for (const auto* key : {"environment", "env"})
      if (const auto* list = value.find(key)) environment(*list);
    // Messages name lines of this text: it has as many as the manifest.
    const auto line = static_cast<std::ptrdiff_t>(first == nullptr ? 0 : first->where.line + before);
    for (auto at = std::count(text.begin(), text.end(), '\n') + 1; at < line; ++at) text += '\n';
    text += fmt::format("docker run {}{}{}\n", devices_of(value), quoted(image), words);
  }

  /// Writes the environment variables that SkyPilot sets for the commands of a task.
  void task(const YamlValue& value) {
    for (const auto* key : {"envs", "secrets"})
      if (const auto* list = value.find(key)) environment(*list);
    const auto* nodes = value.find("num_nodes");
    text += fmt::format("SKYPILOT_NUM_NODES={} ; ", quoted(nodes != nullptr ? nodes->text : "1"));
    const auto* resources = value.find("resources");
    const auto* devices = resources == nullptr ? nullptr : resources->find("accelerators");
    if (devices == nullptr) return;
    if (devices->kind == YamlValue::Kind::sequence && !devices->items.empty()) devices = &devices->items[0];
    // "H100:8", [H100:8, A100:8], {H100: 8} or {H100:8, A100:8}; the first of several.
    const std::size_t choices = std::max(devices->pairs.size(), std::size_t{1});
    std::string name = devices->text, count = "1";
    if (!devices->pairs.empty())
      name = devices->pairs.front().key.text, count = devices->pairs.front().value.text;
    if (const auto colon = name.find(':'); colon != std::string::npos)
      count = name.substr(colon + 1), name.resize(colon);
    // SkyPilot names cards of more memory by it: A100-80GB, V100-32GB.
    if (name == "A100") name = "A100 40GB";
    if (name == "V100") name = "V100 16GB";
    if (machine.empty()) machine = name;
    if (choices > 1)
      notes.push_back(fmt::format("{} kinds of devices are allowed: the first is taken", choices));
    text += fmt::format("SKYPILOT_NUM_GPUS_PER_NODE={} ; ", quoted(count));
    if (const auto seen = listed_devices(count); !seen.empty())
      text += fmt::format("NVIDIA_VISIBLE_DEVICES={} ; ", seen);
  }

  /// The server of KServe for models of the hub, which hands its flags on to vLLM.
  void hugging_face_server(const YamlValue& value) {
    const auto* args = value.find("args");
    images.emplace_back("kserve/huggingfaceserver");
    std::string flags;
    if (const auto* place = value.find("storageUri")) flags += " " + quoted(place->text);
    if (args == nullptr) args = &value;
    if (flags.empty() && args == &value) return;
    for (std::size_t i = 0; i < args->items.size(); ++i) {
      std::string word = args->items[i].text;
      if (word.starts_with("--model_name") || word.starts_with("--backend")) {
        if (word.find('=') == std::string::npos) ++i;
        continue;
      }
      if (word.starts_with("--model_id")) word.erase(7, 3);
      flags += ' ' + quoted(word);
    }
    text += fmt::format("vllm serve{}\n", flags);
  }

  /// A model of the chart vllm-stack or of Ray Serve: keys of `config` are flags of vLLM.
  void vllm(const YamlValue& model, const YamlValue* config, int before) {
    for (auto at = std::count(text.begin(), text.end(), '\n') + 1; at < model.where.line + before; ++at)
      text += '\n';
    images.emplace_back(image_.empty() ? "vllm/vllm-openai" : image_);
    if (!image_.empty()) text += fmt::format("docker run {} ", quoted(image_));
    text += fmt::format("vllm serve {}", quoted(model.text));
    if (config != nullptr)
      for (const auto& [key, flag] : config->pairs) {
        if (flag.kind == YamlValue::Kind::sequence) {
          text += words_of(&flag);
          continue;
        }
        std::string name;
        for (const char c : key.text) {
          if (std::isupper(static_cast<unsigned char>(c)) != 0) name += '-';
          name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
        }
        if (flag.text == "true" || flag.text == "false")
          text += fmt::format(" --{}{}", flag.text == "true" ? "" : "no-", name);
        else
          text += fmt::format(" --{} {}", name, quoted(flag.text));
      }
    text += '\n';
  }

  void environment(const YamlValue& list) {
    const auto set = [this](std::string_view name, std::string value) {
      while (value.ends_with('\n')) value.pop_back();
      const bool plain = !name.empty() && std::isdigit(static_cast<unsigned char>(name.front())) == 0 &&
                         std::all_of(name.begin(), name.end(),
                                     [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
      if (plain && value.find('\n') == std::string::npos)
        text += fmt::format("{}={} ; ", name, quoted(value));
    };
    for (const auto& [key, value] : list.pairs) set(key.text, value.text);
    for (const auto& item : list.items) {
      if (const auto* name = item.find("name"))
        if (const auto* value = item.find("value")) set(name->text, value->text);
      if (const auto equals = item.text.find('='); equals != std::string::npos)
        set(item.text.substr(0, equals), item.text.substr(equals + 1));
    }
  }

  bool job_ = false;     ///< replicas are nodes of one launch
  bool nested_ = false;  ///< the text of a configuration inside this one is read
  std::string image_;    ///< that a chart names beside its model
};

/// The Dockerfile that a text is: its entry point and command in its last image; or nothing.
std::optional<Manifest> read_dockerfile(std::string_view text) {
  std::string lines;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const bool goes_on = text[at] == '\\' && at + 1 < text.size() && text[at + 1] == '\n';
    lines += goes_on ? ' ' : text[at];
    if (goes_on) ++at;
  }
  std::string image, environment, entry, arguments;
  for (std::istringstream in(lines); !in.eof();) {
    std::string line, instruction;
    std::getline(in, line);
    std::istringstream words(line);
    words >> instruction >> std::ws;
    std::string rest;
    std::getline(words, rest);
    if (instruction.empty() || instruction.starts_with('#') || instruction == "ARG") continue;
    if (instruction == "FROM") {
      image = rest.substr(0, rest.find(' '));
      environment.clear(), entry.clear(), arguments.clear();
      continue;
    }
    if (image.empty()) return std::nullopt;
    if (instruction == "ENV") {
      if (const auto equals = rest.find('='), space = rest.find(' ');
          space < equals && space != std::string::npos)
        rest[space] = '=';
      environment += rest + " ; ";
    }
    if (instruction != "ENTRYPOINT" && instruction != "CMD") continue;
    std::string& part = instruction == "CMD" ? arguments : entry;
    if (rest.starts_with('['))
      part = words_of(&YamlDocument::parse(rest, "Dockerfile", YamlForm::foreign).root());
    else
      part = " " + rest;
  }
  if (image.empty() || (entry.empty() && arguments.empty())) return std::nullopt;
  return Manifest{"a Dockerfile",
                  fmt::format("{}docker run {}{}{}\n", environment, quoted(image), entry, arguments),
                  {image}};
}

/// The unit of systemd that a text is: its environment, and the command that it starts; or nothing. Lines
/// stay where they are.
std::optional<Manifest> read_unit(std::string_view text) {
  if (!has_key(text, "[Service]") || !has_key(text, "ExecStart=")) return std::nullopt;
  std::string script;
  bool goes_on = false;
  for (std::istringstream in{std::string(text)}; !in.eof(); script += '\n') {
    std::string line;
    std::getline(in, line);
    for (const std::string_view key : {"Environment=", "ExecStart="})
      if (!goes_on && line.starts_with(key)) {
        goes_on = true;
        line.erase(0, key.size());
        line.erase(0, line.find_first_not_of("-@:+!"));
      }
    if (goes_on) script += line;
    goes_on = goes_on && line.ends_with('\\');
  }
  return Manifest{"a unit of systemd", std::move(script), {}};
}

/// The YAML manifest that a text is, or nothing.
std::optional<Manifest> read_yaml(std::string_view text, const std::string& name) {
  const auto kind = kind_of_manifest(text);
  if (kind.empty()) return std::nullopt;
  ManifestReader reader;
  // The documents of a file one by one.
  int before = 0;
  std::string document;
  const auto flush = [&] {
    if (document.find_first_not_of(" \t\r\n") != std::string::npos)
      reader.read(YamlDocument::parse(document, name, YamlForm::foreign).root(), before);
    before += static_cast<int>(std::count(document.begin(), document.end(), '\n')) + 1;
    document.clear();
  };
  for (std::string_view rest = text; !rest.empty();) {
    const auto line = rest.substr(0, std::min(rest.find('\n'), rest.size()));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    if (line.starts_with("---"))
      flush();
    else
      document += fmt::format("{}\n", line);
  }
  flush();
  if (!reader.slice.empty() && !reader.machine.empty() &&
      reader.machine.find(reader.slice) == std::string::npos)
    reader.machine += " " + reader.slice;
  return Manifest{std::string(kind),       std::move(reader.text),    std::move(reader.images),
                  std::move(reader.notes), std::move(reader.machine), std::move(reader.slice)};
}

}  // namespace

std::string quoted(std::string text) {
  for (auto at = text.find("$("); at != std::string::npos; at = text.find("$(", at + 2)) {
    const auto end =
        text.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_", at + 2);
    if (end == std::string::npos) break;
    if (text[end] != ')') continue;
    text[at + 1] = '{';
    text[end] = '}';
  }
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\' || c == '`') out += '\\';
    out += c;
  }
  return out + '"';
}

std::optional<Manifest> read_manifest(std::string_view text, const std::string& name) {
  for (const std::string_view end : {".yaml", ".yml", ".json"})
    if (name.ends_with(end)) return read_yaml(text, name);
  if (name.ends_with(".py")) return read_python(text);
  for (const auto read : {read_ollama, read_dockerfile, read_unit})
    if (auto manifest = read(text)) return manifest;
  return std::nullopt;
}

}  // namespace mlsysim::detail
