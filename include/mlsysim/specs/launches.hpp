#pragma once
/// Launch lists: the kernels and framework operators that replace an operator of the lowering where nothing
/// fuses it.
///
/// Reads and writes count arrays such as `values` or `scores`. A condition limits a row to models or passes.
/// Example: in PyTorch eager a forward `norm` of a model with RMS norms is two kernels, `norm` and the
/// residual `elementwise`.

#include <mlsysim/reflect/choice.hpp>
#include <mlsysim/reflect/field.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace mlsysim {

/// Kinds of kernels. `own` uses the operator's own law. `allocation` is no kernel: the host asks the driver
/// for memory.
enum class LaunchKernel : std::uint8_t {
  own,
  elementwise,
  strided,
  copy,
  concatenate,
  gather,
  norm,
  layer_norm,
  norm_backward,
  batch_norm,
  batch_norm_training,
  reduce,
  softmax,
  sort,
  pool,
  fused,
  allocation
};
template <> inline constexpr auto names_of<LaunchKernel> = ChoiceNames{"kernel"};

/// The array that the reads and writes of a kernel are counted in.
enum class LaunchArray : std::uint8_t {
  values,   ///< the operator's own array
  rows,     ///< one value for each row of that array
  query,    ///< all heads of the new tokens
  key,      ///< key heads of the new tokens
  written,  ///< keys, or values, written to the cache
  cached,   ///< all cached keys, or values
  scores,   ///< of every query and key
  inputs,   ///< left factor of a product
  output,   ///< result of a product or convolution
  weights   ///< stored weights of a product or convolution
};
template <> inline constexpr auto names_of<LaunchArray> = ChoiceNames{"array"};

/// When a kernel of a list runs.
enum class LaunchWhen : std::uint8_t {
  always,
  rms,        ///< the model has root mean square norms
  layer,      ///< it has layer norms
  gated,      ///< its feed-forward has a gate
  plain,      ///< it has none
  head_norm,  ///< queries and keys are normalized head by head
  positions,  ///< positions have an embedding of their own
  decode,     ///< steps of decoding
  prompt,     ///< all other passes
  autocast,   ///< products are cast from fp32 to fp16 on their way
  decoder,    ///< decoders
  encoder,    ///< encoders
};
template <> inline constexpr auto names_of<LaunchWhen> = ChoiceNames{"condition"};

/// The pass in which a kernel runs.
enum class LaunchDirection : std::uint8_t { forward, backward };
template <> inline constexpr auto names_of<LaunchDirection> = ChoiceNames{"direction"};

/// The dimension that a row of a kernel spans; a norm keeps one row at a time.
enum class LaunchRow : std::uint8_t { none, hidden, head, keys };
template <> inline constexpr auto names_of<LaunchRow> = ChoiceNames{"row"};

/// One row of a launch list.
struct LaunchPart {
  std::string
      operation;  ///< operator of the lowering; `norm`, `activation` and `product` mean all of their kind
  LaunchDirection direction = LaunchDirection::forward;
  LaunchKernel kernel = LaunchKernel::own;
  std::string name;
  LaunchArray over = LaunchArray::values;
  double reads = 0, writes = 0;
  bool grouped = false;  ///< written once for each query head of a group
  std::optional<double> read_bytes, write_bytes, autocast_read_bytes, autocast_write_bytes;
  LaunchRow row = LaunchRow::none;
  double times = 1, operators = 1, modules = 0, saved = 0;
  std::optional<double> calls;  ///< calls that a tracer captures with each kernel
  LaunchWhen when = LaunchWhen::always;

  template <class P = LaunchPart> static constexpr auto fields() {
    return rows(
        field(&P::operation, "operation", "",
              "operator of the lowering; norm, activation and product stand for all that have no rows of "
              "their own"),
        field(&P::direction, "direction", "", "pass in which it runs").defaulted("forward"),
        field(&P::kernel, "kernel", "", "kind of kernel, or own: the operator's own law"),
        field(&P::name, "name", "", "what it does").defaulted("the kind of kernel"),
        field(&P::over, "over", "", "array that reads and writes are counted in").defaulted("values"),
        field(&P::reads, "reads", "", "arrays read").non_negative().defaulted("0"),
        field(&P::writes, "writes", "", "arrays written").non_negative().defaulted("0"),
        field(&P::grouped, "grouped", "", "written once for each query head of a group").defaulted("once"),
        field(&P::read_bytes, "read_bytes", "", "bytes of a value that is read").positive(),
        field(&P::write_bytes, "write_bytes", "", "bytes of a value that is written").non_negative(),
        field(&P::autocast_read_bytes, "autocast_read_bytes", "", "the same where products are cast")
            .positive(),
        field(&P::autocast_write_bytes, "autocast_write_bytes", "", "the same where products are cast")
            .positive(),
        field(&P::row, "row", "", "what one block of a norm or softmax works on").defaulted("none"),
        field(&P::times, "times", "", "kernels of this kind").non_negative().defaulted("1"),
        field(&P::operators, "operators", "", "framework operators that come with each, views included")
            .non_negative()
            .defaulted("1"),
        field(&P::modules, "modules", "", "calls of module classes that come with each")
            .non_negative()
            .defaulted("0"),
        field(&P::calls, "calls", "", "calls that a tracer captures with each kernel")
            .non_negative()
            .defaulted("as many as framework operators"),
        field(
            &P::saved, "saved", "",
            "tensors that the kernels of the row save for the backward pass; a hook of recomputation handles "
            "each")
            .non_negative()
            .defaulted("0"),
        field(&P::when, "when", "", "when it runs").defaulted("always"));
  }
};

}  // namespace mlsysim
