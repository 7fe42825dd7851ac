// A program that is linked statically has no dynamic loader: what would open a library (PNG, MPI) is told
// that there is none. The linker puts these in the place of the functions of that name (--wrap).

#include <dlfcn.h>

extern "C" {
void* __wrap_dlopen(const char* file, int mode) noexcept;        // NOLINT(bugprone-reserved-identifier)
int __wrap_dlclose(void* library) noexcept;                      // NOLINT(bugprone-reserved-identifier)
void* __wrap_dlsym(void* library, const char* name) noexcept;    // NOLINT(bugprone-reserved-identifier)
char* __wrap_dlerror() noexcept;                                 // NOLINT(bugprone-reserved-identifier)
int __wrap_dladdr(const void* address, Dl_info* info) noexcept;  // NOLINT(bugprone-reserved-identifier)

void* __wrap_dlopen(const char* /*file*/, int /*mode*/) noexcept { return nullptr; }
int __wrap_dlclose(void* /*library*/) noexcept { return 0; }
void* __wrap_dlsym(void* /*library*/, const char* /*name*/) noexcept { return nullptr; }
char* __wrap_dlerror() noexcept {
  static char reason[] = "this program is linked statically and opens no libraries";
  return reason;
}
int __wrap_dladdr(const void* /*address*/, Dl_info* /*info*/) noexcept { return 0; }
}
