#pragma once
/// Assignments of a course: which there are, files to begin with, grading.

#include "cli/commands.hpp"

#include <string>
#include <vector>

namespace mlsysim::cli {

struct CourseRequest {
  std::string folder;                ///< of the submission; of `new`, where to
  std::vector<std::string> folders;  ///< of `check`: one submission, or those of a class
  std::string assignment;            ///< of `new`
  std::string course;                ///< folder of the course; found where it is empty
  std::string language = "cpp";
  std::string library;  ///< a plugin that is built already
  std::string python;   ///< the interpreter
  bool loaded = false;  ///< resolvers are there already; what the Python part asks for
};

/// The assignments of a course. @throws InputError
[[nodiscard]] Answer course_list(const CourseRequest& request, const RenderOptions& options);
/// Files to begin with. @throws InputError, LookupError
[[nodiscard]] Answer course_new(const CourseRequest& request);
/// Builds or imports a submission, and grades it; of several folders, each in a process of its own, a table.
/// Exit code 3 where a check fails, 1 where something is not graded. With JSON the answer then holds the
/// error.
/// @throws Error, but not with JSON
[[nodiscard]] Answer course_check(const CourseRequest& request, const RenderOptions& options);

}  // namespace mlsysim::cli
