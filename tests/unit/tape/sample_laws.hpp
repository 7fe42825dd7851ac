#pragma once
/// Laws for the tests of scalars and tools: small, and together they use the whole overload set.

#include <mlsysim/reflect/law.hpp>
#include <mlsysim/scalars/loops.hpp>

#include <utility>

namespace sample {

using namespace mlsysim;

struct Roofline {
  static constexpr LawInfo info{.id = "Roofline",
                                .equation = "time = max(work / peak, traffic / bandwidth)",
                                .source = "williams2009roofline",
                                .where = "eq. (1)",
                                .assumptions = "compute and transfer overlap fully"};
  template <class T> struct Inputs {
    Work<T> work;
    Data<T> traffic;
    ComputeRate<T> peak;
    Bandwidth<T> bandwidth;
    static constexpr auto fields() {
      return rows(field(&Inputs::work, key::work).non_negative(),
                  field(&Inputs::traffic, key::traffic).non_negative(),
                  field(&Inputs::peak, key::peak).positive(),
                  field(&Inputs::bandwidth, key::bandwidth).positive());
    }
  };
  template <class T> struct Result {
    Time<T> time;
    MLSYSIM_FIELDS(Result, time)
  };
  template <class T = double> static Result<T> solve(const Inputs<T>& in) {
    return {max(named("compute", in.work / in.peak), named("memory", in.traffic / in.bandwidth))};
  }
};

struct OffloadModel {
  static constexpr LawInfo info{
      .id = "OffloadModel", .equation = "time = max(resident / hbm, spill / host)", .source = ""};
  template <class T> struct Inputs {
    Data<T> weights, capacity;
    Bandwidth<T> hbm, host;
    MLSYSIM_FIELDS(Inputs, weights, capacity, hbm, host)
  };
  template <class T> struct Result {
    Data<T> spill;
    Time<T> time;
    MLSYSIM_FIELDS(Result, spill, time)
  };
  template <class T = double> static Result<T> solve(const Inputs<T>& in) {
    const auto spill = max(in.weights - in.capacity, Data<T>());
    return {spill, max((in.weights - spill) / in.hbm, spill / in.host)};
  }
};

/// Ring or tree all-reduce, whichever is faster: ceil, log2, select, and a smooth curve by pow and exp.
struct Collective {
  static constexpr LawInfo info{
      .id = "Collective", .equation = "time = min(ring, tree)", .source = "thakur2005optimization"};
  template <class T> struct Inputs {
    Data<T> message;
    T ranks;
    Time<T> alpha;
    Bandwidth<T> bandwidth;
    T efficiency = 0.9;
    static constexpr auto fields() {
      return rows(field(&Inputs::message, key::message).positive(),
                  field(&Inputs::ranks, key::ranks).within(1, 1e6).counted(),
                  field(&Inputs::alpha, key::alpha).non_negative(),
                  field(&Inputs::bandwidth, key::bandwidth).positive(),
                  field(&Inputs::efficiency, key::efficiency).within(0.01, 1).defaulted("test"));
    }
  };
  template <class T> struct Result {
    Time<T> time;
    T saturation;
    static constexpr auto fields() {
      return rows(field(&Result::time, key::time), field(&Result::saturation, "saturation", "",
                                                         "share of the bandwidth that the message reaches"));
    }
  };
  template <class T = double> static Result<T> solve(const Inputs<T>& in) {
    const auto volume = in.message / Data<T>::from_base(1e6);
    const auto reached = 1.0 - exp(-pow(volume, 0.75) * 3.0);
    const auto rate = in.bandwidth * in.efficiency * reached;
    const auto share = 2.0 * (1.0 - 1.0 / in.ranks);
    const auto ring = share * (in.message / rate) + in.alpha * (2.0 * (in.ranks - 1.0));
    const auto tree = 2.0 * (in.message / rate) + in.alpha * (2.0 * ceil(log2(in.ranks)));
    return {select(in.ranks > 1.0, min(ring, tree), Time<T>()), reached};
  }
};

/// Erlang B blocking by its recursion, and the wait that follows: repeat.
struct ErlangC {
  static constexpr LawInfo info{
      .id = "ErlangC", .equation = "B(k) = a B(k-1) / (k + a B(k-1))", .source = "erlang1917"};
  template <class T> struct Inputs {
    T load;
    T servers;
    static constexpr auto fields() {
      return rows(field(&Inputs::load, "load", "", "offered load in servers").non_negative(),
                  field(&Inputs::servers, "servers", "", "parallel servers").within(1, 1000).counted());
    }
  };
  template <class T> struct Result {
    T blocking;
    T wait_probability;
    static constexpr auto fields() {
      return rows(field(&Result::blocking, "blocking", "", "probability that all servers are busy, no queue"),
                  field(&Result::wait_probability, "wait_probability", "", "probability of waiting"));
    }
  };
  template <class T = double> static Result<T> solve(const Inputs<T>& in) {
    const T blocking = repeat<1000>(
        in.servers, T(1.0), [&](const T& b, const T& k) { return in.load * b / (k + 1.0 + in.load * b); });
    const T use = in.load / in.servers;
    return {blocking, min(blocking / max(1.0 - use * (1.0 - blocking), T(1e-12)), T(1.0))};
  }
};

/// Tiles of a matrix product over cores: ceil_div, floor, abs, clamp, sqrt, log, sum, and another law inside.
struct TiledStep {
  static constexpr LawInfo info{
      .id = "TiledStep", .equation = "time = waves * tile + roofline", .source = ""};
  template <class T> struct Shape {
    T rows, columns;
    static constexpr auto fields() {
      return mlsysim::rows(
          field(&Shape::rows, "rows", "", "rows of the product").at_least(1).counted(),
          field(&Shape::columns, "columns", "", "columns of the product").at_least(1).counted());
    }
  };
  template <class T> struct Inputs {
    Shape<T> shape;
    T cores;
    Time<T> alpha;
    ComputeRate<T> peak;
    Bandwidth<T> bandwidth;
    static constexpr auto fields() {
      return rows(field(&Inputs::shape, "shape", "", "extents"),
                  field(&Inputs::cores, "cores", "", "cores of the device").at_least(1).counted(),
                  field(&Inputs::alpha, key::alpha).non_negative(),
                  field(&Inputs::peak, key::peak).positive(),
                  field(&Inputs::bandwidth, key::bandwidth).positive());
    }
  };
  template <class T> struct Result {
    Time<T> time;
    T waves;
    T imbalance;
    static constexpr auto fields() {
      return rows(field(&Result::time, key::time),
                  field(&Result::waves, "waves", "", "rounds over the cores"),
                  field(&Result::imbalance, "imbalance", "", "distance of the load from a whole wave"));
    }
  };
  template <class T = double> static Result<T> solve(const Inputs<T>& in) {
    const T tiles = ceil_div(in.shape.rows, T(128.0)) * ceil_div(in.shape.columns, T(64.0));
    const T waves = named("waves", ceil_div(tiles, in.cores));
    const T load = tiles / in.cores;
    const T imbalance = abs(load - floor(load + 0.5));
    const auto body =
        apply<Roofline, T>({.work = Work<T>::from_base(in.shape.rows * in.shape.columns * 2.0),
                            .traffic = Data<T>::from_base((in.shape.rows + in.shape.columns) * 2.0),
                            .peak = in.peak * clamp(load / waves, T(0.05), T(1.0)),
                            .bandwidth = in.bandwidth});
    const T soft = sqrt(1.0 + log(1.0 + load));
    return {sum(in.alpha * waves, body.time, in.alpha * soft), waves, imbalance};
  }
};

/// A resolver that is not a law: works with every tool, more slowly and less exactly.
struct PlainServer {
  struct Inputs {
    double load = 0;
    Time<> service;
    std::string label;
    static constexpr auto fields() {
      return rows(field(&Inputs::load, "load", "", "use").within(0, 0.999),
                  field(&Inputs::service, "service", "ms", "service time").positive(),
                  field(&Inputs::label, "label", "", "a text").defaulted("test"));
    }
  };
  struct Result {
    Time<> wait;
    bool busy = false;
    static constexpr auto fields() {
      return rows(field(&Result::wait, "wait", "ms", "mean wait"),
                  field(&Result::busy, "busy", "", "use above 0.8"));
    }
  };
  Result solve(const Inputs& in) const { return {in.service * (in.load / (1.0 - in.load)), in.load > 0.8}; }
};

}  // namespace sample
