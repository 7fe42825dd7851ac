#include "detail/serving_row.hpp"

namespace mlsysim::detail {
namespace {

/// Mean context over the generated tokens.
double mean_context(const Replica& r) { return r.seq_len() + (r.inputs().output_tokens + 1) / 2; }

/// The passes of a prompt, whole or in the chunks that the row states.
Prediction first_token_of(const Replica& r, const PredictionContext& context) {
  const double most = r.inputs().prefill_chunk_tokens.value_or(r.seq_len());
  PassEstimate<> all;
  for (double done = 0; done < r.seq_len(); done += most) {
    const double taken = std::min(most, r.seq_len() - done);
    const auto pass = r.passes().prefill(r.requests(), taken, done + taken);
    all.total += pass.total;
    all.cost.add(pass.cost, 1.0);
  }
  return {all.total.base(), terms_of(all.cost, context)};
}

/// A step that carries no prompt; with an engine its host time counts.
Prediction token_time_of(const Replica& r, const PredictionContext& context) {
  const auto pass = r.passes().decode(r.requests(), mean_context(r));
  return {r.step(pass.total).base(), terms_of(pass.cost, context)};
}

Prediction first_token(const ServingRow& row, const PredictionContext& context) {
  return first_token_of(Replica(row, context), context);
}

Prediction token_time(const ServingRow& row, const PredictionContext& context) {
  return token_time_of(Replica(row, context), context);
}

Prediction prompt_rate(const ServingRow& row, const PredictionContext& context) {
  const Replica r(row, context);
  auto p = first_token_of(r, context);
  p.base = r.requests() * r.seq_len() / p.base;
  return p;
}

Prediction decode_rate(const ServingRow& row, const PredictionContext& context) {
  const Replica r(row, context);
  auto p = token_time_of(r, context);
  p.base = r.requests() / p.base;
  return p;
}

/// Output tokens a second and device of one batch that is prefilled and then decoded to its end.
Prediction static_batch(const ServingRow& row, const PredictionContext& context) {
  const Replica r(row, context);
  const auto& passes = r.passes();
  const double batch = r.requests(), n = r.inputs().output_tokens;
  const auto first = passes.prefill(batch, r.seq_len(), r.seq_len());
  // The first token comes out of the prefill; time is linear in the context between two kernels' floors.
  const auto begin = passes.decode(batch, r.seq_len() + 1), middle = passes.decode(batch, mean_context(r)),
             end = passes.decode(batch, r.seq_len() + n);
  const Time<> step = (begin.total + 4.0 * middle.total + end.total) / 6.0;
  const Time<> total = first.total + (n - 1) * step;
  Prediction p{batch * n / (total.base() * r.devices())};
  if (context.wants_terms)
    p.terms = {{"prefill", first.total.base()},
               {"decode", ((n - 1) * step).base()},
               {"launch", ((n - 1) * middle.cost.overhead).base(), TermRole::within},
               {"network", ((n - 1) * middle.cost.network).base(), TermRole::within}};
  return p;
}

}  // namespace

std::vector<const Measurand*> serving_measurands() {
  static const RowMeasurand<ServingRow, first_token> a("first_token", measured("ttft"), MeasurandKind::time,
                                                       "ms", "time of the prefill of one batch");
  static const RowMeasurand<ServingRow, token_time> b("token_time", measured("itl"), MeasurandKind::time,
                                                      "ms", "time of one decode step");
  static const RowMeasurand<ServingRow, prompt_rate> c("prompt_rate", measured("ttft"), MeasurandKind::rate,
                                                       "1/s", "prompt tokens a second");
  static const RowMeasurand<ServingRow, decode_rate> d("decode_rate", measured("itl"), MeasurandKind::rate,
                                                       "1/s", "generated tokens a second, all sequences");
  static const RowMeasurand<ServingRow, static_batch> e("static_batch_rate", measured("token_throughput"),
                                                        MeasurandKind::rate, "1/s",
                                                        "generated tokens a second and device, static batch");
  return {&a, &b, &c, &d, &e};
}

}  // namespace mlsysim::detail
