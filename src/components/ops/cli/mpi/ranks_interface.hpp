#pragma once
// Interface between the program and its MPI component, in C so that they share no C++ types.

extern "C" {
/// Functions of the MPI component. An int result is an MPI error code; 0 means no error.
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
