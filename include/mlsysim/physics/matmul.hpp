#pragma once
/// Dense matrix products on a tiled device: FLOP, bytes, tile and wave quantization, and time.
///
///   work    = 2 m n k count                                                              [FLOP]
///   traffic = (a_bytes m k + b_bytes k n + c_bytes m n) count                            [B]
///   waves   = ceil(ceil(m / tile_m) ceil(n / tile_n) count / units)
///   whole   = waves (k step + wave),  spread = max(k tiles / units, split_depth) step + wave      [s]
///   time    = launch + min(hypot(whole, memory), hypot(spread, memory) + split)                   [s]
///
/// C[m,n] = A[m,k] B[k,n]. step = 2 tile_m tile_n units / peak. memory = traffic / bandwidth. wave, split:
/// fixed times of a wave and of adding up a split depth [s]. units: tiles in flight on the device.
/// Limits: each matrix crosses the memory interface once, one tile shape, sustained peak and bandwidth.
/// Example: m = n = k = 4096, 2 B, tiles of 128 x 256, 132 units, 600 TFLOP/s, 3 TB/s, launch 3 us,
/// wave 2 us, split 10 us: 137.4 GFLOP, 100.7 MB, 4 waves, 246.5 us.
/// @cite nvidia2023matmul, sections "Tile Quantization" and "Wave Quantization"

#include <mlsysim/physics/roofline.hpp>

namespace mlsysim {

/// Arithmetic and least traffic of `count` products C[m,n] = A[m,k] B[k,n] [FLOP, B].
///
/// One multiply and one add per term. Caches are assumed to serve every reuse. Ranges: all counts >= 0 and
/// integral, bytes >= 0; count 0 costs nothing.
/// @cite golub2013matrix, section 1.1
struct MatmulWork {
  static constexpr LawInfo info{"MatmulWork", "work = 2 m n k count; traffic = (a m k + b k n + c m n) count",
                                "golub2013matrix", "section 1.1",
                                "each matrix crosses the memory interface once"};
  template <class T> struct Inputs {
    T m, n, k, count;
    Data<T> a_bytes, b_bytes, c_bytes;
    static constexpr auto fields() {
      return rows(field(&Inputs::m, "m", "", "rows of A and C").non_negative().counted(),
                  field(&Inputs::n, "n", "", "columns of B and C").non_negative().counted(),
                  field(&Inputs::k, "k", "", "columns of A, rows of B").non_negative().counted(),
                  field(&Inputs::count, "count", "", "products of this shape").non_negative().counted(),
                  field(&Inputs::a_bytes, "a_bytes", "B", "storage of one element of A").non_negative(),
                  field(&Inputs::b_bytes, "b_bytes", "B", "storage of one element of B").non_negative(),
                  field(&Inputs::c_bytes, "c_bytes", "B", "storage of one element of C").non_negative());
    }
  };
  template <class T> struct Result {
    Work<T> work;
    Data<T> traffic;
    static constexpr auto fields() {
      return rows(field(&Result::work, key::work), field(&Result::traffic, key::traffic));
    }
  };
  template <class T = double> [[nodiscard]] static constexpr Result<T> solve(const Inputs<T>& in) {
    const auto work = in.m * in.n * in.k * in.count * (2.0 * unit::FLOP);
    const auto traffic =
        (in.m * in.k * in.a_bytes + in.k * in.n * in.b_bytes + in.m * in.n * in.c_bytes) * in.count;
    return {.work = work, .traffic = traffic};
  }
};

/// Whole tiles and whole waves that a product of this shape occupies [count, share].
///
/// C is cut into tiles, each unit works on one tile at a time, and a last wave that is not full still takes
/// the time of a full one. efficiency = m n count / (waves units tile_m tile_n): the share of the occupied
/// arithmetic that is useful. Ranges: m, n, count >= 0; tiles and units >= 1; all integral. No split along k,
/// no stream-k.
/// @cite nvidia2023matmul, sections "Tile Quantization" and "Wave Quantization"
struct TileWave {
  static constexpr LawInfo info{"TileWave", "waves = ceil(ceil(m / tile_m) ceil(n / tile_n) count / units)",
                                "nvidia2023matmul", "sections Tile Quantization and Wave Quantization",
                                "one tile per unit at a time; k is not split"};
  template <class T> struct Inputs {
    T m, n, count, tile_m, tile_n, units;
    static constexpr auto fields() {
      return rows(
          field(&Inputs::m, "m", "", "rows of C").non_negative().counted(),
          field(&Inputs::n, "n", "", "columns of C").non_negative().counted(),
          field(&Inputs::count, "count", "", "products of this shape in one launch").non_negative().counted(),
          field(&Inputs::tile_m, "tile_m", "", "rows of one tile").at_least(1).counted(),
          field(&Inputs::tile_n, "tile_n", "", "columns of one tile").at_least(1).counted(),
          field(&Inputs::units, "units", "", "tiles in flight on the device").at_least(1).counted());
    }
  };
  template <class T> struct Result {
    T tiles, waves, efficiency;
    static constexpr auto fields() {
      return rows(field(&Result::tiles, "tiles", "", "tiles of all products"),
                  field(&Result::waves, "waves", "", "rounds over all units"),
                  field(&Result::efficiency, "efficiency", "", "useful share of the occupied arithmetic"));
    }
  };
  template <class T = double> [[nodiscard]] static constexpr Result<T> solve(const Inputs<T>& in) {
    const T tiles = named("tiles", ceil_div(in.m, in.tile_m) * ceil_div(in.n, in.tile_n) * in.count);
    const T waves = named("waves", ceil_div(tiles, in.units));
    const T occupied = max(waves, T(1.0)) * in.units * in.tile_m * in.tile_n;  // nothing to do: 0 of one wave
    return {.tiles = tiles, .waves = waves, .efficiency = in.m * in.n * in.count / occupied};
  }
};

/// Rate of the matrix engine under a power limit [FLOP/s].
///
/// A short burst runs at a higher clock than the power limit sustains: rate = peak (1 + burst / (1 + work /
/// (peak burst_time))). peak is the sustained rate. work is the arithmetic that runs back to back. After
/// burst_time at peak half of the gain is left. Example: 600 GFLOP at 600 TFLOP/s, burst 0.2, burst_time 1
/// ms: 660 TFLOP/s. Ranges: work >= 0; burst in [0, 1]; peak, burst_time > 0. The shape is a convention of
/// this library.
/// @cite aiconfigurator-gemm-h100, rate of large products against their duration
struct BurstRate {
  static constexpr LawInfo info{"BurstRate", "rate = peak (1 + burst / (1 + work / (peak burst_time)))",
                                "aiconfigurator-gemm-h100", "rate of large products against their duration",
                                "one steady kind of work; starts from a cool device"};
  template <class T> struct Inputs {
    Work<T> work;
    ComputeRate<T> peak;
    T burst;
    Time<T> burst_time;
    static constexpr auto fields() {
      return rows(
          field(&Inputs::work, key::work), field(&Inputs::peak, key::peak),
          field(&Inputs::burst, "burst", "", "gain of a short burst over the sustained rate").within(0, 1),
          field(&Inputs::burst_time, "burst_time", "ms", "work, as time, after which half of it is left")
              .positive());
    }
  };
  template <class T> struct Result {
    ComputeRate<T> rate;
    static constexpr auto fields() {
      return rows(field(&Result::rate, "rate", "TFLOP/s", "mean rate over the work"));
    }
  };
  template <class T = double> [[nodiscard]] static constexpr Result<T> solve(const Inputs<T>& in) {
    const T settled = in.work / (in.peak * in.burst_time);
    return {.rate = in.peak * (1.0 + in.burst / (1.0 + settled))};
  }
};

/// Time of one launch of `count` equal products on a tiled device [s].
///
/// A kernel deals output tiles to the units (TileWave), and every wave runs through the whole depth k. Or it
/// spreads the depth as well, so that all units finish together ("split-k", "stream-k"), at the fixed cost
/// `split` of a second pass that adds the parts. No part is shorter than split_depth. Arithmetic and traffic
/// overlap imperfectly: hypot(a, b) = sqrt(a^2 + b^2) is at most sqrt(2) times the larger one. A product that
/// vanishes (count 0) costs no launch. Ranges as for the composed laws.
/// @cite nvidia2023matmul, sections "Tile Quantization" and "Wave Quantization"; osama2023streamk, section 4
struct MatmulTime {
  static constexpr LawInfo info{
      "MatmulTime", "time = launch + min(whole waves, depth spread over all units + split), each with memory",
      "osama2023streamk", "section 4, with TileWave",
      "one kernel of one tile shape; the faster of the two ways is known to the library"};
  template <class T> struct Inputs {
    T m, n, k, count;
    Data<T> traffic;
    T tile_m, tile_n, units, split_depth;
    ComputeRate<T> peak;
    Bandwidth<T> bandwidth;
    Time<T> launch, wave, split;
    static constexpr auto fields() {
      return rows(
          field(&Inputs::m, "m", "", "rows of A and C").non_negative().counted(),
          field(&Inputs::n, "n", "", "columns of B and C").non_negative().counted(),
          field(&Inputs::k, "k", "", "columns of A, rows of B").non_negative().counted(),
          field(&Inputs::count, "count", "", "products of this shape in one launch").non_negative().counted(),
          field(&Inputs::traffic, key::traffic),
          field(&Inputs::tile_m, "tile_m", "", "rows of one tile").at_least(1).counted(),
          field(&Inputs::tile_n, "tile_n", "", "columns of one tile").at_least(1).counted(),
          field(&Inputs::units, "units", "", "tiles in flight on the device").at_least(1).counted(),
          field(&Inputs::split_depth, "split_depth", "", "least depth of a part").at_least(1).counted(),
          field(&Inputs::peak, key::peak), field(&Inputs::bandwidth, key::bandwidth),
          field(&Inputs::launch, key::launch),
          field(&Inputs::wave, "wave", "us", "start and end of a tile, once per wave").non_negative(),
          field(&Inputs::split, "split", "us", "adding up the parts of a split depth").non_negative());
    }
  };
  template <class T> struct Result {
    Time<T> time, compute, memory;
    T tile_efficiency;
    static constexpr auto fields() {
      return rows(field(&Result::time, key::time),
                  field(&Result::compute, "compute", "ms", "time of the occupied tiles, the faster way"),
                  field(&Result::memory, "memory", "ms", "time that memory traffic alone needs"),
                  field(&Result::tile_efficiency, "tile_efficiency", "",
                        "useful share of the arithmetic of whole waves"));
    }
  };
  template <class T = double> [[nodiscard]] static constexpr Result<T> solve(const Inputs<T>& in) {
    const auto grid = apply<TileWave, T>({.m = in.m,
                                          .n = in.n,
                                          .count = in.count,
                                          .tile_m = in.tile_m,
                                          .tile_n = in.tile_n,
                                          .units = in.units});
    const Time<T> step = in.tile_m * in.tile_n * in.units * (2.0 * unit::FLOP) / in.peak;
    const auto memory = named("memory", in.traffic / in.bandwidth);
    const auto whole = named("whole", grid.waves * (in.k * step + in.wave));
    const auto spread =
        named("spread", max(T(in.k * grid.tiles / in.units), in.split_depth) * step + in.wave);
    const Time<T> busy = min(quadrature(whole, memory), quadrature(spread, memory) + in.split);
    return {.time = in.launch * min(in.count, T(1.0)) + busy,
            .compute = min(whole, spread + in.split),
            .memory = memory,
            .tile_efficiency = grid.efficiency};
  }
};

}  // namespace mlsysim
