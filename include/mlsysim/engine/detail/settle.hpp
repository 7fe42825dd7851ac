#pragma once
/// From a scenario, or from the inputs of a resolver, to the problem that its numbers are computed from.

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

/// The load and the software of a scenario for a title, behind a comma: ", requests kept in flight, engine
/// vllm". Empty where nothing is served and no software is named.
[[nodiscard]] std::string setting_words(const ResolvedScenario& scenario);

/// Says that the device is known by its class alone; empty where its bandwidth or its launches were measured.
[[nodiscard]] std::string unmeasured_words(std::span<const Assumption> assumptions, std::string_view device);

/// Settles the prices, grid and facility of a scenario for a pass that InferencePassModel describes.
/// @param stated_idle an idle draw that the device states counts
/// @param load receives what the devices draw
[[nodiscard]] MacroProblem<> settle_macro(const ResolvedScenario& scenario, bool stated_idle,
                                          MacroLoad<>& load, Notes& notes);

}  // namespace mlsysim
