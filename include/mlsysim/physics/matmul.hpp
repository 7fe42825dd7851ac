#pragma once
/// Dense matrix products: work, traffic, tile and wave quantisation, time.

#include <mlsysim/physics/roofline.hpp>

namespace mlsysim {

/// Arithmetic and least traffic of `count` products C[m,n] = A[m,k] B[k,n] [FLOP, B].
///
/// work = 2 m n k: one multiply and one add per term. traffic reads A and B once and writes C once, so caches
/// are assumed to serve every reuse. Ranges: all counts >= 0 and integral, bytes >= 0; count 0 costs nothing.
/// @cite golub2013matrix, section 1.1
struct MatmulWork {
  static constexpr LawInfo info{"MatmulWork", "work = 2 m n k count; traffic = (a m k + b k n + c m n) count",
                                "golub2013matrix", "section 1.1",
                                "each matrix crosses the memory interface once"};
  template <class T> struct Inputs {
    T m, n, k, count;
    Data<T> a_bytes, b_bytes, c_bytes;
    static constexpr auto fields() {
      return rows(
          field(&Inputs::m, "m", "", "rows of A and C").non_negative().counted(),
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
      return rows(
          field(&Result::tiles, "tiles", "", "tiles of all products"),
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

/// Time of one launch of `count` equal products on a tiled device [s].
///
/// time = launch + soft maximum of (arithmetic of all occupied tiles / peak) and (traffic / bandwidth), from
/// MatmulWork, TileWave and SoftRoofline. peak and bandwidth are the sustained rates of the whole device. A
/// product that vanishes (count 0) costs exactly 0, launch included. Ranges as for the composed laws.
/// @cite nvidia2023matmul
struct MatmulTime {
  static constexpr LawInfo info{
      "MatmulTime", "time = launch + softmax4(2 k tile_m tile_n units waves / peak, traffic / bandwidth)",
      "nvidia2023matmul", "composition of MatmulWork, TileWave and SoftRoofline",
      "one kernel; a partly filled wave costs a full one"};
  template <class T> struct Inputs {
    T m, n, k, count;
    Data<T> a_bytes, b_bytes, c_bytes;
    T tile_m, tile_n, units;
    ComputeRate<T> peak;
    Bandwidth<T> bandwidth;
    Time<T> launch;
    static constexpr auto fields() {
      return rows(
          field(&Inputs::m, "m", "", "rows of A and C").non_negative().counted(),
          field(&Inputs::n, "n", "", "columns of B and C").non_negative().counted(),
          field(&Inputs::k, "k", "", "columns of A, rows of B").non_negative().counted(),
          field(&Inputs::count, "count", "", "products of this shape in one launch").non_negative().counted(),
          field(&Inputs::a_bytes, "a_bytes", "B", "storage of one element of A").non_negative(),
          field(&Inputs::b_bytes, "b_bytes", "B", "storage of one element of B").non_negative(),
          field(&Inputs::c_bytes, "c_bytes", "B", "storage of one element of C").non_negative(),
          field(&Inputs::tile_m, "tile_m", "", "rows of one tile").at_least(1).counted(),
          field(&Inputs::tile_n, "tile_n", "", "columns of one tile").at_least(1).counted(),
          field(&Inputs::units, "units", "", "tiles in flight on the device").at_least(1).counted(),
          field(&Inputs::peak, key::peak).positive(),
          field(&Inputs::bandwidth, key::bandwidth).positive(),
          field(&Inputs::launch, key::launch).non_negative());
    }
  };
  template <class T> struct Result {
    Time<T> time, compute, memory;
    T tile_efficiency;
    static constexpr auto fields() {
      return rows(
          field(&Result::time, key::time),
          field(&Result::compute, "compute", "ms", "time of the occupied tiles at peak rate"),
          field(&Result::memory, "memory", "ms", "time that memory traffic alone needs"),
          field(&Result::tile_efficiency, "tile_efficiency", "", "useful share of the occupied arithmetic"));
    }
  };
  template <class T = double> [[nodiscard]] static constexpr Result<T> solve(const Inputs<T>& in) {
    const auto need = apply<MatmulWork, T>({.m = in.m,
                                            .n = in.n,
                                            .k = in.k,
                                            .count = in.count,
                                            .a_bytes = in.a_bytes,
                                            .b_bytes = in.b_bytes,
                                            .c_bytes = in.c_bytes});
    const auto grid = apply<TileWave, T>({.m = in.m,
                                          .n = in.n,
                                          .count = in.count,
                                          .tile_m = in.tile_m,
                                          .tile_n = in.tile_n,
                                          .units = in.units});
    // Occupied arithmetic, not work / efficiency: an empty product then has no 0 / 0.
    const auto occupied = grid.waves * in.units * in.tile_m * in.tile_n * in.k * (2.0 * unit::FLOP);
    const auto roof = apply<SoftRoofline, T>(
        {.work = occupied, .traffic = need.traffic, .peak = in.peak, .bandwidth = in.bandwidth});
    return {.time = in.launch * min(in.count, T(1.0)) + roof.time,
            .compute = roof.compute,
            .memory = roof.memory,
            .tile_efficiency = grid.efficiency};
  }
};

}  // namespace mlsysim
