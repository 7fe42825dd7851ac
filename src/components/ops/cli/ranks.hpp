#pragma once
// Processes of mpirun that work on one search. The library of MPI is in a component of its own, which is
// opened when it is asked for, so that the program starts without it.

#include "cli/commands.hpp"
#include "mpi/ranks_interface.hpp"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace mlsysim::cli {

/// The ranks of this run, from the first call on until the process ends.
/// @throws InputError where the component is missing or MPI does not begin
[[nodiscard]] const mlsysim_ranks& ranks();

/// Brings the texts of all ranks together, two by two: what `join` makes of them is on rank 0.
/// @throws InputError for a rank that does not answer
[[nodiscard]] std::string joined_over_ranks(
    const mlsysim_ranks& r, std::string own,
    const std::function<std::string(const std::string&, const std::string&)>& join);

/// Sends a text to another rank, or takes the next one that it sends.
/// @throws InputError for a rank that does not answer
void send_to(const mlsysim_ranks& r, int rank, std::string_view text);
[[nodiscard]] std::string received_from(const mlsysim_ranks& r, int rank);
/// The numbers of all ranks one after the other, on rank 0.
[[nodiscard]] std::vector<double> numbers_of_ranks(const mlsysim_ranks& r, const std::vector<double>& own);

/// For a rank whose part is not done. @throws InputError always
[[noreturn]] void refuse_interrupted_rank(const std::string& found);

/// Runs the command of a rank; where it fails, it says so and ends all ranks.
[[nodiscard]] Answer on_ranks(const std::function<Answer()>& command);

}  // namespace mlsysim::cli
