// Archives of torch.export: a zip file with the graph as JSON. Weights in it are not unpacked.
// Source: torch/_export/serde/schema.py and torch/export/pt2_archive of PyTorch 2.9 (schema 8.14).

#include "detail/aten.hpp"

#include <mlsysim/units/detail/json_fault.hpp>

#include <minizip/unzip.h>
#include <nlohmann/json.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <optional>
#include <unordered_set>

namespace mlsysim {
namespace detail {
namespace {

using Json = nlohmann::json;
constexpr std::uint64_t kMostJson = 512ull << 20;
constexpr double kMostRatio = 200;  ///< of unpacked to packed: graphs of alike layers pack well, bombs better
constexpr int kMajor = 8;           ///< of the schema

constexpr Fault kArchive{.id = "mlsysim.programs.022",
                         .message = "the file is no archive of torch.export",
                         .expected = "a zip file with models/*.json or serialized_exported_program.json",
                         .hint = "write it with torch.export.save"};

/// The bytes of an archive as the stream that minizip reads.
struct Stream {
  std::string_view bytes;
  std::size_t at = 0;
};

zlib_filefunc64_def reading_of(Stream& archive) {
  zlib_filefunc64_def calls{};
  calls.opaque = &archive;
  calls.zopen64_file = [](voidpf opaque, const void*, int) { return opaque; };
  calls.zread_file = [](voidpf, voidpf stream, void* to, uLong size) {
    auto& s = *static_cast<Stream*>(stream);
    const auto n = std::min<std::size_t>(size, s.bytes.size() - s.at);
    std::memcpy(to, s.bytes.data() + s.at, n);
    s.at += n;
    return static_cast<uLong>(n);
  };
  calls.ztell64_file = [](voidpf, voidpf stream) { return ZPOS64_T{static_cast<Stream*>(stream)->at}; };
  calls.zseek64_file = [](voidpf, voidpf stream, ZPOS64_T offset, int origin) {
    auto& s = *static_cast<Stream*>(stream);
    const auto from = origin == ZLIB_FILEFUNC_SEEK_SET   ? 0
                      : origin == ZLIB_FILEFUNC_SEEK_CUR ? s.at
                                                         : s.bytes.size();
    if (offset > s.bytes.size() - from) return -1L;
    s.at = from + offset;
    return 0L;
  };
  calls.zclose_file = [](voidpf, voidpf) { return 0; };
  calls.zerror_file = [](voidpf, voidpf) { return 0; };
  return calls;
}

/// An archive that is read where it lies.
struct Archive {
  Stream stream;
  unzFile zip;
  explicit Archive(std::string_view bytes) : stream{bytes} {
    auto calls = reading_of(stream);
    zip = unzOpen2_64("", &calls);
  }
  ~Archive() {
    if (zip != nullptr) unzClose(zip);
  }
  Archive(const Archive&) = delete;
  Archive& operator=(const Archive&) = delete;
};

/// The unpacked bytes of the current entry; nothing where it is damaged.
std::optional<std::string> unpacked(unzFile zip, std::size_t size) {
  if (unzOpenCurrentFile(zip) != UNZ_OK) return std::nullopt;
  std::string text(size, '\0');
  const auto read = unzReadCurrentFile(zip, text.data(), static_cast<unsigned>(size));
  // Closing compares the checksum, where all was read.
  if (unzCloseCurrentFile(zip) != UNZ_OK || read < 0 || static_cast<std::size_t>(read) != size)
    return std::nullopt;
  return text;
}

std::string graph_text(const std::string& bytes, const std::string& file) {
  const Archive archive(bytes);
  std::uint64_t count = 0;
  int next = archive.zip == nullptr ? UNZ_BADZIPFILE : unzGoToFirstFile(archive.zip);
  for (; next == UNZ_OK; next = unzGoToNextFile(archive.zip), ++count) {
    unz_file_info64 entry{};
    std::array<char, 4096> buffer{};
    if (unzGetCurrentFileInfo64(archive.zip, &entry, buffer.data(), buffer.size() - 1, nullptr, 0, nullptr,
                                0) != UNZ_OK)
      break;
    const std::string_view name = buffer.data();
    const bool model = name.ends_with(".json") && (name.find("models/") != std::string_view::npos ||
                                                   name.ends_with("serialized_exported_program.json"));
    if (!model) continue;
    const auto packed = std::min<std::uint64_t>(entry.compressed_size, bytes.size());
    const double ratio =
        packed == 0 ? 1 : static_cast<double>(entry.uncompressed_size) / static_cast<double>(packed);
    if (entry.uncompressed_size > kMostJson || ratio > kMostRatio)
      throw InputError(
          "mlsysim.programs.023", "the graph in the archive is too large", std::string(name),
          fmt::format("{} B unpacked, {:.0f} times what it is packed", entry.uncompressed_size, ratio),
          fmt::format("at most {} B and {} times", kMostJson, kMostRatio),
          "write it again with torch.export.save", {file});
    auto text = unpacked(archive.zip, entry.uncompressed_size);
    if (!text)
      throw InputError(kArchive.with({.found = fmt::format("{} is damaged", name), .where = {file}}));
    return *std::move(text);
  }
  throw InputError(kArchive.with({.found = next == UNZ_END_OF_LIST_OF_FILE
                                               ? fmt::format("{} entries, none of them a graph", count)
                                               : "a damaged list of entries",
                                  .where = {file}}));
}

/// Depth of brackets outside texts, before anything that recurses looks at it.
void check_depth(const std::string& text, const std::string& file) {
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\') ++i;
      if (c == '"') quoted = false;
    } else if (c == '"') {
      quoted = true;
    } else if (c == '{' || c == '[') {
      if (++depth > 8 * kNesting)
        throw InputError(kArchive.with(
            {.found = fmt::format("a graph that nests more than {} levels", 8 * kNesting), .where = {file}}));
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
}

std::string_view element_of(int dtype) {
  constexpr std::array<std::string_view, 14> names{"unknown",      "ui8",          "i8",  "i16", "i32",
                                                   "i64",          "f16",          "f32", "f64", "unknown",
                                                   "complex<f32>", "complex<f64>", "i1",  "bf16"};
  if (dtype >= 0 && dtype < std::ssize(names)) return names[static_cast<std::size_t>(dtype)];
  switch (dtype) {
    case 28:
      return "ui16";
    case 29:
      return "f8E4M3FN";
    case 30:
      return "f8E5M2";
    case 31:
      return "f8E4M3FNUZ";
    case 32:
      return "f8E5M2FNUZ";
    default:
      return "unknown";
  }
}

class Pt2Reader {
 public:
  Pt2Reader(const Json& root, Program& program, const ProgramOptions& options, const std::string& file)
      : root_(root), p_(program), options_(options), file_(file) {}

  void read() {
    const auto& version = root_.at("schema_version");
    const int major = version.at("major").get<int>(), minor = version.value("minor", 0);
    p_.version = fmt::format("schema {}.{}", major, minor);
    if (major != kMajor && !options_.force)
      throw InputError("mlsysim.programs.024", "the version of the archive is not known", "schema_version",
                       fmt::format("{}.{}", major, minor), fmt::format("{}.x", kMajor),
                       "ask the producer to save it with PyTorch 2.5 to 2.9, or read on with --force",
                       {file_}, BreakReason::version_mismatch);
    const auto& module = root_.at("graph_module");
    roles(module.at("signature"));
    Names names;
    graph(module.at("graph"), names, "", 1, 0, true);
  }

 private:
  using Names = std::unordered_map<std::string, std::uint32_t>;

  void roles(const Json& signature) {
    for (const auto& spec : signature.at("input_specs"))
      for (const char* kind : {"parameter", "buffer", "tensor_constant"})
        if (const auto found = spec.find(kind); found != spec.end() && found->is_object())
          weights_.insert(found->at("arg").at("name").get<std::string>());
  }

  TensorType type_of(const Json& meta) {
    TensorType t;
    t.element = &element_type(element_of(meta.at("dtype").get<int>()));
    for (const auto& size : meta.at("sizes")) {
      if (const auto fixed = size.find("as_int"); fixed != size.end() && fixed->is_number())
        t.dims.push_back(std::max<std::int64_t>(0, fixed->get<std::int64_t>()));
      else
        t.dims.push_back(size_of_expression(size.at("as_expr").at("expr_str").get<std::string>()));
    }
    return t;
  }

  /// "s0", "2*s0", "s0 + 1": by its symbols where all are bound; else it is a symbol itself.
  std::int64_t size_of_expression(const std::string& text) {
    const auto plain = std::all_of(text.begin(), text.end(),
                                   [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
    if (plain) return size_of_symbol(p_, options_, text);
    const char* at = text.data();
    const char* end = at + text.size();
    bool known = true;
    const auto value = sum(at, end, known, 0);
    if (known && at == end && std::abs(value) <= 0x1p53) return static_cast<std::int64_t>(value);
    return size_of_symbol(p_, options_, text);
  }
  double sum(const char*& at, const char* end, bool& known, int depth) {
    double x = term(at, end, known, depth);
    while (known && at < end && (*at == '+' || *at == '-')) {
      const char sign = *at++;
      const double y = term(at, end, known, depth);
      x = sign == '+' ? x + y : x - y;
    }
    return x;
  }
  double term(const char*& at, const char* end, bool& known, int depth) {
    double x = factor(at, end, known, depth);
    while (known && at < end && (*at == '*' || *at == '/')) {
      const char sign = *at++;
      if (at < end && *at == '/') ++at;
      const double y = factor(at, end, known, depth);
      if (sign == '/' && y == 0) known = false;
      if (known) x = sign == '*' ? x * y : std::floor(x / y);
    }
    return x;
  }
  double factor(const char*& at, const char* end, bool& known, int depth) {
    const auto blank = [&] {
      while (at < end && *at == ' ') ++at;
    };
    blank();
    double x = 0;
    if (at < end && *at == '(' && depth < kNesting) {
      ++at;
      x = sum(at, end, known, depth + 1);
      blank();
      if (at < end && *at == ')')
        ++at;
      else
        known = false;
    } else if (at < end && std::isdigit(static_cast<unsigned char>(*at)) != 0) {
      at = std::from_chars(at, end, x).ptr;
    } else {
      const char* from = at;
      while (at < end && (std::isalnum(static_cast<unsigned char>(*at)) != 0 || *at == '_')) ++at;
      const auto bound = options_.dims.find(std::string_view(from, static_cast<std::size_t>(at - from)));
      if (from == at || bound == options_.dims.end())
        known = false;
      else
        x = bound->second;
    }
    blank();
    return x;
  }

  std::uint32_t add(TensorType t, ValueRole role) { return add_value(p_, std::move(t), role, file_); }

  /// Names of the tensors of an argument, whatever form it has.
  static void tensors(const Json& arg, std::vector<std::string>& out) {
    if (const auto one = arg.find("as_tensor"); one != arg.end() && one->is_object())
      out.push_back(one->at("name").get<std::string>());
    if (const auto many = arg.find("as_tensors"); many != arg.end() && many->is_array())
      for (const auto& t : *many) out.push_back(t.at("name").get<std::string>());
    if (const auto one = arg.find("as_optional_tensor"); one != arg.end() && one->is_object())
      tensors(*one, out);
    if (const auto many = arg.find("as_optional_tensors"); many != arg.end() && many->is_array())
      for (const auto& t : *many) tensors(t, out);
  }

  void graph(const Json& g, Names& names, const std::string& path, double times, int depth, bool top) {
    if (depth > kNesting)
      throw InputError(kArchive.with({.found = "graphs that nest too deeply", .where = {file_}}));
    const auto& types = g.at("tensor_values");
    std::vector<std::string> found;
    for (const auto& input : g.at("inputs")) tensors(input, found);
    for (const auto& name : found) {
      if (names.contains(name)) continue;
      const bool weight = weights_.contains(name);
      const auto id = add(type_of(types.at(name)), weight ? ValueRole::weight : ValueRole::activation);
      names[name] = id;
      if (top && !weight) p_.inputs.push_back(id);
    }
    for (const auto& node : g.at("nodes")) read_node(node, types, names, path, times, depth);
    if (!top) return;
    found.clear();
    for (const auto& output : g.at("outputs")) tensors(output, found);
    for (const auto& name : found)
      if (const auto at = names.find(name); at != names.end()) p_.outputs.push_back(at->second);
  }

  void read_node(const Json& node, const Json& types, Names& names, const std::string& path, double times,
                 int depth) {
    const auto target = node.at("target").get<std::string>();
    ProgramOp op;
    op.line = ++count_;
    op.name = kept(p_, aten_name(target));
    op.times = times;
    std::vector<std::string> in, out;
    std::vector<const Json*> graphs;
    bool transposed = false;
    for (const auto& input : node.at("inputs")) {
      const auto& arg = input.at("arg");
      tensors(arg, in);
      if (const auto g = arg.find("as_graph"); g != arg.end() && g->is_object())
        graphs.push_back(&g->at("graph"));
      if (input.value("name", "") == "transposed") transposed = arg.value("as_bool", false);
    }
    for (const auto& output : node.at("outputs")) tensors(output, out);
    for (const auto& name : in) {
      const auto at = names.find(name);
      if (at == names.end())
        throw InputError("mlsysim.programs.025", "a node takes a tensor that nothing before it gives", name,
                         fmt::format("node {} ({})", count_, target), "nodes in order",
                         "write the archive again with torch.export.save", place(file_, count_));
      op.operands.push_back(at->second);
    }
    op.path = kept(p_, module_of(node, path));
    OpTypes seen;
    std::vector<TensorType> made;
    for (const auto& name : out) made.push_back(type_of(types.at(name)));
    for (const auto v : op.operands) seen.in.push_back(&p_.values[v].type);
    for (const auto& t : made) seen.out.push_back(&t);
    if (!graphs.empty()) sides(graphs, op, names, times, depth, target);
    const auto rule = graphs.empty() ? count_aten(op, op.name, seen, transposed) : Rule::free;
    if (rule == Rule::unknown && !op.operands.empty()) p_.unknown[target] += times;
    if (rule == Rule::free) op.touch = Touch::none;
    const auto role = role_of(p_, op);
    double most = 0;
    for (const auto* t : seen.in) most = std::max(most, t->elements());
    for (std::size_t i = 0; i < out.size(); ++i) {
      const bool spread = made[i].elements() > most;
      const auto id = add(made[i], role == ValueRole::weight && spread ? ValueRole::activation : role);
      names[out[i]] = id;
      op.results.push_back(id);
    }
    if (role != ValueRole::constant && !out.empty()) p_.ops.push_back(std::move(op));
  }

  /// Graphs of a higher-order operator: of `cond` the one with more work counts.
  void sides(const std::vector<const Json*>& graphs, const ProgramOp& op, const Names& names, double times,
             int depth, const std::string& target) {
    ProgramBranch b{target, -1, -1};
    std::vector<ProgramOp> chosen;
    const auto from = p_.ops.size();
    for (const auto* g : graphs) {
      spend(p_, names.size() / 4, file_);
      Names inner = names;
      graph(*g, inner, std::string(op.path), times, depth + 1, false);
      double macs = 0;
      for (auto i = from; i < p_.ops.size(); ++i) macs += p_.ops[i].macs() * p_.ops[i].times;
      b.least = b.least < 0 ? macs : std::min(b.least, macs);
      if (macs > b.most) {
        b.most = macs;
        chosen.assign(p_.ops.begin() + static_cast<std::ptrdiff_t>(from), p_.ops.end());
      }
      p_.ops.resize(from);
    }
    p_.ops.insert(p_.ops.end(), chosen.begin(), chosen.end());
    p_.branches.push_back(std::move(b));
  }

  /// The last of the modules around a node: "key,path,type;key,path,type".
  static std::string module_of(const Json& node, const std::string& path) {
    const auto metadata = node.find("metadata");
    if (metadata == node.end() || !metadata->is_object()) return path;
    auto stack = metadata->value("nn_module_stack", std::string());
    if (const auto semicolon = stack.rfind(';'); semicolon != std::string::npos)
      stack.erase(0, semicolon + 1);
    const auto first = stack.find(','), second = stack.find(',', first + 1);
    if (first == std::string::npos || second == std::string::npos) return path;
    auto module = stack.substr(first + 1, second - first - 1);
    std::replace(module.begin(), module.end(), '.', '/');
    return module.starts_with("L__self__") ? module.substr(std::min<std::size_t>(module.size(), 10)) : module;
  }

  const Json& root_;
  Program& p_;
  const ProgramOptions& options_;
  const std::string& file_;
  std::unordered_set<std::string> weights_;
  std::uint32_t count_ = 0;
};

}  // namespace
}  // namespace detail

Program read_pt2(const std::string& bytes, const std::string& name, const ProgramOptions& options) {
  Program p;
  p.name = name;
  p.format = "torch.export";
  const auto text = detail::graph_text(bytes, name);
  detail::check_depth(text, name);
  try {
    const auto root = detail::Json::parse(text);
    detail::allow_steps(p, text.size());
    detail::Pt2Reader(root, p, options, name).read();
  } catch (const detail::Json::exception& error) {
    throw InputError(detail::kArchive.with({.found = detail::json_fault(error), .where = {name}}));
  }
  detail::finish(p);
  return p;
}

}  // namespace mlsysim
