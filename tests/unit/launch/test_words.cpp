// What a launch says before anybody asks what it means: words of a shell, keys of files.
#include <support/catch.hpp>

#include <launch/detail/source.hpp>

using namespace mlsysim;
using namespace mlsysim::detail;
using Catch::Matchers::Contains;

namespace {

std::vector<std::string> words(std::string_view text) {
  std::vector<std::string> out;
  for (const auto& command : split_shell(text, "test").commands)
    for (const auto& word : command) out.push_back(word.text);
  return out;
}
template <class F> std::string refusal(F&& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

}  // namespace

TEST_CASE("words are split as a shell splits them", "[launch]") {
  CHECK(words("vllm serve 'a b' \"c d\" e\\ f") ==
        std::vector<std::string>{"vllm", "serve", "a b", "c d", "e f"});
  CHECK(words("a \\\n  -b # not c\n") == std::vector<std::string>{"a", "-b"});
  CHECK(words("a > log.txt 2>&1 &") == std::vector<std::string>{"a"});
  CHECK(words("a --x '{\"k\": 1}'") == std::vector<std::string>{"a", "--x", "{\"k\": 1}"});
  CHECK(words("").empty());
}

TEST_CASE("variables stand for what the text assigns and for nothing else", "[launch]") {
  CHECK(words("TP=8 run $TP ${TP} ${TP:-4} ${PP:-2} $OTHER") ==
        std::vector<std::string>{"run", "8", "8", "8", "2", "$OTHER"});
  CHECK(words("HOME=x; run \"$HOME\" '$HOME'") == std::vector<std::string>{"run", "x", "$HOME"});
  CHECK(words("run $PATH $(rm -rf x) `date`") ==
        std::vector<std::string>{"run", "$PATH", "$(rm -rf x)", "`date`"});
  CHECK(words("A=(--x 1\n  \"--y 2\")\nrun ${A[@]}") ==
        std::vector<std::string>{"run", "--x", "1", "--y", "2"});
}

TEST_CASE("options of Slurm are the variables that it makes of them", "[launch]") {
  CHECK(words("#!/bin/bash\n#SBATCH --nodes=4\n#SBATCH -n 32\na $SLURM_NNODES ${SLURM_JOB_NUM_NODES} "
              "$SLURM_NTASKS") == std::vector<std::string>{"a", "4", "4", "32"});
  CHECK(words("#SBATCH --nodes=4 # so many\n#SBATCH --time=10:00\na $SLURM_NNODES") ==
        std::vector<std::string>{"a", "4"});
  CHECK(words("a $SLURM_NNODES") == std::vector<std::string>{"a", "$SLURM_NNODES"});
  CHECK(words("#SBATCH --exclusive -N 2 --gpus-per-node=h100:8 # -n 9\na $SLURM_NNODES $SLURM_GPUS_PER_NODE "
              "$SLURM_NTASKS") == std::vector<std::string>{"a", "2", "8", "$SLURM_NTASKS"});
}

TEST_CASE("assignments of a configuration are read, not run", "[launch]") {
  const auto script = split_shell(
      "export DGXNNODES=8\n: \"${MINIBS:=2}\"\nexport W=$(( 3 * 4 ))\nexport X=$(date)\nsource other.sh\n",
      "c.sh");
  REQUIRE(script.assignments.size() == 4);
  CHECK(script.assignments[0].first == "DGXNNODES");
  CHECK(script.assignments[1].second.text == "2");
  CHECK(script.assignments[2].second.text == "12");
  CHECK(script.assignments[2].second.line == 3);
  CHECK(script.assignments[3].second.text == "$(date)");
}

TEST_CASE("numbers of whole numbers that are known are computed, and nothing else", "[launch]") {
  const std::map<std::string, std::string> known{{"N", "4"}, {"G", "8"}, {"WORD", "four"}, {"OCTAL", "010"}};
  const auto value = [&](std::string_view text) { return arithmetic(text, known).value_or("?"); };
  CHECK(value("N * G") == "32");
  CHECK(value(" ($N+1) * ${G} - 6/4 ") == "39");
  CHECK(value("G % 3") == "2");
  for (const auto* text : {"", "N *", "(N", "N / 0", "M + 1", "WORD", "OCTAL", "N ** 2", "N = 3",
                           "$(nproc) * 2", "1000000 * 1000000", "${N:-2}"})
    CHECK(value(text) == "?");
  CHECK(value(std::string(1000, '(')) == "?");
}

TEST_CASE("a text that does not end, or grows without end, is refused", "[launch]") {
  CHECK_THAT(refusal([] { (void)split_shell("a 'b", "s.sh"); }),
             Contains("launch.002") && Contains("line 1"));
  CHECK_THAT(refusal([] { (void)split_shell("A=(b", "s.sh"); }), Contains("an array is not closed"));
  CHECK_THAT(refusal([] { (void)split_shell("A=(b \"c ${A[@]} d", "s.sh"); }),
             Contains("a quote is not closed"));
  std::string doubling = "A=0123456789\n";
  for (int i = 0; i < 40; ++i) doubling += "A=$A$A\n";
  CHECK_THAT(refusal([&] { (void)split_shell(doubling, "s.sh"); }), Contains("launch.019"));
}

TEST_CASE("keys of YAML, JSON and TOML are leaves with their path and line", "[launch]") {
  const auto yaml = flatten_yaml("a:\n  b: 1\n  c: [x, z]\nd: null\n", "f.yaml");
  REQUIRE(yaml.size() == 3);
  CHECK(yaml[0].key == "a.b");
  CHECK(yaml[1].value == "x,z");
  CHECK(yaml[1].where.line == 3);
  const auto json = flatten_yaml(R"({"a":{"b":5e8,"c":"auto"},"d":true})", "f.json");
  REQUIRE(json.size() == 3);
  CHECK(json[0].value == "5e8");
  const auto toml = flatten_toml("x = 1\n[t.u] # table\ny = \"a # b\"\nz = [1,\n  2]\nn = 1_000\n", "f.toml");
  REQUIRE(toml.size() == 4);
  CHECK(toml[1].key == "t.u.y");
  CHECK(toml[1].value == "a # b");
  CHECK(toml[2].value == "1,2");
  CHECK(toml[3].value == "1000");
  CHECK_THAT(refusal([] { (void)flatten_toml("a\n", "f.toml"); }),
             Contains("f.toml:1") && Contains("launch.009"));
  CHECK_THAT(refusal([] { (void)flatten_toml("a = {b = 1}\n", "f.toml"); }), Contains("launch.009"));
}
