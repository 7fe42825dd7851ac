// Commands for what compilers of models leave behind.

#include "commands_compile.hpp"
#include "program.hpp"

#include <memory>

namespace mlsysim::cli {

void Program::compile_commands() {
  auto* c = command(
      app_, "compile", "graph breaks, compile times and what they cost",
      "Examples:\n  mlsysim compile ingest trace_logs/\n  mlsysim compile ingest explain.json --by place",
      {});
  const auto asked = std::make_shared<IngestRequest>();
  auto* i = command(
      *c, "ingest",
      "read explain documents, texts and pickles of torch._dynamo.explain, and TORCH_TRACE logs of all ranks",
      "Folders are read with all files in them; the folder below the one that is named is the family of a "
      "model.\n"
      "Examples:\n  mlsysim compile ingest dedicated_log_torch_trace_rank_0_abc.log.gz\n"
      "  mlsysim compile ingest runs/ --by place -o csv\n"
      "  mlsysim compile ingest explain.txt --model bert-tiny --document > explain.json\n"
      "Exit codes: 0 fine, 1 a file is none of these or, with --strict, damaged.",
      [this, asked] { return compile_ingest(*asked, render_); });
  i->add_option("PATH", asked->paths, "files and folders")->required()->type_name("");
  i->add_option("--by", asked->by, "how breaks are put together: type or place")
      ->type_name("NAME")
      ->check(CLI::IsMember({"type", "place"}))
      ->capture_default_str();
  i->add_option("--family", asked->how.family, "of models that do not say theirs")->type_name("NAME");
  i->add_option("--model", asked->how.model, "of files that do not say theirs")->type_name("NAME");
  i->add_option("--commit", asked->how.commit, "of the code that was compiled")->type_name("NAME");
  i->add_option("--registry", asked->how.registry, "graph_break_registry.json of another PyTorch")
      ->type_name("FILE");
  i->add_flag("--strict", asked->strict, "refuse what is damaged, instead of counting it");
  i->add_flag("--keep-duplicates", asked->keep_duplicates, "count files with the same content each time");
  i->add_flag("--document", asked->document, "write the one record as an explain document (JSON)");
}

}  // namespace mlsysim::cli
