/* A good plugin for tests of the host: y = PROBE_FACTOR * x * option, an option, instances, and a callback
 * that counts. With PROBE_ASKS there is probe/Asker as well, whose x is what probe/Model says of its own.
 * With PROBE_OLD its version and the sizes of its structs are those of minor version 0. */
#include <mlsysim/plugin/mlsysim_plugin.h>

#include <stdlib.h>
#include <string.h>

#ifndef PROBE_FACTOR
#define PROBE_FACTOR 2
#endif
#ifndef PROBE_THREADS
#define PROBE_THREADS MLS_THREAD_SAFE
#endif
#ifdef PROBE_OLD
#define ABI_MINOR 0
#define RESOLVER_SIZE MLS_RESOLVER_SIZE_1_0
#define CALLBACK_SIZE MLS_CALLBACK_SIZE_1_0
#else
#define ABI_MINOR MLS_ABI_MINOR
#define RESOLVER_SIZE sizeof(MlsResolver)
#define CALLBACK_SIZE sizeof(MlsCallback)
#endif
#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)

static volatile int instances, events, breaks, sweeps;

static const MlsField inputs[] = {{.struct_size = sizeof(MlsField),
                                   .kind = MLS_FIELD_NUMBER,
                                   .name = MLS_TEXT("x"),
                                   .meaning = MLS_TEXT("a number")}};
static const MlsField outputs[] = {{.struct_size = sizeof(MlsField),
                                    .kind = MLS_FIELD_NUMBER,
                                    .flags = MLS_FIELD_PRIVATE,
                                    .name = MLS_TEXT("y"),
                                    .meaning = MLS_TEXT("the product")},
                                   {.struct_size = sizeof(MlsField),
                                    .kind = MLS_FIELD_NUMBER,
                                    .flags = MLS_FIELD_PRIVATE,
                                    .name = MLS_TEXT("again"),
                                    .meaning = MLS_TEXT("the product, taken later")},
                                   {.struct_size = sizeof(MlsField),
                                    .kind = MLS_FIELD_NUMBER,
                                    .flags = MLS_FIELD_PRIVATE,
                                    .name = MLS_TEXT("instances"),
                                    .meaning = MLS_TEXT("alive")},
                                   {.struct_size = sizeof(MlsField),
                                    .kind = MLS_FIELD_NUMBER,
                                    .flags = MLS_FIELD_PRIVATE,
                                    .name = MLS_TEXT("events"),
                                    .meaning = MLS_TEXT("seen")},
                                   {.struct_size = sizeof(MlsField),
                                    .kind = MLS_FIELD_NUMBER,
                                    .flags = MLS_FIELD_PRIVATE,
                                    .name = MLS_TEXT("breaks"),
                                    .meaning = MLS_TEXT("out of a domain, with an id and words")},
                                   {.struct_size = sizeof(MlsField),
                                    .kind = MLS_FIELD_NUMBER,
                                    .flags = MLS_FIELD_PRIVATE,
                                    .name = MLS_TEXT("sweeps"),
                                    .meaning = MLS_TEXT("at their end, by their points")}};
static const MlsField options[] = {{.struct_size = sizeof(MlsField),
                                    .kind = MLS_FIELD_NUMBER,
                                    .flags = MLS_FIELD_OPTIONAL,
                                    .name = MLS_TEXT("gain"),
                                    .meaning = MLS_TEXT("what it is multiplied with"),
                                    .default_value = {.kind = MLS_NUMBER, .number = 1}}};

static MlsError* create(MlsCreateArgs* args) {
  double* gain = malloc(sizeof *gain);
  *gain = args->options[0].number;
  args->instance = gain;
  __sync_add_and_fetch(&instances, 1);
  return NULL;
}
static void destroy(const MlsHostApi* host, void* instance) {
  (void)host;
  if (instance != NULL) __sync_sub_and_fetch(&instances, 1);
  free(instance);
}
static void look(void* user, MlsString name, const MlsValue* value) {
  if (name.size == 1 && *name.data == 'y') *(double*)user = value->number;
}
static MlsError* solve(MlsSolveArgs* args) {
  static const MlsString small = MLS_TEXT("MlsSolveArgs is too small");
  if (args->struct_size < MLS_SOLVE_ARGS_SIZE_1_0)
    return args->host->error_create(args->host, MLS_INVALID_ARGUMENT, small);
  for (int i = 0; i < 6; ++i) args->outputs[i].kind = MLS_NUMBER;
  double x = args->inputs[0].number;
  if (args->user != NULL) {
    const MlsNamed given = {.name = MLS_TEXT("x"), .value = args->inputs[0]};
    static const MlsString model = MLS_TEXT("probe/Model");
    MlsError* error = args->host->evaluate(args->host, args->call, model, &given, 1, &x, look);
    if (error != NULL) return error;
  }
  double y = PROBE_FACTOR * x * *(const double*)args->instance;
  if (PROBE_THREADS == MLS_THREAD_SERIAL) { /* two at once are seen */
    static volatile int inside;
    if (__sync_add_and_fetch(&inside, 1) > 1) y = -1;
    for (volatile int i = 0; i < 20000; ++i) {
    }
    __sync_sub_and_fetch(&inside, 1);
  }
  args->outputs[0].number = y;
  args->outputs[1].number = PROBE_FACTOR * x * *(const double*)args->instance;
  args->outputs[2].number = instances;
  args->outputs[3].number = events;
  args->outputs[4].number = breaks;
  args->outputs[5].number = sweeps;
  return NULL;
}
static MlsError* on_event(const MlsEvent* event) {
  if (event->kind == MLS_EVENT_STAGE_END && event->result_count > 0) __sync_add_and_fetch(&events, 1);
  return NULL;
}
static int is(MlsString text, const char* wanted) {
  return text.size == strlen(wanted) && memcmp(text.data, wanted, text.size) == 0;
}
static MlsError* on_break(const MlsBreak* event) {
  if (is(event->id, "MB010") && is(event->reason, "out_of_domain") && is(event->severity, "degraded") &&
      event->text.size > 0 && event->hint.size > 0 && event->stage.size > 0 && event->resolver.size > 0)
    __sync_add_and_fetch(&breaks, 1);
  return NULL;
}
static MlsError* on_sweep(const MlsSweep* event) {
  if (event->done == event->total && event->title.size > 0) __sync_add_and_fetch(&sweeps, (int)event->total);
  return NULL;
}

static MlsError* register_all(const MlsHostApi* host, MlsRegistration* registration) {
  static const MlsResolver model = {.struct_size = RESOLVER_SIZE,
                                    .name = MLS_TEXT("probe/Model"),
                                    .summary = MLS_TEXT("A product"),
                                    .version = MLS_TEXT("1"),
                                    .inputs = inputs,
                                    .input_count = 1,
                                    .outputs = outputs,
                                    .output_count = 6,
                                    .options = options,
                                    .option_count = 1,
#ifdef PROBE_OWNERSHIP
                                    .ownership = PROBE_OWNERSHIP,
                                    .resource = MLS_TEXT("probe-card-0"),
#endif
                                    .create = create,
                                    .destroy = destroy,
                                    .solve = solve};
  static const MlsCallback callback = {.struct_size = CALLBACK_SIZE,
                                       .name = MLS_TEXT("probe/Counter"),
                                       .summary = MLS_TEXT("Counts stages"),
                                       .on_event = on_event,
                                       .on_break = on_break,
                                       .on_sweep = on_sweep};
  MlsError* error = host->add_resolver(host, registration, &model);
#ifdef PROBE_ASKS
  static MlsResolver asker;
  asker = model;
  asker.name = (MlsString)MLS_TEXT("probe/Asker");
  asker.user = &asker;
  if (error == NULL) error = host->add_resolver(host, registration, &asker);
#endif
  return error != NULL ? error : host->add_callback(host, registration, &callback);
}

MLS_EXPORT const MlsPluginApi* mlsysim_get_plugin_api(void) {
  static const MlsPluginApi api = {.struct_size = sizeof(MlsPluginApi),
                                   .abi_major = MLS_ABI_MAJOR,
                                   .abi_minor = ABI_MINOR,
                                   .flags = MLS_PLUGIN_UNLOADABLE,
                                   .threads = PROBE_THREADS,
                                   .name = MLS_TEXT("probe"),
                                   .version = MLS_TEXT(TEXT(PROBE_FACTOR) ".0.0"),
                                   .summary = MLS_TEXT("For tests"),
                                   .license = MLS_TEXT("Apache-2.0"),
                                   .register_all = register_all};
  return &api;
}
