#pragma once
/// Time of the chunked kernels of one linear-attention layer, which carry a state from chunk to chunk [s].
///
///   time  = launches launch + rows row + max(moved, work / peak)
///   moved = (aside + states) / bandwidth + max(chunks waves step, in_order / bandwidth)
///   waves = ceil(blocks / units)
///
/// launches: kernels of the chain. launch, row, step: time of a launch, of a row of the triangular solve, of
/// a chunk in the sequential launch [s]. aside: traffic of launches that take all chunks at once [B].
/// in_order, states: traffic of the sequential launch, and of the states of the sequences [B].
/// Limits: launches do not overlap. A block of the sequential launch fills a unit. No chunks in decoding.
/// Example: 512 chunks, 8 states on 132 units, step 2 us, one launch of 3 us: 3 + 512 x 1 x 2 = 1027 us.
/// @cite yang2024gated, section 3
/// @cite dao2024mamba2, section 6
/// @cite aisimulate-kernels

#include <mlsysim/reflect/law.hpp>
#include <mlsysim/units/unit.hpp>

namespace mlsysim {

/// Time of the kernels of linear attention of one layer [s].
///
/// Most kernels of the chain take all chunks at once. One passes the state through the chunks of a sequence
/// in turn, with a block for each part of a state, while its `in_order` bytes move. The state of a sequence
/// is read, written and copied to its slot. The products of all launches overlap with their traffic. Decode
/// steps and convolutions are one launch that streams. Ranges: amounts >= 0; units >= 1; rates > 0.
/// @cite yang2024gated, section 3 (chunks); dao2024mamba2, section 6; aisimulate-kernels
struct RecurrenceTime {
  static constexpr LawInfo info{"RecurrenceTime",
                                "time = launches launch + rows row + max((aside + states) / bandwidth + "
                                "max(chunks waves step, in_order "
                                "/ bandwidth), work / peak)",
                                "yang2024gated", "section 3",
                                "launches do not overlap; a block of the sequential launch fills a unit"};
  template <class T> struct Inputs {
    T launches, rows, chunks, blocks, units;
    Work<T> work;
    Data<T> aside, in_order, states;
    ComputeRate<T> peak;
    Bandwidth<T> bandwidth;
    Time<T> launch, row, step;
    static constexpr auto fields() {
      return mlsysim::rows(
          field(&Inputs::launches, "launches", "", "kernels of the chain").non_negative(),
          field(&Inputs::rows, "rows", "", "rows of the triangular solve of a chunk").non_negative(),
          field(&Inputs::chunks, "chunks", "", "chunks of a sequence; 0: no sequential launch")
              .non_negative(),
          field(&Inputs::blocks, "blocks", "", "blocks of the sequential launch").non_negative(),
          field(&Inputs::units, "units", "", "units of the device").at_least(1).counted(),
          field(&Inputs::work, key::work).non_negative(),
          field(&Inputs::aside, "aside", "GB", "traffic of the launches that take all chunks at once")
              .non_negative(),
          field(&Inputs::in_order, "in_order", "GB", "traffic of the sequential launch").non_negative(),
          field(&Inputs::states, "states", "GB", "traffic of the states of the sequences").non_negative(),
          field(&Inputs::peak, "peak", "TFLOP/s", "rate of the products").positive(),
          field(&Inputs::bandwidth, key::bandwidth).positive(),
          field(&Inputs::launch, "launch", "us", "one launch with hardly any work").non_negative(),
          field(&Inputs::row, "row", "us", "one row of the solve").non_negative(),
          field(&Inputs::step, "step", "us", "one chunk of the sequential launch").non_negative());
    }
  };
  template <class T> struct Result {
    Time<T> time, compute, memory, overhead;
    static constexpr auto fields() {
      return rows(field(&Result::time, "time", "us", "time of the chain"),
                  field(&Result::compute, "compute", "us", "its products, rows and steps"),
                  field(&Result::memory, "memory", "us", "its traffic"),
                  field(&Result::overhead, "overhead", "us", "its launches"));
    }
  };
  template <class T = double> [[nodiscard]] static constexpr Result<T> solve(const Inputs<T>& in) {
    const T waves = named("waves", ceil_div(in.blocks, in.units));
    const Time<T> overhead = in.launch * in.launches, rows = in.row * in.rows;
    const Time<T> steps = named("steps", in.step * (in.chunks * waves));
    const Time<T> aside = (in.aside + in.states) / in.bandwidth, beside = in.in_order / in.bandwidth;
    const Time<T> products = in.work / in.peak;
    return {.time = overhead + rows + max(aside + max(steps, beside), products),
            .compute = products + rows + steps,
            .memory = aside + beside,
            .overhead = overhead};
  }
};

}  // namespace mlsysim
