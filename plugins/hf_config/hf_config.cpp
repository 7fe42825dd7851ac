// An importer and an exporter: config.json of a model hub to an entry of the zoo, and any entry to CSV.
#include <mlsysim/plugin/mlsysim_plugin.hpp>

#include <nlohmann/json.hpp>

#include <cctype>

namespace {

using namespace mlsysim;
using Json = nlohmann::json;

[[noreturn]] void refuse(std::string_view file, std::string message, std::string found, std::string expected) {
  throw InputError({.id = "hf_config.001", .message = std::move(message), .key = std::string(file), .found = std::move(found), .expected = std::move(expected),
                    .hint = "give the config.json of a decoder", .where = {std::string(file)}});
}

/// A name that the zoo takes, from the name of the file: "meta-llama--Llama-3.json" gives Llama_3.
std::string entry_name(std::string_view file) {
  auto name = std::string(file.substr(file.find_last_of('/') + 1));
  if (const auto dot = name.rfind(".json"); dot != std::string::npos) name.resize(dot);
  if (const auto dashes = name.find("--"); dashes != std::string::npos) name.erase(0, dashes + 2);
  for (auto& c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  if (name.empty() || std::isalpha(static_cast<unsigned char>(name[0])) == 0) name.insert(0, "Model_");
  return name;
}

std::string import_config(std::string_view file, std::string_view bytes) {
  const auto json = Json::parse(bytes, nullptr, false);
  if (!json.is_object()) refuse(file, "the file is no JSON object", "something else", "{\"hidden_size\": ..., ...}");
  const auto count = [&](const char* key, double fallback) {
    const auto at = json.find(key);
    if (at == json.end() || at->is_null()) {
      if (fallback < 0) refuse(file, std::string("'") + key + "' is missing", "no such key", "a whole number");
      return fallback;
    }
    if (!at->is_number() || at->get<double>() <= 0) refuse(file, std::string("'") + key + "' is no count", at->dump(), "a whole number above 0");
    return at->get<double>();
  };
  const double layers = count("num_hidden_layers", -1), hidden = count("hidden_size", -1), heads = count("num_attention_heads", -1);
  const double ffn = count("intermediate_size", -1), vocab = count("vocab_size", -1);
  const double kv_heads = count("num_key_value_heads", heads), head_dim = count("head_dim", hidden / heads);
  const auto activation = json.value("hidden_act", std::string());
  const bool gated = activation == "silu" || activation == "swiglu" || activation.find("glu") != std::string::npos;
  const auto whole = [](double x) { return std::to_string(static_cast<long long>(x)); };
  std::string out = "schema: mlsysim/model@1\nentries:\n- name: " + entry_name(file) +
                    "\n  source: {kind: secondary, note: config.json of a model hub, recorded: 2026-11-21}\n  category: language\n  architecture: decoder\n";
  if (json.contains("max_position_embeddings")) out += "  max_positions: " + whole(count("max_position_embeddings", -1)) + "\n";
  out += "  shape: {layers: " + whole(layers) + ", hidden: " + whole(hidden) + ", ffn: " + whole(ffn) + ", gated_ffn: " + (gated ? "true" : "false") + ", heads: " + whole(heads) +
         ", kv_heads: " + whole(kv_heads) + ", head_dim: " + whole(head_dim) + ", vocab: " + whole(vocab) +
         ", tied_embeddings: " + (json.value("tie_word_embeddings", false) ? "true" : "false") + "}\n";
  return out;
}

std::string quoted(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

std::string export_csv(const MlsObject* object) {
  std::string out = "path,value,unit\n";
  for (const auto& f : plugin::sdk::figures(object)) {
    if (f.kind == MLS_OBJECT) continue;
    const auto value = f.kind == MLS_NUMBER ? format_exact(f.number) : f.kind == MLS_FLAG ? std::string(f.flag ? "true" : "false") : f.text;
    out += quoted(f.path) + "," + quoted(value) + "," + (f.kind == MLS_NUMBER ? f.text : "") + "\n";
  }
  return out;
}

}  // namespace

MLSYSIM_PLUGIN(({.name = "hf-config",
                 .space = "hf",
                 .version = "1.0.0",
                 .summary = "Models from config.json files, entries as CSV",
                 .license = "Apache-2.0",
                 .threads = MLS_THREAD_SAFE,
                 .flags = MLS_PLUGIN_UNLOADABLE})) {
  plugin.importer("ConfigJson", "A decoder from the config.json of a model hub", "config.json", &import_config);
  plugin.exporter("FiguresCsv", "Every figure of an entry in base units", "csv", &export_csv);
}
