#pragma once
// The data of one run: one block of memory for all structs, and one slot of bookkeeping per stage.

#include "graph.hpp"

#include <mlsysim/pipeline/run.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mlsysim {

struct Run::State {
  explicit State(const Pipeline& p);
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State();

  struct Slot {
    std::byte* in = nullptr;
    std::byte* out = nullptr;
    StageStatus status = StageStatus::waiting;
    bool dirty = true;
    bool loose = true;  // given values or followed objects must be written again
  };
  // Data of a warm run: the graph's facts with the addresses of this run, packed. `Copy` moves one bare
  // number.
  struct Copy {
    const double* from;  // members of the structs of two stages
    double* to;
    double low, high;  // closed
    const FieldInfo* target;
  };
  struct Hot {
    const Resolver* resolver;
    std::uint32_t copies, copies_end;        // in `copies`
    std::uint32_t consumers, consumers_end;  // in `indices`
    std::uint32_t numbers, numbers_end;      // in `indices`: offsets of result numbers
    bool plain;  // nothing but bare numbers comes in, and nobody follows objects from it
  };
  struct Value {
    DynamicValue value;
    bool set = false;
  };
  // Details of a stage that failed, was skipped or is infeasible; empty and untouched otherwise.
  struct Trouble {
    Infeasible why;
    std::string reason;
    std::exception_ptr error;
  };

  void execute(const RunOptions& options);
  void require_values() const;
  void run_in_order(const RunOptions& options);
  void run_in_waves(const RunOptions& options);

  // Writes the inputs that a callback may read before the stage runs; what is wrong with them `attempt`
  // tells.
  void show_inputs(std::size_t i);
  // Whether all that an input may come from is there.
  [[nodiscard]] bool is_ready(const detail::PipelineInput& input) const;
  // Copies inputs, solves, and says how it ended. What a stage throws lands in `trouble`.
  StageStatus attempt(std::size_t i, SolveContext& context);
  // The last upstream stage that has no result, or kNone.
  [[nodiscard]] std::size_t blocker(std::size_t i) const;
  // Runs warm stages from `i` on, as long as nothing but numbers has to be moved and all goes well; gives the
  // first stage that wants care. That stage is done again by `attempt`: stages are deterministic.
  std::size_t sweep(std::size_t i);
  void copy_edges(const detail::PipelineStage& stage, Slot& slot);
  void heat();  // fills `hot`
  void set_status(Slot& slot, StageStatus status);
  void write_loose(const detail::PipelineStage& stage, Slot& slot);
  void write_one(const detail::PipelineStage& stage, Slot& slot, const detail::PipelineInput& input);
  [[nodiscard]] DynamicValue fetch(const detail::PipelineSource& source) const;
  void settle(std::size_t i, StageStatus status);
  void skip(std::size_t i, std::size_t because, const RunOptions& options);
  void observed(std::size_t i, SolveContext& context, const RunOptions& options);
  template <class F> void tell(const RunOptions& options, const char* event, F&& call);
  // The inputs of a stage that nothing was given for, as notes.
  [[nodiscard]] NoteBook defaults_of(std::size_t i) const;
  // @param notes of the stage; where it is ok, each of its warnings that is no remark is a break
  void tell_end(std::size_t i, double seconds, const NoteBook& notes, const RunOptions& options);
  [[nodiscard]] StageEvent event_of(std::size_t i) const;

  Pipeline pipeline;
  const detail::PipelineGraph& graph;
  Run* self = nullptr;  // where events point; set by each execution
  std::byte* memory = nullptr;
  std::size_t memory_alignment = alignof(std::max_align_t);
  std::size_t constructed = 0;  // stages whose structs are alive
  std::vector<Slot> slots;
  std::vector<Hot> hot;
  std::vector<Copy> copies;
  std::vector<std::uint32_t> indices;
  std::size_t not_ok = 0;  // stages that are infeasible, skipped or failed: while 0, nobody can be blocked
  std::vector<Value> values;
  std::vector<Trouble> trouble;
  SolveContext context;
  NoteBook heard;                             // of the stage that runs, while somebody watches
  std::vector<std::optional<NoteBook>> kept;  // of stages that ran while notes were wanted
  PipelineReport report;
  std::size_t failed = detail::kNone;  // first stage that threw in this execution
  std::size_t broken = detail::kNone;  // the one that ended it, where it is to fail fast
  bool cancelled = false;
};

}  // namespace mlsysim
