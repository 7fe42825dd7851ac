/// Fuzzes the cost of reading: for every reader of files of others, what it allocates in all and at once is
/// bounded by the size of the file times a constant. Real files are cut, changed, and parts of them repeated,
/// because what multiplies does so in what it repeats. Allocations stand for work: no clock is asked.
///
/// LLVMFuzzerTestOneInput is for libFuzzer, whose first byte says which reader; the main below:
/// fuzz_work [rounds] [seed]

#include "fuzz/mutate.hpp"
#include "fuzz/promise.hpp"
#include "unit/model_files/samples.hpp"

#include <mlsysim/engine/plan_file.hpp>
#include <mlsysim/files/csv.hpp>
#include <mlsysim/launch/launch.hpp>
#include <mlsysim/model_files/model_file.hpp>
#include <mlsysim/model_files/weights.hpp>
#include <mlsysim/model_graphs/program.hpp>
#include <mlsysim/ops/export/fetch.hpp>
#include <mlsysim/ops/graph_breaks/ingest.hpp>
#include <mlsysim/request_trace/traffic.hpp>
#include <mlsysim/zoo/loader.hpp>

#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <new>

namespace {

std::atomic<std::int64_t> all{0}, held{0}, most{0};

}  // namespace

#ifndef MLSYSIM_SANITIZED
namespace {

void* taken(void* p) {
  if (p == nullptr) throw std::bad_alloc();
  const auto size = static_cast<std::int64_t>(::malloc_usable_size(p));
  all += size;
  const std::int64_t now = held += size;
  if (now > most) most = now;
  return p;
}

void given_back(void* p) noexcept {
  if (p != nullptr) held -= static_cast<std::int64_t>(::malloc_usable_size(p));
  std::free(p);
}

}  // namespace

void* operator new(std::size_t n) { return taken(std::malloc(n)); }
void* operator new(std::size_t n, std::align_val_t to) {
  const auto step = static_cast<std::size_t>(to);
  return taken(std::aligned_alloc(step, (n + step - 1) / step * step));
}
void operator delete(void* p) noexcept { given_back(p); }
void operator delete(void* p, std::size_t) noexcept { given_back(p); }
void operator delete(void* p, std::align_val_t) noexcept { given_back(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { given_back(p); }
#endif

namespace {

using namespace mlsysim;
using fuzz::takes;

/// A file without a name, which holds these bytes until the next call. @return a path that leads to it
std::string file_of(const std::string& bytes) {
  static const int file = ::memfd_create("fuzz", MFD_CLOEXEC);
  if (::ftruncate(file, 0) != 0 ||
      ::pwrite(file, bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    fuzz::fail("no file could be made", bytes);
  return "/proc/self/fd/" + std::to_string(file);
}

/// A reader, and what it may cost: so much for a file of any size, and so much for each of its bytes.
struct Reader {
  const char* name;
  void (*read)(const std::string&);
  std::vector<const char*> files;  ///< below tests/data, examples and zoo
  std::int64_t whole, byte;        ///< [B] in all
};

constexpr std::int64_t kMiB = 1 << 20, kKiB = 1 << 10;
constexpr std::int64_t kSteps = 1 << 30;  // of a program that calls itself: 262,144, of 4 KiB each
constexpr std::int64_t kShareAtOnce = 4;  // of what may be allocated in all, at once

const std::vector<Reader>& readers() {
  static const std::vector<Reader> table{
      {"config.json",
       [](const std::string& t) {
         (void)read_config({t, {}, {}}, "config.json");
       },
       {},
       kMiB,
       kKiB},
      {"gguf",
       [](const std::string& t) { (void)read_gguf(t, t.size() + (1 << 20), "a.gguf"); },
       {},
       kMiB,
       kKiB},
      {"safetensors",
       [](const std::string& t) { (void)safetensors_header(t, t.size() + 8, "a.safetensors"); },
       {},
       kMiB,
       kKiB},
      {"stablehlo",
       [](const std::string& t) { (void)read_mlir(t, "a.mlir"); },
       {"tests/data/programs/stablehlo/mnist_mlp.mlir", "tests/data/programs/stablehlo/fullyconnected.mlir"},
       kSteps,
       8 * kKiB},
      {"hlo",
       [](const std::string& t) { (void)read_hlo(t, "a.hlo"); },
       {"tests/data/programs/hlo/scan_six_layers.hlo"},
       kSteps,
       8 * kKiB},
      {"onnx",
       [](const std::string& t) { (void)read_onnx(t, "a.onnx"); },
       {"tests/data/programs/onnx/linear.onnx", "tests/data/programs/onnx/operator_conv.onnx",
        "tests/data/programs/onnx/light_squeezenet.onnx"},
       kSteps,
       8 * kKiB},
      {"torch_trace",
       [](const std::string& t) { (void)read_torch_trace(t, "a.log"); },
       {"tests/data/programs/torch_trace/bert_tiny_frames.log"},
       kMiB,
       2 * kKiB},
      {"breaks",
       [](const std::string& t) { (void)read_compile_record(t, "a", BreakRegistry::shipped()); },
       {"tests/data/compile/break_reasons_mms_tts_rus.pkl", "tests/data/compile/tlparse_comp_failure.log"},
       kMiB,
       2 * kKiB},
      {"requests",
       [](const std::string& t) { (void)read_traffic(file_of(t), {.characters_per_token = 4}); },
       {},
       8 * kMiB,
       kKiB},
      {"metrics",
       [](const std::string& t) { (void)read_exposition(t); },
       {"tests/data/compile/compile_breaks_default_registry.prom"},
       kMiB,
       kKiB},
      {"table",
       [](const std::string& t) { (void)CsvTable::parse(t, "a.csv"); },
       {"tests/data/device_names.csv"},
       kMiB,
       kKiB},
      {"zoo",
       [](const std::string& t) { (void)load_text(t, "a.yaml", standard_zoo()); },
       {"zoo/hardware/nvidia.yaml"},
       2 * kMiB,
       4 * kKiB},
      {"plan",
       [](const std::string& t) { (void)parse_plan(t, "a.yaml", standard_zoo()).build(); },
       {"examples/plans/serve_70b.yaml", "examples/plans/train_8b.yaml"},
       16 * kMiB,  // with the entries of the zoo that it names
       4 * kKiB},
      {"launch",
       [](const std::string& t) {
         (void)read_launch({.text = t, .name = "t.sh", .fields = {{"hardware", "H100"}}}, standard_zoo());
       },
       {},
       4 * kMiB,
       8 * kKiB},
      {"script",
       [](const std::string& t) {
         (void)read_launch({.text = t, .name = "t.py", .fields = {{"hardware", "H100"}}}, standard_zoo());
       },
       {},
       4 * kMiB,
       8 * kKiB},
  };
  return table;
}

/// The largest share of its bounds that a case of a reader took.
double largest = 0;

void check(const Reader& reader, const std::string& text) {
  all = held = most = 0;
  (void)takes(text, [&] { reader.read(text); });
  const auto may = static_cast<double>(reader.whole + reader.byte * static_cast<std::int64_t>(text.size()));
  const double share = std::max(static_cast<double>(all), static_cast<double>(most * kShareAtOnce)) / may;
  largest = std::max(largest, share);
  if (share <= 1) return;
  std::fprintf(stderr, "%s: a file of %zu B took %lld B, %lld B at once:\n", reader.name, text.size(),
               static_cast<long long>(all), static_cast<long long>(most));
  std::fwrite(text.data(), 1, std::min<std::size_t>(text.size(), 4096), stderr);
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  check(readers()[data[0] % readers().size()],
        std::string(reinterpret_cast<const char*>(data) + 1, size - 1));
  return 0;
}

#ifndef MLSYSIM_LIBFUZZER
namespace {

/// What no file of the tests stands for.
std::vector<std::string> own_seeds(std::string_view reader) {
  if (reader == "config.json")
    return {
        R"({"model_type": "llama", "hidden_size": 512, "intermediate_size": 1024, "num_hidden_layers": 4, "num_attention_heads": 8, "vocab_size": 1000, "layer_types": ["full_attention", "sliding_attention"], "quantization_config": {"quant_method": "fp8", "ignored_layers": ["a.b"]}})"};
  if (reader == "gguf") return {samples::gguf_llama()};
  if (reader == "safetensors")
    return {samples::safetensors(R"({"a":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]}})")};
  if (reader == "requests")
    return {"{\"timestamp\": 0, \"input_length\": 512, \"output_length\": 16, \"hash_ids\": [1, 2]}\n",
            "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.6805900,374,44\n2023-11-16 "
            "18:15:50.9951690,396,109\n"};
  if (reader == "plan") {  // 6,000 problems
    std::string plan = "version: \"1\"\nname: a\nworkload: {name: GPT2}\nhardware: {name: H100}\nops: {";
    for (int i = 0; i < 6000; ++i) plan += "k" + std::to_string(i) + ": 1, ";
    return {plan + "z: 1}\n"};
  }
  if (reader == "launch")
    return {
        "A=8k\nvllm serve meta-llama/Llama-3.1-8B --tensor-parallel-size 2 --max-model-len $A --quantization "
        "fp8 \\\n --max-num-seqs 64\n"};
  if (reader == "script")
    return {
        "from vllm import LLM\nA = 'meta-llama/Llama-3.1-8B'\nB = f\"{A}{A}\"\nwords = ['vllm', 'serve', "
        "A, ['x']]\nLLM(A, tensor_parallel_size=int(str(2)), max_model_len=8192)\n"};
  return {};
}

std::vector<std::string> seeds_of(const Reader& reader) {
  auto out = own_seeds(reader.name);
  for (const char* name : reader.files) {
    std::ifstream in(std::string(FUZZ_ROOT "/") + name, std::ios::binary);
    out.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
    if (out.back().empty()) fuzz::fail("no seed", name);
  }
  return out;
}

/// A part of the text again and again: up to 64 KiB more.
std::string repeated(std::string text, std::mt19937& random) {
  if (text.empty()) return text;
  const std::size_t from = random() % text.size(),
                    size = 1 + random() % std::min<std::size_t>(text.size() - from, 2048);
  const std::string part = text.substr(from, size);
  std::string more;
  for (std::size_t n = (std::size_t{1} << (random() % 17)) / size + 1; n > 0; --n) more += part;
  text.insert(from, more);
  return text;
}

}  // namespace

int main(int argc, char** argv) {
  const long rounds = argc > 1 ? std::atol(argv[1]) : 300;
  std::mt19937 random(argc > 2 ? static_cast<std::uint32_t>(std::atol(argv[2])) : 1u);
  (void)standard_zoo()
      .all<Workload>();  // entries that are read when they are asked for are no work of a reader
  for (const auto& reader : readers()) {
    const auto seeds = seeds_of(reader);
    static const std::vector<std::string> pieces{"{",  "}",  "[",        "]",  "(",          ")",    "\"",
                                                 ",",  ":",  "\n",       "0",  "9999999999", "1e15", "&a ",
                                                 "*a", "$A", "A=$A$A\n", "\\", "- "};
    largest = 0;
    for (const auto& seed : seeds) check(reader, seed);
    for (long i = 0; i < rounds; ++i) {
      const auto changed = fuzz::mutated({seeds, pieces}, random);
      check(reader, i % 2 == 0 ? changed : repeated(changed, random));
    }
    std::printf("%s: %ld rounds, at most %.0f %% of %lld MiB + %lld KiB a byte\n", reader.name, rounds,
                100 * largest, static_cast<long long>(reader.whole / kMiB),
                static_cast<long long>(reader.byte / kKiB));
  }
  fuzz::replay_corpus();
  return 0;
}
#endif
