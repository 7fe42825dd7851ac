#include "support/catch.hpp"

#include <mlsysim/ops/graph_breaks/reasons.hpp>

using namespace mlsysim;

TEST_CASE("a type holds nothing that differs from run to run", "[compile]") {
  CHECK(normal_type("generic_jump TensorVariable()") == "generic_jump");
  CHECK(normal_type("builtin: print [<class 'x'>] False") == "builtin: print");
  CHECK(normal_type("call_function foo in skip_files /usr/lib/python3/foo.py") ==
        "call_function foo in skip_files PATH");
  CHECK(normal_type("attribute 'weight' of 7 at 0x7f2f42df5bb0") == "attribute '...' of N");
  CHECK(normal_type("inline <method> [1, 2, 3]\n  Explanation: x") == "inline <method> [...]");
  CHECK(normal_type("") == "unknown");
  CHECK(normal_type("a\tb\x01") == "a b ");
  CHECK(normal_type(std::string(5000, 'x')).size() == 120);
}

TEST_CASE("reasons from 2.7 on have parts", "[compile]") {
  const auto b = break_of(
      "Data-dependent branching\n  Explanation: Detected it\n over two lines.\n  Hint: Use `torch.cond`.\n"
      "  Hint: It may be possible to write Dynamo tracing rules for this code.\n\n"
      "  Developer debug context: attempted to jump with TensorVariable()\n\n"
      " For more details about this graph break, please visit: "
      "https://meta-pytorch.org/compile-graph-break-site/gb/"
      "gb0170.html",
      BreakRegistry::shipped());
  CHECK(b.type == "Data-dependent branching");
  CHECK(b.explanation == "Detected it\nover two lines.");
  CHECK(b.hints.size() == 2);
  CHECK(b.hint_class == "supportable");
  CHECK(b.context == "attempted to jump with TensorVariable()");
  CHECK(b.gb_id == "GB0170");
  // Ids of an older and of a newer registry.
  CHECK(BreakRegistry::shipped().id_of("Dynamic shape operator") == "GB0036");
  CHECK(BreakRegistry::shipped().id_of("torch.switch: empty branches") == "GB4307");
  // The id that the page of the reason has goes before that of the table.
  CHECK(break_of("New sort of break\nvisit: https://x/gb/gb9999.html", BreakRegistry::shipped()).gb_id ==
        "GB9999");
  // From 2.12 on what was traced comes first.
  const auto lead = break_of(
      "Encountered graph break when attempting to trace CALL: a function call, e.g. f(x, y):\n\n"
      "Dynamic shape operator\n  Explanation: depends on data.\n\n  Developer debug context: "
      "aten.nonzero.default",
      BreakRegistry::shipped());
  CHECK(lead.type == "Dynamic shape operator");
  CHECK(lead.gb_id == "GB0036");
  CHECK(lead.category == BreakCategory::dynamic_shape);
  CHECK(lead.explanation == "depends on data.");
  CHECK(lead.reason.starts_with("Encountered"));
  CHECK(break_of("Encountered graph break when formatting", BreakRegistry::shipped()).type ==
        "Encountered graph break when formatting");
  const auto nested = break_of(
      "Graph break in inlined function\n  Hint: a\n*** While handling this graph break, another graph break "
      "occurred: "
      "***\nDynamic shape operator\n  Hint: b",
      BreakRegistry::shipped());
  CHECK(nested.hints == std::vector<std::string>{"a"});
  CHECK(nested.category == BreakCategory::secondary);
}

TEST_CASE("categories", "[compile]") {
  using enum BreakCategory;
  const auto of = [](const char* type, const char* context = "") { return category_of(type, context); };
  CHECK(of("generic_jump") == data_dependent_control_flow);
  CHECK(of("Data dependent operator") == data_dependent_value);
  CHECK(of("Dynamic slicing with Tensor arguments") == dynamic_shape);
  CHECK(of("Failed to trace builtin operator", "builtin print [<class 'x'>] False") == side_effect_io);
  CHECK(of("Failed to trace builtin operator", "builtin ord ['<unknown>'] False") == unsupported_builtin);
  CHECK(of("Skip calling `torch.compiler.disable()`d function") == user_requested);
  CHECK(of("Attempted to call function marked as skipped") == skipped_function);
  CHECK(of("Should not compile partial graph (STORE_ATTR)") == secondary);
  CHECK(of("Backend compiler exception") == backend_failure);
  CHECK(of("TODO: add support for ndarray.dtype") == third_party_library);
  CHECK(of("Unsupported Tensor.backward() call") == autograd);
  CHECK(of("Unsupported method call") == unsupported_method);
  CHECK(of("Something else") == other);
}

TEST_CASE("names of operators and files hold no address and no home", "[compile]") {
  CHECK(op_name("<built-in method conv1d of type object at 0x725438046fa0>") == "conv1d");
  CHECK(op_name("<built-in function linear>") == "linear");
  CHECK(op_name("<function dropout at 0x10749ccc0>") == "dropout");
  CHECK(op_name("<Wrapped function <original linspace>>") == "linspace");
  CHECK(op_name("<class 'torch.Size'>") == "torch.Size");
  CHECK(op_name("aten.nonzero.default") == "aten.nonzero.default");
  CHECK(without_addresses("0x1 stays, 0x7f2f42df5bb0 goes") == "0x1 stays, ADDRESS goes");
  CHECK(short_path("/Users/who/p/.venv/lib/python3.12/site-packages/umap/umap_.py") == "umap/umap_.py");
  CHECK(short_path("/home/who/x.py") == "x.py");
  CHECK(short_path("/home/who/a/b/c/x.py") == "b/c/x.py");
  CHECK(short_path("pkg/a/b/c.py") == "pkg/a/b/c.py");
  CHECK(short_path("/") == "");
  CHECK(short_path("/a/b/c/d/e.py") == "c/d/e.py");
  CHECK(short_path("e.py") == "e.py");
  CHECK(short_path("") == "");
}
