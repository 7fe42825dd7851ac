#pragma once
/// The C interface of plugins, version 1.3, in pure C11. Nothing else crosses between host and plugin.
///
/// A plugin is a shared library that exports one function, `mlsysim_get_plugin_api`. It returns the plugin's
/// table, and `initialize` receives the host's table. Nothing else is linked, in either direction. Rules for
/// both sides follow below.
/// Example: plugins/hello_c/hello.c registers hello/DecodeFloor, floor = weights / memory bandwidth. 16 GB on
/// an H100 (3.35 TB/s) give 4.78 ms.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// Rules, for both sides:
/// * Structs begin with `struct_size` (the size that the caller knows), `reserved` (0) and `next`
///   (extensions, may be null). A callee refuses a struct that is smaller than in minor version 0, and
///   ignores unknown members at the end. New members are only appended, with a new minor version. MlsString,
///   MlsValue, MlsNamed and MlsExtension never change.
/// * In an array of structs all elements have one struct_size, which is the distance between them.
/// * Texts are UTF-8 with a length. They need no zero at the end, and hold none. `{NULL, 0}` is the empty
///   text.
/// * An argument lives until the call returns, on both sides. Everything that a plugin's table and its
///   registrations point to lives until the library is closed.
/// * Numbers with units cross in the unit that the field declares. A value may name another unit of the same
///   dimension in `text`.
/// * A null error means success. Otherwise it is an object that the host made (`error_create`), and the
///   receiver destroys it.
/// * No exception, signal or exit crosses. A null slot means "not implemented".

#if defined(_WIN32)
#define MLS_EXPORT __declspec(dllexport)
#else
#define MLS_EXPORT __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#define MLS_STATIC_ASSERT(condition, text) static_assert(condition, text)
#else
#define MLS_STATIC_ASSERT(condition, text) _Static_assert(condition, text)
#endif

#define MLS_ABI_MAJOR 1 /* changes when something that exists changes its meaning or place */
#define MLS_ABI_MINOR 3 /* changes when something is appended */
#define MLS_ENTRY_SYMBOL "mlsysim_get_plugin_api"

/* Size of a struct up to and including a member. A size constant names the true last member, or this file
 * does not compile: no struct has padding at its end. */
#define MLS_SIZE_THROUGH(Type, member) (offsetof(Type, member) + sizeof(((Type*)0)->member))
#define MLS_LAST_MEMBER(Type, member)                               \
  MLS_STATIC_ASSERT(MLS_SIZE_THROUGH(Type, member) == sizeof(Type), \
                    #Type ": '" #member "' is not its last member")
#define MLS_HEAD        \
  uint32_t struct_size; \
  uint32_t reserved;    \
  const MlsExtension* next

typedef struct MlsString {
  const char* data;
  uint64_t size;
} MlsString;
#define MLS_TEXT(literal) \
  { literal, sizeof(literal) - 1 }

/* Experimental members live only here, under types from 1000 on, and may vanish. */
typedef struct MlsExtension MlsExtension;
struct MlsExtension {
  uint32_t struct_size;
  uint32_t type;
  const MlsExtension* next;
};

/* The codes of absl::Status. */
typedef int32_t MlsStatus;
enum {
  MLS_OK = 0,
  MLS_CANCELLED = 1,
  MLS_UNKNOWN = 2,
  MLS_INVALID_ARGUMENT = 3,
  MLS_DEADLINE_EXCEEDED = 4,
  MLS_NOT_FOUND = 5,
  MLS_ALREADY_EXISTS = 6,
  MLS_PERMISSION_DENIED = 7,
  MLS_RESOURCE_EXHAUSTED = 8,
  MLS_FAILED_PRECONDITION = 9,
  MLS_ABORTED = 10,
  MLS_OUT_OF_RANGE = 11,
  MLS_UNIMPLEMENTED = 12,
  MLS_INTERNAL = 13,
  MLS_UNAVAILABLE = 14,
  MLS_DATA_LOSS = 15,
  MLS_UNAUTHENTICATED = 16
};

typedef struct MlsError MlsError;               /* made and owned by the host */
typedef struct MlsObject MlsObject;             /* an entry of the zoo, or a device or model made by hand */
typedef struct MlsCall MlsCall;                 /* one call of a resolver */
typedef struct MlsRegistration MlsRegistration; /* one call of register_all */
typedef struct MlsHostApi MlsHostApi;

/* ---- values ---- */
enum { MLS_NONE = 0, MLS_NUMBER = 1, MLS_FLAG = 2, MLS_STRING = 3, MLS_OBJECT = 4 };

typedef struct MlsValue {
  int32_t kind;            /* MLS_NONE: absent */
  int32_t flag;            /* of MLS_FLAG: 0 or 1 */
  double number;           /* of MLS_NUMBER */
  MlsString text;          /* of MLS_STRING; of MLS_NUMBER its unit, empty: as the field declares */
  const MlsObject* object; /* of MLS_OBJECT */
} MlsValue;
MLS_LAST_MEMBER(MlsValue, object);

typedef struct MlsNamed {
  MlsString name;
  MlsValue value;
} MlsNamed;
MLS_LAST_MEMBER(MlsNamed, value);

/* Receives values one by one; texts live during the call. */
typedef void (*MlsVisit)(void* user, MlsString name, const MlsValue* value);

/* ---- declarations of a plugin ---- */
enum {
  MLS_FIELD_NUMBER = 0,
  MLS_FIELD_QUANTITY = 1,
  MLS_FIELD_FLAG = 2,
  MLS_FIELD_TEXT = 3,
  MLS_FIELD_CHOICE = 4,
  MLS_FIELD_OBJECT = 5
};
enum {
  MLS_FIELD_OPTIONAL = 1,  /* an input or option that may be left out; default_value is then the value */
  MLS_FIELD_BOUNDED = 2,   /* `low` and `high` are meant; otherwise every finite number is admissible */
  MLS_FIELD_ABOVE_LOW = 4, /* `low` itself is not admissible */
  MLS_FIELD_WHOLE = 8,     /* a count */
  MLS_FIELD_PRIVATE = 16   /* not linked to fields of the same name of other resolvers */
};

typedef struct MlsField {
  MLS_HEAD;
  int32_t kind;
  uint32_t flags;
  MlsString name;
  MlsString meaning;     /* one line */
  MlsString unit;        /* of a quantity: in which it crosses; fixes its dimension */
  MlsString display;     /* unit for readers; empty: the same */
  MlsString object_type; /* of an object: "hardware", "workload", "node", "fleet", ... */
  MlsString default_source;
  MlsValue default_value;
  double low, high; /* in `unit` */
  const MlsString* choices;
  uint64_t choice_count;
} MlsField;
MLS_LAST_MEMBER(MlsField, choice_count);
#define MLS_FIELD_SIZE_1_0 MLS_SIZE_THROUGH(MlsField, choice_count)

typedef struct MlsUnit {
  MLS_HEAD;
  MlsString symbol; /* "furlong": letters */
  MlsString base;   /* one symbol = multiplier / divisor of this unit expression: "km", "J/s", "FLOP" */
  MlsString decimal_prefixes; /* those that it takes, of "pnumkMGTPEZ" */
  MlsString meaning;
  double multiplier, divisor; /* whole numbers */
} MlsUnit;
MLS_LAST_MEMBER(MlsUnit, divisor);
#define MLS_UNIT_SIZE_1_0 MLS_SIZE_THROUGH(MlsUnit, divisor)

/* ---- resolvers ---- */
typedef struct MlsCreateArgs {
  MLS_HEAD;
  const MlsHostApi* host;
  const void* user;        /* of the MlsResolver */
  const MlsValue* options; /* one for each declared option, in order */
  uint64_t option_count;
  void* instance; /* out */
} MlsCreateArgs;
MLS_LAST_MEMBER(MlsCreateArgs, instance);
#define MLS_CREATE_ARGS_SIZE_1_0 MLS_SIZE_THROUGH(MlsCreateArgs, instance)

enum { MLS_OUTCOME_RESULT = 0, MLS_OUTCOME_INFEASIBLE = 1 };

typedef struct MlsSolveArgs {
  MLS_HEAD;
  const MlsHostApi* host;
  const void* user; /* of the MlsResolver */
  void* instance;   /* what `create` gave; null without one */
  MlsCall* call;
  const MlsValue* inputs; /* one for each declared input, in order, within its range */
  uint64_t input_count;
  MlsValue* outputs;     /* out: one for each declared output, in order; MLS_NONE on entry */
  uint64_t output_count; /* in: how many are declared; out: how many were written */
  int32_t outcome;       /* out: MLS_OUTCOME_INFEASIBLE after host->infeasible */
  int32_t reserved_2;
} MlsSolveArgs;
MLS_LAST_MEMBER(MlsSolveArgs, reserved_2);
#define MLS_SOLVE_ARGS_SIZE_1_0 MLS_SIZE_THROUGH(MlsSolveArgs, reserved_2)

enum { MLS_TIER_MODEL = 0, MLS_TIER_SOLVER = 1, MLS_TIER_OPTIMIZER = 2 };
enum { MLS_RESOLVER_DETERMINISTIC = 1 };
/* How many instances there may be at a time (since 1.2): any number; one in a process; one on the machine. */
enum { MLS_OWN_SHARED = 0, MLS_OWN_EXCLUSIVE_PROCESS = 1, MLS_OWN_EXCLUSIVE_SYSTEM = 2 };

typedef struct MlsResolver {
  MLS_HEAD;
  int32_t tier;
  uint32_t flags;
  MlsString name; /* "namespace/Name" */
  MlsString summary;
  MlsString version;
  MlsString law;    /* the equation as text; may be empty */
  MlsString source; /* citation; may be empty */
  const MlsField* inputs;
  uint64_t input_count;
  const MlsField* outputs;
  uint64_t output_count;
  const MlsField* options;
  uint64_t option_count;
  const void* user;
  MlsError* (*create)(MlsCreateArgs* args);                /* null: no instance is needed */
  void (*destroy)(const MlsHostApi* host, void* instance); /* null is a legal instance */
  MlsError* (*solve)(MlsSolveArgs* args);
  /* Since 1.2. The host keeps to `ownership`: `create` is not called while somebody else holds `resource`. */
  int32_t ownership;
  int32_t reserved_2;
  MlsString resource; /* what an exclusive instance holds, e.g. "acme-npu-0"; resolvers that name the same one
                         exclude each other; empty: the resolver itself */
  MlsError* (*can_create)(
      MlsCreateArgs* args); /* whether `create` would succeed; changes nothing; null: it would */
} MlsResolver;
MLS_LAST_MEMBER(MlsResolver, can_create);
#define MLS_RESOLVER_SIZE_1_0 MLS_SIZE_THROUGH(MlsResolver, solve)
#define MLS_RESOLVER_SIZE_1_2 MLS_SIZE_THROUGH(MlsResolver, can_create)

/* ---- callbacks: watching the runs of pipelines ---- */
enum {
  MLS_EVENT_PIPELINE_START = 0,
  MLS_EVENT_PIPELINE_END = 1,
  MLS_EVENT_STAGE_START = 2,
  MLS_EVENT_STAGE_END = 3,
  MLS_EVENT_STAGE_SKIPPED = 4,
  MLS_EVENT_STAGE_ERROR = 5,
  MLS_EVENT_STAGE_INFEASIBLE = 6
};

typedef struct MlsEvent {
  MLS_HEAD;
  const MlsHostApi* host;
  const void* user; /* of the MlsCallback */
  int32_t kind;
  int32_t reserved_2;
  MlsString pipeline;
  MlsString stage;
  MlsString resolver;
  MlsString reason;        /* of a skip, an error or infeasibility */
  double seconds;          /* of an end */
  const MlsNamed* results; /* of a stage's end, in canonical units */
  uint64_t result_count;
} MlsEvent;
MLS_LAST_MEMBER(MlsEvent, result_count);
#define MLS_EVENT_SIZE_1_0 MLS_SIZE_THROUGH(MlsEvent, result_count)

/* A stage without a full answer (since 1.3). It follows the error or the infeasibility that it is of. */
typedef struct MlsBreak {
  MLS_HEAD;
  const MlsHostApi* host;
  const void* user; /* of the MlsCallback */
  MlsString pipeline;
  MlsString stage;
  MlsString resolver;
  MlsString id;       /* "MB007": never used for anything else */
  MlsString reason;   /* "infeasible_memory": one of a closed list, which may grow */
  MlsString severity; /* "error": there is no answer; "degraded": there is one, but not the full one */
  MlsString text;     /* message of the stage */
  MlsString hint;
} MlsBreak;
MLS_LAST_MEMBER(MlsBreak, hint);
#define MLS_BREAK_SIZE_1_3 MLS_SIZE_THROUGH(MlsBreak, hint)

/* How far a sweep, an optimization or a front is (since 1.3), whose `done` is `total` once, at the end; or
 * the search of a stage of a pipeline, whose title is the stage and whose total is 0, not known. */
typedef struct MlsSweep {
  MLS_HEAD;
  const MlsHostApi* host;
  const void* user; /* of the MlsCallback */
  MlsString title;  /* name of the sweep */
  double done;      /* points */
  double total;
  double seconds_left; /* an estimate */
} MlsSweep;
MLS_LAST_MEMBER(MlsSweep, seconds_left);
#define MLS_SWEEP_SIZE_1_3 MLS_SIZE_THROUGH(MlsSweep, seconds_left)

/* At least one slot is no null; `on_event` must be given to hosts before 1.3. */
typedef struct MlsCallback {
  MLS_HEAD;
  MlsString name; /* "namespace/Name" */
  MlsString summary;
  const void* user;
  MlsError* (*on_event)(const MlsEvent* event);
  /* Since 1.3. */
  MlsError* (*on_break)(const MlsBreak* event);
  MlsError* (*on_sweep)(const MlsSweep* event); /* from any thread of the sweep, one call at a time */
} MlsCallback;
MLS_LAST_MEMBER(MlsCallback, on_sweep);
#define MLS_CALLBACK_SIZE_1_0 MLS_SIZE_THROUGH(MlsCallback, on_event)
#define MLS_CALLBACK_SIZE_1_3 MLS_SIZE_THROUGH(MlsCallback, on_sweep)

/* ---- backends: does a device run a program, and how fast (since 1.1) ---- */
typedef struct MlsOp {
  MLS_HEAD;
  MlsString name;      /* "qkv_projection", "stablehlo.dot_general" */
  MlsString kind;      /* "matmul", "attention", "elementwise", "gather", "convolution", "recurrence",
                          "collective", ... */
  MlsString precision; /* "bf16"; empty: as the program's */
  MlsString location;  /* where it stands in its file; may be empty */
  double count;        /* how often it runs */
  double work;         /* FLOP of one execution */
  double traffic;      /* bytes of one execution */
} MlsOp;
MLS_LAST_MEMBER(MlsOp, traffic);
#define MLS_OP_SIZE_1_1 MLS_SIZE_THROUGH(MlsOp, traffic)

typedef struct MlsProgram {
  MLS_HEAD;
  MlsString name;
  MlsString format;    /* "operators", or "stablehlo:1.9.0": the representation and its version */
  MlsString precision; /* of its values where an operator says nothing */
  const MlsOp* ops;
  uint64_t op_count;
  double memory; /* bytes that it needs on one device; 0: not known */
} MlsProgram;
MLS_LAST_MEMBER(MlsProgram, memory);
#define MLS_PROGRAM_SIZE_1_1 MLS_SIZE_THROUGH(MlsProgram, memory)

enum { MLS_VERDICT_NO = 0, MLS_VERDICT_YES = 1, MLS_VERDICT_MAYBE = 2 };
/* What is looked at: names; and attributes; and types and shapes; and context; and a trial rewrite. */
enum {
  MLS_EFFORT_NAMES = 0,
  MLS_EFFORT_ATTRIBUTES = 1,
  MLS_EFFORT_TYPES = 2,
  MLS_EFFORT_CONTEXT = 3,
  MLS_EFFORT_REWRITE = 4
};
/* Aggressive: an operator that an optimiser could drop counts as fine. */
enum { MLS_MODE_CONSERVATIVE = 0, MLS_MODE_AGGRESSIVE = 1 };
enum {
  MLS_REASON_UNKNOWN_OP = 0,
  MLS_REASON_TYPE = 1,
  MLS_REASON_DYNAMIC_SHAPE = 2,
  MLS_REASON_ATTRIBUTE = 3,
  MLS_REASON_CUSTOM_CALL = 4,
  MLS_REASON_MEMORY = 5,
  MLS_REASON_VERSION = 6,
  MLS_REASON_OTHER = 7
};

typedef struct MlsReason {
  MLS_HEAD;
  int32_t code;
  int32_t reserved_2;
  MlsString op;       /* name of the operator, or of the missing thing */
  MlsString location; /* of the first one */
  MlsString hint;     /* may be empty */
  double count;       /* how many there are */
} MlsReason;
MLS_LAST_MEMBER(MlsReason, count);
#define MLS_REASON_SIZE_1_1 MLS_SIZE_THROUGH(MlsReason, count)

typedef struct MlsSupportArgs {
  MLS_HEAD;
  const MlsHostApi* host;
  const void* user; /* of the MlsBackend */
  MlsCall* call;    /* for host->reason; every operator that is not supported gets one */
  const MlsProgram* program;
  MlsString device; /* one of the backend's */
  int32_t effort;   /* the requested effort */
  int32_t mode;
  int32_t verdict;     /* out */
  int32_t effort_used; /* out: at most the highest that the backend has */
} MlsSupportArgs;
MLS_LAST_MEMBER(MlsSupportArgs, effort_used);
#define MLS_SUPPORT_ARGS_SIZE_1_1 MLS_SIZE_THROUGH(MlsSupportArgs, effort_used)

typedef struct MlsBackend {
  MLS_HEAD;
  MlsString name; /* "namespace/Name" */
  MlsString summary;
  const MlsString* devices; /* names of entries of the zoo */
  uint64_t device_count;
  const void* user;
  MlsError* (*query_support)(MlsSupportArgs* args); /* touches no device, network or file */
  const MlsResolver* predict; /* a model; becomes a resolver like any other; may be null */
  int32_t max_effort;
  int32_t reserved_2;
} MlsBackend;
MLS_LAST_MEMBER(MlsBackend, reserved_2);
#define MLS_BACKEND_SIZE_1_1 MLS_SIZE_THROUGH(MlsBackend, reserved_2)

/* ---- importers and exporters (since 1.1) ---- */
typedef struct MlsConvertArgs {
  MLS_HEAD;
  const MlsHostApi* host;
  const void* user;        /* of the MlsConverter */
  MlsCall* call;           /* for host->keep */
  MlsString file;          /* of an import: its name, for messages */
  MlsString input;         /* of an import: its bytes, any */
  const MlsObject* object; /* of an export */
  MlsString output;        /* out, kept with host->keep: the text of a zoo file, or of the export */
} MlsConvertArgs;
MLS_LAST_MEMBER(MlsConvertArgs, output);
#define MLS_CONVERT_ARGS_SIZE_1_1 MLS_SIZE_THROUGH(MlsConvertArgs, output)

enum { MLS_IMPORTER = 0, MLS_EXPORTER = 1 };
typedef struct MlsConverter {
  MLS_HEAD;
  MlsString name; /* "namespace/Name" */
  MlsString summary;
  MlsString format; /* "csv": what it reads or writes. An importer whose format is an ending, ".acmeops",
                       reads files of that ending wherever a model is named */
  const void* user;
  MlsError* (*convert)(MlsConvertArgs* args);
  int32_t direction;
  int32_t reserved_2;
} MlsConverter;
MLS_LAST_MEMBER(MlsConverter, reserved_2);
#define MLS_CONVERTER_SIZE_1_1 MLS_SIZE_THROUGH(MlsConverter, reserved_2)

/* ---- services of the host; the first argument is the host's table ---- */
enum { MLS_LOG_DEBUG = 0, MLS_LOG_INFO = 1, MLS_LOG_WARNING = 2, MLS_LOG_ERROR = 3 };

struct MlsHostApi {
  MLS_HEAD;
  uint32_t abi_major, abi_minor;
  MlsString host_version;
  void (*log)(const MlsHostApi*, int32_t level, MlsString text);
  void* (*allocate)(const MlsHostApi*, uint64_t size); /* null when there is none */
  void (*release)(const MlsHostApi*, void* memory);    /* null is legal */
  /* Errors: "what failed; value seen; value wanted; what to do". */
  MlsError* (*error_create)(const MlsHostApi*, MlsStatus code, MlsString message);
  void (*error_add)(const MlsHostApi*, MlsError*, MlsString key, MlsString value);
  MlsStatus (*error_code)(const MlsHostApi*, const MlsError*);
  MlsString (*error_message)(const MlsHostApi*, const MlsError*); /* lives as long as the error */
  void (*error_destroy)(const MlsHostApi*, MlsError*);            /* null is legal */
  /* Only inside register_all. If one registration is refused, nothing of the plugin is registered. */
  MlsError* (*add_resolver)(const MlsHostApi*, MlsRegistration*, const MlsResolver*);
  MlsError* (*add_unit)(const MlsHostApi*, MlsRegistration*, const MlsUnit*);
  MlsError* (*add_zoo)(const MlsHostApi*, MlsRegistration*, MlsString name,
                       MlsString yaml); /* text of a zoo file */
  MlsError* (*add_callback)(const MlsHostApi*, MlsRegistration*, const MlsCallback*);
  /* The zoo, and parameters of objects. Paths are those of the zoo's files: "memory.bandwidth",
   * "compute.dense.fp16". Further paths are "compute.peak_flops" and "size" (of weights, fp16). Numbers come
   * in base units, which `text` names. An unknown parameter is MLS_NONE. A path that does not exist gives
   * MLS_NOT_FOUND. */
  MlsError* (*zoo_count)(const MlsHostApi*, MlsString type, uint64_t* count);
  MlsError* (*zoo_at)(const MlsHostApi*, MlsString type, uint64_t index, const MlsObject** object);
  MlsError* (*zoo_find)(const MlsHostApi*, MlsString type, MlsString name, const MlsObject** object);
  MlsError* (*object_field)(const MlsHostApi*, const MlsObject*, MlsString path, MlsValue* value);
  MlsError* (*object_read)(const MlsHostApi*, const MlsObject*, void* user,
                           MlsVisit visit); /* every known parameter */
  MlsError* (*convert)(const MlsHostApi*, double number, MlsString from, MlsString to, double* result);
  /* During a call of a resolver. */
  MlsString (*keep)(const MlsHostApi*, MlsCall*, MlsString text); /* a copy that lives until the call's end */
  void (*assume)(const MlsHostApi*, MlsCall*, MlsString name, MlsString value, MlsString source);
  void (*warn)(const MlsHostApi*, MlsCall*, MlsString text);
  void (*infeasible)(const MlsHostApi*, MlsCall*, MlsString reason, MlsString smallest_change);
  /* Evaluates a model of the host or of another plugin. A model may not call solvers and optimizers. */
  MlsError* (*evaluate)(const MlsHostApi*, MlsCall*, MlsString resolver, const MlsNamed* inputs,
                        uint64_t count, void* user, MlsVisit visit);
  int32_t (*cancel_requested)(const MlsHostApi*, MlsCall*);
  /* Since 1.1: a plugin that uses these sets needs_host_minor to 1, or looks at struct_size first. */
  MlsError* (*add_backend)(const MlsHostApi*, MlsRegistration*, const MlsBackend*);
  MlsError* (*add_converter)(const MlsHostApi*, MlsRegistration*, const MlsConverter*);
  MlsError* (*reason)(const MlsHostApi*, MlsCall*, const MlsReason*); /* inside query_support */
};
MLS_LAST_MEMBER(MlsHostApi, reason);
#define MLS_HOST_API_SIZE_1_0 MLS_SIZE_THROUGH(MlsHostApi, cancel_requested)
#define MLS_HOST_API_SIZE_1_1 MLS_SIZE_THROUGH(MlsHostApi, reason)

/* ---- the plugin's table ---- */
enum { MLS_THREAD_SERIAL = 0, MLS_THREAD_SAFE = 1, MLS_THREAD_MAIN_ONLY = 2 };
enum { MLS_PLUGIN_FORK_SAFE = 1, MLS_PLUGIN_UNLOADABLE = 2 };

typedef struct MlsPluginApi {
  MLS_HEAD;
  uint32_t abi_major, abi_minor; /* MLS_ABI_MAJOR, MLS_ABI_MINOR of the header it was compiled with */
  uint32_t needs_host_minor;     /* the smallest minor of the host that it can live with */
  uint32_t flags;
  int32_t threads; /* how the host may call it */
  int32_t reserved_2;
  MlsString name; /* "acme-power": letters, digits, '-', '_' */
  MlsString version;
  MlsString summary;
  MlsString license;
  const MlsNamed* attributes; /* facts for `plugin caps`; may be null when the count is 0 */
  uint64_t attribute_count;
  MlsError* (*initialize)(const MlsHostApi* host); /* once, before anything else; null: nothing to do */
  MlsError* (*register_all)(const MlsHostApi* host, MlsRegistration* registration);
  int32_t (*has_feature)(MlsString feature); /* 0 for names it does not know */
  void (*shutdown)(void);                    /* once, after everything else */
} MlsPluginApi;
MLS_LAST_MEMBER(MlsPluginApi, shutdown);
#define MLS_PLUGIN_API_SIZE_1_0 MLS_SIZE_THROUGH(MlsPluginApi, shutdown)

/// The only exported symbol of a plugin; the same pointer on every call, from any thread.
MLS_EXPORT const MlsPluginApi* mlsysim_get_plugin_api(void);

#ifdef __cplusplus
}
#endif
