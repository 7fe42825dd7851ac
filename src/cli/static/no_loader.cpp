// A program that is linked statically has no dynamic loader: what would open a library (PNG, MPI) is told
// that there is none.

#include <dlfcn.h>

extern "C" {
void* dlopen(const char* /*file*/, int /*mode*/) noexcept { return nullptr; }
int dlclose(void* /*library*/) noexcept { return 0; }
void* dlsym(void* /*library*/, const char* /*name*/) noexcept { return nullptr; }
char* dlerror() noexcept {
  static char reason[] = "this program is linked statically and opens no libraries";
  return reason;
}
int dladdr(const void* /*address*/, Dl_info* /*info*/) noexcept { return 0; }
}
