// Pickles as plain records. A pickle is a program for a small machine; of it only those steps are taken that
// build numbers, texts, lists and tables. A class becomes a record of its members, never an object.

#include "detail/readers.hpp"

#include <mlsysim/units/detail/whole.hpp>
#include <mlsysim/units/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace mlsysim::detail {
namespace {

constexpr std::size_t kMostNodes = 1'000'000;   // values of a pickle
constexpr std::size_t kMostVisits = 8'000'000;  // steps through them: shared parts may be walked many times

// Classes that may be named, and are never called.
constexpr std::string_view known_classes[] = {"torch._dynamo.output_graph.GraphCompileReason",
                                              "torch._dynamo.backends.debugging.ExplainOutput",
                                              "traceback.StackSummary", "traceback.FrameSummary"};

struct Node {
  enum class Kind : std::uint8_t { none, number, text, list, table, object };
  Kind kind = Kind::none;
  double number = 0;
  std::string_view text{};             // also the class of an object
  std::vector<std::uint32_t> items{};  // of a list; keys and values in turn of a table; parts of an object
};
using Ref = std::uint32_t;
constexpr Ref kMark = 0xffffffff;

class Machine {
 public:
  Machine(std::string_view bytes, const std::string& file) : bytes_(bytes), file_(file) {}

  Ref run() {
    for (;;) {
      const auto op = static_cast<unsigned char>(take(1)[0]);
      if (op == '.') return pop();
      step(op);
    }
  }
  [[nodiscard]] const Node& at(Ref r) const { return nodes_[r]; }
  /// A member of a record or a table; null where it has none.
  [[nodiscard]] const Node* member(const Node& of, std::string_view name) {
    if (++visits_ > kMostVisits)
      fail("more parts than can be walked", "a pickle that is not made to explode");
    if (of.kind == Node::Kind::table)
      for (std::size_t i = 0; i + 1 < of.items.size(); i += 2)
        if (at(of.items[i]).kind == Node::Kind::text && at(of.items[i]).text == name)
          return &at(of.items[i + 1]);
    if (of.kind == Node::Kind::object || of.kind == Node::Kind::list)
      for (const Ref part : of.items)
        if (at(part).kind == Node::Kind::table ||
            (of.kind == Node::Kind::object && at(part).kind == Node::Kind::list))
          if (const auto* found = member(at(part), name)) return found;
    return nullptr;
  }
  [[noreturn]] void fail(std::string found, std::string expected) const {
    throw InputError("mlsysim.compile.002", "the pickle cannot be read", file_, std::move(found),
                     std::move(expected), "write the explain document with python -m mlsysim.dynamo_export",
                     {file_});
  }

 private:
  std::string_view take(std::size_t n) {
    if (n > bytes_.size() - at_) fail(fmt::format("its end at byte {}", bytes_.size()), "a whole pickle");
    const auto out = bytes_.substr(at_, n);
    at_ += n;
    return out;
  }
  std::string_view line() {
    const auto end = bytes_.find('\n', at_);
    if (end == std::string_view::npos) fail("a line without an end", "a whole pickle");
    const auto out = bytes_.substr(at_, end - at_);
    at_ = end + 1;
    return out;
  }
  std::uint64_t integer(std::size_t n) {
    std::uint64_t out = 0;
    const auto raw = take(n);
    for (std::size_t i = 0; i < n; ++i)
      out |= static_cast<std::uint64_t>(static_cast<unsigned char>(raw[i])) << (8 * i);
    return out;
  }
  Ref make(Node node) {
    if (nodes_.size() >= kMostNodes) fail(fmt::format("more than {} values", kMostNodes), "fewer values");
    nodes_.push_back(std::move(node));
    return static_cast<Ref>(nodes_.size() - 1);
  }
  void push(Node node) { stack_.push_back(make(std::move(node))); }
  void push_number(double x) { push({.kind = Node::Kind::number, .number = x}); }
  void push_text(std::string_view t) { push({.kind = Node::Kind::text, .text = t}); }
  Ref pop() {
    if (stack_.empty() || stack_.back() == kMark) fail("an empty stack", "a value");
    const Ref out = stack_.back();
    stack_.pop_back();
    return out;
  }
  std::vector<Ref> pop_to_mark() {
    const auto mark = std::find(stack_.rbegin(), stack_.rend(), kMark);
    if (mark == stack_.rend()) fail("no mark", "a mark below the items");
    std::vector<Ref> out(mark.base(), stack_.end());
    stack_.erase(mark.base() - 1, stack_.end());
    return out;
  }
  Node& top() {
    if (stack_.empty() || stack_.back() == kMark) fail("an empty stack", "a value");
    return nodes_[stack_.back()];
  }
  void memoize(std::uint64_t at) {
    (void)top();
    if (at >= kMostNodes) fail("a far place in its memory", "places in order");
    if (memo_.size() <= at) memo_.resize(at + 1, kMark);
    memo_[at] = stack_.back();
  }
  void recall(std::uint64_t at) {
    if (at >= memo_.size() || memo_[at] == kMark)
      fail("a place in its memory that is empty", "a value there");
    stack_.push_back(memo_[at]);
  }
  std::uint64_t decimal(std::string_view digits) const {
    std::uint64_t out = 0;
    for (const char c : digits) {
      if (c < '0' || c > '9' || out > kMostNodes) fail(fmt::format("'{}'", digits.substr(0, 20)), "a number");
      out = out * 10 + static_cast<std::uint64_t>(c - '0');
    }
    return out;
  }
  void name_class(std::string_view module, std::string_view name) {
    const auto full = fmt::format("{}.{}", module, name);
    for (const auto known : known_classes)
      if (full == known) return push({.kind = Node::Kind::object, .text = known});
    fail(fmt::format("a pickle that names '{}'", full.substr(0, 80)),
         "reasons of breaks alone; what a pickle names is run when Python loads it");
  }
  /// An object of the class below: what it is made of is kept beside it.
  void make_object(std::vector<Ref> parts) {
    const Ref of = pop();
    if (nodes_[of].kind != Node::Kind::object) fail("a call of something that is no class", "a known class");
    push({.kind = Node::Kind::object, .text = nodes_[of].text, .items = std::move(parts)});
  }
  void append(std::vector<Ref> items) {
    auto& to = top();
    if (to.kind == Node::Kind::none || to.kind == Node::Kind::number || to.kind == Node::Kind::text)
      fail("items of something that holds none", "a list, a table or a record");
    to.items.insert(to.items.end(), items.begin(), items.end());
  }
  /// Rows of a list that is an object stand apart from its members.
  void append_rows(std::vector<Ref> items) {
    if (top().kind == Node::Kind::object)
      append({make({.kind = Node::Kind::list, .items = std::move(items)})});
    else
      append(std::move(items));
  }

  void step(unsigned char op) {
    if (!numbers(op) && !texts(op) && !containers(op) && !objects(op) && !memory(op))
      fail(fmt::format("operation 0x{:02x} at byte {}", op, at_ - 1),
           "numbers, texts, lists, tables and records");
  }
  bool numbers(unsigned char op) {
    switch (op) {
      case 'N':
        push({});
        return true;
      case 0x88:
        push_number(1);
        return true;
      case 0x89:
        push_number(0);
        return true;
      case 'K':
        push_number(static_cast<double>(integer(1)));
        return true;
      case 'M':
        push_number(static_cast<double>(integer(2)));
        return true;
      case 'J':
        push_number(static_cast<std::int32_t>(integer(4)));
        return true;
      case 'G': {
        std::uint64_t raw = 0;
        for (const char c : take(8)) raw = raw << 8 | static_cast<unsigned char>(c);
        push_number(std::bit_cast<double>(raw));
        return true;
      }
      case 0x8a: {  // a long number of one to eight bytes; longer ones are not of use here
        const auto n = integer(1);
        if (n > 8) {
          take(n);
          push_number(0);
        } else {
          auto raw = integer(n);
          if (n > 0 && n < 8 && (raw >> (8 * n - 1)) != 0) raw |= ~0ULL << (8 * n);
          push_number(static_cast<double>(static_cast<std::int64_t>(raw)));
        }
        return true;
      }
      case 'I': {
        auto text = line();
        const bool minus = text.starts_with('-');
        if (minus) text.remove_prefix(1);
        const auto x = static_cast<double>(decimal(text));
        push_number(minus ? -x : x);
        return true;
      }
      default:
        return false;
    }
  }
  bool texts(unsigned char op) {
    switch (op) {
      case 'X':
      case 'T':
      case 'B':
        push_text(take(integer(4)));
        return true;
      case 0x8c:
      case 'U':
      case 'C':
        push_text(take(integer(1)));
        return true;
      case 0x8d:
      case 0x8e:
        push_text(take(integer(8)));
        return true;
      case 'V':
        push_text(line());
        return true;
      case 'S': {
        auto text = line();
        if (text.size() > 1) text = text.substr(1, text.size() - 2);
        push_text(text);
        return true;
      }
      case 'c': {
        const auto module = line();
        name_class(module, line());
        return true;
      }
      case 0x93: {
        const Ref name = pop(), module = pop();
        name_class(nodes_[module].text, nodes_[name].text);
        return true;
      }
      default:
        return false;
    }
  }
  bool containers(unsigned char op) {
    const auto list = [&](std::vector<Ref> items) {
      push({.kind = Node::Kind::list, .items = std::move(items)});
    };
    switch (op) {
      case ']':
      case ')':
      case 0x8f:
        list({});
        return true;
      case 'l':
      case 't':
      case 0x91:
        list(pop_to_mark());
        return true;
      case 0x85: {
        const Ref a = pop();
        list({a});
        return true;
      }
      case 0x86: {
        const Ref b = pop(), a = pop();
        list({a, b});
        return true;
      }
      case 0x87: {
        const Ref c = pop(), b = pop(), a = pop();
        list({a, b, c});
        return true;
      }
      case '}':
        push({.kind = Node::Kind::table});
        return true;
      case 'd': {
        auto items = pop_to_mark();
        push({.kind = Node::Kind::table, .items = std::move(items)});
        return true;
      }
      case 'a': {
        const Ref x = pop();
        append_rows({x});
        return true;
      }
      case 'e':
      case 0x90: {
        auto items = pop_to_mark();
        append_rows(std::move(items));
        return true;
      }
      case 's': {
        const Ref v = pop(), k = pop();
        append({k, v});
        return true;
      }
      case 'u': {
        auto items = pop_to_mark();
        append(std::move(items));
        return true;
      }
      default:
        return false;
    }
  }
  bool objects(unsigned char op) {
    switch (op) {
      case 0x81: {
        const Ref args = pop();
        make_object({args});
        return true;
      }
      case 0x92: {
        const Ref named = pop(), args = pop();
        make_object({args, named});
        return true;
      }
      case 'R': {
        const Ref args = pop();
        make_object({args});
        return true;
      }
      case 'b': {
        const Ref state = pop();
        if (top().kind != Node::Kind::object) fail("a state of something that is no record", "a record");
        append({state});
        return true;
      }
      default:
        return false;
    }
  }
  bool memory(unsigned char op) {
    switch (op) {
      case 0x80:
        take(1);
        return true;
      case 0x95:
        take(8);
        return true;
      case '(':
        stack_.push_back(kMark);
        return true;
      case '0':
        if (!stack_.empty() && stack_.back() == kMark)
          stack_.pop_back();
        else
          (void)pop();
        return true;
      case '1':
        (void)pop_to_mark();
        return true;
      case '2':
        (void)top();
        stack_.push_back(stack_.back());
        return true;
      case 0x94:
        memoize(memo_.size());
        return true;
      case 'q':
        memoize(integer(1));
        return true;
      case 'r':
        memoize(integer(4));
        return true;
      case 'p':
        memoize(decimal(line()));
        return true;
      case 'h':
        recall(integer(1));
        return true;
      case 'j':
        recall(integer(4));
        return true;
      case 'g':
        recall(decimal(line()));
        return true;
      default:
        return false;
    }
  }

  std::string_view bytes_;
  const std::string& file_;
  std::size_t at_ = 0, visits_ = 0;
  std::vector<Node> nodes_;
  std::vector<Ref> stack_, memo_;
};

std::string text_of(const Node* node) { return node == nullptr ? std::string() : std::string(node->text); }
double number_of(const Node* node) {
  return node != nullptr && node->kind == Node::Kind::number ? counted(node->number) : 0;
}

/// Frames of a StackSummary: the rows that were appended to it.
std::vector<SourceLine> stack_of(Machine& m, const Node* summary) {
  std::vector<SourceLine> out;
  if (summary == nullptr) return out;
  const auto add = [&](const Node& frame) {
    const auto* file = m.member(frame, "filename");
    if (file == nullptr || out.size() >= 1000) return;
    auto code = m.member(frame, "_line");
    if (code == nullptr) code = m.member(frame, "line");
    auto text = text_of(code);
    while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
    text.erase(0, std::min(text.find_first_not_of(' '), text.size()));
    out.push_back({short_path(file->text), detail::whole<int>(number_of(m.member(frame, "lineno"))),
                   text_of(m.member(frame, "name")), std::move(text)});
  };
  for (const auto part : summary->items) {
    if (m.at(part).kind == Node::Kind::object) add(m.at(part));
    if (m.at(part).kind == Node::Kind::list)
      for (const auto row : m.at(part).items)
        if (m.at(row).kind == Node::Kind::object) add(m.at(row));
  }
  return out;
}

}  // namespace

CompileRecord read_explain_pickle(std::string_view bytes, const std::string& file,
                                  const BreakRegistry& registry) {
  Machine m(bytes, file);
  const Node& root = m.at(m.run());
  CompileRecord out;
  out.form = RecordForm::explain_pickle;
  const Node* reasons = &root;
  if (root.kind == Node::Kind::object) {
    reasons = m.member(root, "break_reasons");
    out.graph_count = number_of(m.member(root, "graph_count"));
    out.graph_breaks = number_of(m.member(root, "graph_break_count"));
    out.op_count = number_of(m.member(root, "op_count"));
  }
  if (reasons == nullptr || reasons->kind != Node::Kind::list)
    m.fail("a pickle of something else", "a list of reasons, or an ExplainOutput");
  for (const auto item : reasons->items) {
    const Node& reason = m.at(item);
    const auto* text = m.member(reason, "reason");
    if (text == nullptr) m.fail("an item without a reason", "a list of GraphCompileReason");
    auto made = break_of(std::string(text->text), registry);
    made.stack = stack_of(m, m.member(reason, "user_stack"));
    const auto* broken = m.member(reason, "graph_break");
    made.graph_break = broken == nullptr || number_of(broken) != 0;
    out.breaks.push_back(std::move(made));
  }
  if (root.kind == Node::Kind::list) {
    out.graph_breaks = static_cast<double>(out.breaks.size());
    out.notes.emplace_back("a list of reasons alone: graphs, operators and times are not in it");
  } else {
    skip_if_empty(out);
  }
  return out;
}

}  // namespace mlsysim::detail
