#pragma once
/// Pictures of one scenario: roofline, waterfall of a time, memory, timeline, costs, carbon and pipeline
/// schedule.
///
///   roof = min(peak, intensity * bandwidth)      one for memory, on-chip memory and links
///
/// Waterfall parts add up to the time, and memory parts add up to memory_used. The schedule ends at the time
/// of the pipeline's equations, bubble included.
/// Example: Llama3_70B on 8 H100, bf16: the highest roof is 989 TFLOP/s, and it meets 3.35 TB/s at 295
/// FLOP/B.
/// @cite williams2009roofline

#include <mlsysim/engine/scenario.hpp>
#include <mlsysim/plot/picture.hpp>

#include <string>
#include <string_view>

namespace mlsysim {

/// Every operator of a pass over the roofs of the device: arithmetic, memory, on-chip memory, links.
/// @param metric the time whose pass is drawn: itl, ttft, step_latency or latency; by mode where empty
/// @throws InputError where no operators are listed, LookupError for another metric
[[nodiscard]] Picture roofline_picture(const Scenario& scenario, std::string_view metric = {});

/// The parts of a time, one after the other, up to the whole.
[[nodiscard]] Picture waterfall_picture(const Scenario& scenario, std::string_view metric = {});

/// The memory of the fullest device by its contents, and its capacity.
[[nodiscard]] Picture memory_picture(const Scenario& scenario);

/// The operators of a pass in the order in which they run, by what limits them; repeated layers as one piece.
[[nodiscard]] Picture timeline_picture(const Scenario& scenario, std::string_view metric = {});

/// The parts of the period's costs, or of its emissions.
[[nodiscard]] Picture costs_picture(const Scenario& scenario);
[[nodiscard]] Picture carbon_picture(const Scenario& scenario);

/// The forward and backward passes of all micro-batches on the stages of a pipeline: 1F1B, GPipe or ZB-H1.
/// Stages other than the slowest get the pass times that match the bubble of the pipeline equations. @throws
/// InputError for a scenario without a pipeline, with several chunks a stage, or with more pieces than can be
/// seen
[[nodiscard]] Picture schedule_picture(const Scenario& scenario);

/// Activations that each stage of a pipeline holds while the schedule runs, above the constant memory.
[[nodiscard]] Picture memory_schedule_picture(const Scenario& scenario);

/// Memory of a device over time: over the schedule of a pipelined step, or while a batch of requests
/// generates its answers, whose caches grow by a token in each step.
/// @throws InputError where memory does not change: a pass, or a step without a pipeline
[[nodiscard]] Picture memory_timeline_picture(const Scenario& scenario);

/// A pass, or the schedule of a pipelined step, for chrome://tracing and Perfetto: repeated layers one by
/// one.
/// @throws as timeline_picture and schedule_picture
[[nodiscard]] std::string chrome_trace(const Scenario& scenario, std::string_view metric = {});

/// The main time of the scenario's mode: itl, step_latency or latency.
[[nodiscard]] std::string main_time(const Scenario& scenario);

}  // namespace mlsysim
