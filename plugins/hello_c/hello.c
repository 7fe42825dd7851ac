/* A whole plugin in C: one model, a lower bound on the time of a decode step. */
#include <mlsysim/plugin/mlsysim_plugin.h>

static const MlsField inputs[] = {{.struct_size = sizeof(MlsField),
                                   .kind = MLS_FIELD_QUANTITY,
                                   .flags = MLS_FIELD_BOUNDED | MLS_FIELD_ABOVE_LOW,
                                   .name = MLS_TEXT("weights"),
                                   .meaning = MLS_TEXT("bytes that one step reads"),
                                   .unit = MLS_TEXT("GB"),
                                   .low = 0,
                                   .high = 1e9},
                                  {.struct_size = sizeof(MlsField),
                                   .kind = MLS_FIELD_OBJECT,
                                   .name = MLS_TEXT("hardware"),
                                   .meaning = MLS_TEXT("the device"),
                                   .object_type = MLS_TEXT("hardware")}};

static const MlsField outputs[] = {{.struct_size = sizeof(MlsField),
                                    .kind = MLS_FIELD_QUANTITY,
                                    .flags = MLS_FIELD_BOUNDED | MLS_FIELD_PRIVATE,
                                    .name = MLS_TEXT("floor"),
                                    .meaning = MLS_TEXT("no step is faster"),
                                    .unit = MLS_TEXT("s"),
                                    .display = MLS_TEXT("ms"),
                                    .low = 0,
                                    .high = 1e9}};

static MlsString text(const char* s) {
  MlsString out = {s, 0};
  while (s[out.size] != 0) ++out.size;
  return out;
}

static MlsError* refuse(const MlsSolveArgs* args, const char* message) {
  return args->host->error_create(args->host, MLS_INVALID_ARGUMENT, text(message));
}

/* time = bytes / bandwidth */
static MlsError* solve(MlsSolveArgs* args) {
  if (args->struct_size < MLS_SOLVE_ARGS_SIZE_1_0) return refuse(args, "MlsSolveArgs is too small");
  MlsValue bandwidth;
  MlsError* error =
      args->host->object_field(args->host, args->inputs[1].object, text("memory.bandwidth"), &bandwidth);
  if (error != NULL) return error;
  if (bandwidth.kind != MLS_NUMBER)
    return refuse(args, "the device has no memory bandwidth; use one that has");
  args->outputs[0].kind = MLS_NUMBER; /* in the declared unit: s */
  args->outputs[0].number = args->inputs[0].number * 1e9 / bandwidth.number;
  return NULL;
}

static const MlsResolver decode_floor = {
    .struct_size = sizeof(MlsResolver),
    .tier = MLS_TIER_MODEL,
    .flags = MLS_RESOLVER_DETERMINISTIC,
    .name = MLS_TEXT("hello/DecodeFloor"),
    .summary = MLS_TEXT("Least time of one decode step, from the bytes it reads"),
    .version = MLS_TEXT("1.0.0"),
    .law = MLS_TEXT("floor = weights / memory.bandwidth"),
    .inputs = inputs,
    .input_count = 2,
    .outputs = outputs,
    .output_count = 1,
    .solve = solve};

static MlsError* register_all(const MlsHostApi* host, MlsRegistration* registration) {
  return host->add_resolver(host, registration, &decode_floor);
}

static const MlsNamed attributes[] = {{MLS_TEXT("language"), {.kind = MLS_STRING, .text = MLS_TEXT("C11")}}};

MLS_EXPORT const MlsPluginApi* mlsysim_get_plugin_api(void) {
  static const MlsPluginApi api = {.struct_size = sizeof(MlsPluginApi),
                                   .abi_major = MLS_ABI_MAJOR,
                                   .abi_minor = MLS_ABI_MINOR,
                                   .flags = MLS_PLUGIN_UNLOADABLE | MLS_PLUGIN_FORK_SAFE,
                                   .threads = MLS_THREAD_SAFE,
                                   .name = MLS_TEXT("hello-c"),
                                   .version = MLS_TEXT("1.0.0"),
                                   .summary = MLS_TEXT("The smallest plugin"),
                                   .license = MLS_TEXT("Apache-2.0"),
                                   .attributes = attributes,
                                   .attribute_count = 1,
                                   .register_all = register_all};
  return &api;
}
