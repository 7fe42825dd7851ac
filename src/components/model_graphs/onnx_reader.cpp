// ONNX files, through the official schema. Data that lies outside of the file is never opened: extents are
// enough.

#include "detail/onnx_graph.hpp"
#include "detail/versions.hpp"

#include <onnx.pb.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

namespace mlsysim {
namespace detail {

std::string_view onnx_element(int number) {
  constexpr std::array<std::string_view, 24> kNames{
      "unknown", "f32",      "ui8",        "i8",     "ui16",       "i16",  "i32",          "i64",
      "text",    "i1",       "f16",        "f64",    "ui32",       "ui64", "complex<f32>", "complex<f64>",
      "bf16",    "f8E4M3FN", "f8E4M3FNUZ", "f8E5M2", "f8E5M2FNUZ", "ui4",  "i4",           "f4E2M1FN"};
  const auto i = static_cast<std::size_t>(number);
  return i < kNames.size() ? kNames[i] : kNames[0];
}

TensorType OnnxShapes::give(std::size_t i, Dims dims, std::string_view element) {
  TensorType t;
  t.element = element.empty() ? (n_.operands.empty() ? &element_type("f32") : type(0).element)
                              : &element_type(element);
  if (!element.empty() && t.element->name == "unknown") t.element = &element_type("f32");
  t.dims = std::move(dims);
  if (i < n_.types.size()) n_.types[i] = t;
  return t;
}

void OnnxShapes::remember(std::size_t i, Dims values) {
  if (i >= n_.numbers.size() || values.size() > 4096) return;
  n_.numbers[i] = std::move(values);
  n_.remembered[i] = 1;
}

void OnnxShapes::unknown(std::string why) {
  n_.why = why.empty() ? "there is no rule for this operator" : std::move(why);
  n_.made.kind = ListedKind::movement;
}

std::int64_t OnnxShapes::new_symbol() {
  return size_of_symbol(s_.program, s_.options, fmt::format("node{}.{}", n_.number, s_.symbols++));
}

std::int64_t OnnxShapes::extent_of(const Dims& dims) {
  std::int64_t n = 1;
  for (const auto d : dims) {
    if (d < 0) return dims.size() == 1 ? d : new_symbol();
    n *= d;
  }
  return n;
}

namespace {

constexpr int kNewestOpset = 23, kNewestIr = 11;  // of onnx 1.18
constexpr std::uint64_t kMostValues = 4096;

/// Whole numbers of a tensor, where it is small and they are in the file.
std::optional<std::vector<std::int64_t>> whole_numbers(const onnx::TensorProto& t) {
  std::uint64_t count = 1;
  for (const auto d : t.dims()) count *= static_cast<std::uint64_t>(std::max<std::int64_t>(d, 0));
  if (count > kMostValues || (t.data_type() != 7 && t.data_type() != 6)) return std::nullopt;
  std::vector<std::int64_t> out;
  if (t.has_raw_data()) {
    const std::size_t width = t.data_type() == 7 ? 8 : 4;
    if (t.raw_data().size() != count * width) return std::nullopt;
    for (std::size_t i = 0; i < count; ++i) {
      std::int64_t wide = 0;
      std::int32_t narrow = 0;
      if (width == 8)
        std::memcpy(&wide, t.raw_data().data() + 8 * i, 8);
      else
        std::memcpy(&narrow, t.raw_data().data() + 4 * i, 4), wide = narrow;
      out.push_back(wide);
    }
  } else if (t.data_type() == 7) {
    out.assign(t.int64_data().begin(), t.int64_data().end());
  } else {
    out.assign(t.int32_data().begin(), t.int32_data().end());
  }
  if (out.size() != count) return std::nullopt;
  return out;
}

class OnnxReader {
 public:
  OnnxReader(const onnx::ModelProto& model, Program& program, const ProgramOptions& options,
             const std::string& file)
      : model_(model), state_{program, options, file, {}, {}, 0}, p_(program) {}

  void read() {
    versions();
    for (const auto& f : model_.functions()) functions_.emplace(f.domain() + "." + f.name(), &f);
    Names names;
    const auto& g = model_.graph();
    for (const auto& t : g.initializer()) names[t.name()] = initializer(t);
    for (const auto& input : g.input()) {
      if (names.contains(input.name())) continue;
      const auto id = add(type_of(input.type().tensor_type(), input.name()), ValueRole::activation);
      names[input.name()] = id;
      p_.inputs.push_back(id);
    }
    for (const auto& info : g.value_info()) stated_.emplace(info.name(), &info);
    for (const auto& info : g.output()) stated_.emplace(info.name(), &info);
    nodes(g, names, "", 1, 0);
    for (const auto& output : g.output())
      if (const auto found = names.find(output.name()); found != names.end())
        p_.outputs.push_back(found->second);
  }

 private:
  using Names = std::unordered_map<std::string, std::uint32_t>;

  void versions() {
    std::int64_t opset = 0;
    for (const auto& o : model_.opset_import())
      if (o.domain().empty() || o.domain() == "ai.onnx") opset = o.version();
    p_.version = fmt::format("opset {}, ir {}", opset, model_.ir_version());
    if ((opset < 1 || opset > kNewestOpset || model_.ir_version() < 1) && !state_.options.force)
      throw InputError("mlsysim.programs.017", "the version of the ONNX operators is not known",
                       "opset_import", p_.version,
                       fmt::format("opset 1 to {}, ir 1 to {}", kNewestOpset, kNewestIr),
                       fmt::format("ask the producer for opset {}, or read on with --force", kNewestOpset),
                       {state_.file}, BreakReason::version_mismatch);
    if (model_.ir_version() > kNewestIr)
      p_.notes.push_back(
          fmt::format("ir version {} is newer than {}, the newest known", model_.ir_version(), kNewestIr));
  }

  std::uint32_t add(TensorType type, ValueRole role) {
    return add_value(p_, std::move(type), role, state_.file);
  }

  /// The symbol of an extent: its name, or value and axis where it has none ("?") or is bound by them.
  [[nodiscard]] std::string symbol_of(const std::string& parameter, const std::string& name, int axis) const {
    auto own = fmt::format("{}.{}", name, axis);
    const bool named = !parameter.empty() && parameter != "?" && !state_.options.dims.contains(own);
    return named ? parameter : own;
  }
  /// The hint for an error about unknown extents: how to make them known.
  [[nodiscard]] std::string remedy() const {
    return p_.open.empty() ? std::string("store the shapes in the file: onnx.shape_inference.infer_shapes")
                           : fmt::format("bind the open sizes: --dim {}=N", fmt::join(p_.open, "=N --dim "));
  }

  TensorType type_of(const onnx::TypeProto_Tensor& t, const std::string& name) {
    TensorType out;
    out.element = &element_type(onnx_element(t.elem_type()));
    for (int i = 0; i < t.shape().dim_size(); ++i) {
      const auto& d = t.shape().dim(i);
      if (d.has_dim_value())
        out.dims.push_back(std::max<std::int64_t>(0, d.dim_value()));
      else
        out.dims.push_back(size_of_symbol(p_, state_.options, symbol_of(d.dim_param(), name, i)));
    }
    return out;
  }

  std::uint32_t initializer(const onnx::TensorProto& t) {
    TensorType type;
    type.element = &element_type(onnx_element(t.data_type()));
    for (const auto d : t.dims()) type.dims.push_back(std::max<std::int64_t>(0, d));
    const auto id = add(std::move(type), ValueRole::weight);
    if (auto numbers = whole_numbers(t)) state_.ints[id] = std::move(*numbers);
    if (t.data_type() == 1 && t.dims_size() <= 1 && t.float_data_size() <= 8 && t.raw_data().size() <= 32) {
      std::vector<double> values(t.float_data().begin(), t.float_data().end());
      for (std::size_t i = 0; i + 4 <= t.raw_data().size(); i += 4) {
        float f = 0;
        std::memcpy(&f, t.raw_data().data() + i, 4);
        values.push_back(static_cast<double>(f));
      }
      const bool whole = std::all_of(values.begin(), values.end(), [](double v) {
        return v >= 0 && v <= kLargestWhole && v == std::floor(v);
      });
      if (whole) state_.ints[id].assign(values.begin(), values.end());
      state_.floats[id] = std::move(values);
    }
    return id;
  }

  void attributes(const onnx::NodeProto& node, OnnxNode& n, std::vector<const onnx::GraphProto*>& graphs) {
    for (const auto& a : node.attribute()) {
      if (a.has_i()) n.int_lists[a.name()] = {a.i()};
      if (a.ints_size() > 0) n.int_lists[a.name()].assign(a.ints().begin(), a.ints().end());
      if (a.has_s()) n.texts[a.name()] = a.s();
      if (a.has_g()) graphs.push_back(&a.g());
      for (const auto& g : a.graphs()) graphs.push_back(&g);
    }
  }

  template <class Graph>
  void nodes(const Graph& graph, Names& names, const std::string& path, double times, int depth) {
    if (depth > kNesting)
      throw InputError("mlsysim.programs.018", "graphs nest too deeply", path, "",
                       fmt::format("at most {} levels", kNesting), "look for a function that calls itself",
                       {state_.file});
    for (const auto& node : graph.node()) read_node(node, names, path, times, depth);
  }

  void read_node(const onnx::NodeProto& node, Names& names, const std::string& path, double times,
                 int depth) {
    spend(p_, steps_of(path.size() + node.ByteSizeLong()), state_.file);
    OnnxNode n;
    n.op = kept(p_, node.op_type());
    n.number = ++count_;
    std::vector<const onnx::GraphProto*> graphs;
    attributes(node, n, graphs);
    for (const auto& name : node.input()) {
      if (name.empty()) continue;
      const auto found = names.find(name);
      if (found == names.end())
        throw InputError("mlsysim.programs.019", "a node takes a value that nothing before it gives", name,
                         fmt::format("node {} ({})", n.number, node.op_type()), "nodes in order",
                         "sort the graph", place(state_.file, n.number));
      n.operands.push_back(found->second);
    }
    const auto where = module_of(node.name(), path);
    if (node.op_type() == "Constant" || node.op_type() == "ConstantOfShape") return constant(node, n, names);
    if (const auto f = functions_.find(node.domain() + "." + node.op_type()); f != functions_.end()) {
      Names inner;
      for (int i = 0; i < std::min(node.input_size(), f->second->input_size()); ++i)
        if (!node.input(i).empty()) inner[f->second->input(i)] = names.at(node.input(i));
      nodes(*f->second, inner, where + (where.empty() ? "" : "/") + node.op_type(), times, depth + 1);
      for (int i = 0; i < std::min(node.output_size(), f->second->output_size()); ++i)
        if (const auto made = inner.find(f->second->output(i)); made != inner.end())
          names[node.output(i)] = made->second;
      return;
    }
    if (!graphs.empty()) return control(node, n, graphs, names, where, times, depth);
    plain(node, n, names, where, times);
  }

  void plain(const onnx::NodeProto& node, OnnxNode& n, Names& names, const std::string& where, double times) {
    n.results.assign(node.output().begin(), node.output().end());
    n.types.resize(n.results.size());
    n.numbers.resize(n.results.size());
    n.remembered.resize(n.results.size());
    n.made.name = n.op;
    n.made.line = static_cast<std::uint32_t>(n.number);
    n.made.path = kept(p_, where);
    n.made.times = times;
    n.made.operands = n.operands;
    OnnxShapes(n, state_).run();
    const auto role = role_of(p_, n.made);
    double most = 0;
    for (const auto v : n.operands) most = std::max(most, p_.values[v].type.elements());
    for (std::size_t i = 0; i < n.results.size(); ++i) {
      if (n.results[i].empty()) continue;
      // The shape that the file states for a result holds where the rules leave something open.
      if (const auto stated = stated_.find(n.results[i]); stated != stated_.end() &&
                                                          (n.types[i].dims.empty() || !n.types[i].known()) &&
                                                          stated->second->type().tensor_type().has_shape())
        n.types[i] = type_of(stated->second->type().tensor_type(), n.results[i]);
      else if (i == 0 && n.types[0].element->name == "unknown")
        throw InputError("mlsysim.programs.020", fmt::format("unknown shape at node {}", n.number),
                         node.name().empty() ? node.op_type() : node.name(),
                         n.why.empty() ? "operands of unknown extents" : n.why, "extents of every value",
                         remedy(), place(state_.file, n.number), BreakReason::dynamic_shape);
      const bool spread = n.types[i].elements() > most;
      const auto id = add(n.types[i], role == ValueRole::weight && spread ? ValueRole::activation : role);
      if (n.remembered[i] != 0) state_.ints[id] = std::move(n.numbers[i]);
      if (i == 0 && !n.fractions.empty()) state_.floats[id] = std::move(n.fractions);
      names[n.results[i]] = id;
      n.made.results.push_back(id);
    }
    if (!n.why.empty())
      p_.unknown[node.domain().empty() ? node.op_type() : node.domain() + "." + node.op_type()] += times;
    if (role != ValueRole::constant && !only_extents(n)) p_.ops.push_back(std::move(n.made));
  }

  /// Arithmetic on extents is done before anything runs.
  [[nodiscard]] bool only_extents(const OnnxNode& n) const {
    return !n.made.results.empty() &&
           std::all_of(n.made.results.begin(), n.made.results.end(),
                       [&](std::uint32_t v) { return state_.ints.contains(v) || state_.floats.contains(v); });
  }

  void constant(const onnx::NodeProto& node, const OnnxNode& n, Names& names) {
    if (node.output_size() == 0) return;
    std::uint32_t id = 0;
    const onnx::TensorProto* value = nullptr;
    for (const auto& a : node.attribute())
      if (a.has_t()) value = &a.t();
    if (node.op_type() == "ConstantOfShape") {
      // A file without its weights keeps their extents this way: a parameter where the shape is a constant.
      TensorType t;
      t.element = &element_type(value != nullptr ? onnx_element(value->data_type()) : "f32");
      const auto shape = n.operands.empty() ? state_.ints.end() : state_.ints.find(n.operands[0]);
      if (shape == state_.ints.end())
        throw InputError("mlsysim.programs.020", fmt::format("unknown shape at node {}", n.number),
                         node.name(), "the shape is computed by the program", "extents of every value",
                         remedy(), place(state_.file, n.number), BreakReason::dynamic_shape);
      t.dims = shape->second;
      const bool stored = p_.values[n.operands[0]].role == ValueRole::weight && !t.dims.empty();
      id = add(std::move(t), stored ? ValueRole::weight : ValueRole::constant);
    } else if (value != nullptr) {
      id = initializer(*value);
      if (p_.values[id].type.elements() <= 1) p_.values[id].role = ValueRole::constant;
    } else {
      TensorType t;
      t.element = &element_type("f32");
      std::vector<std::int64_t> ints = n.ints("value_ints");
      if (!n.ints("value_int").empty()) ints = n.ints("value_int");
      if (!ints.empty()) t.element = &element_type("i64");
      if (!n.ints("value_ints").empty()) t.dims = {std::ssize(ints)};
      id = add(std::move(t), ValueRole::constant);
      if (!ints.empty()) state_.ints[id] = ints;
    }
    names[node.output(0)] = id;
  }

  void control(const onnx::NodeProto& node, OnnxNode& n, const std::vector<const onnx::GraphProto*>& graphs,
               Names& names, const std::string& where, double times, int depth) {
    const auto inside = where + (where.empty() ? "" : "/") + node.op_type();
    if (node.op_type() == "If") {
      ProgramBranch b{inside, -1, -1};
      std::vector<ProgramOp> chosen;
      const auto from = p_.ops.size();
      for (const auto* g : graphs) {
        spend(p_, names.size() / 4, state_.file);
        Names inner = names;
        for (const auto& t : g->initializer()) inner[t.name()] = initializer(t);
        nodes(*g, inner, inside, times, depth + 1);
        double macs = 0;
        for (auto i = from; i < p_.ops.size(); ++i) macs += p_.ops[i].macs() * p_.ops[i].times;
        b.least = b.least < 0 ? macs : std::min(b.least, macs);
        if (macs > b.most) {
          b.most = macs;
          chosen.assign(p_.ops.begin() + static_cast<std::ptrdiff_t>(from), p_.ops.end());
          for (int i = 0; i < std::min(node.output_size(), g->output_size()); ++i)
            if (const auto made = inner.find(g->output(i).name()); made != inner.end())
              names[node.output(i)] = made->second;
        }
        p_.ops.resize(from);
      }
      p_.ops.insert(p_.ops.end(), chosen.begin(), chosen.end());
      p_.branches.push_back(std::move(b));
      return;
    }
    // Loop(M, cond, states...) and Scan(states..., sequences...).
    const auto& g = *graphs.front();
    spend(p_, names.size() / 4, state_.file);
    Names inner = names;
    for (const auto& t : g.initializer()) inner[t.name()] = initializer(t);
    double trips = -1;
    const bool scan = node.op_type() == "Scan";
    const auto sequences = scan ? static_cast<std::size_t>(n.integer("num_scan_inputs", 0)) : 0;
    if (!scan && !node.input(0).empty())
      if (const auto m = state_.ints.find(n.operands[0]); m != state_.ints.end() && !m->second.empty())
        trips = static_cast<double>(m->second[0]);
    for (int i = 0; i < g.input_size(); ++i) {
      TensorType t = type_of(g.input(i).type().tensor_type(), g.input(i).name());
      if ((scan || i >= 2) && i < node.input_size() && !node.input(i).empty())
        t = p_.values[names.at(node.input(i))].type;
      if (scan && static_cast<std::size_t>(i) + sequences >= static_cast<std::size_t>(g.input_size()) &&
          !t.dims.empty()) {
        trips = static_cast<double>(t.dims[0]);
        t.dims.erase(t.dims.begin());
      }
      inner[g.input(i).name()] = add(std::move(t), ValueRole::activation);
    }
    if (trips < 0) {
      const auto name = fmt::format("while.{}", loops_++);
      if (const auto given = state_.options.trips.find(name); given != state_.options.trips.end()) {
        trips = given->second;
      } else {
        trips = 1;
        p_.symbols.push_back(name);
        p_.open.push_back(name);
        p_.notes.push_back(fmt::format("node {}: the trip count of the loop {} depends on data: counted once",
                                       n.number, name));
      }
    }
    nodes(g, inner, inside, times * trips, depth + 1);
    const int skip = scan ? 0 : 1;
    for (int i = 0; i < std::min(node.output_size(), g.output_size() - skip); ++i)
      if (const auto made = inner.find(g.output(i + skip).name()); made != inner.end())
        names[node.output(i)] = made->second;
  }

  /// "/encoder/layer.0/attention/MatMul" lies in "encoder/layer.0/attention".
  static std::string module_of(const std::string& name, const std::string& path) {
    auto end = name.rfind('/');
    if (end == std::string::npos) return path;
    const auto begin = name.find_first_not_of('/');
    const auto inner = begin < end ? name.substr(begin, end - begin) : std::string();
    return path + (path.empty() || inner.empty() ? "" : "/") + inner;
  }

  const onnx::ModelProto& model_;
  OnnxState state_;
  Program& p_;
  std::unordered_map<std::string, const onnx::FunctionProto*> functions_;
  std::unordered_map<std::string, const onnx::ValueInfoProto*> stated_;
  std::size_t count_ = 0;
  int loops_ = 0;
};

}  // namespace
}  // namespace detail

Program read_onnx(std::string_view bytes, const std::string& name, const ProgramOptions& options) {
  onnx::ModelProto model;
  if (bytes.size() > (1ull << 31) - 1 ||
      !model.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())) || !model.has_graph())
    throw InputError("mlsysim.programs.021", "the file is no ONNX model", "",
                     fmt::format("{} bytes that are not the message ModelProto", bytes.size()),
                     "a model as torch.onnx.export or tf2onnx writes it",
                     "export the model again, weights in a file of their own", {name});
  Program p;
  p.name = name;
  p.format = "ONNX";
  detail::allow_steps(p, bytes.size());
  detail::OnnxReader(model, p, options, name).read();
  detail::finish(p);
  return p;
}

}  // namespace mlsysim
