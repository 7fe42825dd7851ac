#include "programs.hpp"
#include "support/catch.hpp"

#include <onnx.pb.h>

using namespace mlsysim;
using namespace mlsysim::test;

namespace {

/// A model that is put together node by node.
struct Maker {
  onnx::ModelProto model;

  Maker() {
    model.set_ir_version(8);
    model.add_opset_import()->set_version(17);
  }
  onnx::GraphProto& graph() { return *model.mutable_graph(); }
  /// @param dims texts are symbols
  void input(const std::string& name, const std::vector<std::string>& dims, int element = 1) {
    auto* v = graph().add_input();
    v->set_name(name);
    auto* t = v->mutable_type()->mutable_tensor_type();
    t->set_elem_type(element);
    for (const auto& d : dims) {
      auto* dim = t->mutable_shape()->add_dim();
      if (std::isdigit(static_cast<unsigned char>(d[0])) != 0)
        dim->set_dim_value(std::stoll(d));
      else
        dim->set_dim_param(d);
    }
  }
  onnx::TensorProto& weight(const std::string& name, const std::vector<std::int64_t>& dims, int element = 1) {
    auto* t = graph().add_initializer();
    t->set_name(name);
    t->set_data_type(element);
    for (const auto d : dims) t->add_dims(d);
    return *t;
  }
  void ints(const std::string& name, const std::vector<std::int64_t>& values) {
    auto& t = weight(name, {static_cast<std::int64_t>(values.size())}, 7);
    for (const auto v : values) t.add_int64_data(v);
  }
  static onnx::NodeProto& node(onnx::GraphProto& g, const std::string& op, const std::vector<std::string>& in,
                               const std::vector<std::string>& out, const std::string& name = "") {
    auto* n = g.add_node();
    n->set_op_type(op);
    n->set_name(name);
    for (const auto& i : in) n->add_input(i);
    for (const auto& o : out) n->add_output(o);
    return *n;
  }
  static void attribute(onnx::NodeProto& n, const std::string& name, std::int64_t value) {
    auto* a = n.add_attribute();
    a->set_name(name);
    a->set_i(value);
  }
  [[nodiscard]] Program read(const ProgramOptions& options = {}) const {
    return read_onnx(model.SerializeAsString(), "test.onnx", options);
  }
};

Maker dense() {
  Maker m;
  m.input("x", {"batch", "16"});
  m.weight("w", {16, 8});
  Maker::node(m.graph(), "MatMul", {"x", "w"}, {"y"}, "/encoder/layer.0/MatMul");
  m.graph().add_output()->set_name("y");
  return m;
}

}  // namespace

TEST_CASE("open sizes of ONNX files are symbols by their names") {
  const auto p = dense().read();
  CHECK(p.open == std::vector<std::string>{"batch"});
  CHECK(refusal([&] { (void)program_workload(p); }).facts().hint.find("--dim batch=1") != std::string::npos);
  const auto bound = dense().read({.dims = {{"batch", 5}}});
  CHECK(totals_of(bound).macs == 5 * 16 * 8);
  CHECK(totals_of(bound).weights == 128);
  CHECK(bound.ops[0].path == "encoder/layer.0");
  CHECK(bound.version == "opset 17, ir 8");
}

TEST_CASE("extents that the program computes are computed") {
  Maker m;
  m.input("x", {"batch", "4", "8"});
  m.ints("zero", {0});
  m.ints("rest", {32});
  m.weight("w", {32, 2});
  auto& g = m.graph();
  Maker::node(g, "Shape", {"x"}, {"s"});
  Maker::node(g, "Gather", {"s", "zero"}, {"b"});
  auto& joined = Maker::node(g, "Concat", {"b", "rest"}, {"shape"});
  Maker::attribute(joined, "axis", 0);
  Maker::node(g, "Reshape", {"x", "shape"}, {"flat"});
  Maker::node(g, "MatMul", {"flat", "w"}, {"y"});
  CHECK(totals_of(m.read({.dims = {{"batch", 3}}})).macs == 3 * 32 * 2);
  CHECK(m.read().open == std::vector<std::string>{"batch"});          // and no other symbol
  CHECK(totals_of(m.read({.dims = {{"batch", 3}}})).operators == 1);  // the rest is done before anything runs
}

TEST_CASE("slices of extents keep them, and a size without a name is bound by value and axis") {
  Maker m;
  m.input("x", {"?", "1", "?"});
  m.ints("first", {0});
  m.ints("end", {9});
  m.ints("axis", {0});
  m.ints("second", {2});
  m.weight("w", {16, 2});
  auto& g = m.graph();
  Maker::node(g, "Shape", {"x"}, {"s"});
  Maker::attribute(Maker::node(g, "Cast", {"s"}, {"narrow"}), "to", 6);
  Maker::node(g, "Slice", {"narrow", "first", "end", "axis", "second"}, {"ends"});  // extents 0 and 2
  Maker::node(g, "Reshape", {"x", "ends"}, {"folded"});
  Maker::node(g, "MatMul", {"folded", "w"}, {"y"});
  CHECK(m.read().open == std::vector<std::string>{"x.0", "x.2"});
  const auto p = m.read({.dims = {{"x.0", 12}, {"x.2", 16}}});
  CHECK(p.open.empty());
  CHECK(totals_of(p).macs == 12 * 16 * 2);
}

TEST_CASE("weights that lie outside of the file are not looked for") {
  auto m = dense();
  auto& w = *m.graph().mutable_initializer(0);
  w.set_data_location(onnx::TensorProto::EXTERNAL);
  auto* where = w.add_external_data();
  where->set_key("location");
  where->set_value("/nowhere/weights.bin");
  CHECK(totals_of(m.read({.dims = {{"batch", 1}}})).weights == 128);
}

TEST_CASE("loops multiply, branches are compared, functions are expanded") {
  Maker m;
  m.input("x", {"8", "8"});
  m.ints("trips", {6});
  auto& loop = Maker::node(m.graph(), "Loop", {"trips", "", "x"}, {"y"});
  auto* body = loop.add_attribute();
  body->set_name("body");
  auto& inner = *body->mutable_g();
  for (const char* name : {"i", "go", "state"}) inner.add_input()->set_name(name);
  Maker::node(inner, "MatMul", {"state", "state"}, {"next"});
  for (const char* name : {"go", "next"}) inner.add_output()->set_name(name);
  auto& branch = Maker::node(m.graph(), "If", {"trips"}, {"z"});
  for (const bool side : {true, false}) {
    auto* a = branch.add_attribute();
    a->set_name(side ? "then_branch" : "else_branch");
    auto& g = *a->mutable_g();
    Maker::node(g, side ? "MatMul" : "Add", {"x", "x"}, {"out"});
    g.add_output()->set_name("out");
  }
  auto* f = m.model.add_functions();
  f->set_domain("own");
  f->set_name("Square");
  f->add_input("a");
  f->add_output("b");
  auto* n = f->add_node();
  n->set_op_type("MatMul");
  n->add_input("a");
  n->add_input("a");
  n->add_output("b");
  Maker::node(m.graph(), "Square", {"x"}, {"q"}).set_domain("own");
  const auto p = m.read();
  CHECK(totals_of(p).macs == (6 + 1 + 1) * 512);
  REQUIRE(p.branches.size() == 1);
  CHECK(p.branches[0].least == 0);
  CHECK(p.branches[0].most == 512);
}

TEST_CASE("what is not known is said: operators, shapes, versions") {
  auto m = dense();
  Maker::node(m.graph(), "Wobble", {"y"}, {"z"}).set_domain("other");
  const auto refused = refusal([&] { (void)m.read({.dims = {{"batch", 1}}}); });
  CHECK(refused.facts().id == "mlsysim.programs.020");
  CHECK(refused.facts().message == "unknown shape at node 2");
  // The file may state the shape.
  auto* info = m.graph().add_value_info();
  info->set_name("z");
  auto* t = info->mutable_type()->mutable_tensor_type();
  t->set_elem_type(1);
  t->mutable_shape()->add_dim()->set_dim_value(4);
  CHECK(m.read({.dims = {{"batch", 1}}}).unknown.at("other.Wobble") == 1);
  auto future = dense();
  future.model.mutable_opset_import(0)->set_version(999);
  CHECK(refusal([&] { (void)future.read(); }).facts().id == "mlsysim.programs.017");
  CHECK(totals_of(future.read({.dims = {{"batch", 1}}, .force = true})).macs == 128);
  CHECK(refusal([] { (void)read_onnx("no model", "x.onnx"); }).facts().id == "mlsysim.programs.021");
}

TEST_CASE("a convolution without groups is refused, and an open number of features counts as one") {
  const auto made = [](std::int64_t groups, const char* features) {
    Maker m;
    m.input("x", {"1", "4", "8", "8"});
    m.input("w", {features, "4", "3", "3"});
    auto& conv = Maker::node(m.graph(), "Conv", {"x", "w"}, {"y"});
    Maker::attribute(conv, "group", groups);
    m.graph().add_output()->set_name("y");
    return m;
  };
  CHECK(totals_of(made(1, "6").read()).macs == 6 * 6 * 6 * 4 * 9);
  CHECK(totals_of(made(1, "features").read()).macs == 6 * 6 * 4 * 9);
  for (const std::int64_t groups : {0, -2}) {
    const auto refused = refusal([&] { (void)made(groups, "6").read(); });
    CHECK(refused.facts().id == "mlsysim.programs.030");
    CHECK(refused.facts().found == std::to_string(groups) + " groups");
  }
}

TEST_CASE("einsum, quantized convolutions and attention of ONNX are counted", "[model_graphs]") {
  const auto text = [](onnx::NodeProto& n, const std::string& name, const std::string& value) {
    auto* a = n.add_attribute();
    a->set_name(name);
    a->set_type(onnx::AttributeProto::STRING);
    a->set_s(value);
  };
  const auto einsum = [&](const std::string& equation, const std::vector<std::string>& a,
                          const std::vector<std::string>& b) {
    Maker m;
    m.input("a", a);
    m.input("b", b);
    text(Maker::node(m.graph(), "Einsum", {"a", "b"}, {"y"}), "equation", equation);
    m.graph().add_output()->set_name("y");
    return totals_of(m.read()).macs;
  };
  CHECK(einsum("bhqd,bhkd->bhqk", {"2", "8", "64", "32"}, {"2", "8", "48", "32"}) == 2.0 * 8 * 64 * 48 * 32);
  CHECK(einsum("btd, dhk -> bthk", {"2", "64", "512"}, {"512", "8", "64"}) == 2.0 * 64 * 512 * 512);
  CHECK_THROWS_AS(einsum("...i,ij->...j", {"2", "3"}, {"3", "4"}), Error);

  Maker q;
  q.input("x", {"1", "64", "28", "28"}, 2);
  q.weight("w", {128, 64, 1, 1}, 2);
  for (const char* s : {"xs", "xz", "ws", "wz", "ys", "yz"}) q.weight(s, {1});
  Maker::node(q.graph(), "QLinearConv", {"x", "xs", "xz", "w", "ws", "wz", "ys", "yz"}, {"y"});
  q.graph().add_output()->set_name("y");
  CHECK(totals_of(q.read()).macs == 128.0 * 64 * 28 * 28);

  Maker a;
  for (const char* name : {"k", "v"}) a.input(name, {"1", "8", "100", "32"});
  a.input("q", {"1", "8", "64", "32"});
  Maker::node(a.graph(), "Attention", {"q", "k", "v"}, {"y"});
  a.graph().add_output()->set_name("y");
  CHECK(totals_of(a.read()).macs == 2.0 * 8 * 64 * 100 * 32);
}

namespace {

/// An image that is resized to sizes, or by scales, which the program computes from its shape.
Maker resized(const std::string& factor, double by, bool sizes) {
  Maker m;
  m.input("x", {"b", "4", "H", "W"});
  m.weight("k", {8, 4, 3, 3});
  m.weight("by", {1}).add_float_data(static_cast<float>(by));
  m.ints("0", {0});
  m.ints("2", {2});
  m.ints("4", {4});
  const auto add = [&](const std::string& op, const std::vector<std::string>& in,
                       const std::string& out) -> onnx::NodeProto& {
    return Maker::node(m.graph(), op, in, {out});
  };
  add("Shape", {"x"}, "s");
  Maker::attribute(add("Cast", {"s"}, "f"), "to", 1);
  add(factor, {"f", "by"}, "scaled");
  Maker::attribute(add("Cast", {"scaled"}, "i"), "to", 7);
  if (sizes) {
    add("Slice", {"i", "2", "4", "0"}, "hw");
    add("Slice", {"s", "0", "2", "0"}, "nc");
    Maker::attribute(add("Concat", {"nc", "hw"}, "target"), "axis", 0);
    add("Resize", {"x", "", "", "target"}, "u");
  } else {
    add("Div", {"f", "f"}, "one");  // of 1, 1, 1, 1
    add("Mul", {"one", "by"}, "target");
    add("Resize", {"x", "", "target"}, "u");
  }
  add("Conv", {"u", "k"}, "y");
  m.graph().add_output()->set_name("y");
  return m;
}

}  // namespace

TEST_CASE("sizes of Resize that the program computes from its shape are known once it is bound",
          "[model_graphs]") {
  const ProgramOptions bound{.dims = {{"b", 1}, {"H", 15}, {"W", 20}}};
  const auto macs = [&](const Maker& m) { return totals_of(m.read(bound)).macs; };
  const double kernel = 8.0 * 4 * 9;
  CHECK(macs(resized("Mul", 2, true)) == kernel * 28 * 38);
  CHECK(macs(resized("Mul", 0.5, true)) == kernel * 5 * 8);  // 7 x 10, truncated
  CHECK(macs(resized("Div", 2, true)) == kernel * 5 * 8);    // a quotient in floating point, then truncated
  CHECK(macs(resized("Add", 3, true)) == kernel * 16 * 21);
  CHECK(macs(resized("Mul", 2, false)) == 2 * kernel * 28 * 38);  // the batch is scaled too
  const auto open = refusal([] { (void)resized("Mul", 2, true).read({}); });
  CHECK(open.facts().id == "mlsysim.programs.020");
  for (const auto* size : {"b", "H", "W"})
    CHECK(open.facts().hint.find(std::string("--dim ") + size) != std::string::npos);
}
