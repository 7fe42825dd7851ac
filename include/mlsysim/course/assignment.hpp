#pragma once
/// Assignments and submissions of a course, read from YAML.
///
/// An assignment is a folder with `checks.yaml` (schema mlsysim/assignment@1), a statement and files to start
/// from. A submission is a folder with `submission.yaml` (schema mlsysim/submission@1) with assignment and
/// language.
/// Example: a check with `run: BandwidthForLatency`, `target_latency: 10 ms` and `expect: {required_bw: 16 GB
/// / 10 ms}` passes when the student's solver returns 1.6 TB/s.

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace mlsysim::course {

/// A name and a text, in the order of the file.
using NamedTexts = std::vector<std::pair<std::string, std::string>>;

/// One check: a call of one resolver, or of several as a pipeline, and the expected outcome.
struct CheckSpec {
  std::string name;                     ///< says what is right when it passes
  std::vector<std::string> stages;      ///< names of resolvers, without the space
  NamedTexts inputs;                    ///< as on the command line; a path is relative to the assignment
  NamedTexts expect;                    ///< results and what they are, as expressions of numbers with units
  NamedTexts times;                     ///< factors on inputs, for `gives`
  NamedTexts gives;                     ///< factors on results when the inputs are multiplied by `times`
  std::string tier;                     ///< "model", "solver" or "optimizer" of the resolver; empty: any
  std::vector<std::string> refuses;     ///< words of the error that must come; empty: none may
  std::vector<std::string> infeasible;  ///< words of the reason why there is no result; empty: there is one
  bool kit = false;                     ///< the kit of plugins or packages is to pass
  double tolerance = 1e-6;              ///< relative
  double points = 1;
  std::string hint;  ///< what to look at when it fails
};

struct Assignment {
  std::filesystem::path folder;
  std::string name, title;
  std::string space = "course";  ///< of the resolvers where they come from a plugin: course/NAME
  std::vector<CheckSpec> checks;
};

/// A folder that is to be graded.
struct Submission {
  std::filesystem::path folder;
  std::string assignment;  ///< name of the assignment, which is that of its folder
  std::string language;    ///< "cpp" or "python"
  std::string file;        ///< of Python: the module; of C++: the source
};

/// Reads FOLDER/checks.yaml. @throws InputError with the place, ErrorList
[[nodiscard]] Assignment read_assignment(const std::filesystem::path& folder);
/// Reads FOLDER/submission.yaml. @throws InputError with the place, ErrorList
[[nodiscard]] Submission read_submission(const std::filesystem::path& folder);
/// The folders with a checks.yaml below a course, by name. @throws InputError where there is none
[[nodiscard]] std::vector<std::filesystem::path> assignments_of(const std::filesystem::path& course);
/// The course that a submission belongs to: `given` unless it is empty, else the nearest folder above the
/// submission that has the assignment, else `installed`. @throws LookupError where none has it
[[nodiscard]] std::filesystem::path course_of(const Submission& submission,
                                              const std::filesystem::path& given,
                                              const std::filesystem::path& installed);

}  // namespace mlsysim::course
