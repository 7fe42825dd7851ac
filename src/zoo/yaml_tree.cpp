#include "detail/yaml_tree.hpp"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <array>
#include <istream>
#include <limits>
#include <map>
#include <streambuf>
#include <unordered_map>

namespace mlsysim::detail {
namespace {

/// Reads a text in place; std::istringstream would copy it.
class TextBuffer : public std::streambuf {
 public:
  explicit TextBuffer(std::string_view text) {
    char* begin = const_cast<char*>(text.data());  // the get area is never written to
    setg(begin, begin, begin + text.size());
  }
};

constexpr std::size_t kMostNodes = 1U << 20;  // of a text with aliases

struct Stop {};  // leaves the parser after a fault that makes the rest meaningless

/// Words that are booleans in YAML 1.1 but texts in 1.2: a reader cannot know which was meant.
bool foreign_boolean(std::string_view word) {
  static constexpr std::array<std::string_view, 20> words{
      "y",  "Y",  "yes", "Yes", "YES", "n",   "N",    "no",   "No",    "NO",
      "on", "On", "ON",  "off", "Off", "OFF", "True", "TRUE", "False", "FALSE"};
  if (word.empty() || word.size() > 5) return false;
  for (const auto w : words)
    if (w == word) return true;
  return false;
}

class TreeBuilder : public YAML::EventHandler {
 public:
  TreeBuilder(const SourceText& source, Problems& problems, YamlForm form)
      : source_(source), problems_(problems), foreign_(form == YamlForm::foreign) {}

  YamlParts tree;

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (!tree.nodes.empty())
      stop(ZooFault::several_documents, mark,
           {.message = "the file holds several documents",
            .found = "a second document",
            .expected = "one document",
            .hint = "write it to a file of its own"});
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    note_anchor(mark, anchor);
    refuse_as_key(mark, "nothing");
    push(NodeKind::null, mark);
    done();
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    if (foreign_) return copy(mark, anchor);
    stop(ZooFault::no_anchors, mark,
         {.message = "aliases are not read",
          .found = "an alias (*)",
          .expected = "plain values",
          .hint = "write the value out"});
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    if (problems_.size() >= kMostProblems) throw Stop{};  // more would not help anybody
    note_anchor(mark, anchor);
    refuse_tag(mark, tag);
    refuse_control(mark, value);
    const bool quoted = tag == "!";
    const bool key = !open_.empty() && open_.back().wants_key;
    if (key)
      refuse_duplicate(mark, value);
    else if (!quoted && !foreign_ && foreign_boolean(value))
      problems_.add(ZooFault::foreign_boolean, source_, place(mark),
                    {.message = fmt::format("'{}' may mean a boolean or a text", value),
                     .found = quoted_text(value),
                     .expected = "true or false, or a text in quotes",
                     .hint = fmt::format("write \"{}\" in quotes if the word is meant", value)});
    if (tree.pool.size() + value.size() > std::numeric_limits<std::uint32_t>::max()) throw Stop{};
    YamlNode& node = push(NodeKind::scalar, mark);
    node.text = static_cast<std::uint32_t>(tree.pool.size());
    node.size = static_cast<std::uint32_t>(value.size());
    node.quoted = quoted ? 1 : 0;
    tree.pool += value;
    done();
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(NodeKind::sequence, mark, tag, anchor);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(NodeKind::map, mark, tag, anchor);
  }
  void OnMapEnd() override { close(); }

 private:
  struct Open {
    std::uint32_t node;
    bool is_map, wants_key;
    std::unordered_map<std::string, Place> keys;
  };

  static Place place(const YAML::Mark& mark) {
    return {static_cast<std::uint32_t>(mark.line + 1), static_cast<std::uint32_t>(mark.column + 1)};
  }
  [[noreturn]] void stop(ZooFault fault, const YAML::Mark& mark, ErrorFacts facts) {
    problems_.add(fault, source_, place(mark), std::move(facts));
    throw Stop{};
  }
  /// Remembers the node that comes next under its anchor, where anchors are read.
  void note_anchor(const YAML::Mark& mark, YAML::anchor_t anchor) {
    if (anchor == 0) return;
    if (foreign_)
      anchors_[anchor] = static_cast<std::uint32_t>(tree.nodes.size());
    else
      stop(ZooFault::no_anchors, mark,
           {.message = "anchors are not read",
            .found = "an anchor (&)",
            .expected = "plain values",
            .hint = "write the value out where it is used"});
  }
  /// Writes the nodes of an anchor once more. A text cannot grow without end, or nest deeper, by that.
  void copy(const YAML::Mark& mark, YAML::anchor_t anchor) {
    refuse_as_key(mark, "an alias (*)");
    const auto at = anchors_.find(anchor);
    const bool open = at == anchors_.end() || std::any_of(open_.begin(), open_.end(), [&](const Open& o) {
                        return o.node == at->second;
                      });
    const auto first = open ? 0 : at->second;
    const auto size = open ? 0 : tree.nodes[first].end - first;
    std::vector<std::uint32_t> ends;  // of the collections that hold a node
    std::size_t depth = 0;
    for (auto i = first; i < first + size; ++i) {
      while (!ends.empty() && ends.back() <= i) ends.pop_back();
      if (tree.nodes[i].end > i + 1) ends.push_back(tree.nodes[i].end);
      depth = std::max(depth, ends.size());
    }
    if (open || tree.nodes.size() + size > kMostNodes || open_.size() + depth > kDeepestNesting)
      stop(ZooFault::too_deep, mark,
           {.message = "an alias is not read",
            .found =
                open ? "an alias (*) of a value that is not complete" : "a text that aliases make too large",
            .expected = "an alias of a value above, and not of many",
            .hint = "write the value out"});
    const auto shift = static_cast<std::uint32_t>(tree.nodes.size()) - first;
    for (auto i = first; i < first + size; ++i) {
      tree.nodes.push_back(tree.nodes[i]);
      tree.nodes.back().end += shift;
    }
    done();
  }
  void refuse_tag(const YAML::Mark& mark, const std::string& tag) {
    if (tag.empty() || tag == "?" || tag == "!" || foreign_) return;
    stop(ZooFault::no_anchors, mark,
         {.message = "tags are not read",
          .found = quoted_text(tag),
          .expected = "plain values",
          .hint = "leave the tag out; the schema says what a value is"});
  }
  /// Written as escapes, such characters pass the check of the file; in a name they would reach terminals.
  void refuse_control(const YAML::Mark& mark, const std::string& value) {
    for (std::size_t i = 0; i < value.size(); ++i) {
      const auto c = static_cast<unsigned char>(value[i]);
      const bool high = c == 0xC2 && i + 1 < value.size() && static_cast<unsigned char>(value[i + 1]) < 0xA0;
      if (!high && c != 0x7F && (c >= 0x20 || c == '\n' || c == '\t')) continue;
      problems_.add(ZooFault::binary, source_, place(mark),
                    {.message = "a text holds a control character",
                     .found = fmt::format("U+{:04X}", high ? static_cast<unsigned char>(value[i + 1]) : c),
                     .expected = "text without control characters",
                     .hint = "leave the escape out"});
      return;
    }
  }
  void refuse_as_key(const YAML::Mark& mark, std::string_view what) {
    if (!open_.empty() && open_.back().wants_key)
      stop(ZooFault::bad_key, mark,
           {.message = "a key is not a text",
            .found = std::string(what),
            .expected = "a key and a colon",
            .hint = "write 'key: value'"});
  }
  void refuse_duplicate(const YAML::Mark& mark, const std::string& key) {
    auto& keys = open_.back().keys;
    const auto [it, fresh] = keys.emplace(key, place(mark));
    if (fresh) return;
    problems_.add(ZooFault::duplicate_key, source_, place(mark),
                  {.message = fmt::format("the key {} is given twice", quoted_text(key)),
                   .key = key,
                   .found = fmt::format("it again; first at {}:{}:{}", source_.file, it->second.line,
                                        it->second.column),
                   .expected = "each key once",
                   .hint = "remove or rename one of them"});
  }
  YamlNode& push(NodeKind kind, const YAML::Mark& mark) {
    const auto [line, column] = place(mark);
    const auto index = static_cast<std::uint32_t>(tree.nodes.size());
    return tree.nodes.emplace_back(YamlNode{.end = index + 1, .line = line, .column = column, .kind = kind});
  }
  void open(NodeKind kind, const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
    note_anchor(mark, anchor);
    refuse_tag(mark, tag);
    refuse_as_key(mark, kind == NodeKind::map ? "a map" : "a list");
    if (open_.size() >= static_cast<std::size_t>(kDeepestNesting))
      stop(ZooFault::too_deep, mark,
           {.message = "the nesting is too deep",
            .found = fmt::format("level {}", kDeepestNesting + 1),
            .expected = fmt::format("at most {} levels", kDeepestNesting),
            .hint = "no entry needs more than five; look for a bracket that is not closed"});
    const auto index = static_cast<std::uint32_t>(tree.nodes.size());
    push(kind, mark);
    open_.push_back({index, kind == NodeKind::map, kind == NodeKind::map, {}});
  }
  void close() {
    tree.nodes[open_.back().node].end = static_cast<std::uint32_t>(tree.nodes.size());
    open_.pop_back();
    done();
  }
  void done() {
    if (!open_.empty() && open_.back().is_map) open_.back().wants_key = !open_.back().wants_key;
  }

  const SourceText& source_;
  Problems& problems_;
  bool foreign_;
  std::vector<Open> open_;
  std::map<YAML::anchor_t, std::uint32_t> anchors_;  // of nodes, by anchor
};

/// The parser keeps every bracket that is open until it is closed, some hundred bytes each, before it tells
/// of the first: so many are refused before it sees them. Brackets in texts count too, and none has so many.
void refuse_open_brackets(const SourceText& source, Problems& problems) {
  constexpr std::int64_t most = 4096;
  std::int64_t open = 0;
  std::uint32_t line = 1;
  std::size_t line_start = 0;
  for (std::size_t i = 0; i < source.bytes.size(); ++i) {
    const char c = source.bytes[i];
    if (c == '\n') {
      ++line;
      line_start = i + 1;
    } else if (c == '[' || c == '{') {
      ++open;
    } else if ((c == ']' || c == '}') && open > 0) {
      --open;
    }
    if (open <= most) continue;
    problems.add(ZooFault::too_deep, source, {line, static_cast<std::uint32_t>(i - line_start + 1)},
                 {.message = "the nesting is too deep",
                  .found = fmt::format("{} brackets that are open", open),
                  .expected = fmt::format("at most {} levels", kDeepestNesting),
                  .hint = "no entry needs more than five; look for a bracket that is not closed"});
    throw Stop{};
  }
}

}  // namespace

std::optional<YamlTree> parse_yaml(const SourceText& source, Problems& problems, YamlForm form) {
  const auto before = problems.size();
  try {
    check_text(source);
    refuse_open_brackets(source, problems);
    TextBuffer buffer(source.bytes);
    std::istream in(&buffer);
    YAML::Parser parser(in);
    TreeBuilder builder(source, problems, form);
    while (parser.HandleNextDocument(builder)) {
    }
    if (builder.tree.nodes.empty() || builder.tree.nodes.front().kind == NodeKind::null) {
      problems.add(
          ZooFault::empty_file, source, {},
          {.message = "the file is empty",
           .found = "no content",
           .expected = "a schema line and entries",
           .hint = "begin with, e.g., 'schema: mlsysim/hardware@1', or a plan with 'version: \"1\"'"});
      return std::nullopt;
    }
    if (problems.size() != before) return std::nullopt;
    return std::move(builder.tree).tree();
  } catch (const Stop&) {
    return std::nullopt;
  } catch (const Error& error) {
    problems.add(error.facts());
  } catch (const YAML::Exception& error) {
    const Place at{static_cast<std::uint32_t>(error.mark.line + 1),
                   static_cast<std::uint32_t>(error.mark.column + 1)};
    problems.add(ZooFault::syntax, source, error.mark.is_null() ? Place{} : at,
                 {.message = "the file is not YAML",
                  .found = error.msg,
                  .expected = "YAML 1.2",
                  .hint = "check indentation, colons and quotes at this place"});
  }
  return std::nullopt;
}

std::optional<NodeRef> NodeRef::find(std::string_view key) const {
  if (!is_map()) return std::nullopt;
  for (std::uint32_t k = index_ + 1; k < node().end;) {
    const std::uint32_t v = tree_->nodes[k].end;
    if (NodeRef(*tree_, k).text() == key) return NodeRef(*tree_, v);
    k = tree_->nodes[v].end;
  }
  return std::nullopt;
}

std::string NodeRef::describe() const {
  switch (kind()) {
    case NodeKind::null:
      return "nothing";
    case NodeKind::scalar:
      return quoted() ? fmt::format("the text {} in quotes", quoted_text(text())) : quoted_text(text());
    case NodeKind::sequence:
      return "a list";
    case NodeKind::map:
      return "a map";
  }
  return {};
}

bool YamlTree::consistent() const {
  if (nodes.empty()) return false;
  struct Open {
    std::uint32_t end = 0;
    bool map = false, value = false;  ///< the next node is the value of a key
  };
  const auto size = static_cast<std::uint32_t>(nodes.size());
  const std::size_t texts = pool.size();
  std::array<Open, kDeepestNesting + 1> open{{{size}}};  // the whole, and the collections that are open
  std::size_t depth = 0;
  for (std::uint32_t i = 0; i < size; ++i) {
    const YamlNode& n = nodes[i];
    for (; open[depth].end == i; --depth)
      if (depth == 0 || open[depth].value) return false;
    if (n.text > texts || n.size > texts - n.text || n.quoted > 1) return false;
    // Maps alternate scalar keys and values.
    if (Open& in = open[depth]; in.map) {
      if (!in.value && n.kind != NodeKind::scalar) return false;
      in.value = !in.value;
    }
    if (n.end == i + 1 && n.kind <= NodeKind::map) continue;
    if (n.end <= i || n.end > open[depth].end || depth + 1 >= open.size() ||
        (n.kind != NodeKind::sequence && n.kind != NodeKind::map))
      return false;
    open[++depth] = {n.end, n.kind == NodeKind::map, false};
  }
  for (; depth > 0; --depth)
    if (open[depth].value) return false;
  return nodes.front().end == size;
}

}  // namespace mlsysim::detail
