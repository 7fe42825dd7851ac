#pragma once
/// Linear attention: chains of launches that carry a state from chunk to chunk.

#include <mlsysim/reflect/law.hpp>
#include <mlsysim/units/unit.hpp>

namespace mlsysim {

/// Time of the kernels of linear attention of one layer [s].
///
///     time  = launches launch + rows row + max(moved, work / peak)
///     moved = (aside + states) / bandwidth + max(chunks waves step, in_order / bandwidth)
///     waves = ceil(blocks / units)
/// A chain of `launches` kernels. Most of them take all chunks at once and stream `aside` bytes. One passes
/// the state through the chunks of a sequence in turn, one `step` each, a block for each part of a state; its
/// own `in_order` bytes move meanwhile. The state of a sequence is read, written and copied to its slot. A
/// triangular solve takes `row` for each token of a chunk. The products of all launches overlap with what
/// they move. Steps of decoding and convolutions have no chunks: one launch that streams. 512 chunks of eight
/// states on 132 units with a step of 2 us take 1.02 ms, however few the bytes. Ranges: amounts >= 0; units
/// >= 1; rates > 0.
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
