#pragma once
// What the program asks of its component for MPI: C, because nothing of the two libraries should meet.

extern "C" {
/// What the component offers: numbers of errors are those of MPI, 0 for none.
struct mlsysim_ranks {
  int rank, size;
  int (*send)(const char* bytes, unsigned long long size, int to);
  /// The bytes stay until the next call.
  int (*receive)(int from, const char** bytes, unsigned long long* size);
  /// The least number that any rank has handed in.
  double (*least)(double mine);
  void (*close)(void);
  /// Ends all ranks.
  void (*abandon)(int code);
};
/// The name of the function of the component that begins: `const mlsysim_ranks* mlsysim_open_ranks(void)`.
typedef const mlsysim_ranks* (*mlsysim_open_ranks_t)(void);
}
