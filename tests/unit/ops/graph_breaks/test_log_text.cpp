// What TORCH_LOGS prints, as people paste it.

#include "support/catch.hpp"

#include <mlsysim/ops/graph_breaks/ingest.hpp>
#include <mlsysim/units/error.hpp>

using namespace mlsysim;

namespace {

CompileRecord read_text(std::string_view text) {
  return read_compile_record(text, "job.log", BreakRegistry::shipped());
}

}  // namespace

TEST_CASE("A warning of the recompile limit names function, reason and remedy", "[ops]") {
  const auto r = read_text(
      "step 17\n"
      "W0110 12:27:06.332000 158 torch/_dynamo/convert_frame.py:1551] [2/8] torch._dynamo hit "
      "config.recompile_limit (8)\n"
      "W0110 12:27:06.332000 158 torch/_dynamo/convert_frame.py:1551] [2/8]    function: 'update' "
      "(/work/opt/opt.py:621)\n"
      "W0110 12:27:06.332000 158 torch/_dynamo/convert_frame.py:1551] [2/8]    last reason: 2/7: tensor "
      "'X[0]' size mismatch "
      "at index 1. expected 640, actual 8. Guard failed on a parameter, consider using "
      "torch._dynamo.config.force_parameter_static_shapes = False\n"
      "W0110 12:27:06.332000 158 torch/_dynamo/convert_frame.py:1551] [2/8] To log all recompilation "
      "reasons, use "
      "TORCH_LOGS=\"recompiles\".\n");
  CHECK(r.form == RecordForm::log_text);
  CHECK(r.frames == 1);
  CHECK(r.recompiles == 7);
  CHECK(r.graph_breaks == 0);
  REQUIRE(r.breaks.size() == 1);
  const auto& limit = r.breaks.front();
  CHECK_FALSE(limit.graph_break);
  CHECK(limit.place().function == "update");
  CHECK(limit.place().line == 621);
  CHECK(limit.context.find("expected 640, actual 8") != std::string::npos);
  REQUIRE(limit.hints.size() == 1);
  CHECK(limit.hints.front().find("force_parameter_static_shapes") != std::string::npos);
}

TEST_CASE("Recompilations and breaks of TORCH_LOGS", "[ops]") {
  const auto r = read_text(
      "V0301 10:00:00.100000 7 torch/_dynamo/guards.py:2813] [0/1] [__recompiles] Recompiling function fn in "
      "/tmp/a.py:3\n"
      "V0301 10:00:00.100000 7 torch/_dynamo/guards.py:2813] [0/1] [__recompiles]     triggered by the "
      "following guard "
      "failure(s):\n"
      "V0301 10:00:00.100000 7 torch/_dynamo/guards.py:2813] [0/1] [__recompiles]     - 0/0: tensor 'x' size "
      "mismatch at "
      "index 0. expected 2, actual 3\n"
      "V0301 10:00:00.100000 7 torch/_dynamo/guards.py:2813] [0/2] [__recompiles] Recompiling function fn in "
      "/tmp/a.py:3\n"
      "V0301 10:00:00.100000 7 torch/_dynamo/guards.py:2813] [0/2] [__recompiles]     - 0/1: 3 <= n\n"
      "V0301 10:00:00.200000 7 torch/_dynamo/symbolic_convert.py:466] [1/0] [__graph_breaks] Graph break in "
      "user code at "
      "/tmp/b.py:5\n"
      "V0301 10:00:00.200000 7 torch/_dynamo/symbolic_convert.py:466] [1/0] [__graph_breaks] Graph Break "
      "Reason: "
      "Failed to trace builtin operator `print`\n"
      "V0301 10:00:00.200000 7 torch/_dynamo/symbolic_convert.py:466] [1/0] [__graph_breaks] User code "
      "traceback:\n"
      "V0301 10:00:00.200000 7 torch/_dynamo/symbolic_convert.py:466] [1/0] [__graph_breaks]   File "
      "\"/tmp/b.py\", line 5, "
      "in forward\n"
      "V0301 10:00:00.200000 7 torch/_dynamo/symbolic_convert.py:466] [1/0] [__graph_breaks]     print(x)\n");
  CHECK(r.recompiles == 2);
  CHECK(r.graph_breaks == 1);
  CHECK(r.frames == 1);
  REQUIRE(r.breaks.size() == 3);
  const auto& broken = r.breaks.back();
  CHECK(broken.graph_break);
  CHECK(broken.place().function == "forward");
  CHECK(broken.place().code == "print(x)");
  CHECK(broken.reason.find("print") != std::string::npos);
}

TEST_CASE("ranks, colors and code beside guards are no more records", "[ops]") {
  const std::string head = "V0612 10:11:12.345000 123 torch/_dynamo/guards.py:2811] [0/1] [__recompiles] ";
  const auto log = [&](const std::string& before, const std::string& after) {
    return before + head + "Recompiling function f in /m.py:12" + after + "\n" + before + head +
           "    triggered by the following guard failure(s):" + after + "\n" + before + head +
           "    - 0/0: L['n'] == 3      # if n > 2:  # m.py:13 in f" + after + "\n";
  };
  const auto plain = read_text(log("", ""));
  REQUIRE(plain.breaks.size() == 1);
  for (const auto& text : {log("\x1b[32m", "\x1b[0m"), log("[rank0]:", "") + log("[rank1]:", ""),
                           log("2026-06-12T10:11:12Z [rank3]:", "")}) {
    const auto record = read_text(text);
    CHECK(record.recompiles == 1);
    REQUIRE(record.breaks.size() == 1);
    CHECK(record.breaks.front().type == plain.breaks.front().type);
  }
  CHECK(plain.breaks.front().type.find('#') == std::string::npos);
}

TEST_CASE("the warning about values that the host reads is a break", "[ops]") {
  const auto record = read_text(
      "torch/_dynamo/variables/tensor.py:869: UserWarning: Graph break from `Tensor.item()`, consider "
      "setting:\n"
      "    torch._dynamo.config.capture_scalar_outputs = True\nor:\n    env X=1\n\n"
      "Graph break: from user code at:\n  File \"/home/u/loss.py\", line 31, in forward\n    if x.item() > "
      "0:\n");
  CHECK(record.graph_breaks == 1);
  REQUIRE(record.breaks.size() == 1);
  CHECK(record.breaks.front().type.find("Tensor.item()") != std::string::npos);
  REQUIRE_FALSE(record.breaks.front().stack.empty());
  CHECK(record.breaks.front().stack.front().line == 31);
}

TEST_CASE("the text that explain of PyTorch 2.0 gave has counts, reasons and stacks", "[ops]") {
  const std::string text =
      "Dynamo produced 3 graphs with 2 graph break and 12 ops\n Break reasons: \n\n"
      "1. call_function BuiltinVariable(print) [ConstantVariable(str)] {}\n"
      "  File \"/w/model/a.py\", line 4, in toy\n    print(\"woo\")\n \n"
      "2. generic_jump TensorVariable()\n"
      "  File \"/w/model/a.py\", line 6, in torch_dynamo_resume_in_toy_at_4\n    if b.sum() < 0:\n \n"
      "TorchDynamo compilation metrics:\nFunction, Runtimes (s)\n_compile, 0.0153, 0.0127\n";
  for (const auto& form : {text, "W0101 a warning before\n" + text}) {
    const auto r = read_text(form);
    CHECK(r.form == RecordForm::explain_text);
    CHECK(r.status == "ok");
    CHECK(r.graph_count == 3);
    CHECK(r.graph_breaks == 2);
    CHECK(r.op_count == 12);
    REQUIRE(r.breaks.size() == 2);
    CHECK(r.breaks[0].category == BreakCategory::side_effect_io);
    CHECK(r.breaks[0].place().line == 4);
    CHECK(r.breaks[0].stack.front().code == "print(\"woo\")");
    CHECK(r.breaks[1].type == "generic_jump");
    CHECK(r.breaks[1].place().function == "torch_dynamo_resume_in_toy_at_4");
    REQUIRE(r.phases.size() == 1);
    CHECK(r.phases[0].runs == 2);
  }
  const auto sentence = read_text("Dynamo produced 1 graphs with 0 graph break and 5 ops");
  CHECK(sentence.graph_count == 1);
  CHECK(sentence.breaks.empty());
  CHECK_THROWS_AS(read_text("Dynamo produced nothing\n"), InputError);
}

TEST_CASE("a compiler that captured no operator says nothing about breaks", "[ops]") {
  for (const std::string text :
       {"Graph Count: 0\nGraph Break Count: -1\nOp Count: 0\nBreak Reasons:\nOps per Graph:\nOut Guards:\n",
        "Dynamo produced 0 graphs with -1 graph break and 0 ops\n Break reasons: \n\n",
        R"({"schema": "mlsysim.dynamo_explain/1", "model": {"name": "m"}, "status": "ok", "graph_count": 0,
            "graph_break_count": 0, "op_count": 0, "breaks": []})"}) {
    const auto r = read_text(text);
    CHECK(r.status == "skipped");
    CHECK(r.notes.size() == 1);
  }
  CHECK(read_text("Graph Count: 1\nGraph Break Count: 0\nOp Count: 0\n").status == "ok");
}

TEST_CASE("an explain document says which sizes of the model were cut", "[ops]") {
  const auto r = read_text(
      R"({"schema": "mlsysim.dynamo_explain/1", "model": {"name": "m", "reduced": {"num_hidden_layers": [28, 2]}},
          "status": "ok", "graph_count": 1, "graph_break_count": 0, "op_count": 3, "breaks": []})");
  REQUIRE(r.notes.size() == 1);
  CHECK(r.notes[0].find("num_hidden_layers 2") != std::string::npos);
  CHECK(r.notes[0].find("28") != std::string::npos);
}

TEST_CASE("An exception of fullgraph=True is a break, as it is pasted", "[ops]") {
  const auto r = read_text(
      "Traceback (most recent call last):\n"
      "  File \"/app/run.py\", line 12, in <module>\n"
      "    out = model(x)\n"
      "torch._dynamo.exc.Unsupported: Data-dependent branching\n"
      "  Explanation: Detected data-dependent branching.\n"
      "  Hint: Use `torch.cond` to express dynamic control flow.\n"
      "\n"
      "  Developer debug context: attempted to jump with TensorVariable()\n"
      "\n"
      "from user code:\n"
      "   File \"/app/m.py\", line 5, in f\n"
      "    if x.sum() > 0:\n"
      "\n"
      "Set TORCHDYNAMO_VERBOSE=1 for the internal stack trace\n"
      "  File \"/app/later.py\", line 1, in g\n");
  REQUIRE(r.breaks.size() == 1);
  const auto& made = r.breaks.front();
  CHECK(r.graph_breaks == 1);
  CHECK(made.type == "Data-dependent branching");
  CHECK(made.explanation == "Detected data-dependent branching.");
  REQUIRE(made.stack.size() == 1);
  CHECK(made.place().file == "app/m.py");
  CHECK(made.place().line == 5);
  CHECK(made.place().function == "f");

  const auto over = read_text(
      "torch._dynamo.exc.FailOnRecompileLimitHit: recompile_limit reached with fullgraph=True. If "
      "recompilations "
      "are expected, consider increasing torch._dynamo.config.cache_size_limit to an appropriate value.\n");
  REQUIRE(over.breaks.size() == 1);
  CHECK_FALSE(over.breaks.front().graph_break);
  CHECK(over.breaks.front().explanation.find("recompile_limit") != std::string::npos);
  CHECK(over.breaks.front().hints.size() == 1);
}

TEST_CASE("A warning without its logger keeps place and remedy", "[ops]") {
  const auto r = read_text(
      "  Graph break from `Tensor.item()`, consider setting:\n"
      "      torch._dynamo.config.capture_scalar_outputs = True\n"
      "  or:\n"
      "      env TORCHDYNAMO_CAPTURE_SCALAR_OUTPUTS=1\n"
      "  to include these operations in the captured graph.\n"
      "  \n"
      "  Graph break: from user code at:\n"
      "    File \"/app/m.py\", line 17, in forward\n"
      "      n = x.max().item()\n");
  REQUIRE(r.breaks.size() == 1);
  CHECK(r.breaks.front().place().line == 17);
  REQUIRE(r.breaks.front().hints.size() == 1);
  CHECK(r.breaks.front().hints.front() == "torch._dynamo.config.capture_scalar_outputs = True");
}
