#include <mlsysim/ops/graph_breaks/ingest.hpp>

namespace mlsysim {

std::string explain_schema() {
  return R"({
  "$schema": "http://json-schema.org/draft-07/schema#",
  "title": "what torch._dynamo.explain says of one model",
  "type": "object",
  "required": ["schema", "model", "status", "graph_count", "graph_break_count", "op_count", "breaks"],
  "properties": {
    "schema": {"const": "mlsysim.dynamo_explain/1"},
    "producer": {"type": "object", "properties": {"tool": {"type": "string"}, "torch": {"$ref": "#/definitions/text"},
      "python": {"type": "string"}, "transformers": {"$ref": "#/definitions/text"}, "platform": {"type": "string"}}},
    "model": {"type": "object", "required": ["name"], "properties": {"family": {"$ref": "#/definitions/text"},
      "name": {"$ref": "#/definitions/text"}, "revision": {"$ref": "#/definitions/text"},
      "commit": {"$ref": "#/definitions/text", "description": "of the code that was compiled"},
      "reduced": {"type": "object", "description": "sizes that were cut: what the configuration states, and what was built",
        "additionalProperties": {"type": "array", "items": {"$ref": "#/definitions/count"}, "minItems": 2, "maxItems": 2}}}},
    "input": {"type": "object", "properties": {"args": {"type": "array", "items": {"type": "object",
      "required": ["name", "dtype", "shape"], "properties": {"name": {"type": "string"}, "dtype": {"type": "string"},
      "shape": {"type": "array", "items": {"$ref": "#/definitions/count"}}}}}}},
    "status": {"enum": ["ok", "failed", "skipped"]},
    "error": {"$ref": "#/definitions/text"},
    "graph_count": {"$ref": "#/definitions/count"},
    "graph_break_count": {"$ref": "#/definitions/count", "description": "as the compiler counts, which may be more than it lists"},
    "op_count": {"$ref": "#/definitions/count"},
    "graphs": {"type": "array", "items": {"type": "object", "required": ["ops", "op_count"], "properties": {
      "index": {"$ref": "#/definitions/count"}, "op_count": {"$ref": "#/definitions/count"},
      "code": {"$ref": "#/definitions/text"},
      "ops": {"type": "array", "items": {"type": "object", "required": ["name", "count"],
        "properties": {"name": {"type": "string"}, "count": {"$ref": "#/definitions/count"}}}}}}},
    "breaks": {"type": "array", "items": {"type": "object", "required": ["type", "stack"], "properties": {
      "index": {"$ref": "#/definitions/count"},
      "gb_id": {"anyOf": [{"type": "null"}, {"type": "string", "pattern": "^GB[0-9]+$"}]},
      "type": {"type": "string"},
      "reason": {"type": "string", "description": "the whole text"},
      "explanation": {"type": "string"},
      "hints": {"type": "array", "items": {"type": "string"}},
      "hint_class": {"$ref": "#/definitions/text"},
      "context": {"type": "string"},
      "graph_break": {"type": "boolean"},
      "count": {"$ref": "#/definitions/count", "description": "of equal breaks; 1 where it is left out"},
      "stack": {"type": "array", "description": "outermost first", "items": {"type": "object",
        "required": ["file", "line", "function"], "properties": {
          "file": {"type": "string", "description": "below its package folder"},
          "line": {"$ref": "#/definitions/count"}, "function": {"type": "string"},
          "code": {"$ref": "#/definitions/text"}}}}}}},
    "unlisted_breaks": {"$ref": "#/definitions/count"},
    "guards": {"type": "object", "required": ["count"], "properties": {"count": {"$ref": "#/definitions/count"},
      "by_type": {"type": "object", "additionalProperties": {"$ref": "#/definitions/count"}}}},
    "compile_times": {"type": "object", "properties": {"unit": {"enum": ["s", "ms", "us"]},
      "total": {"type": "number", "minimum": 0},
      "phases": {"type": "object", "additionalProperties": {"type": "array", "items": {"type": "number"}}}}}
  },
  "definitions": {
    "text": {"type": ["string", "null"]},
    "count": {"type": "integer", "minimum": 0}
  }
}
)";
}

}  // namespace mlsysim
