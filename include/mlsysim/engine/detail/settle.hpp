#pragma once
/// Turns a scenario, or the inputs of a resolver, into the problem that the equations take.
///
/// Settling resolves names, fills gaps with defaults and notes each default, once and in double.
/// Example: Llama3_70B on 8 H100 in mode serve becomes a `ServingProblem`. Its setting in words is ", 1
/// request kept in flight, 2048 tokens in, 128 tokens out, all alike".

#include <mlsysim/engine/evaluator.hpp>
#include <mlsysim/estimate/evaluate.hpp>
#include <mlsysim/resolver_api/resolver.hpp>

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace mlsysim {

/// Settles names, categories, gaps and warnings, once, in double. @throws InputError, DomainError
[[nodiscard]] AnyProblem settle(const ResolvedScenario& scenario, Notes& notes);

/// The problem of a resolver whose numbers are those of a scenario: of one served model, of one step of
/// training, of one device. Nothing is charged. Empty for every other resolver.
/// @param inputs a live struct of the resolver @throws what its `solve` throws
[[nodiscard]] std::optional<AnyProblem> settle(const Resolver& resolver, const void* inputs, Notes& notes);

/// Lengths of the requests of a served model: "2048 tokens in, 128 tokens out, all alike", with deviations
/// where they differ. @param varied names that a question varies, which are left out
[[nodiscard]] std::string length_words(const Scenario& scenario, Load load,
                                       std::span<const std::string> varied = {});

/// The load, its lengths and the software of a scenario for a title. Begins with a comma.
/// @param varied names that a question varies, which are left out
[[nodiscard]] std::string setting_words(const ResolvedScenario& scenario,
                                        std::span<const std::string> varied = {});

/// Says that the parameters of the device are estimates of its class. Empty where its bandwidth or its
/// launches were measured.
[[nodiscard]] std::string unmeasured_words(std::span<const Assumption> assumptions, std::string_view device);

/// Settles the prices, grid and facility of a scenario for a pass that InferencePassModel describes.
/// @param stated_idle an idle draw that the device states counts
/// @param load receives what the devices draw
[[nodiscard]] MacroProblem<> settle_macro(const ResolvedScenario& scenario, bool stated_idle,
                                          MacroLoad<>& load, Notes& notes);

}  // namespace mlsysim
