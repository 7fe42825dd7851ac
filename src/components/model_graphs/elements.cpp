// Element types by their spellings, and helpers that the readers share.

#include "detail/builder.hpp"

#include <mlsysim/units/detail/whole.hpp>
#include <mlsysim/units/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace mlsysim {
namespace {

/// Name, bits in memory, floating.
constexpr std::array<ElementType, 35> kElements{{{"unknown", 0, false},      {"i1", 8, false},
                                                 {"i2", 2, false},           {"i4", 4, false},
                                                 {"i8", 8, false},           {"i16", 16, false},
                                                 {"i32", 32, false},         {"i64", 64, false},
                                                 {"ui2", 2, false},          {"ui4", 4, false},
                                                 {"ui8", 8, false},          {"ui16", 16, false},
                                                 {"ui32", 32, false},        {"ui64", 64, false},
                                                 {"index", 64, false},       {"f64", 64, true},
                                                 {"f32", 32, true},          {"f16", 16, true},
                                                 {"bf16", 16, true},         {"f8E4M3", 8, true},
                                                 {"f8E4M3FN", 8, true},      {"f8E5M2", 8, true},
                                                 {"f8E4M3FNUZ", 8, true},    {"f8E5M2FNUZ", 8, true},
                                                 {"f8E4M3B11FNUZ", 8, true}, {"f8E3M4", 8, true},
                                                 {"f8E8M0FNU", 8, true},     {"f6E2M3FN", 6, true},
                                                 {"f6E3M2FN", 6, true},      {"f4E2M1FN", 4, true},
                                                 {"complex<f32>", 64, true}, {"complex<f64>", 128, true},
                                                 {"token", 0, false},        {"quantised", 8, false},
                                                 {"text", 0, false}}};

struct Spelling {
  std::string_view text, name;
};
/// Spellings of HLO text, ONNX and PyTorch.
constexpr std::array<Spelling, 37> kSpellings{{{"pred", "i1"},
                                               {"bool", "i1"},
                                               {"s2", "i2"},
                                               {"s4", "i4"},
                                               {"s8", "i8"},
                                               {"s16", "i16"},
                                               {"s32", "i32"},
                                               {"s64", "i64"},
                                               {"u2", "ui2"},
                                               {"u4", "ui4"},
                                               {"u8", "ui8"},
                                               {"u16", "ui16"},
                                               {"u32", "ui32"},
                                               {"u64", "ui64"},
                                               {"int8", "i8"},
                                               {"int16", "i16"},
                                               {"int32", "i32"},
                                               {"int64", "i64"},
                                               {"uint8", "ui8"},
                                               {"uint16", "ui16"},
                                               {"uint32", "ui32"},
                                               {"uint64", "ui64"},
                                               {"float64", "f64"},
                                               {"double", "f64"},
                                               {"float32", "f32"},
                                               {"float", "f32"},
                                               {"float16", "f16"},
                                               {"bfloat16", "bf16"},
                                               {"c64", "complex<f32>"},
                                               {"c128", "complex<f64>"},
                                               {"f8e4m3fn", "f8E4M3FN"},
                                               {"f8e5m2", "f8E5M2"},
                                               {"float8_e4m3fn", "f8E4M3FN"},
                                               {"float8_e5m2", "f8E5M2"},
                                               {"f8e4m3", "f8E4M3"},
                                               {"f8e8m0fnu", "f8E8M0FNU"},
                                               {"f4e2m1fn", "f4E2M1FN"}}};

}  // namespace

const ElementType& element_type(std::string_view spelling) {
  for (const auto& s : kSpellings)
    if (s.text == spelling) spelling = s.name;
  for (const auto& e : kElements)
    if (e.name == spelling) return e;
  return kElements.front();
}

bool TensorType::known() const {
  return std::all_of(dims.begin(), dims.end(), [](std::int64_t d) { return d >= 0; });
}

double TensorType::elements() const {
  double n = 1;
  for (const auto d : dims) n *= d < 0 ? 1.0 : static_cast<double>(d);
  return n;
}

namespace detail {

void allow_steps(Program& program, std::size_t bytes) {
  program.names->steps = kFreeSteps + kStepsPerByte * bytes;
}

void spend(Program& program, std::size_t steps, const std::string& file) {
  auto& left = program.names->steps;
  if (steps > left)
    throw InputError("mlsysim.programs.006", "the program expands to more than its text", "",
                     fmt::format("calls of functions that multiply what {} operators and {} values began",
                                 program.ops.size(), program.values.size()),
                     fmt::format("at most {} steps, and {} more for each byte", kFreeSteps, kStepsPerByte),
                     "give the program as its compiler prints it", {file});
  left -= steps;
}

std::uint32_t add_value(Program& program, TensorType type, ValueRole role, const std::string& file) {
  constexpr double kMostElements = 0x1p62;
  spend(program, steps_of(8 * type.dims.size()), file);
  if (const double n = type.elements(); !(n <= kMostElements))
    throw InputError("mlsysim.programs.032", "a tensor has too many elements", "",
                     fmt::format("{} extents with a product of {:.3g}", type.dims.size(), n), "at most 2^62",
                     "check the extents", {file});
  program.values.push_back({std::move(type), role});
  return static_cast<std::uint32_t>(program.values.size() - 1);
}

}  // namespace detail

Program::Program() : names(std::make_unique<Names>()) {}
Program::Program(Program&&) noexcept = default;
Program& Program::operator=(Program&&) noexcept = default;
Program::~Program() = default;

namespace detail {

std::string_view kept(Program& program, std::string_view text) {
  auto& names = *program.names;
  if (const auto found = names.known.find(text); found != names.known.end()) return found->second;
  const std::string_view view = names.texts.emplace_back(text);
  names.known.emplace(view, view);
  return view;
}

std::int64_t size_of_symbol(Program& program, const ProgramOptions& options, const std::string& name) {
  auto at = std::find(program.symbols.begin(), program.symbols.end(), name);
  if (at == program.symbols.end()) {
    program.symbols.push_back(name);
    at = program.symbols.end() - 1;
  }
  if (const auto bound = options.dims.find(name); bound != options.dims.end())
    return detail::whole<std::int64_t>(bound->second);
  if (std::find(program.open.begin(), program.open.end(), name) == program.open.end())
    program.open.push_back(name);
  return -2 - (at - program.symbols.begin());  // -1 is what shapes leave to be worked out
}

ValueRole role_of(const Program& program, const ProgramOp& op) {
  bool weights = !op.operands.empty(), constants = true;
  for (const auto id : op.operands) {
    const auto role = program.values[id].role;
    weights = weights && role != ValueRole::activation;
    constants = constants && role == ValueRole::constant;
  }
  return constants ? ValueRole::constant : weights ? ValueRole::weight : ValueRole::activation;
}

}  // namespace detail
}  // namespace mlsysim
