/// Fuzzes what compilers leave behind: logs, texts, documents and pickles. Whatever the bytes, only
/// InputError is thrown, and what was read goes through a document unchanged.
///
/// LLVMFuzzerTestOneInput is for libFuzzer; the main below mutates its seeds for a fixed number of rounds:
/// fuzz_compile [rounds] [seed]

#include "fuzz/mutate.hpp"

#include <mlsysim/ops/graph_breaks/ingest.hpp>
#include <mlsysim/units/error.hpp>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>

namespace {

using namespace mlsysim;

[[noreturn]] void fail(const char* what, const std::string& detail) {
  std::fprintf(stderr, "%s\n%s\n", what, detail.c_str());
  std::abort();
}

bool answers(const std::string& text) {
  try {
    const auto record = read_compile_record(text, "fuzzed", BreakRegistry::shipped());
    for (const double x : {record.graph_count, record.graph_breaks, record.op_count, record.guards,
                           record.compile_time / unit::s, record.lost_to_restarts / unit::s})
      if (!std::isfinite(x) || x < 0) fail("a count that is none", text);
    for (const auto& b : record.breaks)
      if (b.type.empty()) fail("a break without a type", text);
    const auto again = read_compile_record(explain_document(record), "again", BreakRegistry::shipped());
    if (again.breaks.size() != record.breaks.size()) fail("another number of breaks after a document", text);
    return true;
  } catch (const InputError& error) {
    if (error.id().empty() || error.facts().expected.empty()) fail("an error that does not say enough", text);
    return false;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  answers({reinterpret_cast<const char*>(data), size});
  return 0;
}

#ifndef MLSYSIM_LIBFUZZER
namespace {

std::string file(const std::string& name) {
  std::ifstream in(FUZZ_COMPILE_DATA "/" + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

int main(int argc, char** argv) {
  const long rounds = argc > 1 ? std::atol(argv[1]) : 10000;
  std::mt19937 random(argc > 2 ? static_cast<unsigned>(std::atol(argv[2])) : 1U);
  const auto pickle = file("break_reasons_mms_tts_rus.pkl");
  if (pickle.empty()) fail("no seeds", FUZZ_COMPILE_DATA);
  const std::vector<std::string> seeds{
      pickle, file("tlparse_comp_failure.log").substr(0, 9000),
      file("tlparse_export_guard_added.log").substr(12000),
      "Graph Count: 2\nGraph Break Count: 1\nOp Count: 3\nBreak Reasons:\n  Break Reason 1:\n    Reason: "
      "generic_jump "
      "X()\n    User Stack:\n      <FrameSummary file /a/b.py, line 3 in f>\nOps per Graph:\n  Ops 1:\n    "
      "<built-in "
      "function add>\nOut Guards:\n  Guard 1:\n    Create Function: ID_MATCH\nCompile Times: x\ngc, 0.1, "
      "0.2\n",
      explain_document(read_compile_record(pickle, "seed", BreakRegistry::shipped())).substr(0, 4000),
      // A break as versions from 2.12 on write it.
      "V1124 17:10:05.376000 6470 torch/_dynamo/symbolic_convert.py:5551] {\"artifact\": {\"name\": "
      "\"dynamo_graph_break_reason\"}, \"frame_id\": 0, \"has_payload\": "
      "\"7733d94cdc40a27afdab1565616ba377\"}\n\tGraph break in user code at /a/b.py:7\n\tGraph Break Reason: "
      "Encountered graph break when attempting to trace CALL: f(x):\n\t\n\tDynamic shape operator\n\t  Hint: "
      "x\n\t\n\tUser code traceback:\n\t  File \"/a/b.py\", line 7, in f\n\t    g(x)\n\t\n\tTraceback (most "
      "recent call last):\n\t  File \"/c/d.py\", line 9, in h\n"};
  const std::vector<std::string> pieces{"\t",
                                        "\n",
                                        "{",
                                        "}",
                                        "\"",
                                        "[",
                                        "]",
                                        "\x80\x04",
                                        "\x94",
                                        "(",
                                        ".",
                                        "1e999",
                                        "-1",
                                        "null",
                                        "\"has_payload\"",
                                        "\"str\"",
                                        "\"restart_reasons\"",
                                        "\x1f\x8b",
                                        "<",
                                        "V0801 "};
  long fine = 0;
  for (long i = 0; i < rounds; ++i)
    fine += fuzz::bounded(answers, fuzz::mutated({seeds, pieces}, random)) ? 1 : 0;
  std::printf("%ld rounds, %ld read\n", rounds, fine);
  fuzz::replay_corpus();
  return fine * 4 < rounds ? 1 : 0;  // seeds that are never read test little
}
#endif
