/* One plugin that is bad in one way, chosen with -DBAD_<case>; without one it is good. cases.txt says which
 * checks of the kit must fail for each. The model is y = 2 x. */
#define _GNU_SOURCE
#include <mlsysim/plugin/mlsysim_plugin.h>

#include <errno.h>
#include <fcntl.h>
#include <fenv.h>
#include <locale.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define ONE(...) \
  { .struct_size = sizeof(MlsField), __VA_ARGS__ }

static MlsString text(const char* s) {
  MlsString out = {s, strlen(s)};
  return out;
}
static MlsError* error(const MlsHostApi* host, MlsStatus code, const char* message) {
  return host->error_create(host, code, text(message));
}

static const MlsField inputs[] = {
#if defined(BAD_field_unit_unknown)
    ONE(.kind = MLS_FIELD_QUANTITY, .name = MLS_TEXT("x"), .meaning = MLS_TEXT("what is doubled"),
        .unit = MLS_TEXT("lightyear"))
#elif defined(BAD_object_type_unknown)
    ONE(.kind = MLS_FIELD_OBJECT, .name = MLS_TEXT("x"), .meaning = MLS_TEXT("an animal"),
        .object_type = MLS_TEXT("zebra"))
#elif defined(BAD_default_of_wrong_kind)
    ONE(.kind = MLS_FIELD_QUANTITY, .flags = MLS_FIELD_OPTIONAL, .name = MLS_TEXT("x"),
        .meaning = MLS_TEXT("what is doubled"), .unit = MLS_TEXT("s"),
        .default_value = {.kind = MLS_STRING, .text = MLS_TEXT("soon")})
#elif defined(BAD_default_of_wrong_dimension)
    ONE(.kind = MLS_FIELD_QUANTITY, .flags = MLS_FIELD_OPTIONAL, .name = MLS_TEXT("x"),
        .meaning = MLS_TEXT("what is doubled"), .unit = MLS_TEXT("s"),
        .default_value = {.kind = MLS_NUMBER, .number = 1, .text = MLS_TEXT("GB")})
#elif defined(BAD_empty_range)
    ONE(.kind = MLS_FIELD_QUANTITY, .flags = MLS_FIELD_BOUNDED, .name = MLS_TEXT("x"),
        .meaning = MLS_TEXT("what is doubled"), .unit = MLS_TEXT("s"), .low = 2, .high = 1)
#elif defined(BAD_choice_of_nothing)
    ONE(.kind = MLS_FIELD_CHOICE, .name = MLS_TEXT("x"), .meaning = MLS_TEXT("what is chosen"))
#elif defined(BAD_gaps) || defined(BAD_gaps_zero)
    ONE(.kind = MLS_FIELD_OBJECT, .name = MLS_TEXT("hardware"), .meaning = MLS_TEXT("the device"),
        .object_type = MLS_TEXT("hardware"))
#else
    ONE(.kind = MLS_FIELD_QUANTITY, .flags = MLS_FIELD_BOUNDED, .name = MLS_TEXT("x"),
        .meaning = MLS_TEXT("what is doubled"), .unit = MLS_TEXT("s"), .low = 1, .high = 1e6)
#endif
#if defined(BAD_duplicate_fields)
        ,
    ONE(.kind = MLS_FIELD_NUMBER, .name = MLS_TEXT("x"), .meaning = MLS_TEXT("the name again"))
#endif
};
static const MlsField outputs[] = {
    ONE(.kind = MLS_FIELD_QUANTITY, .flags = MLS_FIELD_BOUNDED | MLS_FIELD_PRIVATE, .name = MLS_TEXT("y"),
        .meaning = MLS_TEXT("twice as much"), .unit = MLS_TEXT("s"), .low = 0, .high = 1e9),
#if defined(BAD_searched_nothing)
    ONE(.kind = MLS_FIELD_NUMBER, .name = MLS_TEXT("total_searched"), .meaning = MLS_TEXT("candidates"))
#endif
};

#if defined(BAD_stack_overflow)
static volatile int sink;
static int deep(volatile int n) {
  volatile char frame[4096];
  frame[n % 4096] = (char)n;
  return n + deep(n + 1) + frame[0];
}
#endif

#if defined(BAD_knows_where_it_is) || defined(BAD_loops_apart) || defined(BAD_answers_twice)
static bool apart(void) {
  char program[512] = "";
  const ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
  return n > 0 && strstr(program, "mlsysim-plugin-worker") != NULL;
}
#endif

#if defined(BAD_one_instance_only) || defined(BAD_asking_takes_it)
static bool taken;
static MlsError* can_create(MlsCreateArgs* args) {
  (void)args;
#if defined(BAD_asking_takes_it)
  taken = true;
#endif
  return NULL;
}
#endif

static MlsError* create(MlsCreateArgs* args) {
#if defined(BAD_one_instance_only) || defined(BAD_asking_takes_it)
  if (taken) return error(args->host, MLS_UNAVAILABLE, "somebody has it");
  taken = true;
#endif
#if defined(BAD_create_fails)
  return error(args->host, MLS_UNAVAILABLE, "no instance today");
#else
  args->instance = malloc(64);
  return NULL;
#endif
}
static void destroy(const MlsHostApi* host, void* instance) {
  (void)host;
#if defined(BAD_destroy_null_crashes)
  *(volatile char*)instance = 0;
#endif
#if defined(BAD_one_instance_only) || defined(BAD_asking_takes_it)
  if (instance != NULL) taken = false;
#endif
#if !defined(BAD_instances_leak)
  free(instance);
#endif
}

#if defined(BAD_asks_a_solver)
static void see_nothing(void* user, MlsString name, const MlsValue* value) {
  (void)user, (void)name, (void)value;
}
#endif

static MlsError* solve(MlsSolveArgs* args) {
  const MlsHostApi* host = args->host;
#if !defined(BAD_ignores_small_structs)
  if (args->struct_size < MLS_SOLVE_ARGS_SIZE_1_0)
    return error(host, MLS_INVALID_ARGUMENT, "MlsSolveArgs is too small");
#endif
#if defined(BAD_refuses_larger_structs)
  if (args->struct_size != sizeof(MlsSolveArgs))
    return error(host, MLS_INVALID_ARGUMENT, "another struct_size");
#endif
#if defined(BAD_refuses_extensions)
  if (args->next != NULL) return error(host, MLS_INVALID_ARGUMENT, "an extension");
#endif
  double x = args->inputs[0].number;
#if defined(BAD_gaps)
  MlsValue bandwidth = {0};
  MlsError* e = host->object_field(host, args->inputs[0].object, text("memory.bandwidth"), &bandwidth);
  if (e != NULL) return e;
  x = 1e9 / bandwidth.number;
#elif defined(BAD_gaps_zero)
  MlsValue bandwidth = {0};
  MlsError* e = host->object_field(host, args->inputs[0].object, text("memory.bandwidth"), &bandwidth);
  if (e != NULL) return e;
  x = bandwidth.number / 1e12;
#endif
  double y = 2 * x;
  MlsValue* out = args->outputs;
  out[0].kind = MLS_NUMBER;
#if defined(BAD_leaks_errors)
  (void)error(host, MLS_INTERNAL, "forgotten");
#elif defined(BAD_foreign_error)
  if (x == 1) return (MlsError*)&args->outcome;
#elif defined(BAD_error_without_message)
  if (x == 1) return error(host, MLS_INTERNAL, "");
#elif defined(BAD_random)
  static unsigned calls;
  y += ++calls;
#elif defined(BAD_nan)
  if (x < 10) y = NAN;
#elif defined(BAD_infinite)
  if (x < 10) y = INFINITY;
#elif defined(BAD_negative)
  if (x < 10) y = -1;
#elif defined(BAD_wrong_unit)
  if (x < 10) out[0].text = text("GB");
#elif defined(BAD_unknown_unit)
  if (x < 10) out[0].text = text("lightyear");
#elif defined(BAD_missing_result)
  if (x < 10) {
    out[0].kind = MLS_NONE;
    return NULL;
  }
#elif defined(BAD_text_for_a_number)
  if (x < 10) {
    out[0].kind = MLS_STRING;
    out[0].text = text("much");
    return NULL;
  }
#elif defined(BAD_result_behind)
  if (x < 10) {
    out[1].kind = MLS_NUMBER;
    out[1].number = 1;
  }
#elif defined(BAD_wrong_count)
  if (x < 10) args->output_count = 2;
#elif defined(BAD_infeasible_without_reason)
  if (x < 10) {
    args->outcome = MLS_OUTCOME_INFEASIBLE;
    return NULL;
  }
#elif defined(BAD_always_fails)
  return error(host, MLS_UNAVAILABLE, "not today");
#elif defined(BAD_huge_inputs)
  if (x >= 1e6) y = INFINITY;
#elif defined(BAD_not_thread_safe)
  static volatile double shared;
  shared = y;
  struct timespec moment = {0, 200000};
  nanosleep(&moment, NULL);
  y = shared + 0 * x;
  static volatile int inside;
  if (__sync_add_and_fetch(&inside, 1) > 1) y += 1;
  nanosleep(&moment, NULL);
  __sync_sub_and_fetch(&inside, 1);
#elif defined(BAD_not_fork_safe)
  static pid_t first;
  if (first == 0) first = getpid();
  if (first != getpid()) y += 1;
#elif defined(BAD_changes_locale)
  setlocale(LC_ALL, "C.UTF-8");
#elif defined(BAD_changes_rounding)
  fesetround(FE_UPWARD);
#elif defined(BAD_installs_handler)
  signal(SIGUSR1, SIG_IGN);
#elif defined(BAD_changes_folder)
  if (chdir("/") != 0) y += 1;
#elif defined(BAD_prints)
  printf("y = %g\n", y);
#elif defined(BAD_closes_stdout)
  close(1);
#elif defined(BAD_reads_errno)
  if (errno == EDOM) y += 1;
#elif defined(BAD_knows_where_it_is)
  if (apart()) y += 1;
#elif defined(BAD_loops_apart)
  while (apart()) {
  }
#elif defined(BAD_answers_twice)
  /* The head of an answer, as a plugin that forks and goes on in both processes would send it. */
  const uint32_t head[] = {0x4d4c5331, 0, 0, 0};
  if (apart() && write(3, head, sizeof head) < 0) y += 1;
#elif defined(BAD_needs_much_memory)
  const size_t much = 5UL << 29;
  void* memory = mmap(NULL, much, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return error(host, MLS_RESOURCE_EXHAUSTED, "no room for a table of 2.5 GiB");
  munmap(memory, much);
#elif defined(BAD_floods_the_log)
  while (x == 1) host->log(host, MLS_LOG_DEBUG, text("and on"));
#elif defined(BAD_any_code)
  if (x >= 1 && x <= 16) return error(host, (MlsStatus)x, "one of the codes");
#elif defined(BAD_throws_in_solve)
  extern void throw_something(void);
  if (x == 1) throw_something();
#elif defined(BAD_asks_a_solver)
  MlsError* refused = host->evaluate(host, args->call, text("SynthesisSolver"), NULL, 0, NULL, see_nothing);
  if (refused != NULL) return refused;
#elif defined(BAD_aborts)
  if (x == 1) abort();
#elif defined(BAD_exits)
  if (x == 1) _exit(0);
#elif defined(BAD_crashes)
  if (x == 1) *(volatile int*)8 = 1;
#elif defined(BAD_divides_by_zero)
  if (x == 1) raise(SIGFPE);
#elif defined(BAD_loops)
  while (x == 1) {
  }
#elif defined(BAD_memory_bomb)
  while (x == 1)
    if (mmap(NULL, 1 << 26, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED)
      abort();
#elif defined(BAD_stack_overflow)
  if (x == 1) sink = deep(0);
#elif defined(BAD_searched_nothing)
  out[1].kind = MLS_NUMBER;
#endif
  out[0].number = y;
  return NULL;
}

static MlsResolver model = {.struct_size = sizeof(MlsResolver),
#if defined(BAD_searched_nothing)
                            .tier = MLS_TIER_OPTIMIZER,
#endif
#if defined(BAD_unknown_tier)
                            .tier = 7,
#endif
                            .flags = MLS_RESOLVER_DETERMINISTIC,
#if defined(BAD_host_namespace)
                            .name = MLS_TEXT("mlsysim/Model"),
#elif defined(BAD_bare_name)
                            .name = MLS_TEXT("Model"),
#elif defined(BAD_name_no_utf8)
                            .name = MLS_TEXT("bad/\xff\xfe"),
#elif defined(BAD_name_with_zero)
                            .name = {"bad/Mo\0del", 10},
#else
                            .name = MLS_TEXT("bad/Model"),
#endif
#if !defined(BAD_no_summary)
                            .summary = MLS_TEXT("Twice as much"),
#endif
                            .version = MLS_TEXT("1.0.0"),
                            .inputs = inputs,
                            .input_count = sizeof inputs / sizeof inputs[0],
                            .outputs = outputs,
                            .output_count = sizeof outputs / sizeof outputs[0],
#if defined(BAD_one_instance_only) || defined(BAD_asking_takes_it)
                            .can_create = can_create,
#endif
#if defined(BAD_unknown_ownership)
                            .ownership = 7,
#endif
#if defined(BAD_instances_leak) || defined(BAD_destroy_null_crashes) || defined(BAD_create_fails) || \
    defined(BAD_one_instance_only) || defined(BAD_asking_takes_it)
                            .create = create,
                            .destroy = destroy,
#endif
#if !defined(BAD_no_solve)
                            .solve = solve
#endif
};

static MlsError* register_all(const MlsHostApi* host, MlsRegistration* registration) {
#if defined(BAD_register_throws)
  extern void throw_something(void);
  throw_something();
#elif defined(BAD_optimizer_without_count)
  model.tier = MLS_TIER_OPTIMIZER;
#elif defined(BAD_lying_field_size)
  static MlsField small;
  small = inputs[0];
  small.struct_size = 16;
  model.inputs = &small;
#elif defined(BAD_null_fields)
  model.inputs = NULL;
#elif defined(BAD_too_many_fields)
  model.input_count = 1000000;
#elif defined(BAD_unit_taken) || defined(BAD_unit_base_unknown)
  MlsUnit unit = {.struct_size = sizeof(MlsUnit),
                  .symbol = MLS_TEXT("min"),
                  .base = MLS_TEXT("s"),
                  .meaning = MLS_TEXT("a short minute"),
                  .multiplier = 59,
                  .divisor = 1};
#if defined(BAD_unit_base_unknown)
  unit.symbol = text("smoot");
  unit.base = text("furlong");
#endif
  MlsError* u = host->add_unit(host, registration, &unit);
  if (u != NULL) return u;
#elif defined(BAD_zoo_wrong)
  MlsError* z =
      host->add_zoo(host, registration, text("devices.yaml"),
                    text("schema: mlsysim/hardware@1\nentries:\n- name: Bad_1\n  memory: {capacity: 80}\n"));
  if (z != NULL) return z;
#elif defined(BAD_zoo_without_source)
  MlsError* z = host->add_zoo(
      host, registration, text("devices.yaml"),
      text("schema: mlsysim/hardware@1\nentries:\n- name: Bad_1\n  memory: {capacity: 80 GB}\n"));
  if (z != NULL) return z;
#elif defined(BAD_second_time_fails)
  static int times;
  if (times++ > 0) return error(host, MLS_ALREADY_EXISTS, "registered already");
#elif defined(BAD_order_changes)
  static int turns;
  static MlsResolver other;
  other = model;
  other.name = text("bad/Other");
  MlsError* first = host->add_resolver(host, registration, turns++ % 2 ? &other : &model);
  if (first != NULL) return first;
  return host->add_resolver(host, registration, turns % 2 ? &other : &model);
#endif
  MlsError* e = host->add_resolver(host, registration, &model);
#if defined(BAD_duplicate_names)
  if (e == NULL) e = host->add_resolver(host, registration, &model);
#elif defined(BAD_half_registered)
  /* the third of five is refused, and nobody looks */
  static MlsResolver more[4];
  for (int i = 0; i < 4; ++i) {
    more[i] = model;
    more[i].name = text(i == 0 ? "bad/Two" : i == 1 ? "mlsysim/Three" : i == 2 ? "bad/Four" : "bad/Five");
    MlsError* ignored = host->add_resolver(host, registration, &more[i]);
    host->error_destroy(host, ignored);
  }
#endif
  return e;
}

static MlsError* initialize(const MlsHostApi* host) {
  (void)host;
#if defined(BAD_initialize_fails)
  return error(host, MLS_UNAVAILABLE, "the licence server is away");
#elif defined(BAD_initialize_aborts)
  abort();
#elif defined(BAD_leaves_a_file_open)
  if (open("/dev/null", O_RDONLY) < 0) return NULL;
#elif defined(BAD_slow_to_load)
  struct timespec moment = {0, 150000000};
  nanosleep(&moment, NULL);
#endif
  return NULL;
}

#if defined(BAD_has_every_feature)
static int32_t has_feature(MlsString feature) {
  (void)feature;
  return 1;
}
#endif

#if defined(BAD_constructor_crashes)
__attribute__((constructor)) static void start(void) { *(volatile int*)8 = 1; }
#elif defined(BAD_constructor_loops)
__attribute__((constructor)) static void start(void) {
  while (1) {
  }
}
#elif defined(BAD_constructor_exits)
__attribute__((constructor)) static void start(void) { _exit(0); }
#endif

#if defined(BAD_undefined_symbol)
void nobody_has_this(void);
#elif defined(BAD_needs_mlsysim)
void mlsysim_log(void);
#elif defined(BAD_exports_more)
MLS_EXPORT int helper(void);
int helper(void) { return 1; }
#elif defined(BAD_needs_a_library)
int gone(void);
#endif

static MlsPluginApi api = {.struct_size = sizeof(MlsPluginApi),
                           .abi_major = MLS_ABI_MAJOR,
                           .abi_minor = MLS_ABI_MINOR,
                           .flags = MLS_PLUGIN_UNLOADABLE
#if defined(BAD_not_fork_safe)
                                    | MLS_PLUGIN_FORK_SAFE
#endif
                           ,
#if defined(BAD_not_thread_safe)
                           .threads = MLS_THREAD_SAFE,
#endif
                           .name = MLS_TEXT("bad"),
                           .version = MLS_TEXT("1.0.0"),
                           .summary = MLS_TEXT("Bad in one way"),
                           .license = MLS_TEXT("Apache-2.0"),
                           .initialize = initialize,
                           .register_all = register_all};

#if !defined(BAD_no_entry)
MLS_EXPORT const MlsPluginApi* mlsysim_get_plugin_api(void) {
#if defined(BAD_undefined_symbol)
  nobody_has_this();
#elif defined(BAD_needs_mlsysim)
  mlsysim_log();
#elif defined(BAD_needs_a_library)
  if (gone() > 1) return NULL;
#elif defined(BAD_null_table)
  return NULL;
#elif defined(BAD_entry_aborts)
  abort();
#elif defined(BAD_new_table_each_time)
  static MlsPluginApi tables[2];
  static int turn;
  turn = 1 - turn;
  tables[turn] = api;
  return &tables[turn];
#elif defined(BAD_table_per_thread)
  static __thread MlsPluginApi table;
  table = api;
  return &table;
#elif defined(BAD_table_too_small)
  api.struct_size = 24;
#elif defined(BAD_table_too_large)
  api.struct_size = 1U << 20;
#elif defined(BAD_other_major)
  api.abi_major = 2;
#elif defined(BAD_needs_newer_host)
  api.abi_minor = api.needs_host_minor = 99;
#elif defined(BAD_no_register)
  api.register_all = NULL;
#elif defined(BAD_null_attributes)
  api.attribute_count = 3;
#elif defined(BAD_attribute_no_utf8)
  static const MlsNamed attributes[] = {{MLS_TEXT("x"), {.kind = MLS_STRING, .text = MLS_TEXT("\xc3")}}};
  api.attributes = attributes;
  api.attribute_count = 1;
#elif defined(BAD_name_is_a_path)
  api.name = text("../../bad");
#elif defined(BAD_no_version)
  api.version = text("");
#elif defined(BAD_unknown_thread_mode)
  api.threads = 9;
#elif defined(BAD_has_every_feature)
  api.has_feature = has_feature;
#endif
  return &api;
}
#endif
