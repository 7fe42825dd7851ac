#pragma once
/// Time of kernels outside matrix products and attention: element-wise work, norms, copies, convolutions [s].
///
///   element-wise = (floor + switched) / clock + moved,  moved = bytes / (share bandwidth)
///   norm         = (start + switched) / clock + max(waves (floor - start) / clock, moved)
///   convolution  = floor / clock + min(hypot(whole, memory), hypot(spread, memory) + split / clock)
///
/// floor, start, switched: cycles of the smallest kernel, of the smallest element-wise kernel, and more after
/// another kernel. share: sustained share of the bandwidth. waves = ceil(rows / (16 units)) for norms.
/// whole, spread: time of the tiles in whole waves or with the depth divided, see ConvolutionTime.
/// Limits: no time for arithmetic outside convolutions. Cycles and shares are those of one generation.
/// Example: addition of 1 kB on an H100, after another kernel: (2600 + 1200) / 1.98 GHz = 1.92 us.
/// @cite measured-h100, tables elementwise and decoder
/// @cite nvidia-deeplearning-examples

#include <mlsysim/reflect/law.hpp>
#include <mlsysim/units/unit.hpp>

namespace mlsysim {

/// Time of one element-wise kernel, norm, reduction or copy [s].
///
///     bytes = read + written - cached read     where the larger array fits half of the L2 cache
/// The smallest kernel takes `floor` cycles from one node of a captured graph to the next. A kernel of rows
/// (a norm) works on one row in a block, with 16 blocks on a unit, and each wave of blocks takes floor -
/// start cycles. The row is read a second time, from memory where the rows in flight fill more than half of
/// the L2 cache. Ranges: amounts >= 0; clock, bandwidth, share > 0; rows and row 0 for kernels without
/// rows.
/// @cite measured-h100, tables elementwise and decoder
struct SmallKernelTime {
  static constexpr LawInfo info{
      "SmallKernelTime",
      "time = (floor + switched) / clock + bytes / (share bandwidth); rows: waves of floor - start cycles",
      "measured-h100", "element-wise kernels, norms and copies of PyTorch 2.11",
      "no time for arithmetic; cycles and shares are those of one generation"};
  template <class T> struct Inputs {
    Data<T> read, written, row, l2_cache;
    T rows, units, floor, start, switched, share, cached;
    Bandwidth<T> bandwidth;
    Frequency<T> clock;
    static constexpr auto fields() {
      return mlsysim::rows(
          field(&Inputs::read, "read", "B", "bytes read").non_negative(),
          field(&Inputs::written, "written", "B", "bytes written").non_negative(),
          field(&Inputs::row, "row", "B", "bytes of a row that a block works on; 0: no rows").non_negative(),
          field(&Inputs::l2_cache, "l2_cache", "MB", "second-level cache").non_negative(),
          field(&Inputs::rows, "rows", "", "rows; 0: none").non_negative().counted(),
          field(&Inputs::units, "units", "", "units of the device").at_least(1).counted(),
          field(&Inputs::floor, "floor", "", "cycles of the smallest one").non_negative(),
          field(&Inputs::start, "start", "", "cycles of the smallest element-wise kernel").non_negative(),
          field(&Inputs::switched, "switched", "", "cycles more after another kernel").non_negative(),
          field(&Inputs::share, "share", "", "share of the memory bandwidth").within(0.01, 1),
          field(&Inputs::cached, "cached", "", "part of the reads that the cache serves").within(0, 1),
          field(&Inputs::bandwidth, key::bandwidth).positive(),
          field(&Inputs::clock, "clock", "GHz", "clock of the device").positive());
    }
  };
  template <class T> struct Result {
    Time<T> time, memory;
    static constexpr auto fields() {
      return rows(field(&Result::time, "time", "us", "time of the kernel"),
                  field(&Result::memory, "memory", "us", "part of it in which bytes move"));
    }
  };
  template <class T = double> [[nodiscard]] static constexpr Result<T> solve(const Inputs<T>& in) {
    const T zero{0.0}, one{1.0}, in_flight = in.units * 16.0;
    const auto by_row = in.row > Data<T>();
    const Data<T> half = in.l2_cache * 0.5;
    const T again = select(in.row * min(in.rows, in_flight) > half, one, zero);
    const T kept = select(max(in.read, in.written) <= half, T(one - in.cached), one);
    const Data<T> bytes =
        named("bytes", select(by_row, in.read * (one + again), in.read * kept) + in.written);
    const Time<T> memory = named("memory", bytes / (in.bandwidth * in.share));
    const T first = in.switched + select(by_row, in.start, in.floor);
    const T waves = ceil_div(in.rows, in_flight);
    const Time<T> rows = select(by_row, (in.floor - in.start) * waves / in.clock, Time<T>());
    return {.time = first / in.clock + max(rows, memory), .memory = memory};
  }
};

/// Time of one convolution as an implicit product [s].
///
///     whole  = waves (k step + wave / clock),  waves = ceil(tiles / units)
///     spread = max(k tiles / units, min(k, split_depth)) step + wave / clock
/// Rows are output pixels, columns output channels, depth the receptive field, padded to whole steps. `step`
/// is the time of one step of the depth of a wave, 2 tile_m tile_n units / rate. Either whole tiles run in
/// waves, or the depth is divided over the units and a second kernel adds up. Traffic overlaps in quadrature.
/// Ranges: extents >= 1; rate, bandwidth, clock > 0; cycles >= 0.
/// @cite nvidia-deeplearning-examples, ResNet-50 and SE-ResNeXt-101 on V100 and T4; measured-h100, inference
struct ConvolutionTime {
  static constexpr LawInfo info{
      "ConvolutionTime",
      "time = floor / clock + min(hypot(whole, memory), hypot(spread, memory) + split / clock)",
      "nvidia-deeplearning-examples", "ResNet-50 and SE-ResNeXt-101 on V100 and T4",
      "one set of constants for all generations"};
  template <class T> struct Inputs {
    T m, n, k, groups, tile_m, tile_n, group_n, depth_step, units, floor, wave, split, split_depth;
    ComputeRate<T> rate;
    Data<T> traffic;
    Bandwidth<T> bandwidth;
    Frequency<T> clock;
    static constexpr auto fields() {
      return rows(field(&Inputs::m, "m", "", "output pixels of the batch").at_least(1),
                  field(&Inputs::n, "n", "", "output channels of a group").at_least(1),
                  field(&Inputs::k, "k", "", "receptive field of an output").at_least(1),
                  field(&Inputs::groups, "groups", "", "groups").at_least(1).counted(),
                  field(&Inputs::tile_m, "tile_m", "", "pixels of a tile").at_least(1).counted(),
                  field(&Inputs::tile_n, "tile_n", "", "channels of a tile").at_least(1).counted(),
                  field(&Inputs::group_n, "group_n", "", "least channels of a tile, several groups")
                      .at_least(1)
                      .counted(),
                  field(&Inputs::depth_step, "depth_step", "", "step of the depth").at_least(1).counted(),
                  field(&Inputs::units, "units", "", "units of the device").at_least(1).counted(),
                  field(&Inputs::floor, "floor", "", "cycles of the smallest one").non_negative(),
                  field(&Inputs::wave, "wave", "", "cycles of the start and end of a tile").non_negative(),
                  field(&Inputs::split, "split", "", "cycles of adding up a divided depth").non_negative(),
                  field(&Inputs::split_depth, "split_depth", "", "least depth of a part").at_least(1),
                  field(&Inputs::rate, "rate", "TFLOP/s", "rate of full tiles on all units").positive(),
                  field(&Inputs::traffic, key::traffic).non_negative(),
                  field(&Inputs::bandwidth, key::bandwidth).positive(),
                  field(&Inputs::clock, "clock", "GHz", "clock of the device").positive());
    }
  };
  template <class T> struct Result {
    Time<T> time, compute, memory;
    static constexpr auto fields() {
      return rows(field(&Result::time, "time", "us", "time of the convolution"),
                  field(&Result::compute, "compute", "us", "its tiles"),
                  field(&Result::memory, "memory", "us", "its traffic"));
    }
  };
  template <class T = double> [[nodiscard]] static constexpr Result<T> solve(const Inputs<T>& in) {
    const T narrow = min(in.tile_n, T(ceil_div(in.n, T{8.0}) * 8.0));
    const T tile_n = select(in.groups > T{1.0}, max(narrow, in.group_n), narrow);
    const T tiles = named("tiles", ceil_div(in.m, in.tile_m) * ceil_div(in.n, tile_n) * in.groups);
    const T waves = named("waves", ceil_div(tiles, in.units)),
            k = ceil_div(in.k, in.depth_step) * in.depth_step;
    const Time<T> step = in.tile_m * tile_n * in.units * (2.0 * unit::FLOP) / in.rate;
    const Time<T> wave = in.wave / in.clock, memory = named("memory", in.traffic / in.bandwidth);
    const Time<T> whole = (step * k + wave) * waves;
    const Time<T> spread = step * max(T(k * tiles / in.units), min(k, in.split_depth)) + wave;
    const Time<T> time = min(quadrature(whole, memory), quadrature(spread, memory) + in.split / in.clock);
    return {.time = time + in.floor / in.clock,
            .compute = min(whole, spread + in.split / in.clock),
            .memory = memory};
  }
};

}  // namespace mlsysim
