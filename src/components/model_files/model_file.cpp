#include <mlsysim/model_files/detail/today.hpp>
#include <mlsysim/model_files/model_file.hpp>

#include "detail/entry.hpp"
#include "detail/formats.hpp"
#include "detail/layers.hpp"

#include <mlsysim/zoo/writer.hpp>

#include <fmt/format.h>

#include <array>
#include <cctype>
#include <ctime>

namespace mlsysim {
namespace detail {

std::string today() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  ::gmtime_r(&now, &utc);
  std::array<char, 16> text{};
  return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%d", &utc)};
}
namespace {

/// What a file calls the part that reads and writes text.
constexpr std::array<const char*, 4> kTextParts{"text_config", "llm_config", "language_config",
                                                "text_model_config"};

void set_input(Stack& s, const Config& c, double positions) {
  s.input.vocab = c.needed("vocab");
  if (c.type() == "bert" || c.type() == "gpt2" || c.type() == "opt" || c.type() == "bart") {
    // Two rows that are never used (OPTLearnedPositionalEmbedding, BartLearnedPositionalEmbedding).
    const double offset = c.type() == "opt" || c.type() == "bart" ? 2 : 0;
    if (positions > 0) s.input.positions = positions + offset;
  }
  if (const auto types = c.count("token_types"); types && *types > 0) s.input.token_types = types;
  s.input.norm = c.type() == "bert" || c.type() == "bart";
}

/// Encoder and decoder with attention over the encoder's output (T5, BART).
void encoder_and_decoder(Workload& w, const Config& c, Stack encoder) {
  encoder.role = StackRole::encoder;
  Stack decoder = encoder;
  decoder.role = StackRole::decoder;
  decoder.mixer.cross = encoder.mixer.grouped;
  decoder.residual.norms = 3;
  encoder.output = {};
  encoder.output.logits = false;
  encoder.output.norm = c.type() == "t5";
  decoder.output.norm = c.type() == "t5";
  if (c.type() != "t5") decoder.input.token_types.reset();
  // Both read one embedding; it is counted with the decoder.
  encoder.input.vocab.reset();
  if (const auto layers = c.count("decoder_layers"); layers && *layers > 0)
    decoder.layers = {{.times = *layers, .pattern = {}}};
  if (const auto width = c.count("decoder_width"); width && *width > 0)
    decoder.feed_forward.dense->width = width;
  if (const auto heads = c.count("decoder_heads"); heads && *heads > 0 && c.type() == "bart")
    decoder.mixer.grouped->heads = decoder.mixer.grouped->kv_heads = decoder.mixer.cross->heads =
        decoder.mixer.cross->kv_heads = heads;
  if (const auto buckets = c.count("buckets"); buckets && *buckets > 0)
    for (Stack* s : {&encoder, &decoder})
      s->input.lookups.push_back({.rows = *buckets, .width = *s->mixer.grouped->heads, .reads = 1});
  w.stacks = {std::move(encoder), std::move(decoder)};
  w.architecture = Architecture::encoder_decoder;
}

/// Layers that propose further tokens: as the last layer of the model.
void add_draft(Workload& w, const Config& c) {
  const auto drafts = c.count("drafts");
  if (!drafts || *drafts == 0) return;
  const Stack& main = w.stacks.front();
  Stack draft;
  draft.role = StackRole::draft;
  draft.hidden = main.hidden;
  draft.layers = {{.times = *drafts, .pattern = {}}};
  // The last layer that attends: drafts keep a cache of their own.
  const LayerPlace* attends = nullptr;
  LayerPlace last{}, expert{};
  for_each_place(main, [&](const LayerPlace& p) {
    if (p.mixer->grouped || p.mixer->latent) last = p, attends = &last;
    if (p.feed_forward->dense || p.feed_forward->experts) expert = p;
  });
  if (attends == nullptr || expert.feed_forward == nullptr) return;
  draft.mixer = *last.mixer;
  if (!(draft.mixer.grouped && is_compressed(*draft.mixer.grouped)))
    draft.reach = *last.reach;
  else
    draft.reach.window = last.reach->window;
  if (draft.reach.select && draft.reach.select->shared) draft.reach.select->shared = false;
  draft.feed_forward = *expert.feed_forward;
  draft.residual = main.residual;
  draft.residual.norms = 2;
  draft.own_embedding = c.flag("own_embedding").value_or(false);
  w.stacks.push_back(std::move(draft));
  c.note(
      fmt::format("{:g} draft layer{} like the last layers of the model", *drafts, *drafts == 1 ? "" : "s"));
}

void add_tower(Workload& w, const Json& root, const char* key, const std::string& file,
               std::vector<std::string>& notes) {
  const auto found = root.find(key);
  if (found == root.end() || !found->is_object()) return;
  const Config c(*found, file, std::string(key) + ".", {}, notes);
  Stack s;
  s.role = StackRole::tower;
  const auto layers = c.count("tower_layers"), hidden = c.count("tower_hidden"),
             heads = c.count("tower_heads"), width = c.count("tower_width");
  if (!layers || !hidden || !heads || !width || *layers * *hidden * *heads * *width == 0) {
    notes.push_back(fmt::format("{} is not understood: the tower is left out", key));
    return;
  }
  s.hidden = hidden;
  s.layers = {{.times = *layers, .pattern = {}}};
  GroupedAttention a;
  a.heads = heads;
  a.kv_heads = heads;
  if (const Json* dim = c.at("head_dim"))
    a.head_dim = checked_count(*dim, file, std::string(key) + ".head_dim");
  if (const Json* qkv = c.at("qkv_hidden_size"))
    a.head_dim = checked_count(*qkv, file, "qkv_hidden_size") / *heads;
  s.mixer.grouped = a;
  s.feed_forward.dense = DenseFeedForward{.width = *width, .gated = false, .activation = Activation::gelu};
  s.input.patch_size = c.count("patch");
  if (const auto t = c.count("temporal_patch"); t && *t > 1) s.input.temporal_patch_size = t;
  s.input.channels = c.count_or("channels", 3);
  s.input.image_size = c.count("image");
  if (const auto merge = c.count("merge"); merge && *merge > 1) s.input.merge = merge;
  s.input.positions = c.count("tower_positions");
  s.output.logits = false;
  s.output.projector_width = c.count("projector");
  s.biases = true;
  s.residual.norm_bias = true;
  w.stacks.push_back(std::move(s));
  notes.push_back(fmt::format(
      "{}: a plain encoder with biases, two matrices a layer; its projector is not counted", key));
  c.note_unread();
}

std::string entry_name(std::string name) {
  if (const auto slash = name.find_last_of('/'); slash != std::string::npos) {
    const auto base = name.substr(slash + 1);
    // The file of a downloaded model has the name of its folder.
    if (base == "config.json" || base.empty()) {
      name.resize(slash);
      name = name.substr(name.find_last_of('/') + 1);
    } else {
      name = base;
    }
  }
  for (const std::string_view end : {".json", ".gguf", ".safetensors"})
    if (name.ends_with(end)) name.resize(name.size() - end.size());
  if (const auto dashes = name.find("--"); dashes != std::string::npos) name.erase(0, dashes + 2);
  for (auto& c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  if (name.empty() || std::isalpha(static_cast<unsigned char>(name[0])) == 0) name.insert(0, "Model_");
  return name;
}

Stack main_stack(const Config& c) {
  const LayerReader reader(c);
  Stack s;
  s.hidden = reader.hidden();
  set_layers(s, reader.layers());
  s.biases = c.trait(biases);
  set_input(s, c, c.count_or("positions", 0));
  return s;
}

/// Whether the input embedding is the output matrix: by the text part, else by the whole file, else by the
/// class.
bool is_tied(const Config& text, const Config& whole) {
  const auto own = text.flag("tied");
  const auto stated = own ? own : whole.flag("tied");
  if (stated) return *stated;
  const bool otherwise = text.trait(tied);
  text.note(fmt::format("tie_word_embeddings is not stated: {}, as {} has it", otherwise, text.type()));
  return otherwise;
}

}  // namespace

ModelFile start_entry(const std::string& name, std::string_view what) {
  ModelFile m;
  m.entry.kind = "model";
  m.entry.name = m.workload.name = entry_name(name);
  m.entry.origin = "user";
  m.entry.source.kind = SourceKind::secondary;
  m.entry.source.note = std::string(what);
  m.entry.source.recorded = today();
  m.entry.where.file = name;
  m.workload.category = "language";
  return m;
}

}  // namespace detail

ModelFile read_config(const ConfigTexts& texts, const std::string& name) {
  using namespace detail;
  const Json root = parse_json(texts.config, name);
  const Json beside =
      texts.quantization.empty() ? Json() : parse_json(texts.quantization, name + " (hf_quant_config.json)");
  ModelFile m = start_entry(name, "config.json of a model hub");
  const auto type_of = [](const Json& section) {
    const auto found = section.find("model_type");
    return found != section.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  const Json* text = &root;
  std::string path;
  for (const char* part : kTextParts)
    if (const auto found = root.find(part); found != root.end() && found->is_object() && text == &root) {
      text = &*found;
      path = std::string(part) + ".";
    }
  auto type = type_of(*text);
  if (type.empty()) type = type_of(root) + (path.empty() ? "" : "_text");
  if (type.empty() || type == "_text")
    throw InputError("mlsysim.model_files.013", "the file does not say what model it is", "model_type",
                     "no such key", "model_type, e.g. \"llama\"", "give the config.json of a model", {name});
  const Config c(*text, name, path, type, m.notes);
  const Config whole(root, name, "", type_of(root), m.notes);
  if (c.family() == nullptr)
    m.notes.push_back(
        fmt::format("the class of '{}' is not known: read by its keys, without biases and norms on "
                    "queries and keys unless a key says so",
                    type));
  Workload& w = m.workload;
  Stack stack = main_stack(c);
  stack.output.tied = is_tied(c, whole);
  if (const auto positions = c.count("positions"); positions && *positions > 0) w.max_positions = positions;
  if (type == "bert") {
    stack.role = StackRole::encoder;
    stack.output.logits = stack.output.norm = false;
    stack.output.tied = stack.output.pooler = true;
    w.architecture = Architecture::encoder;
  } else {
    w.architecture = Architecture::decoder;
  }
  if (type == "t5" || type == "bart")
    encoder_and_decoder(w, c, std::move(stack));
  else
    w.stacks.push_back(std::move(stack));
  if (w.architecture == Architecture::decoder) add_draft(w, c);
  for (const char* key : {"vision_config", "audio_config"}) add_tower(w, root, key, name, m.notes);
  read_formats(w, root, *text, beside, name, m.notes);
  c.note_unread();
  if (!path.empty()) {
    whole.understood({"text_config", "vision_config", "audio_config"});
    whole.note_unread();
  }
  return m;
}

std::string model_file_yaml(const ModelFile& model) {
  Zoo zoo = model_zoo(model);
  std::string out;
  for (const auto& note : model.notes) out += "# " + note + "\n";
  return out + to_yaml(zoo.only<Workload>());
}

Zoo model_zoo(const ModelFile& model) {
  Zoo zoo;
  Entry entry = model.entry;
  entry.notes = model.notes;
  zoo.add<Workload>(model.workload, std::move(entry));
  return zoo;
}

}  // namespace mlsysim
