#pragma once
/// Bisection bandwidth of networks between nodes: the rate across the narrowest cut through the middle.
///
///   fat tree  = bandwidth nodes / 2 / oversubscription                          [B/s]
///   torus     = rows_cut nodes^(1 - 1 / dimensions) bandwidth,  hops = dimensions nodes^(1 / dimensions) / 4
///   dragonfly = bandwidth groups^2 / 4,  groups = (1 + sqrt(1 + 4 nodes)) / 2
///
/// bandwidth: one link, one way [B/s]. oversubscription: edge over core bandwidth. rows_cut: links of a line
/// that the cut crosses, 2 for a torus and 1 for a mesh. hops: mean links between two nodes of a torus.
/// Limits: evenly loaded paths, torus sides equal and even, dragonfly balanced and of full size.
/// Example: links of 50 GB/s: 1024 nodes in a fat tree of oversubscription 2: 12.8 TB/s. 16 x 16 x 16 torus:
/// 25.6 TB/s, 12 hops. Dragonfly of 1056 nodes: 33 groups, 13.6 TB/s.
/// @cite leiserson1985fattrees
/// @cite dallytowles2004, section 5.2
/// @cite kim2008dragonfly, section 3.1

#include <mlsysim/reflect/law.hpp>
#include <mlsysim/units/unit.hpp>

namespace mlsysim {

/// Bandwidth across the middle of a folded Clos network (fat tree) [B/s].
///
/// Full bisection, divided by the ratio of the edge to the core. Ranges: bandwidth > 0; nodes >= 1;
/// oversubscription >= 1.
/// @cite leiserson1985fattrees; dallytowles2004, section 6
struct ClosBisection {
  static constexpr LawInfo info{"ClosBisection", "bisection = bandwidth nodes / 2 / oversubscription",
                                "leiserson1985fattrees", "",
                                "random or adaptive routing that loads all paths evenly"};
  template <class T> struct Inputs {
    Bandwidth<T> bandwidth;
    T nodes, oversubscription{1.0};
    static constexpr auto fields() {
      return rows(field(&Inputs::bandwidth, key::bandwidth),
                  field(&Inputs::nodes, "nodes", "", "end points of the network").at_least(1).counted(),
                  field(&Inputs::oversubscription, "oversubscription", "", "edge over core bandwidth")
                      .at_least(1)
                      .defaulted("none"));
    }
  };
  template <class T> struct Result {
    Bandwidth<T> bisection;
    static constexpr auto fields() {
      return rows(field(&Result::bisection, "bisection", "GB/s", "bandwidth across the middle, one way"));
    }
  };
  template <class T = double> [[nodiscard]] static constexpr Result<T> solve(const Inputs<T>& in) {
    return {.bisection = in.bandwidth * (in.nodes / 2.0 / in.oversubscription)};
  }
};

/// Bandwidth across the middle of a k-ary mesh or torus, and its mean distance [B/s, hops].
///
/// A cut through the middle crosses every line once in a mesh and twice in a torus, whose lines are closed.
/// A ring is the torus of one dimension. Ranges: nodes >= 1; dimensions in [1, 6]; rows_cut in [1, 2].
/// @cite dallytowles2004, section 5.2
struct TorusBisection {
  static constexpr LawInfo info{"TorusBisection",
                                "bisection = rows_cut nodes^(1 - 1 / dimensions) bandwidth; hops = "
                                "dimensions nodes^(1 / dimensions) / 4",
                                "dallytowles2004", "section 5.2", "equal sides, even length"};
  template <class T> struct Inputs {
    Bandwidth<T> bandwidth;
    T nodes, dimensions, rows_cut{2.0};
    static constexpr auto fields() {
      return rows(
          field(&Inputs::bandwidth, key::bandwidth),
          field(&Inputs::nodes, "nodes", "", "end points of the network").at_least(1).counted(),
          field(&Inputs::dimensions, "dimensions", "", "dimensions of the lattice").within(1, 6).counted(),
          field(&Inputs::rows_cut, "rows_cut", "", "links of a line that the cut crosses: 2 closed, 1 open")
              .within(1, 2)
              .defaulted("a torus"));
    }
  };
  template <class T> struct Result {
    Bandwidth<T> bisection;
    T hops;
    static constexpr auto fields() {
      return rows(field(&Result::bisection, "bisection", "GB/s", "bandwidth across the middle, one way"),
                  field(&Result::hops, "hops", "", "mean links between two nodes"));
    }
  };
  template <class T = double> [[nodiscard]] static constexpr Result<T> solve(const Inputs<T>& in) {
    return {.bisection = in.bandwidth * (in.rows_cut * pow(in.nodes, T(1.0 - 1.0 / in.dimensions))),
            .hops = in.dimensions * pow(in.nodes, T(1.0 / in.dimensions)) / 4.0};
  }
};

/// Bandwidth across the middle of a balanced dragonfly of full size [B/s].
///
/// Each of the a routers of a group has p = a / 2 nodes and h = a / 2 global links. Each pair of the a h + 1
/// groups has one link. The result is about half of a full bisection. Ranges: bandwidth > 0; nodes >= 1.
/// @cite kim2008dragonfly, section 3.1 (balance a = 2 p = 2 h and the number of groups)
struct DragonflyBisection {
  static constexpr LawInfo info{
      "DragonflyBisection", "bisection = bandwidth groups^2 / 4, groups = (1 + sqrt(1 + 4 nodes)) / 2",
      "kim2008dragonfly", "section 3.1", "balanced and of full size: one global link per pair of groups"};
  template <class T> struct Inputs {
    Bandwidth<T> bandwidth;
    T nodes;
    static constexpr auto fields() {
      return rows(field(&Inputs::bandwidth, key::bandwidth),
                  field(&Inputs::nodes, "nodes", "", "end points of the network").at_least(1).counted());
    }
  };
  template <class T> struct Result {
    Bandwidth<T> bisection;
    T groups;
    static constexpr auto fields() {
      return rows(field(&Result::bisection, "bisection", "GB/s", "bandwidth across the middle, one way"),
                  field(&Result::groups, "groups", "", "groups of routers"));
    }
  };
  template <class T = double> [[nodiscard]] static constexpr Result<T> solve(const Inputs<T>& in) {
    const T groups = named("groups", (1.0 + sqrt(1.0 + 4.0 * in.nodes)) / 2.0);
    return {.bisection = in.bandwidth * (groups * groups / 4.0), .groups = groups};
  }
};

}  // namespace mlsysim
