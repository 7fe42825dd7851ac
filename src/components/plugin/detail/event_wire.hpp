#pragma once
/// Writes the events that callbacks receive as bytes of a message.

#include "wire.hpp"

namespace mlsysim::plugin::detail {

inline void write(Writer& out, const MlsEvent& e) {
  out.put(e.kind);
  for (const auto& s : {e.pipeline, e.stage, e.resolver, e.reason}) out.text(plugin::from_c(s));
  out.put(e.seconds).put(e.result_count);
  for (std::uint64_t k = 0; k < e.result_count; ++k)
    out.text(plugin::from_c(e.results[k].name)).value(e.results[k].value);
}

inline void write(Writer& out, const MlsBreak& e) {
  for (const auto& s : {e.pipeline, e.stage, e.resolver, e.id, e.reason, e.severity, e.text, e.hint})
    out.text(plugin::from_c(s));
}

inline void write(Writer& out, const MlsSweep& e) {
  out.text(plugin::from_c(e.title)).put(e.done).put(e.total).put(e.seconds_left);
}

}  // namespace mlsysim::plugin::detail
