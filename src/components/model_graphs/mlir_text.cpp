// Reading MLIR text, in its pretty and its generic form.

#include "detail/mlir.hpp"
#include "detail/mlir_cursor.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace mlsysim::detail {
namespace {

class Parser {
 public:
  Parser(std::string_view text, const std::string& file) : in_(text, file), text_(text) {}

  MlirModule parse() {
    while (true) {
      in_.skip_blank();
      if (in_.at_end()) return std::move(module_);
      const char c = in_.peek();
      if (c == '}' || c == ')' || c == ':' || c == '-') {
        tail_of_module();
        continue;
      }
      if (alias()) continue;
      top();
    }
  }

 private:
  /// "#loc = loc(...)" and "!t = tuple<...>".
  bool alias() {
    const char c = in_.peek();
    if (c != '#' && c != '!') return false;
    const auto name = in_.word();
    in_.skip_blank();
    if (!in_.take('=')) in_.fail("an alias without a value", "'=' after the name");
    in_.skip_blank();
    if (c == '!') {
      aliases_[name] = type();
    } else {
      const auto from = in_.offset();
      in_.skip_value();
      module_.locations[name] = text_.substr(from, in_.offset() - from);
    }
    return true;
  }

  /// Skips the end of a module in its generic form: "}) {attributes} : () -> ()".
  void tail_of_module() {
    const char c = in_.peek();
    in_.skip(1);
    if (c == ')') {
      in_.skip_blank();
      if (!in_.at_end() && in_.peek() == '{') in_.skip_brackets();
    }
    if (c == ':' || c == '-') in_.skip_line();
  }

  void top() {
    const auto before = in_.offset();
    in_.skip_blank();
    const bool quoted = in_.peek() == '"';
    const auto name = quoted ? in_.quoted() : in_.word();
    if (name == "module" || name == "builtin.module") {
      // Its statements are read as if they stood outside.
      while (!in_.at_end() && in_.peek() != '{') {
        if (in_.peek() == '@') {
          in_.symbol();
        } else if (in_.starts("attributes")) {
          in_.skip(10);
          in_.skip_blank();
          in_.skip_brackets();
        } else {
          in_.skip(1);
        }
      }
      if (!in_.at_end()) in_.skip(1);
      return;
    }
    if (name == "func.func" || name == "func") return quoted ? generic_function() : function();
    in_.rewind(before);
    locals_.clear();
    next_ = 0;
    module_.globals.push_back(statement(0));
  }

  void start_function() {
    locals_.clear();
    next_ = 0;
  }

  void function() {
    start_function();
    MlirFunction f;
    in_.skip_blank();
    while (in_.peek() != '@') {
      if (in_.word() == "private") f.is_private = true;
      in_.skip_blank();
    }
    f.name = in_.symbol();
    in_.expect('(');
    arguments(f.body);
    while (true) {  // results and attributes, up to the body
      in_.skip_blank();
      if (in_.at_end()) break;
      if (in_.starts("->")) {
        in_.skip(2);
        in_.skip_blank();
        if (in_.peek() == '(')
          in_.skip_brackets();
        else
          (void)type();
      } else if (in_.starts("attributes")) {
        in_.skip(10);
        in_.skip_blank();
        in_.skip_brackets();
      } else if (in_.peek() == '{') {
        in_.skip(1);
        body(f.body, 1);
        break;
      } else {
        break;  // declared only
      }
    }
    location();
    f.locals = next_;
    module_.functions.push_back(std::move(f));
  }

  void generic_function() {
    start_function();
    MlirFunction f;
    MlirOp op;
    rest(op, 0);
    if (!op.regions.empty()) f.body = std::move(op.regions.front());
    const auto at = find_key(op.attributes, "sym_name");
    if (at != std::string_view::npos) {
      const auto from = op.attributes.find('"', at);
      if (from != std::string_view::npos)
        f.name = op.attributes.substr(from + 1, op.attributes.find('"', from + 1) - from - 1);
    }
    f.is_private = op.attributes.find("\"private\"") != std::string_view::npos;
    f.locals = next_;
    module_.functions.push_back(std::move(f));
  }

  /// "%a: type {attributes} loc(...), ...)" up to the closing bracket.
  void arguments(MlirRegion& region) {
    while (true) {
      in_.skip_blank();
      if (in_.take(')')) return;
      if (in_.take(',')) continue;
      if (in_.peek() == '%') {
        const auto name = in_.value_name();
        region.arguments.push_back(define(name, 1));
        in_.expect(':');
        region.argument_types.push_back(type());
      } else if (in_.peek() == '{') {
        in_.skip_brackets();
      } else if (location().empty()) {
        region.arguments.push_back(next_++);  // a declaration names no arguments
        region.argument_types.push_back(type());
      }
    }
  }

  void body(MlirRegion& region, int depth) {
    if (depth > kNesting) in_.fail("regions nest too deeply", fmt::format("at most {} levels", kNesting));
    while (true) {
      in_.skip_blank();
      if (in_.at_end()) in_.fail("the text ends inside a region", "'}'");
      if (in_.take('}')) return;
      if (in_.peek() == '^') {
        (void)in_.word();
        if (in_.take('(')) arguments(region);
        in_.expect(':');
        continue;
      }
      if (alias()) continue;
      region.ops.push_back(statement(depth));
    }
  }

  MlirOp statement(int depth) {
    MlirOp op;
    op.offset = in_.offset();
    std::vector<std::pair<std::string_view, std::uint32_t>> results;
    while (in_.peek() == '%') {
      const auto name = in_.value_name();
      std::uint32_t count = 1;
      if (in_.take(':')) count = static_cast<std::uint32_t>(std::min(in_.number(), 100000.0));
      results.emplace_back(name, count);
      in_.skip_blank();
      in_.take(',');
      in_.skip_blank();
    }
    if (!results.empty()) in_.expect('=');
    in_.skip_blank();
    op.name = in_.at_end() ? std::string_view() : in_.peek() == '"' ? in_.quoted() : in_.word();
    if (op.name.empty()) in_.fail("there is no operator here", "the name of one");
    rest(op, depth);
    for (const auto& [name, count] : results) {
      const auto first = define(name, count);
      if (op.result_count == 0) op.first_result = first;
      op.result_count += count;
    }
    return op;
  }

  /// Where the rest of a statement has got to.
  struct Rest {
    int open = 0;  ///< round brackets
    bool reducer = false, opens = false;
    char last = ' ';
    std::vector<std::uint32_t> shared{};  ///< arguments that all regions have, as of `while`
    MlirRegion pending{};                 ///< arguments of the next region
  };

  /// A value: an operand, or an argument of the regions. @returns whether it was one that starts from another
  bool operand(MlirOp& op, Rest& at) {
    const auto name = in_.value_name();
    const auto index = in_.take('#') ? static_cast<std::uint32_t>(in_.number()) : 0;
    in_.skip_spaces();
    if (at.open > 0 && in_.peek_or(' ') == '=') {
      const auto id = define(name, 1);
      at.pending.arguments.push_back(id);
      at.shared.push_back(id);
      at.last = '=';
      in_.skip(1);
      return true;
    }
    if (at.reducer && in_.peek_or(' ') == ':') {
      at.pending.arguments.push_back(define(name, 1));
      in_.skip(1);
      at.pending.argument_types.push_back(type());
    } else {
      op.operands.push_back(use(name) + index);
    }
    return false;
  }

  /// Operands, attributes, regions, types: in whatever order the operator prints them.
  void rest(MlirOp& op, int depth) {
    const auto from = in_.offset();
    std::size_t to = std::string_view::npos;
    Rest at;
    auto& [open, reducer, opens, last, shared, pending] = at;
    while (!in_.at_end()) {
      const char c = in_.peek();
      if (c == '\n' || in_.starts("//") || c == ' ' || c == '\t' || c == '\r') {
        const bool line = in_.skip_blank();
        if (line && open == 0 && last != ',' && last != '=' && !in_.continues()) break;
        continue;
      }
      if (c == '%') {
        if (operand(op, at)) continue;
      } else if (c == '(' || c == ')') {
        in_.skip(1);
        open += c == '(' ? 1 : -1;
        if (open < 0) {  // belongs to what is around this statement
          in_.rewind(in_.offset() - 1);
          break;
        }
        opens = c == '(' && !reducer;
        last = c;
        if (opens) continue;
      } else if (c == '{') {
        if (opens || reducer || region_follows()) {
          in_.skip(1);
          MlirRegion region = std::exchange(pending, {});
          if (region.arguments.empty()) region.arguments = shared;
          body(region, depth + 1);
          op.regions.push_back(std::move(region));
          reducer = false;
        } else {
          in_.skip_brackets();
        }
      } else if (c == '[' || c == '<') {
        in_.skip_brackets();
      } else if (c == '"') {
        in_.quoted();
      } else if (c == '@') {
        const auto s = in_.symbol();
        if (op.symbol.empty()) op.symbol = s;
      } else if (c == ':' && open == 0) {
        if (to == std::string_view::npos) to = in_.offset();
        in_.skip(1);
        signature(op);
      } else if (c == '}') {
        break;
      } else if (in_.begins_word()) {
        const auto word = in_.word();
        if (word == "loc" && in_.peek_or(' ') == '(') {
          in_.rewind(in_.offset() - 3);
          op.location = location();
        } else if (word == "reducer") {
          reducer = true;
        }
      } else {
        in_.skip(1);
      }
      opens = opens && c == '(';
      if (c == ',' && open > 0) opens = in_.after_blank() == '{' && !op.regions.empty();
      last = c;
    }
    op.attributes = text_.substr(from, std::min(to, in_.offset()) - from);
  }

  /// A brace that opens a region rather than attributes: statements begin with a value, a block or an
  /// operator.
  bool region_follows() {
    const auto back = in_.offset();
    in_.skip(1);
    in_.skip_blank();
    bool region = false;
    if (!in_.at_end()) {
      const char c = in_.peek();
      if (c == '%' || c == '^') region = true;
      if (c == '"') {
        in_.quoted();
        region = in_.peek_or(' ') == '(';
      } else if (in_.begins_word()) {
        const auto word = in_.word();
        in_.skip_spaces();
        region = (word.find('.') != std::string_view::npos || word == "return") && in_.peek_or(' ') != '=' &&
                 in_.peek_or(' ') != ',' && in_.peek_or(' ') != '}' && in_.peek_or(' ') != ':';
      }
    }
    in_.rewind(back);
    return region;
  }

  /// "(a, b) -> c", "(a) -> (b, c)", "a, b", "a".
  void signature(MlirOp& op) {
    in_.skip_blank();
    op.in_types.clear();
    op.out_types.clear();
    auto list = [&](std::vector<std::uint32_t>& into) {
      in_.skip_blank();
      if (!in_.take('(')) {
        into.push_back(type());
        return;
      }
      while (true) {
        in_.skip_blank();
        if (in_.take(')')) return;
        if (in_.take(',')) continue;
        if (in_.peek() == '{') {
          in_.skip_brackets();
          continue;
        }
        into.push_back(type());
      }
    };
    if (in_.peek_or(' ') == '(') {
      list(op.in_types);
    } else {
      op.in_types.push_back(type());
      while (in_.peek_or(' ') == ',') {
        in_.skip(1);
        in_.skip_blank();
        op.in_types.push_back(type());
      }
    }
    in_.skip_spaces();
    if (in_.starts("->")) {
      in_.skip(2);
      list(op.out_types);
    }
  }

  /// A type, each spelling once. @returns its number
  std::uint32_t type() {
    in_.skip_blank();
    const auto from = in_.offset();
    in_.skip_type();
    const auto text = text_.substr(from, in_.offset() - from);
    if (text.empty()) in_.fail("there is no type here", "a type such as tensor<8x128xf32>");
    if (const auto alias = aliases_.find(text); alias != aliases_.end()) return alias->second;
    const auto [at, fresh] = known_.emplace(text, static_cast<std::uint32_t>(module_.types.size()));
    if (fresh) {
      MlirType made;
      in_.rewind(from);
      in_.read_type(made, 0);
      in_.rewind(from + text.size());
      module_.types.push_back(std::move(made));
    }
    return at->second;
  }

  /// "loc(...)". @returns what is inside, empty where there is none
  std::string_view location() {
    in_.skip_spaces();
    if (!in_.starts("loc(")) return {};
    in_.skip(3);
    const auto from = in_.offset();
    in_.skip_brackets();
    return text_.substr(from + 1, in_.offset() - from - 2);
  }

  std::uint32_t define(std::string_view name, std::uint32_t count) {
    const auto id = next_;
    next_ += count;
    locals_[name] = id;
    return id;
  }
  std::uint32_t use(std::string_view name) {
    const auto found = locals_.find(name);
    if (found == locals_.end())
      in_.fail(fmt::format("{} is used before it is defined", name), "a value that was defined above");
    return found->second;
  }

  MlirCursor in_;
  std::string_view text_;
  MlirModule module_;
  std::unordered_map<std::string_view, std::uint32_t> aliases_, known_, locals_;
  std::uint32_t next_ = 0;
};

}  // namespace

MlirModule parse_mlir(std::string_view text, const std::string& file) { return Parser(text, file).parse(); }

}  // namespace mlsysim::detail
