// Words of a shell, split and never run.

#include "detail/source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <map>

namespace mlsysim::detail {
namespace {

bool name_char(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

class ShellReader {
 public:
  ShellReader(std::string_view text, const std::string& name,
              std::map<std::string, std::string> variables = {})
      : text_(text), name_(name), variables_(std::move(variables)) {}

  ShellScript read() {
    while (at_ < text_.size()) step();
    end_word();
    if (array_) unclosed("an array", "a closing parenthesis");
    end_command();
    out_.variables = std::move(variables_);
    return std::move(out_);
  }

 private:
  [[noreturn]] void unclosed(std::string_view what, std::string_view expected) const {
    throw InputError({.id = "mlsysim.launch.002",
                      .message = fmt::format("{} is not closed", what),
                      .found = fmt::format("the end of the text; it began in line {}", opened_),
                      .expected = std::string(expected),
                      .hint = "close it",
                      .where = {.file = name_, .line = opened_}});
  }
  [[noreturn]] void too_long() const {
    throw InputError({.id = "mlsysim.launch.019",
                      .message = "the launch has too many words",
                      .found = fmt::format("more than {} words, or words too long", kMostSettings),
                      .expected = "the launch of one engine",
                      .hint = "cut the script down to the command that starts it",
                      .where = {.file = name_, .line = line_}});
  }
  [[nodiscard]] char peek(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  void add(char c) {
    word_ += c;
    open_ = true;
  }

  void step() {
    const char c = text_[at_];
    if (c == '\n') {
      end_word();
      const std::string program = command_.empty() ? "" : command_.front().text;
      if (program == "tee" && command_.size() > 1) target_ = command_.back().text;
      if (!array_) end_command();
      ++line_;
      ++at_;
      if (!here_.empty()) here_document(program);
      target_.clear();
    } else if (c == ' ' || c == '\t' || c == '\r') {
      end_word();
      ++at_;
    } else if (c == '#' && !open_) {
      const auto end = std::min(text_.find('\n', at_), text_.size());
      batch_option(text_.substr(at_, end - at_));
      at_ = end;
    } else if (c == '\\') {
      const char next = peek(1) == '\r' && peek(2) == '\n' ? '\n' : peek(1);
      if (next == '\n')
        ++line_;
      else if (next != '\0')
        add(next);
      at_ += next == '\n' && peek(1) == '\r' ? 3 : 2;
    } else if (c == '\'' || c == '"') {
      quoted(c);
    } else if (c == '$' || c == '`') {
      dollar(true);
    } else if (c == '(' && open_ && word_.ends_with('=') && !array_) {
      array_ = true;
      opened_ = line_;
      array_name_ = word_.substr(0, word_.size() - 1);
      word_.clear();
      open_ = false;
      ++at_;
    } else if (c == ')' && array_) {
      end_word();
      array_ = false;
      ++at_;
    } else if (c == ';' || c == '&' || c == '|' || c == '(' || c == ')') {
      // A digit or nothing before & belongs to a redirection such as 2>&1, which the next branch has eaten.
      end_word();
      end_command();
      ++at_;
    } else if (c == '>' || c == '<') {
      redirection();
    } else {
      add(c);
      ++at_;
    }
  }

  /// The variables that Slurm makes of its options: "#SBATCH --nodes=4" and "#SBATCH -N 4".
  void batch_option(std::string_view comment) {
    if (!comment.starts_with("#SBATCH ")) return;
    constexpr auto options = std::to_array<std::pair<std::string_view, std::string_view>>(
        {{"--nodes", "SLURM_NNODES"},
         {"-N", "SLURM_NNODES"},
         {"--ntasks-per-node", "SLURM_NTASKS_PER_NODE"},
         {"--ntasks", "SLURM_NTASKS"},
         {"-n", "SLURM_NTASKS"},
         {"--gpus-per-node", "SLURM_GPUS_ON_NODE"},
         {"--gres", "SLURM_GPUS_ON_NODE"},
         {"--cpus-per-task", "SLURM_CPUS_PER_TASK"}});
    comment = comment.substr(8, comment.find('#', 8) - 8);
    while (!comment.empty()) {
      comment.remove_prefix(std::min(comment.find('-'), comment.size()));
      const auto name = comment.substr(0, comment.find_first_of("= \t"));
      comment.remove_prefix(std::min(comment.find_first_not_of("= \t", name.size()), comment.size()));
      auto rest = comment.substr(0, comment.find_first_of(" \t"));
      if (rest.starts_with('-')) continue;  // an option without a value
      comment.remove_prefix(rest.size());
      rest = rest.substr(0, rest.find(','));
      if (rest.starts_with("gpu:") || name.starts_with("--gpus")) {  // "gpu:h100:8", "a100:4"
        if (rest.starts_with("gpu:")) rest.remove_prefix(4);
        if (const auto colon = rest.rfind(':'); colon != std::string_view::npos)
          out_.machine = rest.substr(0, colon), rest.remove_prefix(colon + 1);
      }
      const auto value = rest.substr(0, rest.find_first_not_of("0123456789"));  // "1-4": at least 1
      if (value.empty()) continue;
      for (const auto& [option, variable] : options)
        if (name == option) variables_[std::string(variable)] = out_.batch[std::string(variable)] = value;
    }
    for (const auto& [own, also] :
         {std::pair("SLURM_NNODES", "SLURM_JOB_NUM_NODES"), {"SLURM_GPUS_ON_NODE", "SLURM_GPUS_PER_NODE"}})
      if (const auto known = variables_.find(own); known != variables_.end())
        variables_[also] = std::string(known->second);
  }

  /// The lines up to the word that ends a here-document. Scripts that are written that way are read as
  /// scripts; what another program reads is no shell's.
  void here_document(const std::string& program) {
    std::string body;
    const int first = line_;
    while (at_ < text_.size()) {
      const auto end = std::min(text_.find('\n', at_), text_.size());
      auto line = text_.substr(at_, end - at_);
      at_ = std::min(end + 1, text_.size());
      ++line_;
      if (line.ends_with('\r')) line.remove_suffix(1);
      const auto begin = std::min(line.find_first_not_of('\t'), line.size());
      if (line.substr(begin) == here_) break;
      (body += line) += '\n';
    }
    here_.clear();
    if (!target_.empty()) {
      for (const auto& [name, value] : plain_ ? std::map<std::string, std::string>{} : variables_)
        for (const auto& form : {"${" + name + "}", "$" + name})
          for (auto at = body.find(form); at != std::string::npos; at = body.find(form, at + value.size())) {
            if (body.size() + value.size() > kLongestLaunch) too_long();
            body.replace(at, form.size(), value);
          }
      out_.files[target_] = body;
    }
    const auto slash = program.rfind('/');
    const auto name = slash == std::string::npos ? program : program.substr(slash + 1);
    const bool shell = name == "cat" || name == "tee" || name == "bash" || name == "sh" || name == "ssh" ||
                       name == "sbatch" || name == "srun";
    if (!shell || nested_) return;
    try {
      ShellReader inner(body, name_);
      inner.nested_ = true;
      inner.variables_ = variables_;
      inner.arrays_ = arrays_;
      auto script = inner.read();
      for (auto& command : script.commands) {
        for (auto& word : command) word.line += first - 1;
        out_.commands.push_back(std::move(command));
      }
    } catch (const InputError&) {  // a text that is no script
    }
  }

  /// Drops the file of a redirection.
  void redirection() {
    if (open_ && std::all_of(word_.begin(), word_.end(), [](char c) { return c >= '0' && c <= '9'; }))
      word_.clear(), open_ = false;
    end_word();
    const bool here = peek() == '<' && peek(1) == '<' && peek(2) != '<', writes = peek() == '>';
    while (peek() == '>' || peek() == '<' || peek() == '&') ++at_;
    if (here && peek() == '-') ++at_;
    while (peek() == ' ') ++at_;
    const auto begin = at_;
    while (at_ < text_.size() && std::string_view(" \t\n;&|").find(peek()) == std::string_view::npos) ++at_;
    if (writes) {
      target_ = text_.substr(begin, at_ - begin);
      std::erase_if(target_, [](char c) { return c == '"' || c == '\'' || c == '{' || c == '}'; });
      if (const auto known = variables_.find(target_.substr(target_.starts_with('$') ? 1 : 0));
          target_.starts_with('$') && known != variables_.end())
        target_ = known->second;
    }
    if (!here) return;
    here_ = text_.substr(begin, at_ - begin);
    plain_ = here_.find_first_of("\"'\\") != std::string::npos;
    std::erase_if(here_, [](char c) { return c == '"' || c == '\'' || c == '\\'; });
  }

  void quoted(char quote) {
    opened_ = line_;
    open_ = true;
    for (++at_;;) {
      if (at_ >= text_.size()) unclosed("a quote", fmt::format("a closing {}", quote));
      const char c = text_[at_];
      if (c == quote) {
        ++at_;
        return;
      }
      if (c == '\n') ++line_;
      if (quote == '"' && c == '\\' && at_ + 1 < text_.size()) {
        const char next = text_[at_ + 1];
        if (next == '\n')
          ++line_;
        else if (next == '"' || next == '\\' || next == '$' || next == '`')
          word_ += next;
        else
          (word_ += c) += next;
        at_ += 2;
      } else if (quote == '"' && (c == '$' || c == '`')) {
        dollar(false);
      } else {
        word_ += c;
        ++at_;
      }
    }
  }

  /// Reads up to the bracket that closes the one at `at_ - 1`. Nested brackets of that kind are included.
  std::string_view between(char open, char close) {
    const std::size_t begin = at_;
    int depth = 1;
    for (; at_ < text_.size(); ++at_) {
      if (text_[at_] == open) ++depth;
      if (text_[at_] == '\n') ++line_;
      if (text_[at_] == close && --depth == 0) break;
    }
    const auto inside = text_.substr(begin, at_ - begin);
    if (at_ < text_.size()) ++at_;
    return inside;
  }

  /// A variable of this text, or what is never evaluated and therefore kept.
  void dollar(bool splits) {
    const std::size_t begin = at_;
    open_ = true;
    if (text_[at_] == '`') {
      ++at_;
      (void)between('\0', '`');
    } else if (peek(1) == '(') {
      at_ += 2;
      const auto inside = between('(', ')');
      if (inside.starts_with('(') && inside.ends_with(')'))
        if (const auto number = arithmetic(inside.substr(1, inside.size() - 2), variables_)) {
          word_ += *number;
          return;
        }
    } else if (peek(1) == '{') {
      at_ += 2;
      if (braced(between('{', '}'), splits)) return;
    } else if (name_char(peek(1))) {
      ++at_;
      std::string name;
      while (name_char(peek())) name += text_[at_++];
      if (put_variable(name, splits)) return;
    } else {
      ++at_;
    }
    word_ += text_.substr(begin, at_ - begin);
  }

  bool braced(std::string_view inside, bool splits) {
    const auto end =
        std::min(inside.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"),
                 inside.size());
    const std::string name(inside.substr(0, end));
    auto rest = inside.substr(end);
    if (rest.empty() || rest == "[@]" || rest == "[*]") return put_variable(name, splits);
    for (const std::string_view form : {":-", ":=", "-", "="})
      if (rest.starts_with(form)) {
        if (put_variable(name, splits)) return true;
        const auto otherwise = rest.substr(form.size());
        if (otherwise.find('$') != std::string_view::npos || otherwise.find('`') != std::string_view::npos)
          return false;
        if (form.ends_with('=')) {
          variables_[name] = std::string(otherwise);
          out_.assignments.push_back({name, {std::string(otherwise), line_}});
        }
        word_ += otherwise;
        return true;
      }
    return false;
  }

  bool put_variable(const std::string& name, bool splits) {
    if (const auto list = arrays_.find(name); list != arrays_.end()) {
      const bool begun = !word_.empty();
      const auto items = list->second;  // an array may name itself while it is read
      for (const auto& item : items) {
        if (begun) end_word();
        word_ = item;
        open_ = true;
        end_word();
      }
      open_ = false;
      return true;
    }
    const auto value = variables_.find(name);
    if (value == variables_.end()) return false;
    if (word_.size() + value->second.size() > kLongestLaunch) too_long();
    const std::string text = value->second;
    int depth = 0;       // of substitutions of commands, which stay whole
    bool ticks = false;  // in one of the old form
    for (std::size_t i = 0; i < text.size(); ++i) {
      const char c = text[i];
      if (c == '`') ticks = !ticks;
      if (c == '(' && (depth > 0 || (i > 0 && text[i - 1] == '$'))) ++depth;
      if (c == ')' && depth > 0) --depth;
      if (splits && depth == 0 && !ticks && (c == ' ' || c == '\t' || c == '\n'))
        end_word();
      else
        add(c);
    }
    return true;
  }

  void end_word() {
    if (!open_) return;
    open_ = false;
    if (++words_ > kMostSettings || (bytes_ += word_.size()) > 8 * kLongestLaunch) too_long();
    if (array_) {
      // An element may hold a flag and its value: "--fp8-format hybrid".
      const auto space = word_.starts_with("--") ? word_.find(' ') : std::string::npos;
      auto& list = arrays_[array_name_];
      list.push_back(word_.substr(0, space));
      if (space != std::string::npos) list.push_back(word_.substr(space + 1));
    } else if (!assign()) {
      command_.push_back({word_, line_});
    }
    word_.clear();
  }

  /// Takes a leading NAME=value, also behind export; other words are no assignment.
  bool assign() {
    const bool leading = std::all_of(command_.begin(), command_.end(), [](const ShellWord& w) {
      return w.text == "export" || w.text == "readonly" || w.text == "declare" || w.text == "env";
    });
    const auto equals = word_.find('=');
    if (!leading || equals == std::string::npos || equals == 0 ||
        std::isdigit(static_cast<unsigned char>(word_[0])) != 0 ||
        !std::all_of(word_.begin(), word_.begin() + static_cast<std::ptrdiff_t>(equals), name_char))
      return false;
    const auto name = word_.substr(0, equals);
    const auto value = word_.substr(equals + 1);
    variables_[name] = value;
    arrays_.erase(name);
    out_.assignments.push_back({name, {value, line_}});
    return true;
  }

  void end_command() {
    if (!command_.empty()) out_.commands.push_back(std::move(command_));
    command_.clear();
  }

  std::string_view text_;
  const std::string& name_;
  ShellScript out_;
  std::vector<ShellWord> command_;
  std::map<std::string, std::string> variables_;
  std::map<std::string, std::vector<std::string>> arrays_;
  std::string word_, array_name_, here_, target_;  ///< target_: the file that a command writes
  std::size_t at_ = 0, words_ = 0, bytes_ = 0;
  int line_ = 1, opened_ = 1;
  bool open_ = false, array_ = false, nested_ = false;
  bool plain_ = false;  ///< nothing stands for variables in the here-document
};

}  // namespace

ShellScript split_shell(std::string_view text, const std::string& name,
                        std::map<std::string, std::string> variables) {
  return ShellReader(text, name, std::move(variables)).read();
}

}  // namespace mlsysim::detail
