// Files that are damaged, or made to do harm.

#include "support/catch.hpp"

#include <mlsysim/files/detail/files.hpp>
#include <mlsysim/ops/graph_breaks/ingest.hpp>
#include <mlsysim/units/error.hpp>

using namespace mlsysim;
using namespace std::string_literals;

namespace {

std::string bytes_of(const std::string& name) {
  std::string out;
  const auto wrong = files::read_unpacked(std::string(MLSYSIM_COMPILE_DATA) + "/" + name,
                                          [&](std::string_view piece) { out += piece; });
  REQUIRE(wrong.empty());
  return out;
}
CompileRecord read(const std::string& bytes) {
  return read_compile_record(bytes, "x", BreakRegistry::shipped());
}
std::string refused(const std::string& bytes) {
  try {
    (void)read(bytes);
  } catch (const InputError& error) {
    return error.facts().found;
  }
  return "read";
}

}  // namespace

TEST_CASE("a pickle runs nothing", "[compile]") {
  // Written by Python for an object whose __reduce__ is (os.system, ("touch /tmp/x",)).
  const auto system =
      "\x80\x04\x95\x1f\0\0\0\0\0\0\0\x8c\x05posix\x94\x8c\x06system\x94\x93\x94\x8c\x07touch x\x94\x85\x94R\x94."s;
  CHECK(refused(system).find("posix.system") != std::string::npos);
  CHECK(refused("\x80\x02"
                "cos\nsystem\n(S'touch x'\ntR.")
            .find("os.system") != std::string::npos);
  CHECK(refused(std::string("\x80\x04i") + "os\nsystem\n.").find("operation 0x69") != std::string::npos);
  // A list that holds itself, and one that doubles forty times.
  CHECK(refused("\x80\x04]\x94h\0a."s) == "an item without a reason");
  std::string doubles = "\x80\x04]\x94";
  for (int i = 0; i < 40; ++i) doubles += "2\x86\x94";
  CHECK(refused(doubles + ".") != "read");
  CHECK(refused("\x80\x04(((.").find("stack") != std::string::npos);
}

TEST_CASE("logs with lines of others, cuts and strange numbers", "[compile]") {
  const auto log = bytes_of("tlparse_comp_failure.log");
  const auto plain = read(log);
  CHECK(read("hello\n" + log).read.foreign == 1);
  CHECK(read(log + "\nV1206 15:20:14.089000 1543231 torch/x.py:1] {\"compilation_metrics\": {\"guard")
            .read.truncated == 1);
  auto odd = log + "\n" +
             "V1206 15:20:14.089000 1 torch/x.py:1] {\"never_heard_of\": {}}\n"
             "V1206 15:20:14.089000 1 torch/x.py:1] {\"compilation_metrics\": {\"guard_count\": -1e400}}\n"
             "V1206 15:20:14.089000 1 torch/x.py:1] {\"compilation_metrics\": {\"guard_count\": -5, "
             "\"graph_op_count\": "
             "\"many\", \"restart_reasons\": 7}}\n"
             "V1206 15:20:14.089000 1 torch/x.py:1] {\"str\": 7}\n\tno payload is due\n";
  const auto r = read(odd);
  CHECK(r.read.unknown == 1);
  CHECK(r.read.bad_record == 2);  // 1e400 is no number of JSON, and a string without its number
  CHECK(r.read.foreign == 1);
  CHECK(r.frames == plain.frames + 1);
  CHECK(r.guards == plain.guards);
  // The order of pieces does not matter: a record is the same however it is cut up.
  CHECK(explain_document(read(log)) == explain_document(plain));
}

TEST_CASE("counts beyond what a double counts exactly are none, in every form", "[compile]") {
  const auto counted = [](const std::string& bytes) {
    const auto r = read(bytes);
    CHECK(explain_document(read(explain_document(r))) == explain_document(r));
    return r.op_count;
  };
  for (const std::string number : {"1e28", "1e308", "inf", "nan", "-3"}) {
    INFO(number);
    CHECK(counted("Graph Count: 2\nGraph Break Count: 1\nOp Count: " + number + "\nBreak Reasons:\n") == 0);
  }
  CHECK(counted("Graph Count: 2\nGraph Break Count: 1\nOp Count: 128\nBreak Reasons:\n") == 128);
  auto document =
      explain_document(read("Graph Count: 2\nGraph Break Count: 1\nOp Count: 128\nBreak Reasons:\n"));
  document.replace(document.find("128"), 3, "1e28");
  CHECK(counted(document) == 0);
}

TEST_CASE("breaks of newer versions have records of their own, and their restarts are not counted again",
          "[compile]") {
  const std::string head = "V0801 10:00:00.000000 1 torch/_dynamo/x.py:1] ";
  const std::string at = "\"frame_id\": 0, \"frame_compile_id\": 0, \"attempt\": 0, \"rank\": 3";
  const auto log =
      head + "{\"str\": [\"/home/me/site-packages/pkg/model.py\", 5]}\n" + head +
      "{\"artifact\": {\"name\": \"dynamo_graph_break_reason\", \"encoding\": \"string\"}, " + at +
      ", \"stack\": [{\"line\": 12, \"name\": \"forward\", \"filename\": 5}, {\"line\": 1, \"name\": \"f\", "
      "\"filename\": 6}], \"has_payload\": \"x\"}\n"
      "\tGraph break in user code at /home/me/site-packages/pkg/model.py:12\n\tGraph Break Reason: Dynamic "
      "shape operator\n"
      "\t  Explanation: it depends\n\tUser code traceback:\n\t  File \"/x/a.py\", line 3, in g\n\t    g()\n" +
      head + "{\"artifact\": {\"name\": \"recompile_reasons\", \"encoding\": \"json\"}, " + at + "}\n" +
      head + "{\"compilation_metrics\": {\"restart_reasons\": [\"Dynamic shape operator\"]}, " + at + "}\n";
  const auto r = read(log);
  REQUIRE(r.breaks.size() == 1);
  CHECK(r.breaks[0].type == "Dynamic shape operator");
  CHECK(r.breaks[0].explanation == "it depends");
  CHECK(r.breaks[0].stack.front().file == "pkg/model.py");
  CHECK(r.read.missing == 1);
  CHECK(r.restarts == 1);
  CHECK(r.recompiles == 1);
  CHECK(r.ranks == std::vector<double>{3});
}

TEST_CASE("what is kept of a log does not grow with it", "[compile]") {
  const std::string head = "V0801 10:00:00.000000 1 torch/_dynamo/x.py:1] ";
  const auto metrics = [&](int frame, const std::string& reason) {
    return head +
           "{\"compilation_metrics\": {\"co_filename\": \"/x/site-packages/pkg/a.py\", \"co_firstlineno\": "
           "7, " +
           "\"co_name\": \"f\", \"graph_op_count\": 2, \"restart_reasons\": [\"" + reason +
           "\"]}, \"frame_id\": " + std::to_string(frame) + ", \"frame_compile_id\": 0}\n";
  };
  // Equal breaks: the first thousand one by one, then counted, each with the first of its kind.
  std::string log;
  for (int i = 0; i < 4000; ++i) log += metrics(i, i % 4 == 0 ? "print" : "Tensor.item");
  const auto r = read(log);
  CHECK(r.breaks.size() == 1000);
  CHECK(r.graph_breaks == 4000);
  CHECK(r.listed() == 4000);
  CHECK(r.unlisted() == 0);
  CHECK(r.restarts == 4000);
  CHECK(r.op_count == 8000);
  CompileRecords all;
  all.records.push_back(r);
  for (const auto by : {BreaksBy::type, BreaksBy::place}) {
    const auto groups = groups_of(all, by);
    REQUIRE(groups.size() == 2);
    CHECK(groups[0].count == 3000);
    CHECK(groups[1].count == 1000);
  }
  // A document keeps the counts, and reading it gives them back.
  const auto again = read(explain_document(r));
  CHECK(again.listed() == 4000);
  CHECK(explain_document(again) == explain_document(r));
  // Different breaks that are too many to keep are counted all the same, and it is said.
  const std::string filler(200'000, 'x');
  std::string large;
  for (int i = 0; i < 200; ++i) large += metrics(i, "reason " + std::to_string(i) + filler);
  const auto much = read(large);
  CHECK(much.graph_breaks == 200);
  CHECK(much.breaks.size() < 100);
  CHECK(much.unlisted() == 200 - static_cast<double>(much.breaks.size()));
  REQUIRE(much.notes.size() == 1);
  CHECK(much.notes[0].find("counted without their reasons") != std::string::npos);
}

TEST_CASE("documents of other schemas and units are refused", "[compile]") {
  CHECK(refused("{\"schema\": \"mlsysim.dynamo_explain/2\"}") == "'mlsysim.dynamo_explain/2'");
  CHECK(refused("{}") == "none");
  CHECK(refused("{\"schema\": ") == "a text that is no JSON");
  CHECK(refused(std::string(5000, '{')) == "more than 64 levels");
  CHECK(refused("{\"schema\": \"mlsysim.dynamo_explain/1\", \"compile_times\": {\"unit\": \"h\"}}") == "'h'");
  const auto empty =
      read("{\"schema\": \"mlsysim.dynamo_explain/1\", \"graph_count\": 0, \"graph_break_count\": -1}");
  CHECK(empty.graph_breaks == 0);
  CHECK(empty.notes.size() == 1);
  CHECK(refused("hello") == "none of them in 5 bytes");
}
