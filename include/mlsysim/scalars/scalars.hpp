#pragma once
/// Both scalars of laws, double and `Recorded`, with the whole overload set. It holds only includes.
///
/// Example: after this include a law may call `select`, `min`, `ceil_div`, `sum` and `repeat` on either
/// scalar.

#include <mlsysim/scalars/loops.hpp>
#include <mlsysim/scalars/recorded.hpp>
