// Real files of PyTorch 2.4 to 2.7, with counts that were made by hand (tests/data/compile/README.md).

#include "support/catch.hpp"

#include <mlsysim/ops/graph_breaks/ingest.hpp>
#include <mlsysim/units/error.hpp>

#include <map>

using namespace mlsysim;

namespace {

std::string sample(const std::string& name) { return std::string(MLSYSIM_COMPILE_DATA) + "/" + name; }
CompileRecord only(const std::string& name) {
  auto all = ingest({sample(name)}, {});
  REQUIRE(all.records.size() == 1);
  return std::move(all.records.front());
}
std::map<std::string, int> types_of(const CompileRecord& r) {
  std::map<std::string, int> out;
  for (const auto& b : r.breaks) ++out[b.type];
  return out;
}
const CompilePhase& phase(const CompileRecord& r, const std::string& name) {
  for (const auto& p : r.phases)
    if (p.name == name) return p;
  FAIL("no phase " << name);
  return r.phases.front();
}

}  // namespace

TEST_CASE("a log with three prints", "[compile]") {
  const auto r = only("bert_tiny_print_breaks.log.gz");
  CHECK(r.form == RecordForm::trace_log);
  CHECK(r.model == "bert_tiny_print_breaks");
  CHECK(r.frames == 4);
  CHECK(r.graph_count == 3);
  CHECK(r.op_count == 70);
  CHECK(r.guards == 669);
  CHECK(r.compile_time / unit::s == Approx(5.2279).margin(5e-5));
  CHECK(phase(r, "backend_compile").time / unit::s == Approx(4.2473).margin(5e-5));
  CHECK(phase(r, "inductor_compile").time / unit::s == Approx(2.6129).margin(5e-5));
  CHECK(r.restarts == 3);
  CHECK(r.lost_to_restarts / unit::s == Approx(0.0355).margin(5e-5));
  // Two texts, of one type: what was printed is no part of it.
  REQUIRE(r.breaks.size() == 3);
  CHECK(r.breaks[0].reason != r.breaks[2].reason);
  CHECK(types_of(r) == std::map<std::string, int>{{"builtin: print", 3}});
  CHECK(r.breaks[0].category == BreakCategory::side_effect_io);
  CHECK(r.breaks[0].gb_id == "GB0059");
  CHECK(r.breaks[0].place().function == "forward_refined");
  CHECK(r.read.records == 220);
  CHECK(r.read.faults() == 0);
}

TEST_CASE("a log of a newer version, whose breaks begin with what was traced", "[compile]") {
  const auto all = ingest({std::string(MLSYSIM_TRACE_DATA) + "/torch_2_15_breaks.log.gz"}, {});
  REQUIRE(all.records.size() == 1);
  const auto& r = all.records.front();
  CHECK(r.torch == "2.15.0+cu132");
  CHECK(r.frames == 6);
  CHECK(r.graph_count == 6);
  CHECK(r.op_count == 7);
  CHECK(r.guards == 79);
  CHECK(r.read.records == 181);
  CHECK(r.read.faults() == 0);
  REQUIRE(r.breaks.size() == 4);
  const auto check = [&](std::size_t i, const char* type, BreakCategory category, const char* id, int line) {
    CHECK(r.breaks[i].type == type);
    CHECK(r.breaks[i].category == category);
    CHECK(r.breaks[i].gb_id == id);
    // The program's own line: the stack of the compiler stands behind it.
    CHECK(r.breaks[i].place().file == "srv/models/toy.py");
    CHECK(r.breaks[i].place().line == line);
  };
  check(0, "Failed to trace builtin operator", BreakCategory::side_effect_io, "GB0059", 14);
  check(1, "Data-dependent branching", BreakCategory::data_dependent_control_flow, "GB0170", 15);
  check(2, "Dynamic shape operator", BreakCategory::dynamic_shape, "GB0036", 17);
  check(3, "Unsupported Tensor.item() call with capture_scalar_outputs=False",
        BreakCategory::data_dependent_value, "GB0124", 22);
}

TEST_CASE("logs of the tests of tlparse", "[compile]") {
  const auto artifacts = only("tlparse_artifacts.log");
  CHECK(artifacts.frames == 1);
  CHECK(artifacts.graph_count == 1);
  CHECK(artifacts.op_count == 1);
  CHECK(artifacts.guards == 7);
  CHECK(artifacts.compile_time / unit::s == Approx(8.9038).margin(5e-5));
  CHECK(artifacts.restarts == 0);
  CHECK(artifacts.read.records == 7);

  const auto failed = only("tlparse_comp_failure.log");
  CHECK(failed.frames == 1);
  CHECK(failed.graph_count == 1);
  CHECK(failed.status == "failed");
  CHECK(failed.failures == 1);
  CHECK(failed.error.find("broken backend") != std::string::npos);
  CHECK(failed.read.records == 13);
  // This version has no entire_frame_compile_time_s; what it has is in microseconds.
  CHECK(failed.compile_time / unit::us == Approx(157247));

  const auto exported = only("tlparse_export_guard_added.log");
  CHECK(exported.frames == 0);
  CHECK(exported.kinds.at("guard_added") == 1);
  CHECK(exported.kinds.at("exported_program") == 1);
  CHECK(exported.read.bad_payload == 1);
}

TEST_CASE("a damaged payload changes no count but that of damages", "[compile]") {
  const auto whole = only("tlparse_simple.log.gz"), cut = only("tlparse_simple_corrupted_json.log.gz");
  for (const auto* r : {&whole, &cut}) {
    CHECK(r->frames == 1);
    CHECK(r->graph_count == 1);
    CHECK(r->op_count == 3);
    CHECK(r->guards == 49);
    CHECK(r->compile_time / unit::us == Approx(1659332));
    CHECK(r->read.records == 64);
    CHECK(r->cache_misses == 2);  // of graphs and of autograd
  }
  CHECK(whole.read.bad_payload == 0);
  CHECK(cut.read.bad_payload == 1);
  CHECK(cut.read.faults() == 1);
  CHECK_THROWS_AS(ingest({sample("tlparse_simple_corrupted_json.log.gz")}, {.damage = Damage::refused}),
                  InputError);
  CHECK_NOTHROW(ingest({sample("tlparse_simple.log.gz")}, {.damage = Damage::refused}));
}

TEST_CASE("the text of an ExplainOutput", "[compile]") {
  const auto r = only("explain_24graphs_bert_tiny_wrapper.txt.gz");
  CHECK(r.graph_count == 24);
  CHECK(r.graph_breaks == 23);
  CHECK(r.op_count == 128);
  CHECK(r.breaks.size() == 17);
  CHECK(r.unlisted() == 6);
  CHECK(types_of(r) == std::map<std::string, int>{{"Dynamic shape operator", 6},
                                                  {"generic_jump", 4},
                                                  {"Failed to trace builtin operator", 2},
                                                  {"Data-dependent branching", 2},
                                                  {"step_unsupported", 1},
                                                  {"store_attr", 1},
                                                  {"TODO: add support for ndarray.dtype", 1}});
  CHECK(r.graphs.size() == 24);
  double ops = 0;
  for (const auto& g : r.graphs) ops += g.op_count;
  CHECK(ops == 128);
  CHECK(r.graphs.back().ops.size() > 0);
  CHECK(r.guards == 1409);
  CHECK(r.guard_types.at("TYPE_MATCH") == 127);
  CHECK(phase(r, "_compile.compile_inner").runs == 54);
  CHECK(phase(r, "_compile.compile_inner").time / unit::s == Approx(1.4057));
  CHECK(phase(r, "OutputGraph.call_user_compiler").runs == 24);
  CHECK(phase(r, "OutputGraph.call_user_compiler").time / unit::s == Approx(0.0011));
  CHECK(phase(r, "gc").runs == 54);
  CHECK(phase(r, "gc").time / unit::s == Approx(0.0076));
  CHECK(r.compile_time / unit::s == Approx(1.4057));
  const auto& b = r.breaks[10];
  CHECK(b.gb_id == "GB0170");
  CHECK(b.hint_class == "fundamental");
  CHECK(b.category == BreakCategory::data_dependent_control_flow);
  CHECK(b.context == "attempted to jump with NumpyNdarrayVariable()");
  CHECK(b.stack.size() == 3);
  CHECK(b.place().file == "scipy/optimize/_minpack_py.py");
  CHECK(b.place().line == 517);
}

TEST_CASE("a pickled list of reasons", "[compile]") {
  const auto r = only("break_reasons_mms_tts_rus.pkl");
  CHECK(r.form == RecordForm::explain_pickle);
  CHECK(r.breaks.size() == 19);
  CHECK(types_of(r) == std::map<std::string, int>{{"Dynamic shape operator", 7},
                                                  {"generic_jump", 6},
                                                  {"Data dependent operator", 3},
                                                  {"Dynamic slicing with Tensor arguments", 3}});
  CHECK(r.breaks[0].place().file == "transformers/models/vits/modeling_vits.py");
  CHECK_FALSE(r.breaks[0].place().code.empty());
}

TEST_CASE("a folder counts equal files once and leaves out what is no record", "[compile]") {
  const auto all = ingest({MLSYSIM_COMPILE_DATA}, {.commit = "abc"});
  CHECK(all.records.size() == 8);
  CHECK(all.duplicates.empty());
  for (const auto& r : all.records) CHECK(r.commit == "abc");
  CHECK(all.notes.size() == 2);  // the metrics of a Python process, and the README
  const auto file = sample("break_reasons_mms_tts_rus.pkl");
  const auto twice = ingest({file, file}, {});
  CHECK(twice.records.size() == 1);
  REQUIRE(twice.duplicates.size() == 1);
  CHECK(ingest({file, file}, {.duplicates = Duplicates::kept}).records.size() == 2);
  const auto groups = groups_of(all, BreaksBy::type);
  CHECK(groups.front().type == "Dynamic shape operator");
  CHECK(groups.front().count == 13);
  CHECK(groups.front().models == 2);
  double total = 0;
  for (const auto& g : groups_of(all, BreaksBy::place)) total += g.count;
  CHECK(total == 19 + 17 + 3);
}

TEST_CASE("a record is the same after it went through a document", "[compile]") {
  const auto before = only("explain_24graphs_bert_tiny_wrapper.txt.gz");
  const auto text = explain_document(before);
  const auto after = read_compile_record(text, "x.json", BreakRegistry::shipped());
  CHECK(after.form == RecordForm::explain_document);
  CHECK(after.unlisted() == 6);
  CHECK(types_of(after) == types_of(before));
  CHECK(after.guards == 1409);
  CHECK(explain_document(after) == text);
}
