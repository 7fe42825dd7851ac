#pragma once
/// The network of a machine as levels, innermost first: peers, bandwidth and latency of each level.
///
///     devices = peers[1] * peers[2] * ...      a level joins `peers` groups of the level below
///
/// Bandwidths are one way. A level is a switch or one axis of a torus. A machine has at most six.
/// Example: nodes of 8 devices in a cluster of 4 nodes have the levels 8 and 4, which join 32 devices.

#include <mlsysim/reflect/category.hpp>
#include <mlsysim/reflect/choice.hpp>
#include <mlsysim/reflect/field.hpp>
#include <mlsysim/reflect/join.hpp>
#include <mlsysim/units/quantity.hpp>

#include <array>
#include <optional>
#include <string>

namespace mlsysim {

/// How a level joins its peers.
enum class LinkTopology : std::uint8_t { switched, torus };

template <> inline constexpr auto names_of<LinkTopology> = ChoiceNames{"link topology"};

/// Algorithms that a collective over several levels may use: the fastest, level after level (nested), or all
/// levels at once (flat). Usual: the fastest for an all-reduce, nested for a gather or scatter.
enum class CollectiveAlgorithm : std::uint8_t { usual, fastest, nested, flat };

template <> inline constexpr auto names_of<CollectiveAlgorithm> = ChoiceNames{"algorithm of collectives"};

/// One level of a machine as a file states it: it joins `peers` groups of the level below.
struct LinkLevel {
  std::string name;
  double peers = 1;
  LinkTopology topology = LinkTopology::switched;
  std::optional<Bandwidth<>> bandwidth;  ///< one way: of a port, or of one link of an axis
  std::optional<double> ports;           ///< ports of one group of the level below, shared by its devices
  std::optional<Time<>> latency;         ///< start-up of a message that crosses this level
  double oversubscription = 1;
  std::optional<Data<>> in_flight;  ///< bytes that a device may have in flight
  bool reduces = false;             ///< the switch adds up what its ports send

  template <class L = LinkLevel> static constexpr auto fields() {
    return rows(
        field(&L::name, "name", "", "what the level is: package, node, domain, leaf, spine, x"),
        field(&L::peers, "peers", "", "groups of the level below that it joins").at_least(1),
        field(&L::topology, "topology", "", "a switch, or one axis of a torus").defaulted("switched"),
        field(&L::bandwidth, "bandwidth", "GB/s", "one way, per port or per link of an axis").positive(),
        field(&L::ports, "ports", "", "ports of one group, shared by its devices").positive(),
        field(&L::latency, "latency", "us", "start-up of a message that crosses the level").non_negative(),
        field(&L::oversubscription, "oversubscription", "", "edge over core bandwidth")
            .at_least(1)
            .defaulted("1"),
        field(&L::in_flight, "in_flight", "MB", "bytes of a device that are on their way at once").positive(),
        field(&L::reduces, "reduces", "", "the switch adds up what its ports send").defaulted("no"));
  }
};

/// One level as laws read it. Its bandwidth is one way: a device's part of what leaves its group, or a single
/// link of an axis.
template <class T = double> struct Level {
  T peers{1.0};
  Bandwidth<T> bandwidth = Bandwidth<T>::from_base(T{1.0});
  Time<T> latency;
  T share{1.0};       ///< share of the bandwidth that a long message sustains
  Data<T> in_flight;  ///< bytes that a device may have in flight; 0: no limit

  static constexpr auto fields() {
    using L = Level;
    return rows(field(&L::peers, "peers", "", "groups of the level below that it joins").at_least(1),
                field(&L::bandwidth, "bandwidth", "GB/s", "one way, a device's part").positive(),
                field(&L::latency, "latency", "us", "start-up of a message that crosses it").non_negative(),
                field(&L::share, "share", "", "sustained share of the bandwidth").within(0.001, 1),
                field(&L::in_flight, "in_flight", "MB", "on its way at once; 0: as much as the link carries")
                    .non_negative());
  }
};

/// Numbers of the levels that a device sees, and of collectives inside the innermost one.
template <class T = double> struct LinkNumbers {
  static constexpr int most_levels = 6;

  Level<T> level1, level2, level3, level4, level5, level6;
  T mesh{1.0};                ///< peers among which the innermost links are divided, one each; 1: a switch
  Time<T> launch, hop, sync;  ///< one collective; one low-latency step; start of the bulk protocol
  T low_latency_share{1.0};   ///< share of the inner link that the low-latency protocol sustains
  T copy_ratio{2.5};          ///< local copy rate over inner bandwidth
  Time<T> switch_start;       ///< reduction in the switch
  T switch_share{0.0};        ///< ... share of the inner link; 0 where the switch cannot reduce
  T pair_share{1.0};          ///< share of the inner link to one peer, low-latency all-to-all
  T direct{0.0};              ///< 1 where an engine brings its own all-reduce kernels
  Time<T> direct_start, direct_hop, direct_second;
  T direct_share{1.0};
  T direct_rows{0.0};  ///< rows up to which that kernel takes one shot, however long; 0: the faster way

  /// A level, 0 the innermost.
  [[nodiscard]] constexpr const Level<T>& operator[](int i) const {
    return this->*levels()[static_cast<std::size_t>(i)];
  }
  [[nodiscard]] constexpr Level<T>& operator[](int i) { return this->*levels()[static_cast<std::size_t>(i)]; }
  static constexpr std::array<Level<T> LinkNumbers::*, most_levels> levels() {
    using L = LinkNumbers;
    return {&L::level1, &L::level2, &L::level3, &L::level4, &L::level5, &L::level6};
  }

  static constexpr auto fields() {
    using L = LinkNumbers;
    return rows(
        field(&L::level1, "level1", "", "innermost level"), field(&L::level2, "level2", "", "second level"),
        field(&L::level3, "level3", "", "third level"), field(&L::level4, "level4", "", "fourth level"),
        field(&L::level5, "level5", "", "fifth level"), field(&L::level6, "level6", "", "sixth level"),
        field(&L::mesh, "mesh", "", "peers of a full mesh; 1 behind a switch").at_least(1),
        field(&L::launch, "launch", "us", "start and end of one collective").non_negative(),
        field(&L::hop, "hop", "us", "one step of the low-latency protocol").non_negative(),
        field(&L::sync, "sync", "us", "start of the bulk protocol").non_negative(),
        field(&L::low_latency_share, "low_latency_share", "", "share of the inner link, low-latency protocol")
            .within(0.001, 1),
        field(&L::copy_ratio, "copy_ratio", "", "local copy rate over inner bandwidth").positive(),
        field(&L::switch_start, "switch_start", "us", "start of a reduction in the switch").non_negative(),
        field(&L::switch_share, "switch_share", "", "share of the inner link, reduction in the switch")
            .within(0, 1),
        field(&L::pair_share, "pair_share", "", "share of the inner link to one peer").within(0.0001, 1),
        field(&L::direct, "direct", "", "1 with an engine's own all-reduce").within(0, 1),
        field(&L::direct_start, "direct_start", "us", "start of an engine's all-reduce").non_negative(),
        field(&L::direct_hop, "direct_hop", "us", "each further rank of it").non_negative(),
        field(&L::direct_second, "direct_second", "us", "its second phase").non_negative(),
        field(&L::direct_share, "direct_share", "", "share of the inner link that it sustains")
            .within(0.001, 1),
        field(&L::direct_rows, "direct_rows", "", "rows up to which it takes one shot; 0: the faster way")
            .non_negative());
  }
};

/// Categories that decide which operations a collective over levels has.
struct LinkForm {
  int levels = 2;
  int axes = 0;          ///< innermost levels that are the axes of one torus
  bool reduces = false;  ///< the switches of all levels above the innermost add up
  CollectiveAlgorithm algorithm = CollectiveAlgorithm::usual;

  friend bool operator==(const LinkForm&, const LinkForm&) = default;

  template <class F = LinkForm> static constexpr auto categories() {
    return rows(category(&F::levels, "levels", "levels of the machine"),
                category(&F::axes, "axes", "innermost levels that are the axes of one torus"),
                category(&F::reduces, "reduces", "the switches above the innermost level add up"),
                category(&F::algorithm, "algorithm", "algorithm of collectives between nodes"));
  }
};

/// The levels as laws read them: form and numbers.
template <class T = double> struct Links : LinkNumbers<T> {
  using base_type = LinkNumbers<T>;  ///< whose table it inherits
  LinkForm form;

  static constexpr auto fields() { return inherited<Links>(LinkNumbers<T>::fields()); }
  static constexpr auto categories() {
    return rows(category(&Links::form, "form", "levels, axes and algorithm"));
  }
};

}  // namespace mlsysim
