#pragma once
/// `size` and `decide` as text, tables and one page.

#include <mlsysim/report/render_options.hpp>
#include <mlsysim/sizing/claim.hpp>
#include <mlsysim/sizing/decide.hpp>

#include <string>

namespace mlsysim {

/// The question in words: "10 request/s of DeepSeek_V3 within p99 ttft <= 2 s, itl <= 30 ms".
[[nodiscard]] std::string words_of(const SizeQuestion& question);

/// The size: the verdict first, then how sure it is, the numbers at the load, other plans, the launch. JSON:
/// "mlsysim/size@1"; CSV: one row a plan.
[[nodiscard]] std::string render(const SizeQuestion& question, const SizeAnswer& answer,
                                 const RenderOptions& options);

/// The decision: the verdict first, the machines beside each other, what would change it, what to measure
/// next, the launch of each plan. JSON: "mlsysim/decision@1", with the certificate of the regret; CSV: one
/// row a machine.
[[nodiscard]] std::string render(const DecideQuestion& question, const DecideAnswer& answer,
                                 const RenderOptions& options);

/// The kernels to measure next as a file for `mlsysim measure --points`: "mlsysim/measure-request@1".
[[nodiscard]] std::string measure_points(const DecideAnswer& answer);

/// The verdict on a claim, its bound and the prediction. JSON: "mlsysim/claim@1".
[[nodiscard]] std::string render(const Claim& claim, const ClaimVerdict& verdict,
                                 const RenderOptions& options);

/// The decision as one printed page of HTML, complete in itself.
[[nodiscard]] std::string decision_page(const DecideQuestion& question, const DecideAnswer& answer);

}  // namespace mlsysim
