#pragma once
/// How a serving engine divides device memory between weights, activations and the pool of its KV cache.
///
///     total: pool = share memory - weights - reserve - activations - margin
///     free:  pool = share (memory - reserve) - weights - margin
///     rest:  pool = share (memory - weights - reserve - activations) - margin
///     kept:  share = (memory - kept) / memory, rounded to `digits`, where a table replaces the share
///
/// activations: those of the largest pass. reserve: context and framework.
/// Example: total, share 0.9 of 80 GiB, weights 16, reserve 1, activations 2 GiB: the pool is 53 GiB.

#include <mlsysim/reflect/choice.hpp>
#include <mlsysim/reflect/field.hpp>
#include <mlsysim/units/quantity.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mlsysim {

/// The base of an engine's memory share.
enum class ShareOf : std::uint8_t {
  total,  ///< of all memory of the device
  free,   ///< of the memory without the reserve; activations use the remainder
  rest    ///< of the memory without weights, reserve and activations
};
template <> inline constexpr auto names_of<ShareOf> = ChoiceNames{"base of a share of the memory"};

/// Pass and graph sizes that an engine chooses by the memory of a device.
struct MemoryStep {
  std::optional<Data<>> below;         ///< for devices with less; absent: for all that are larger
  double pass_tokens = 0;              ///< of the largest pass
  std::optional<double> graph_batch;   ///< requests of the largest captured step
  std::optional<double> graph_batch4;  ///< the same where four or more ranks divide a layer

  template <class S = MemoryStep> static constexpr auto fields() {
    return rows(
        field(&S::below, "below", "GiB", "for devices with less memory; absent: for all that are larger")
            .positive(),
        field(&S::pass_tokens, "pass_tokens", "", "tokens of the largest pass").positive(),
        field(&S::graph_batch, "graph_batch", "", "requests of the largest captured step").positive(),
        field(&S::graph_batch4, "graph_batch4", "",
              "the same where four or more ranks divide a layer; absent: as graph_batch")
            .positive());
  }
};

/// Memory [B] that an engine reserves by a table, where its share is not given.
struct MemoryKept {
  Data<> base{};                 ///< always
  Data<> pass_token{};           ///< for each token of the largest pass
  double least_pass_tokens = 0;  ///< tokens that count at least
  Data<> rank{};                 ///< for each rank that divides the model
  Data<> graph_request{};        ///< for each request of the largest captured step
  std::optional<Data<>> latent;  ///< for graphs of prompts with multi-head latent attention
  std::optional<Data<>> least;   ///< in all, on devices of `least_from` and more
  std::optional<Data<>> least_from;
  double digits = 3;  ///< to which the share is rounded

  template <class K = MemoryKept> static constexpr auto fields() {
    return rows(
        field(&K::base, "base", "MiB", "kept always").non_negative(),
        field(&K::pass_token, "pass_token", "MiB", "for each token of the largest pass").non_negative(),
        field(&K::least_pass_tokens, "least_pass_tokens", "", "tokens that count at least")
            .non_negative()
            .defaulted("none"),
        field(&K::rank, "rank", "MiB", "for each rank that divides the model")
            .non_negative()
            .defaulted("none"),
        field(&K::graph_request, "graph_request", "MiB", "for each request of the largest captured step")
            .non_negative()
            .defaulted("none"),
        field(&K::latent, "latent", "MiB", "for graphs of prompts with multi-head latent attention")
            .non_negative(),
        field(&K::least, "least", "MiB", "in all, on devices of least_from and more").non_negative(),
        field(&K::least_from, "least_from", "MiB", "memory of a device from which `least` counts").positive(),
        field(&K::digits, "digits", "", "digits to which the share is rounded")
            .non_negative()
            .defaulted("3"));
  }
};

/// The policy of one engine, read from its source code.
struct EngineMemoryRule {
  std::string version;  ///< version of the engine that was read
  ShareOf share_of = ShareOf::total;
  std::string knob;                       ///< the engine's name of its share or margin
  std::optional<double> share;            ///< default share; absent: as `kept` leaves
  std::optional<Data<>> margin;           ///< memory left free besides
  double block_tokens = 1;                ///< tokens of a block of the cache
  double blocks_without = 0;              ///< blocks that hold nothing
  bool states_first = false;              ///< recurrent states lie outside the pool
  bool needs_longest = false;             ///< it starts only where a request of the longest length fits
  bool reserves_whole = false;            ///< a request is admitted where its last token has room
  std::vector<MemoryStep> steps;          ///< by the memory of a device, from small to large
  std::optional<MemoryKept> kept;         ///< by a table, where no share is given
  std::vector<std::string> not_modelled;  ///< other memory that the engine keeps

  template <class R = EngineMemoryRule> static constexpr auto fields() {
    return rows(
        field(&R::version, "version", "", "version of the engine that was read"),
        field(&R::share_of, "share_of", "", "what the share is a share of"),
        field(&R::knob, "knob", "", "what the engine calls its share or its margin"),
        field(&R::share, "share", "", "share of the memory that it takes by itself").within(0.0, 1.0),
        field(&R::margin, "margin", "MiB", "left free beside").non_negative(),
        field(&R::block_tokens, "block_tokens", "", "tokens of a block of the cache").positive(),
        field(&R::blocks_without, "blocks_without", "", "blocks of the pool that hold nothing")
            .non_negative()
            .defaulted("none"),
        field(&R::states_first, "states_first", "", "recurrent states are taken out before the pool is made")
            .defaulted("they share the pool"),
        field(&R::needs_longest, "needs_longest", "",
              "it starts only where the pool holds a request of the longest length, by default all positions "
              "of the model")
            .defaulted("longer requests are refused one by one"),
        field(&R::reserves_whole, "reserves_whole", "",
              "a request is admitted only where the pool has room for its prompt and its longest answer")
            .defaulted("blocks are taken as its tokens come"),
        field(&R::steps, "steps", "", "what it chooses by the memory of a device, from small to large"),
        field(&R::kept, "kept", "", "what it keeps by a table where no share is given"),
        field(&R::not_modelled, "not_modelled", "", "what else it keeps, which nothing here counts"));
  }
};

}  // namespace mlsysim
