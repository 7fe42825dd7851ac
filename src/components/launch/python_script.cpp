// Launches inside Python: calls of an engine or of a trainer, and commands as lists of words. A script is
// read and never run: values are literals, or names that the script sets to literals.

#include "detail/manifest.hpp"
#include "detail/settings.hpp"

#include <mlsysim/units/detail/trimmed.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <map>

namespace mlsysim::detail {
namespace {

/// A call, and the command whose flags its arguments are. `module` occurs in a script that means this one.
struct Call {
  std::string_view name, module, command, model;
};
constexpr std::array kCalls{
    Call{"LLM", "tensorrt_llm", "trtllm-serve", "model"},
    Call{"LLM", "vllm", "vllm serve", "model"},
    Call{"EngineArgs", "vllm", "vllm serve", "model"},
    Call{"AsyncEngineArgs", "vllm", "vllm serve", "model"},
    Call{"Engine", "sglang", "sglang serve", "model_path"},
    Call{"Llama", "llama_cpp", "llama-server", "model_path"},
    Call{"SFTConfig", "trl", "trl sft", ""},
    Call{"DPOConfig", "trl", "python dpo.py", ""},
    Call{"GRPOConfig", "trl", "python grpo.py", ""},
    Call{"TrainingArguments", "transformers", "python train.py", ""},
    Call{"Seq2SeqTrainingArguments", "transformers", "python train.py", ""},
};
/// Calls beside those of a trainer that state its model and its adapter.
constexpr std::array<std::string_view, 4> kBeside{"from_pretrained", "LoraConfig", "get_peft_model",
                                                  "BitsAndBytesConfig"};

constexpr std::size_t kLongestText = 4096;  // of a value that is put together from others
constexpr int kMostCalls = 4;               // around a value: str(int(...))
constexpr std::size_t kLongestList = 1 << 16;

bool in_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// The place behind the string that begins at `i`.
std::size_t behind_string(std::string_view s, std::size_t i) {
  const std::string quote(s.substr(i).starts_with(std::string(3, s[i])) ? 3 : 1, s[i]);
  for (i += quote.size(); i < s.size(); ++i) {
    if (s[i] == '\\')
      ++i;
    else if (s.substr(i).starts_with(quote))
      return i + quote.size();
  }
  return s.size();
}

bool quote(char c) { return c == '"' || c == '\''; }

/// The script without its comments.
std::string without_comments(std::string_view s) {
  std::string out;
  for (std::size_t i = 0; i < s.size();) {
    const auto next = quote(s[i])   ? behind_string(s, i)
                      : s[i] == '#' ? std::min(s.find('\n', i), s.size())
                                    : i + 1;
    if (s[i] != '#') out += s.substr(i, next - i);
    i = next;
  }
  return out;
}

/// The parts between commas, from the bracket at `i` to the one that closes it, which is near.
/// @param end set to the place behind what was looked at
std::vector<std::string_view> parts_in(std::string_view s, std::size_t i, std::size_t* end = nullptr) {
  std::vector<std::string_view> out;
  std::size_t depth = 0, begin = i + 1;
  s = s.substr(0, std::min(s.size(), i + kLongestList));
  for (; i < s.size(); ++i) {
    if (quote(s[i])) {
      i = behind_string(s, i) - 1;
      continue;
    }
    if (s[i] == '(' || s[i] == '[' || s[i] == '{') ++depth;
    const bool closes = s[i] == ')' || s[i] == ']' || s[i] == '}';
    if ((closes && --depth == 0) || (s[i] == ',' && depth == 1)) {
      if (const auto part = trimmed(s.substr(begin, i - begin)); !part.empty()) out.push_back(part);
      begin = i + 1;
    }
    if (closes && depth == 0) break;
  }
  if (end != nullptr) *end = std::min(i + 1, s.size());
  return out;
}

class Script {
 public:
  explicit Script(std::string_view text) : text_(without_comments(text)) {
    for (std::string_view rest = text_; !rest.empty();) {
      const auto line = rest.substr(0, std::min(rest.find('\n'), rest.size()));
      rest.remove_prefix(std::min(line.size() + 1, rest.size()));
      const auto equals = line.find('=');
      if (equals == std::string_view::npos || equals + 1 == line.size() || line[equals + 1] == '=') continue;
      auto name = trimmed(line.substr(0, equals));
      name = trimmed(name.substr(0, std::min(name.find(':'), name.size())));
      if (name.empty() || !std::all_of(name.begin(), name.end(), in_name)) continue;
      if (auto value = literal(line.substr(equals + 1))) constants_[std::string(name)] = std::move(*value);
    }
  }

  /// The text of a value that the script states; nothing where it computes one.
  [[nodiscard]] std::optional<std::string> literal(std::string_view value, int calls = 0) const {
    value = trimmed(value);
    if (value.empty() || calls > kMostCalls) return std::nullopt;
    const bool formatted = value.front() == 'f' && value.size() > 1 && quote(value[1]);
    if (formatted || ((value.front() == 'r' || value.front() == 'b') && value.size() > 1 && quote(value[1])))
      value.remove_prefix(1);
    if (quote(value.front())) {
      if (behind_string(value, 0) != value.size() || value.size() < 2) return std::nullopt;
      const std::string inner(value.substr(1, value.size() - 2));
      return formatted ? filled(inner) : inner;
    }
    if (value == "True" || value == "False") return value == "True" ? "true" : "false";
    for (const std::string_view call : {"str(", "int(", "float("})
      if (value.starts_with(call) && value.ends_with(')'))
        return literal(value.substr(call.size(), value.size() - call.size() - 1), calls + 1);
    for (const std::string_view call : {"os.environ.get(", "os.getenv(", "environ.get("})
      if (value.starts_with(call) && value.ends_with(')'))
        if (const auto parts = parts_in(value, call.size() - 1); parts.size() == 2)
          return literal(parts[1], calls + 1);
    if (value.starts_with("torch.")) return std::string(value.substr(6));
    if (std::all_of(value.begin(), value.end(), in_name) &&
        std::isdigit(static_cast<unsigned char>(value[0])) == 0) {
      const auto found = constants_.find(value);
      return found == constants_.end() ? std::nullopt : std::optional(found->second);
    }
    std::string number(value);
    std::erase(number, '_');
    if (number_of(number)) return number;
    return std::nullopt;
  }

  /// Arguments of the first call of a function; null where the script has none.
  [[nodiscard]] std::optional<std::vector<std::string_view>> arguments(std::string_view function) const {
    const std::string_view s = text_;
    for (std::size_t i = 0; i < s.size(); ++i) {
      if (quote(s[i])) {
        i = behind_string(s, i) - 1;
        continue;
      }
      if ((i > 0 && in_name(s[i - 1])) || !s.substr(i).starts_with(function)) continue;
      const auto open = i + function.size();
      const bool defined = s.substr(0, i).ends_with("class ") || s.substr(0, i).ends_with("def ");
      if (open < s.size() && s[open] == '(' && !defined) return parts_in(s, open);
    }
    return std::nullopt;
  }

  /// The lists whose first words start a program, with what is added to them.
  [[nodiscard]] std::string commands() const {
    std::string out;
    const std::string_view s = text_;
    std::size_t room = 8 * s.size();  // lists in lists are read once each, up to so many bytes of them
    for (std::size_t i = 0; i < s.size() && room > 0; ++i) {
      if (quote(s[i])) {
        const auto end = behind_string(s, i);
        const auto inner = trimmed(s.substr(i + 1, end > i + 2 ? end - i - 2 : 0));
        if (inner.starts_with("vllm serve ") || inner.starts_with("sglang serve "))
          out += std::string(inner) + "\n";
        i = end - 1;
        continue;
      }
      if (s[i] != '[') continue;
      std::size_t read = 0;
      const auto words = parts_in(s, i, &read);
      room -= std::min(room, read - i);
      if (words.empty()) continue;
      const auto first = literal(words.front());
      const bool adds = trimmed(s.substr(0, i)).ends_with("+=") || s.substr(0, i).ends_with(".extend(");
      const bool starts =
          first && (*first == "vllm" || *first == "sglang" || *first == "python" || *first == "python3" ||
                    *first == "llama-server" || *first == "trtllm-serve");
      if (!starts && !(adds && !out.empty())) continue;
      if (adds && out.ends_with('\n')) out.back() = ' ';
      for (const auto word : words)
        if (const auto text = literal(word)) out += quoted(*text) + " ";
      out += "\n";
    }
    return out;
  }

  /// The device that a function asks for (Modal): gpu="H100:8".
  [[nodiscard]] std::string device() const {
    const auto at = text_.find("gpu=");
    if (at == std::string::npos || (at > 0 && in_name(text_[at - 1]))) return {};
    const auto begin = at + 4 + (text_.substr(at + 4).starts_with("f") ? 1 : 0);
    if (begin >= text_.size() || !quote(text_[begin])) return {};
    const auto end = behind_string(text_, begin);
    const auto value = literal(std::string_view(text_).substr(at + 4, end - at - 4)).value_or("");
    return value.substr(0, std::min({value.find(':'), value.find('!'), value.size()}));
  }

  [[nodiscard]] bool has(std::string_view words) const { return text_.find(words) != std::string::npos; }

 private:
  [[nodiscard]] std::optional<std::string> filled(const std::string& text) const {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] != '{') {
        out += text[i];
        continue;
      }
      const auto end = text.find('}', i);
      if (end == std::string::npos) return std::nullopt;
      const auto found = constants_.find(std::string_view(text).substr(i + 1, end - i - 1));
      if (found == constants_.end() || out.size() > kLongestText) return std::nullopt;
      out += found->second;
      i = end;
    }
    return out;
  }

  std::string text_;
  std::map<std::string, std::string, std::less<>> constants_;
};

/// One argument as a flag: True is the flag alone, and a dictionary its JSON.
void put_argument(std::string_view key, std::string_view value, const Script& script, bool trains,
                  Manifest& out) {
  if (value == "None") return;
  std::string flag(key == "model_path" ? "model" : key);  // of llama-cpp-python
  auto text = script.literal(value);
  if (!text && value.starts_with('{')) {
    text = std::string(value);
    std::replace(text->begin(), text->end(), '\'', '"');
  }
  if (!text && value.starts_with('[') && trains) {
    out.script += fmt::format(" --{}", flag);
    for (const auto item : parts_in(value, 0))
      if (const auto word = script.literal(item)) out.script += " " + quoted(*word);
    return;
  }
  const auto open = value.find('(');
  if (!text && open != std::string_view::npos &&
      std::all_of(value.begin(), value.begin() + static_cast<std::ptrdiff_t>(open), in_name)) {
    for (const auto part : parts_in(value, open))  // KvCacheConfig(dtype="fp8") is a section of the file
      if (const auto equals = part.find('='); equals != std::string_view::npos)
        put_argument(fmt::format("{}.{}", key, trimmed(part.substr(0, equals))),
                     trimmed(part.substr(equals + 1)), script, trains, out);
    return;
  }
  if (!text) {
    out.notes.push_back(fmt::format("the script computes '{}': it is left out", key));
    return;
  }
  if (key == "n_gpu_layers" && *text == "-1") text = "all";
  const bool word = *text == "true" || *text == "false";
  if (!trains && word)
    out.script += *text == "true" ? " --" + flag : " --no-" + flag;
  else
    out.script += fmt::format(" --{} {}", flag, quoted(*text));
}

void put_arguments(const std::vector<std::string_view>& arguments, const Script& script,
                   std::string_view model, bool trains, Manifest& out) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const auto part = arguments[i];
    const auto equals = part.find('=');
    const auto key = trimmed(part.substr(0, equals));
    const bool named = equals != std::string_view::npos && std::all_of(key.begin(), key.end(), in_name);
    if (named)
      put_argument(key, trimmed(part.substr(equals + 1)), script, trains, out);
    else if (i == 0 && !model.empty())
      put_argument(model, part, script, trains, out);
  }
}

/// The model, its format and its adapter, which stand beside the arguments of a trainer.
void put_beside(const Script& script, Manifest& out) {
  for (const auto name : kBeside) {
    const auto arguments = script.arguments(name);
    if (!arguments) continue;
    Manifest own;
    put_arguments(*arguments, script, name == "from_pretrained" ? "model_name_or_path" : "", true, own);
    for (const auto& [theirs, flag] : {std::pair(" --r ", " --use_peft --lora_r "),
                                       {" --target_modules ", " --lora_target_modules "},
                                       {" --model_name ", " --model_name_or_path "}})
      if (const auto at = own.script.find(theirs); at != std::string::npos)
        own.script.replace(at, std::string_view(theirs).size(), flag);
    out.script += own.script;
  }
}

}  // namespace

std::string python_calls() {
  std::vector<std::string_view> names;
  for (const auto& call : kCalls)
    if (std::find(names.begin(), names.end(), call.name) == names.end()) names.push_back(call.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

std::optional<Manifest> read_python(std::string_view text) {
  const Script script(text);
  Manifest out{.kind = "a script of Python", .script = {}, .images = {}};
  out.machine = script.device();
  out.script = script.commands();
  if (!out.script.empty()) return out;
  for (const auto& call : kCalls) {
    const auto arguments = script.has(call.module) ? script.arguments(call.name) : std::nullopt;
    if (!arguments) continue;
    const bool trains = call.model.empty();
    out.script = std::string(call.command);
    put_arguments(*arguments, script, call.model, trains, out);
    if (trains) put_beside(script, out);
    out.script += "\n";
    return out;
  }
  return std::nullopt;
}

}  // namespace mlsysim::detail
