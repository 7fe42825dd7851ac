#pragma once
// The functions of the component for HTTP. It is a library of its own because the libraries of TLS behind it
// take longer to load than most answers take; it is opened when something is sent or fetched first.

extern "C" {

/// One call. Texts end with 0; none is null but the body.
struct mlsysim_http_call {
  const char *host, *path, *method, *type, *credentials;
  const char* body;
  unsigned long long body_size;
  double timeout;           ///< [s] of the whole call
  unsigned long long most;  ///< bytes of an answer
  unsigned long long
      shown;  ///< bytes of the answer that are wanted; 0 for all, and then more than `most` fails
};

using mlsysim_http_take = void (*)(void* to, const char* bytes, unsigned long long size);

/// @return the status, and the body is taken; 0 for no answer, and the reason is taken
using mlsysim_http_t = int (*)(const mlsysim_http_call* call, mlsysim_http_take take, void* to);
}
