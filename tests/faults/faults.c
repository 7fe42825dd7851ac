/* clang-format off
 * Preloaded into a program: makes the n-th call of a kind fail, or ends the process there.
 *
 * FAULTS=open|read|write|fsync|rename|memory:N[:ERRNO]   the N-th such call fails, with this errno (default: EIO)
 * FAULTS=open|...|memory:N+[:ERRNO]                      and every later one, as a full disk does
 * FAULTS=short:N                                         the N-th write takes half of its bytes, which is no error
 * FAULTS=interrupt:N                                     the N-th read or write is interrupted (EINTR)
 * FAULTS=kill:N                                          SIGKILL before the N-th call that touches files: between two of
 *                                                        them files are as they are, so no other call leaves other ones
 * FAULTS=torn:N                                          SIGKILL after half of the bytes of the N-th write
 * FAULTS_CLOCK=SECONDS                                   every look at a clock sees it this much further; where it is
 *                                                        negative, the time of day goes back
 * FAULTS_WITHOUT=PREFIX                                  what begins with it is not there
 * FAULTS_BESIDE=PREFIX:PREFIX                            but these are there all the same
 * FAULTS_COUNT=FILE                                      at the end, how many calls of each kind there were
 *
 * Every wrapper asks fails() and then does what the C library does. Calls are counted over all threads, from
 * main on: where there is no memory for the objects before it, the language has no place for a message.
 * clang-format on */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum kind { OPEN, READ, WRITE, FSYNC, RENAME, MEMORY, OTHER, KINDS, KILL, TORN, SHORT, INTERRUPT };
static const char* const names[] = {"open",  "read",  "write", "fsync", "rename", "memory",
                                    "other", "files", "kill",  "torn",  "short",  "interrupt"};

static atomic_long counts[KINDS + 1]; /* of each kind; at KINDS those of all that touch files */
static atomic_long reads_and_writes;
static int fault = -1, on_and_on, error_number = EIO, attached;
static long at;
static double clock_step;
static atomic_long clock_looks;
static const char* without;
static const char* beside;

__attribute__((constructor)) static void attach(void) {
  const char* text = getenv("FAULTS");
  if (text != NULL) {
    const char* colon = strchr(text, ':');
    for (int i = 0; colon != NULL && i <= INTERRUPT; ++i)
      if (strlen(names[i]) == (size_t)(colon - text) && strncmp(names[i], text, (size_t)(colon - text)) == 0)
        fault = i;
    if (fault < 0 || fault == OTHER || fault == KINDS) {
      fprintf(stderr, "faults: cannot read FAULTS=%s\n", text);
      _exit(99);
    }
    char* end;
    at = strtol(colon + 1, &end, 10);
    if (*end == '+') {
      on_and_on = 1;
      ++end;
    }
    if (*end == ':') error_number = atoi(end + 1);
  }
  const char* step = getenv("FAULTS_CLOCK");
  clock_step = step == NULL ? 0 : atof(step);
  without = getenv("FAULTS_WITHOUT");
  beside = getenv("FAULTS_BESIDE");
}

typedef int main_function(int, char**, char**);
static main_function* program;
static int counted_main(int count, char** words, char** environment) {
  attached = 1;
  return program(count, words, environment);
}
int __libc_start_main(main_function* first, int count, char** words, void (*begin)(void), void (*end)(void),
                      void (*unload)(void), void* stack) {
  int (*real)(main_function*, int, char**, void (*)(void), void (*)(void), void (*)(void), void*) =
      (__typeof__(real))dlsym(RTLD_NEXT, "__libc_start_main");
  program = first;
  return real(counted_main, count, words, begin, end, unload, stack);
}

__attribute__((destructor)) static void report(void) {
  const char* path = getenv("FAULTS_COUNT");
  if (path == NULL) return;
  char text[512];
  int n = 0;
  for (int i = 0; i <= KINDS; ++i)
    n += snprintf(text + n, sizeof text - (size_t)n, "%s %ld\n", names[i], atomic_load(&counts[i]));
  const int file = (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (file >= 0 && syscall(SYS_write, file, text, (size_t)n) == n) syscall(SYS_close, file);
}

/* Counts a call. Whether it is to fail: errno is set then. */
static int fails(enum kind kind) {
  if (!attached) return 0;
  const long n = atomic_fetch_add(&counts[kind], 1) + 1;
  if (kind != MEMORY) {
    const long all = atomic_fetch_add(&counts[KINDS], 1) + 1;
    if (fault == KILL && all == at) raise(SIGKILL);
  }
  if (fault == INTERRUPT && (kind == READ || kind == WRITE) &&
      atomic_fetch_add(&reads_and_writes, 1) + 1 == at) {
    errno = EINTR;
    return 1;
  }
  if (fault != (int)kind || (on_and_on ? n < at : n != at)) return 0;
  errno = kind == MEMORY ? ENOMEM : error_number;
  return 1;
}

/* Whether a path is one that is not there. */
static int gone(const char* path) {
  if (!attached || without == NULL || strncmp(path, without, strlen(without)) != 0) return 0;
  for (const char* from = beside; from != NULL && *from != 0;) {
    const char* end = strchr(from, ':');
    const size_t length = end == NULL ? strlen(from) : (size_t)(end - from);
    if (strncmp(path, from, length) == 0) return 0;
    from = end == NULL ? NULL : end + 1;
  }
  errno = ENOENT;
  return 1;
}

#define REAL(name)               \
  static __typeof__(&name) real; \
  if (real == NULL) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

#define OPENS(name, first, ...)                                                          \
  int name(first, int flags, ...) {                                                      \
    va_list more;                                                                        \
    va_start(more, flags);                                                               \
    const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(more, mode_t) : 0; \
    va_end(more);                                                                        \
    REAL(name);                                                                          \
    return fails(OPEN) || gone(path) ? -1 : real(__VA_ARGS__, flags, mode);              \
  }
#define COMMA ,
OPENS(open, const char* path, path)
OPENS(open64, const char* path, path)
OPENS(openat, int folder COMMA const char* path, folder, path)
OPENS(openat64, int folder COMMA const char* path, folder, path)

FILE* fopen(const char* path, const char* how) {
  REAL(fopen);
  return fails(OPEN) || gone(path) ? NULL : real(path, how);
}
FILE* fopen64(const char* path, const char* how) {
  REAL(fopen64);
  return fails(OPEN) || gone(path) ? NULL : real(path, how);
}

ssize_t read(int file, void* to, size_t size) {
  REAL(read);
  return fails(READ) ? -1 : real(file, to, size);
}
#define READS(name, type)                                    \
  ssize_t name(int file, void* to, size_t size, type from) { \
    REAL(name);                                              \
    return fails(READ) ? -1 : real(file, to, size, from);    \
  }
READS(pread, off_t)
READS(pread64, off64_t)

/* How many of the bytes of a write, which has been counted, are written: all, or the half that goes before an
 * end or a return. */
static size_t written(size_t size) {
  const int here = (fault == TORN || fault == SHORT) && atomic_load(&counts[WRITE]) == at;
  return here && size > 1 ? size / 2 : size;
}
static ssize_t after_write(ssize_t done) {
  if (fault == TORN && atomic_load(&counts[WRITE]) == at) raise(SIGKILL);
  return done;
}

ssize_t write(int file, const void* from, size_t size) {
  REAL(write);
  if (file == STDERR_FILENO) return real(file, from, size); /* what is wrong can always be said */
  return fails(WRITE) ? -1 : after_write(real(file, from, written(size)));
}
#define WRITES(name, type)                                                       \
  ssize_t name(int file, const void* from, size_t size, type to) {               \
    REAL(name);                                                                  \
    return fails(WRITE) ? -1 : after_write(real(file, from, written(size), to)); \
  }
WRITES(pwrite, off_t)
WRITES(pwrite64, off64_t)
size_t fwrite(const void* from, size_t size, size_t items, FILE* file) {
  REAL(fwrite);
  return file != stderr && fails(WRITE) ? 0 : real(from, size, items, file);
}
int fflush(FILE* file) {
  REAL(fflush);
  return file != stderr && fails(WRITE) ? EOF : real(file);
}

#define SIMPLE(kind, name, declared, ...)        \
  int name declared {                            \
    REAL(name);                                  \
    return fails(kind) ? -1 : real(__VA_ARGS__); \
  }
SIMPLE(FSYNC, fsync, (int file), file)
SIMPLE(FSYNC, fdatasync, (int file), file)
SIMPLE(RENAME, rename, (const char* from, const char* to), from, to)
SIMPLE(RENAME, renameat2, (int a, const char* from, int b, const char* to, unsigned flags), a, from, b, to,
       flags)
/* These are counted for kill alone. */
SIMPLE(OTHER, ftruncate, (int file, off_t size), file, size)
SIMPLE(OTHER, ftruncate64, (int file, off64_t size), file, size)
SIMPLE(OTHER, close, (int file), file)
int mkdir(const char* path, mode_t mode) {
  REAL(mkdir);
  return fails(OTHER) || gone(path) ? -1 : real(path, mode);
}
SIMPLE(OTHER, unlink, (const char* path), path)
SIMPLE(OTHER, flock, (int file, int how), file, how)
SIMPLE(OTHER, fchmod, (int file, mode_t mode), file, mode)

void* __libc_malloc(size_t size);
void* __libc_calloc(size_t items, size_t size);
void* __libc_realloc(void* old, size_t size);
void* __libc_memalign(size_t alignment, size_t size);
void* malloc(size_t size) { return fails(MEMORY) ? NULL : __libc_malloc(size); }
void* calloc(size_t items, size_t size) { return fails(MEMORY) ? NULL : __libc_calloc(items, size); }
void* realloc(void* old, size_t size) { return fails(MEMORY) ? NULL : __libc_realloc(old, size); }
void* aligned_alloc(size_t alignment, size_t size) {
  return fails(MEMORY) ? NULL : __libc_memalign(alignment, size);
}

int clock_gettime(clockid_t clock, struct timespec* now) {
  const int failed = (int)syscall(SYS_clock_gettime, clock, now);
  /* A monotonic clock may stand still in a machine that sleeps, but never goes back. */
  if (failed == 0 && (clock_step > 0 || (clock_step < 0 && clock == CLOCK_REALTIME))) {
    const double further = clock_step * (double)atomic_fetch_add(&clock_looks, 1);
    now->tv_sec += (time_t)further;
    if (now->tv_sec < 0) now->tv_sec = 0;
  }
  return failed;
}
