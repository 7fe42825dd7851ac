#pragma once
/// The two scalars of laws, double and the recording one, and the whole overload set.

#include <mlsysim/scalars/loops.hpp>
#include <mlsysim/scalars/recorded.hpp>
