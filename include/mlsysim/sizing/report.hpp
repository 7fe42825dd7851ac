#pragma once
/// Renders the answers of `size`, `decide` and claims as text, Markdown, JSON, CSV or one HTML page.
///
/// The verdict comes first, then its certainty, the numbers at the load, other plans and the launch command.
/// Example: a rate of 10 request/s of DeepSeek_V3 without limits reads "10 request/s of DeepSeek_V3".

#include <mlsysim/report/render_options.hpp>
#include <mlsysim/sizing/claim.hpp>
#include <mlsysim/sizing/decide.hpp>

#include <string>

namespace mlsysim {

/// The question in words: "10 request/s of DeepSeek_V3 within p99 ttft <= 2 s, itl <= 30 ms".
[[nodiscard]] std::string words_of(const SizeQuestion& question);

/// The number of devices. JSON: "mlsysim/size@1"; CSV: one row a plan.
[[nodiscard]] std::string render(const SizeQuestion& question, const SizeAnswer& answer,
                                 const RenderOptions& options);

/// The decision, with the machines side by side, the changes that would reverse it and the measurements to
/// take next. JSON: "mlsysim/decision@1", with the certificate of the regret; CSV: one row a machine.
[[nodiscard]] std::string render(const DecideQuestion& question, const DecideAnswer& answer,
                                 const RenderOptions& options);

/// The kernels to measure next as a file for `mlsysim measure --points`: "mlsysim/measure-request@1".
[[nodiscard]] std::string measure_points(const DecideAnswer& answer);

/// The verdict on a claim, its bound and the prediction. JSON: "mlsysim/claim@1".
[[nodiscard]] std::string render(const Claim& claim, const ClaimVerdict& verdict,
                                 const RenderOptions& options);

/// The decision as one HTML page for print, without external files.
[[nodiscard]] std::string decision_page(const DecideQuestion& question, const DecideAnswer& answer);

}  // namespace mlsysim
