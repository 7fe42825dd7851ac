#pragma once
/// The software that serves a model: how it schedules passes, and what its host side costs.

#include <mlsysim/reflect/describe.hpp>
#include <mlsysim/specs/choices.hpp>
#include <mlsysim/specs/memory_rule.hpp>
#include <mlsysim/units/quantity.hpp>

#include <optional>
#include <string>

namespace mlsysim {

struct Entry;

/// A serving engine. Its figures belong to the software: never to a model, and a device keeps its own.
struct ServingEngine {
  std::string name;
  std::string version;                 ///< release that it describes; empty: not stated
  Time<> host_step{}, host_request{};  ///< host time of a pass, and of each request in it
  double measured_requests = 0;        ///< in a pass, up to which the two were measured; 0: not stated
  Time<> request_time{};               ///< before and after the engine: parsing, tokens to text, transport
  std::optional<Time<>>
      prefill_issue{};   ///< host time of one operator of a prompt's pass, launched one by one
  bool beside = false;   ///< host work runs beside the device
  bool mixed = true;     ///< prompts and steps share passes
  double lookahead = 0;  ///< passes by which a first token is seen late
  std::optional<EngineMemoryRule> memory{};  ///< absent: not known
  const Entry* entry = nullptr;

  static constexpr auto fields() {
    using E = ServingEngine;
    return rows(
        field(&E::name, "name", "", "key of the engine"),
        field(&E::version, "version", "", "release that was measured or read").defaulted("not stated"),
        field(&E::host_step, "host_step", "ms", "host time of one pass: scheduling, sampling, bookkeeping")
            .non_negative(),
        field(&E::host_request, "host_request", "us", "host time of each request in a pass").non_negative(),
        field(&E::measured_requests, "measured_requests", "",
              "requests in a pass up to which the times of the host were measured")
            .non_negative()
            .counted()
            .defaulted("not stated"),
        field(&E::request_time, "request_time", "ms",
              "time of a request outside the engine: parsing, tokens to text, transport")
            .non_negative(),
        field(&E::prefill_issue, "prefill_issue", "us",
              "host time of one operator of a prompt, launched one by one")
            .positive()
            .defaulted("the device's own issue time"),
        field(&E::beside, "beside", "", "passes are prepared while another runs")
            .defaulted("before each pass"),
        field(&E::mixed, "mixed", "", "prompts and steps share a pass").defaulted("they share it"),
        field(&E::lookahead, "lookahead", "", "passes by which a first token is seen late")
            .non_negative()
            .defaulted("none"),
        field(&E::memory, "memory", "", "how it divides the memory of a device").defaulted("not known"));
  }
};

template <> struct ObjectType<ServingEngine> { static constexpr std::string_view name = "engine"; };

}  // namespace mlsysim
