#pragma once
/// The rows of a space as columns of Python, and what long work of a space owes to its caller.

#include "bindings.hpp"

#include <mlsysim/explore/ask/intervals.hpp>
#include <mlsysim/explore/search/parts.hpp>
#include <mlsysim/pipeline/sweep_callbacks.hpp>

#include <memory>
#include <string>
#include <vector>

namespace mlsysim::python {

/// Raises what Python holds for the main thread, KeyboardInterrupt above all. Looks at most every 20 ms, for
/// its price is the GIL; without effect on other threads.
void heed_signals();
/// Names callbacks of plugins that threw, which changed nothing.
void warn_of(const SweepCallbacks& callbacks);

/// Callbacks that are kept, as a sweep takes them.
[[nodiscard]] std::vector<Callback*> pointers_to(const std::vector<std::shared_ptr<Callback>>& kept);

/// Options of rows, beside the space and the question.
struct RowsAsked {
  const IntervalSubject& about;  ///< by what its errors are known
  int interval = 0;              ///< level of the intervals of shown results [%]; 0: none
  std::string title;             ///< for callbacks
};

/// The rows of a range as columns: {name: (kind, values, unit)}; what is shown as buffers of numbers.
py::dict space_rows(const Space& space, const Question& question, const RowsAsked& asked,
                    const PointRange& range);

}  // namespace mlsysim::python
