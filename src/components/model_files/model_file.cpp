#include <mlsysim/model_files/detail/today.hpp>
#include <mlsysim/model_files/model_file.hpp>

#include "detail/diffusers.hpp"
#include "detail/entry.hpp"
#include "detail/formats.hpp"
#include "detail/layers.hpp"
#include "detail/pipelines.hpp"

#include <mlsysim/units/unit.hpp>
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

/// Takes keys that are known out of a section of their own (DBRX).
void hoist(Json& root, const char* section) {
  const auto inner = root.find(section);
  if (inner == root.end() || !inner->is_object()) return;
  const Json own = *inner;
  for (const auto& alias : aliases())
    if (const auto found = own.find(alias.key); found != own.end() && !root.contains(alias.key))
      root[std::string(alias.key)] = *found;
}

/// Takes the sections of the part that understands and writes out of a model that also speaks (Qwen-Omni): it
/// is what engines serve.
void take_thinker(Json& root) {
  const auto inner = root.find("thinker_config");
  if (inner == root.end() || !inner->is_object()) return;
  const Json own = *inner;
  for (const auto& [key, value] : own.items())
    if (!root.contains(key)) root[key] = value;
  for (const char* part : {"thinker_config", "talker_config", "code2wav_config", "token2wav_config"})
    root.erase(part);
}

/// Keys under which a multimodal file describes its text model.
constexpr std::array<const char*, 4> kTextParts{"text_config", "llm_config", "language_config",
                                                "text_model_config"};

void set_input(Stack& s, const Config& c, double positions) {
  s.input.vocab = c.needed("vocab");
  if (c.trait(learned)) {
    // Two rows that are never used (OPTLearnedPositionalEmbedding, BartLearnedPositionalEmbedding).
    const auto is = [&](std::string_view type) { return c.type() == type; };
    const double offset = is("opt") || is("bart") || is("mbart") || is("plbart") || is("mvp") ? 2 : 0;
    const Json* kind = c.at("position_embedding_type");  // those of ALiBi and RoPE have no weights
    const bool bare = kind != nullptr && (*kind == "alibi" || *kind == "rotary" || *kind == "rope");
    if (positions > 0 && !bare) s.input.positions = positions + offset;
  }
  if (const auto types = c.count("token_types"); types && *types > 0) s.input.token_types = types;
  s.input.norm = c.trait(input_norm);
}

/// Tables of relative positions: T5 and MPNet have one value a bucket and head, UMT5 in every layer, and
/// DeBERTa a vector.
void set_relative(Stack& s, const Config& c, double heads) {
  const Json* buckets = c.at("position_buckets");
  if (const auto rows = c.count("buckets"); rows && *rows > 0)
    s.input.lookups.push_back({.rows = *rows, .width = heads, .reads = 1, .per_layer = c.type() == "umt5"});
  else if (buckets != nullptr && buckets->is_number() && buckets->get<double>() > 0) {
    s.input.lookups.push_back({.rows = 2 * buckets->get<double>(), .width = *s.hidden, .reads = 1});
    c.note("attention over relative positions is counted as plain attention");
  }
}

/// The class of model that a file names: "Qwen2ForSequenceClassification"; empty where it names none.
std::string named_class(const Config& whole) {
  if (const Json* list = whole.at("architectures"); list != nullptr && list->is_array() && !list->empty())
    if (const Json& first = list->front(); first.is_string()) return first.get<std::string>();
  return {};
}

/// Classes of the output of a model that classifies.
double labels_of(const Config& whole) {
  const Json* names = whole.at("id2label");
  const Json* count = whole.at("num_labels");
  if (names != nullptr && names->is_object() && !names->empty()) return static_cast<double>(names->size());
  return count == nullptr ? 2 : checked_count(*count, whole.file(), "num_labels");
}

/// Whether a class has the encoder of its kind and no decoder.
bool is_encoder_alone(const std::string& named) {
  return named.ends_with("EncoderModel") || named.ends_with("ForAudioClassification");
}

/// Encoder and decoder with attention over the encoder's output (T5, BART, Whisper), or the encoder alone.
void encoder_and_decoder(Workload& w, const Config& c, const Config& whole, Stack encoder) {
  const auto named = named_class(whole);
  const bool alone = is_encoder_alone(named);
  encoder.role = StackRole::encoder;
  Stack decoder = encoder;
  decoder.role = StackRole::decoder;
  decoder.mixer.cross = encoder.mixer.grouped;
  decoder.residual.norms = 3;
  encoder.output = {};
  encoder.output.logits = false;
  encoder.output.norm = decoder.output.norm = c.trait(final_norm);
  decoder.input.token_types.reset();
  // Both read one embedding; it is counted with the decoder.
  if (!alone || c.count("mel_bins")) encoder.input.vocab.reset();
  if (const auto layers = c.count("decoder_layers"); layers && *layers > 0)
    decoder.layers = {{.times = *layers, .pattern = {}}};
  if (const auto width = c.count("decoder_width"); width && *width > 0)
    decoder.feed_forward.dense->width = width;
  if (const auto heads = c.count("decoder_heads"); heads && *heads > 0)
    decoder.mixer.grouped->heads = decoder.mixer.grouped->kv_heads = decoder.mixer.cross->heads =
        decoder.mixer.cross->kv_heads = heads;
  for (Stack* s : {&encoder, &decoder}) set_relative(*s, c, *s->mixer.grouped->heads);
  if (const auto bins = c.count("mel_bins"); bins && *bins > 0) {
    // Two convolutions over three frames each, of which the second halves their number.
    encoder.input.frame_width = 3 * (*bins + *encoder.hidden);
    encoder.input.positions = encoder.input.max_tokens = c.needed("source_positions");
  }
  w.architecture = alone ? Architecture::encoder : Architecture::encoder_decoder;
  if (alone) {
    encoder.output.tied = true;
    if (named.ends_with("Classification")) encoder.output.classes = labels_of(whole);
    c.note(fmt::format("'{}' is the encoder alone", named));
  }
  w.stacks.push_back(std::move(encoder));
  if (!alone) w.stacks.push_back(std::move(decoder));
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
             heads = c.count("tower_heads");
  auto width = c.count("tower_width");
  if (const auto ratio = width ? std::nullopt : c.count("tower_ratio"); ratio && hidden)
    width = *ratio * *hidden;
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
  // Those of Qwen2.5-VL and Pixtral are built as decoders are (Qwen2_5_VLVisionBlock, PixtralAttentionLayer),
  // the latter without biases too.
  const bool pixtral = found->value("model_type", Json()) == "pixtral",
             modern = pixtral || root.value("model_type", Json()) == "qwen2_5_vl";
  s.feed_forward.dense = DenseFeedForward{
      .width = *width, .gated = modern, .activation = modern ? Activation::silu : Activation::gelu};
  s.input.patch_size = c.count("patch");
  if (const auto t = c.count("temporal_patch"); t && *t > 1) s.input.temporal_patch_size = t;
  s.input.channels = c.count_or("channels", 3);
  s.input.image_size = c.count("image");
  if (const auto merge = c.count("merge"); merge && *merge > 1) s.input.merge = merge;
  s.input.positions = c.count("tower_positions");
  s.output.logits = false;
  s.output.projector_width = c.count("projector");
  s.biases = !pixtral;
  s.residual.norm_bias = !modern;
  w.stacks.push_back(std::move(s));
  notes.push_back(
      fmt::format("{}: a plain encoder {} biases, {} matrices a layer; its projector is not counted", key,
                  pixtral ? "without" : "with", modern ? "three" : "two"));
  c.note_unread();
}

std::string entry_name(std::string name) {
  if (const auto slash = name.find_last_of('/'); slash != std::string::npos) {
    const auto base = name.substr(slash + 1);
    // The file of a downloaded model has the name of its folder.
    if (base == "config.json" || base == "model_index.json" || base.empty()) {
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

/// Whether a decoder has classes, a reward or the hidden state as its answer in place of words.
bool answers_in_one_pass(const std::string& named) {
  return named.find("Classification") != std::string::npos || named.find("Reward") != std::string::npos ||
         (named.ends_with("Model") && named.find("Head") == std::string::npos &&
          named.find("Chat") == std::string::npos);
}

/// Sets the output of an encoder by the class of model that the file names.
void set_head(Stack& s, const Config& c, const Config& whole) {
  const std::string head = named_class(whole);
  const bool labels = head.find("Classification") != std::string::npos;
  const bool words = head.find("MaskedLM") != std::string::npos;
  // A matrix of the hidden width before the classes, before the vocabulary, or instead of both.
  s.output.pooler = labels || words || c.trait(pooler);
  if (labels) s.output.classes = labels_of(whole);
  if (const Json* width = whole.at("projection_dim"); width != nullptr && head.ends_with("WithProjection"))
    s.output.classes = checked_count(*width, c.file(), "projection_dim");
  if (words) c.note("the product over the vocabulary, of the words that are filled in, is not counted");
}

/// Whether a file of a class that is not known is that of an encoder of the kind of BERT.
bool looks_like_bert(const Json& text, const Json& root) {
  const auto list = root.find("architectures");
  const bool masked = list != root.end() && list->is_array() && !list->empty() && list->front().is_string() &&
                      list->front().get<std::string>().ends_with("ForMaskedLM");
  const auto decodes = text.find("is_decoder");
  return (masked || text.contains("type_vocab_size")) && (decodes == text.end() || *decodes != true);
}

/// Refuses what of a file cannot be stated: parts that would be left out of the weights.
void refuse_parts(const Config& c, const Config& whole) {
  if (const Json* width = c.at("hidden_size_per_layer_input");
      width != nullptr && width->is_number() && *width != 0)
    c.refuse_key("hidden_size_per_layer_input", "is not read yet", *width,
                 "0: no embedding of each layer of its own");
  const auto named = named_class(whole);
  if (c.trait(crossed) && named.ends_with("ForCausalLM"))
    whole.refuse_key("architectures", "is the decoder alone", named, "encoder and decoder");
  const Json* both = whole.at("is_encoder_decoder");
  const bool two = (both != nullptr && *both == true) || (c.has("encoder_layers") && c.has("decoder_layers"));
  if (c.family() == nullptr && two)
    c.refuse_key("model_type", "is an encoder and a decoder of a class that is not known", c.type(),
                 "a class that is known");
}

/// A decoder whose answer is no word: one pass without an output matrix.
void take_one_pass(Workload& w, Stack s, const Config& c, const Config& whole) {
  s.role = StackRole::encoder;
  s.output.logits = false;
  s.output.tied = true;
  set_head(s, c, whole);
  s.output.pooler = false;
  w.architecture = Architecture::encoder;
  w.stacks.push_back(std::move(s));
  c.note(fmt::format(
      "'{}' generates no words: one pass, without an output matrix; all pairs of tokens are counted, of "
      "which it attends to half",
      named_class(whole)));
}

/// Weights of a model of Mamba blocks of the first kind, which are counted and have no operator list.
/// Worked number: Mamba-2.8B has 2,768,345,600.
/// @cite gu-2023-mamba, section 3.4
Params<> mamba_weights(const Stack& s) {
  const StateSpace& m = *s.mixer.state_space;
  const double h = *s.hidden, inner = *m.expand * h, state = *m.state_size, rank = *m.dt_rank;
  const double projections = 2 * h * inner + inner * (rank + 2 * state) + (rank + 1) * inner + inner * h;
  const double convolution = inner * (*m.conv_width + (m.conv_bias ? 1 : 0));
  const double biases = m.projection_bias ? 2 * inner + h : 0;
  const double layer = projections + convolution + biases + inner * (state + 1) + h;
  return (s.depth() * layer + (s.output.tied ? 1 : 2) * *s.input.vocab * h + h) * unit::param;
}

Stack main_stack(const Config& c) {
  const LayerReader reader(c);
  Stack s;
  s.hidden = reader.hidden();
  set_layers(s, reader.layers());
  s.biases = c.flag("every_bias").value_or(c.trait(biases));
  if (c.type() == "mpt" || c.flag("no_bias") == false) {
    s.biases = c.flag("no_bias") == false;
    s.residual.norm_bias = s.biases;
  }
  if (c.trait(recurrent)) s.biases = false;  // its projections say it themselves
  set_input(s, c, c.count_or("positions", 0));
  s.output.bias = c.trait(head_bias);
  const Json* before = c.at("do_layer_norm_before");  // OPT: norms after both parts of a layer end in one
  if (c.trait(bare_norms) || (before != nullptr && *before == false)) s.output.norm = false;
  return s;
}

/// Whether the input embedding is the output matrix: by the text part, else by the whole file, else by the
/// class.
bool is_tied(const Config& text, const Config& whole) {
  const auto own = text.flag("tied");
  const auto stated = own ? own : whole.flag("tied");
  if (stated) return *stated;
  if (text.family() == nullptr) {
    text.note("tie_word_embeddings is not stated: true, as the library takes it where a class does not say");
    return true;
  }
  const bool otherwise = text.trait(tied);
  text.note(fmt::format("tie_word_embeddings is not stated: {}, as {} has it", otherwise, text.type()));
  return otherwise;
}

/// An encoder of images with a class token and classes as its answer (ViTForImageClassification).
void read_image_encoder(ModelFile& m, const Json& root, const std::string& name) {
  add_tower(m.workload, Json{{"vision_config", root}}, "vision_config", name, m.notes);
  const Config whole(root, name, "", "vit", m.notes);
  if (m.workload.stacks.empty())
    whole.refuse_key("model_type", "does not state its shape", "vit",
                     "hidden_size, "
                     "num_hidden_layers, num_attention_heads and intermediate_size");
  Stack& s = m.workload.stacks.front();
  const double side = whole.needed("image") / whole.needed("patch");
  s.role = StackRole::encoder;
  s.input.positions = side * side + 1;
  set_head(s, whole, whole);
  s.output.pooler = false;
  m.workload.max_positions = s.input.positions;
  m.workload.category = "vision";
  m.workload.architecture = Architecture::encoder;
  m.notes.clear();
  read_formats(m.workload, root, root, Json(), name, m.notes);
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

namespace {

std::string type_of(const Json& section) {
  const auto found = section.find("model_type");
  return found != section.end() && found->is_string() ? found->get<std::string>() : std::string();
}

/// The section of a file that describes its text model, and the class of that.
struct TextPart {
  const Json* section;
  std::string path, type;
};
TextPart text_part(const Json& root, const std::string& file) {
  TextPart out{.section = &root, .path = {}, .type = {}};
  for (const char* part : kTextParts)
    if (const auto found = root.find(part);
        found != root.end() && found->is_object() && out.section == &root) {
      out.section = &*found;
      out.path = std::string(part) + ".";
    }
  out.type = type_of(*out.section);
  if (out.type.empty()) out.type = type_of(root) + (out.path.empty() ? "" : "_text");
  if (out.type.empty() || out.type == "_text")
    throw InputError("mlsysim.model_files.013", "the file does not say what model it is", "model_type",
                     "no such key", "model_type, e.g. \"llama\"", "give the config.json of a model", {file});
  // The first ChatGLM shares its name with its successors, and little else.
  if (out.type == "chatglm" && out.section->contains("inner_hidden_size")) out.type = "chatglm_6b";
  return out;
}

/// Refuses a class of which a part cannot be stated.
void refuse_class(const std::string& type, const std::string& file) {
  const Family* family = family_of(type);
  if (family == nullptr || family->missing.empty()) return;
  throw InputError("mlsysim.model_files.024", fmt::format("a model of the class '{}' cannot be read", type),
                   "model_type", fmt::format("'{}': {}", type, family->missing),
                   "a decoder or encoder whose layers each have weights of their own",
                   "write the entry by hand (docs/how-to/add-a-model.md), or bring the model as a program "
                   "(ONNX, torch.export)",
                   {file});
}

/// How a class that is not known is read.
std::string guess_of(const std::string& type, const Config& c, bool bert) {
  if (bert)
    return fmt::format("the class of '{}' is not known; read by its keys as an encoder like BERT", type);
  return fmt::format(
      "the class of '{}' is not known; read by its keys as a decoder with {} feed-forward, without biases "
      "and norms on "
      "queries and keys unless a key says so",
      type, guessed_gate(c) ? "gated" : "ungated");
}

}  // namespace
}  // namespace detail

ModelFile read_config(const ConfigTexts& texts, const std::string& name) {
  using namespace detail;
  Json root = parse_json(texts.config, name);
  hoist(root, "ffn_config");
  take_thinker(root);
  const Json beside =
      texts.quantization.empty() ? Json() : parse_json(texts.quantization, name + " (hf_quant_config.json)");
  if (!root.contains("model_type") && !diffusers_class(root).empty()) return network_model(root, name);
  ModelFile m = start_entry(name, "config.json of a model hub");
  refuse_class(type_of(root), name);
  const auto [text, path, type] = text_part(root, name);
  refuse_class(type, name);
  if (type == "vit") {
    read_image_encoder(m, root, name);
    return m;
  }
  const bool bert = family_of(type) == nullptr && looks_like_bert(*text, root);
  const Config c(*text, name, path, bert ? "bert" : type, m.notes);
  const Config whole(root, name, "", type_of(root), m.notes);
  refuse_parts(c, whole);
  if (bert || c.family() == nullptr) {
    m.entry.guess = guess_of(type, c, bert);
    if (bert) Config(*text, name, path, type, m.notes).refuse_other_layers();
  }
  if (const Json* words = c.at("word_embed_proj_dim"); words != nullptr && *words != *c.count("hidden"))
    m.entry.guess = fmt::format(
        "rows of the embedding are {} wide and are counted as wide as the hidden state", shown(*words));
  if (!m.entry.guess.empty()) m.notes.push_back("the shape is a guess: " + m.entry.guess);
  if (const Json* embedded = c.at("embedding_size");
      embedded != nullptr && embedded->is_number() && *embedded != *c.count("hidden"))
    c.refuse_key("embedding_size", "is not the hidden width", *embedded, "hidden_size");
  Workload& w = m.workload;
  Stack stack = main_stack(c);
  stack.output.tied = is_tied(c, whole);
  if (const auto positions = c.count("positions"); positions && *positions > 0) w.max_positions = positions;
  if (c.trait(encoder)) {
    set_relative(stack, c, *c.count("heads"));
    stack.role = StackRole::encoder;
    stack.output.logits = false;
    stack.output.norm = c.trait(final_norm);
    stack.output.tied = true;
    set_head(stack, c, whole);
    w.architecture = Architecture::encoder;
    w.stacks.push_back(std::move(stack));
  } else if (c.trait(crossed)) {
    encoder_and_decoder(w, c, whole, std::move(stack));
  } else if (!c.trait(recurrent) &&
             answers_in_one_pass(named_class(path.empty() || named_class(c).empty() ? whole : c))) {
    take_one_pass(w, std::move(stack), c, whole);
  } else {
    w.architecture = Architecture::decoder;
    if (stack.mixer.state_space && stack.mixer.state_space->rule == StateSpaceRule::mamba1) {
      w.architecture = Architecture::ssm;
      w.parameters = mamba_weights(stack);
    }
    w.stacks.push_back(std::move(stack));
  }
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
