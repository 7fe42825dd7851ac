// The component that talks to MPI.

#include "ranks_interface.hpp"

#include <mpi.h>

#include <algorithm>
#include <climits>
#include <cmath>
#include <string>

namespace {

constexpr int kTag = 19;
constexpr unsigned long long kPiece = 1ULL << 30;  // [B] of one message: counts of MPI are ints

mlsysim_ranks offered{};
MPI_Win window = MPI_WIN_NULL;  // one number, on rank 0
double* shared = nullptr;
std::string received;

int send(const char* bytes, unsigned long long size, int to) {
  int wrong = MPI_Send(&size, 1, MPI_UNSIGNED_LONG_LONG, to, kTag, MPI_COMM_WORLD);
  for (unsigned long long at = 0; wrong == MPI_SUCCESS && at < size; at += kPiece)
    wrong = MPI_Send(bytes + at, static_cast<int>(std::min(kPiece, size - at)), MPI_CHAR, to, kTag,
                     MPI_COMM_WORLD);
  return wrong;
}

int receive(int from, const char** bytes, unsigned long long* size) {
  int wrong = MPI_Recv(size, 1, MPI_UNSIGNED_LONG_LONG, from, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (wrong != MPI_SUCCESS) return wrong;
  received.resize(*size);
  for (unsigned long long at = 0; wrong == MPI_SUCCESS && at < *size; at += kPiece)
    wrong = MPI_Recv(received.data() + at, static_cast<int>(std::min(kPiece, *size - at)), MPI_CHAR, from,
                     kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  *bytes = received.data();
  return wrong;
}

/// One-sided, so that rank 0 answers while it searches itself.
double least(double mine) {
  double before = mine;
  MPI_Fetch_and_op(&mine, &before, MPI_DOUBLE, 0, 0, MPI_MIN, window);
  MPI_Win_flush(0, window);
  return std::min(before, mine);
}

void close() {
  MPI_Win_unlock_all(window);
  MPI_Win_free(&window);
  MPI_Finalize();
}

void abandon(int code) { MPI_Abort(MPI_COMM_WORLD, code); }

}  // namespace

extern "C" __attribute__((visibility("default"))) const mlsysim_ranks* mlsysim_open_ranks(void) {
  int level = 0;
  // Threads of a sweep do not call MPI.
  if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &level) != MPI_SUCCESS) return nullptr;
  MPI_Comm_rank(MPI_COMM_WORLD, &offered.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &offered.size);
  const MPI_Aint bytes = offered.rank == 0 ? sizeof(double) : 0;
  if (MPI_Win_allocate(bytes, sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD, &shared, &window) != MPI_SUCCESS)
    return nullptr;
  MPI_Win_lock_all(0, window);
  if (offered.rank == 0) {
    *shared = HUGE_VAL;
    MPI_Win_sync(window);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  offered.send = send;
  offered.receive = receive;
  offered.least = least;
  offered.close = close;
  offered.abandon = abandon;
  return &offered;
}
