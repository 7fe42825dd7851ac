#pragma once
/// Reads programs as lists of operators: StableHLO, MHLO, HLO, ONNX, torch.export archives and TORCH_TRACE
/// logs.
///
///   MACs of a product or convolution = rows * columns * depth * copies
///
/// Calls are expanded and loops multiply. Sizes and trip counts that the file leaves open stay symbols until
/// bound. Only the side of a branch with the most MACs is in the list.
/// Example: tests/data/programs/stablehlo/mnist_mlp.mlir (784 -> 128 -> 10, batch size 1): 2 products, 784 *
/// 128 + 128 * 10 = 101,632 MACs, 101,770 weights, 14 operators in 5 kernels.

#include <mlsysim/specs/workload.hpp>

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace mlsysim {

/// Storage format of one element as a program writes it.
struct ElementType {
  std::string_view name = "unknown";  ///< static text: "f32", "bf16", "i64", "i1"
  double bits = 0;                    ///< in memory; a truth value takes a byte
  bool floating = false;
};
/// The type of a spelling in any of the formats: "f32", "f8E4M3FN", "pred", "float16". Unknown spellings give
/// "unknown".
[[nodiscard]] const ElementType& element_type(std::string_view spelling);

/// An array of a program. Extents below zero are symbols: -2 is the first of `Program::symbols`.
struct TensorType {
  const ElementType* element = &element_type("unknown");
  std::vector<std::int64_t> dims;

  [[nodiscard]] bool known() const;
  /// Elements; of an open extent as if it were 1.
  [[nodiscard]] double elements() const;
  [[nodiscard]] double bytes() const { return elements() * element->bits / 8; }
};

/// Whether a program computes a value when it runs, stores it as a weight, or computes it at compile time.
enum class ValueRole : std::uint8_t {
  activation,
  weight,   ///< stated by the file as a parameter of the model
  constant  ///< follows from constants alone: computed when the program is compiled
};

struct ProgramValue {
  TensorType type;
  ValueRole role = ValueRole::activation;
};

/// How an operator reads its first operand and writes its result.
enum class Touch : std::uint8_t {
  whole,     ///< everything
  part,      ///< as much of the first operand as the result holds (gather, slice)
  in_place,  ///< the first operand stays where it is, the second is written into it
  none       ///< another view of the same data
};

/// One operator, all calls and loops around it expanded.
struct ProgramOp {
  std::string_view name;  ///< "dot_general", "Conv", "aten.mm"; lives in the program
  std::string_view path;  ///< modules and functions around it, separated by slashes
  ListedKind kind = ListedKind::pointwise;
  Touch touch = Touch::whole;
  std::vector<std::uint32_t> operands, results;         ///< of Program::values
  double times = 1;                                     ///< executions in one run
  double rows = 0, columns = 0, depth = 0, copies = 0;  ///< of a product or convolution
  double flops = 0;                                     ///< other arithmetic, one operation each
  double window = 0;           ///< of a convolution: places of its kernel, 9 of a 3 x 3; 0: not known
  double transcendentals = 0;  ///< divisions, roots, exponentials and the like
  std::uint32_t line = 0;      ///< in a text, else the number of the node
  std::uint32_t kernel = 0;    ///< operators of one number run as one kernel where chains are fused

  [[nodiscard]] double macs() const { return rows * columns * depth * copies; }
};

/// A branch of which one side runs.
struct ProgramBranch {
  std::string name;
  double least = 0, most = 0;  ///< MACs of its sides; the list holds the side with the most
};

/// A program as a list of operators.
struct Program {
  std::string name, format;  ///< format: "StableHLO text", "ONNX"
  std::string version;       ///< as the file states it: "1.9.0", "opset 17, ir 8"; empty: text has none
  std::vector<ProgramValue> values;
  std::vector<ProgramOp> ops;
  std::vector<std::uint32_t> inputs, outputs;
  std::vector<std::string> symbols;  ///< open sizes and trip counts by name
  std::vector<std::string> open;     ///< of them, those that nothing bound
  std::vector<ProgramBranch> branches;
  std::map<std::string, double, std::less<>>
      unknown;  ///< operators and call targets without a rule: how often
  std::vector<std::string> notes;
  std::string text;  ///< holds what the views point to

  Program();
  Program(Program&&) noexcept;
  Program& operator=(Program&&) noexcept;
  ~Program();
  struct Names;
  std::unique_ptr<Names> names;  ///< texts that no file holds
};

/// Settings of a reader that the file does not state.
struct ProgramOptions {
  std::map<std::string, double, std::less<>> dims;   ///< sizes by symbol
  std::map<std::string, double, std::less<>> trips;  ///< of loops whose count depends on data
  std::vector<std::string> weights;  ///< arguments that are weights, by name or number; "*": all but the last
  bool force = false;                ///< reads on where a version is not known
};

/// Whether a path names a program, by its ending: .mlir, .stablehlo, .hlo, .bc, .onnx, .pt2, .log,
/// and these packed with gzip, .log.gz.
[[nodiscard]] bool is_program_file(std::string_view path);
/// Reads a program. "model.onnx?batch=8&seq=128" binds sizes in the path itself.
/// @throws InputError with file, line or node, what was found and expected, and what to do
[[nodiscard]] Program read_program(const std::filesystem::path& path, const ProgramOptions& options = {});
/// Reads a program from the contents of a file. Messages show `name`, and its ending gives the format.
[[nodiscard]] Program read_program_text(std::string contents, const std::string& name,
                                        const ProgramOptions& options = {});
[[nodiscard]] Program read_mlir(std::string text, const std::string& name,
                                const ProgramOptions& options = {});
[[nodiscard]] Program read_onnx(std::string_view bytes, const std::string& name,
                                const ProgramOptions& options = {});

[[nodiscard]] Program read_hlo(std::string text, const std::string& name, const ProgramOptions& options = {});
[[nodiscard]] Program read_pt2(const std::string& bytes, const std::string& name,
                               const ProgramOptions& options = {});
/// Graphs of a log, one program each; `version` says which one it is.
[[nodiscard]] std::vector<Program> read_torch_trace(std::string_view bytes, const std::string& name,
                                                    const ProgramOptions& options = {});

/// Sums over a program.
struct ProgramTotals {
  double operators = 0, kernels = 0;  ///< that do work, unfused and fused
  double convolutions = 0, products = 0;
  double macs = 0, flops = 0, transcendentals = 0;
  double weights = 0, weight_bytes = 0;   ///< each once
  double traffic = 0, fused_traffic = 0;  ///< bytes
  double peak_activations = 0;            ///< bytes that are alive at once, in the order of the list
};
[[nodiscard]] ProgramTotals totals_of(const Program& program);
/// The number format of most of its products, else of most of its bytes; what other formats are measured in.
[[nodiscard]] const ElementType& main_format(const Program& program);

/// The program as a workload of operators. Operators of one shape in layers that are alike are one record.
/// @throws InputError that lists what is open
[[nodiscard]] Workload program_workload(const Program& program);

/// Languages of graphs.
enum class GraphLanguage : std::uint8_t { dot, mermaid };
/// The modules of a program and the data between them. @param depth of the path that is shown
[[nodiscard]] std::string program_graph(const Program& program, GraphLanguage language, int depth = 3);

}  // namespace mlsysim
