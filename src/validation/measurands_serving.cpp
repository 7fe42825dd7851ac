#include "detail/serving_case.hpp"

#include <cmath>

namespace mlsysim::detail {
namespace {

/// Mean context over the generated tokens.
double mean_context(const ServingCase& c) { return c.prompt + (c.output_tokens.value_or(1) + 1) / 2; }

Prediction first_token(const ServingCase& c, const PredictionContext& context) {
  const auto pass = Replica(c, context).passes().prefill(c.batch_size, c.prompt, c.prompt);
  return {pass.total.base(), terms_of(pass.cost, context)};
}

/// A step that carries no prompt; with an engine its host time counts.
Prediction token_time(const ServingCase& c, const PredictionContext& context) {
  const Replica replica(c, context);
  const auto pass = replica.passes().decode(c.batch_size, mean_context(c));
  return {replica.step(pass.total, c.batch_size).base(), terms_of(pass.cost, context)};
}

Prediction prompt_rate(const ServingCase& c, const PredictionContext& context) {
  auto p = first_token(c, context);
  p.base = c.batch_size * c.prompt / p.base;
  return p;
}

Prediction decode_rate(const ServingCase& c, const PredictionContext& context) {
  auto p = token_time(c, context);
  p.base = c.batch_size / p.base;
  return p;
}

/// Output tokens a second and device of one batch that is prefilled and then decoded to its end.
Prediction static_batch(const ServingCase& c, const PredictionContext& context) {
  const Replica replica(c, context);
  const auto& passes = replica.passes();
  const double n = c.output_tokens.value_or(1);
  const auto first = passes.prefill(c.batch_size, c.prompt, c.prompt);
  // The first token comes out of the prefill; time is linear in the context between two kernels' floors.
  const auto begin = passes.decode(c.batch_size, c.prompt + 1),
             middle = passes.decode(c.batch_size, mean_context(c)),
             end = passes.decode(c.batch_size, c.prompt + n);
  const Time<> step = (begin.total + 4.0 * middle.total + end.total) / 6.0;
  const Time<> total = first.total + (n - 1) * step;
  Prediction p{c.batch_size * n / (total.base() * replica.devices())};
  if (context.wants_terms)
    p.terms = {{"prefill", first.total.base()},
               {"decode", ((n - 1) * step).base()},
               {"launch", ((n - 1) * middle.cost.overhead).base(), TermRole::within},
               {"network", ((n - 1) * middle.cost.network).base(), TermRole::within}};
  return p;
}

}  // namespace

std::vector<const Measurand*> serving_measurands() {
  static const CaseMeasurand<ServingCase, first_token> a("first_token", MeasurandKind::time, "ms",
                                                         "time of the prefill of one batch");
  static const CaseMeasurand<ServingCase, token_time> b("token_time", MeasurandKind::time, "ms",
                                                        "time of one decode step");
  static const CaseMeasurand<ServingCase, prompt_rate> c("prompt_rate", MeasurandKind::rate, "1/s",
                                                         "prompt tokens a second");
  static const CaseMeasurand<ServingCase, decode_rate> d("decode_rate", MeasurandKind::rate, "1/s",
                                                         "generated tokens a second, all sequences");
  static const CaseMeasurand<ServingCase, static_batch> e(
      "static_batch_rate", MeasurandKind::rate, "1/s", "generated tokens a second and device, static batch");
  return {&a, &b, &c, &d, &e};
}

}  // namespace mlsysim::detail
