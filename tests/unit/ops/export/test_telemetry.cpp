// What watching systems are given.

#include "support/catch.hpp"

#include <mlsysim/ops/export/compile_metrics.hpp>
#include <mlsysim/ops/export/push.hpp>
#include <mlsysim/units/error.hpp>

#include <nlohmann/json.hpp>

#include <random>

using namespace mlsysim;

namespace {

CompileRecords samples() {
  const std::string folder = MLSYSIM_COMPILE_DATA;
  return ingest({folder + "/break_reasons_mms_tts_rus.pkl", folder + "/tlparse_artifacts.log"},
                {.family = "Audio", .commit = "abc"});
}
MetricFamily gauge(std::vector<MetricSample> samples) {
  return {"a_gauge", "A gauge.", MetricType::gauge, std::move(samples)};
}

}  // namespace

TEST_CASE("breaks are counted by reason, and a model without any has a sample of 0", "[telemetry]") {
  const auto text = prometheus_text(compile_metrics(samples(), Aliases::compile_breaks));
  CHECK(text.find(
            "compile_breaks_total{commit=\"abc\",model=\"break_reasons_mms_tts_rus\",reason=\"Dynamic shape "
            "operator\"} 7\n") != std::string::npos);
  CHECK(text.find("compile_breaks_total{commit=\"abc\",model=\"tlparse_artifacts\",reason=\"none\"} 0\n") !=
        std::string::npos);
  CHECK(text.find("# TYPE mlsysim_compile_breaks_total counter\n") != std::string::npos);
  CHECK(text.ends_with('\n'));
}

TEST_CASE("labels hold whatever they are given", "[telemetry]") {
  const auto text = prometheus_text({gauge({{{{"a", "x\\y\"z\nw{}=,\t\r"}}, 1.5, {}}})});
  CHECK(text.find("a_gauge{a=\"x\\\\y\\\"z\\nw{}=,\t\r\"} 1.5\n") != std::string::npos);
  CHECK(label_value("\xff"
                    "a\xc3\xa9\xc0\x80") ==
        "\xEF\xBF\xBD"
        "a\xc3\xa9\xEF\xBF\xBD\xEF\xBF\xBD");
  const auto cut = label_value(std::string(10000, 'x'));
  CHECK(cut.size() <= 1024);
  CHECK(cut != label_value(std::string(10001, 'x')));
  for (int i = 1020; i < 1030; ++i) {
    std::string wide;
    while (wide.size() < static_cast<std::size_t>(i)) wide += "\xc3\xa9";
    CHECK(label_value(label_value(wide)) == label_value(wide));
  }
}

TEST_CASE("what servers would refuse is refused before", "[telemetry]") {
  const auto text = [](MetricFamily f) { return prometheus_text({std::move(f)}); };
  CHECK_THROWS_AS(text({"a b", "help", MetricType::gauge, {}}), InputError);
  CHECK_THROWS_AS(text({"a_total", "help", MetricType::gauge, {}}), InputError);
  CHECK_THROWS_AS(text({"a", "help", MetricType::counter, {}}), InputError);
  CHECK_THROWS_AS(text({"a", "", MetricType::gauge, {}}), InputError);
  CHECK_THROWS_AS(text(gauge({{{{"a", "1"}}, 1, {}}, {{{"a", "1"}}, 2, {}}})), InputError);
  CHECK_THROWS_AS(text(gauge({{{}, 1, 12.0}})), InputError);
  CHECK_THROWS_AS(text(gauge({{{{"__a", "1"}}, 1, {}}})), InputError);
  // The same name twice would be two types of it.
  CHECK_THROWS_AS(prometheus_text({gauge({{{{"a", "1"}}, 1, {}}}), gauge({{{{"a", "2"}}, 1, {}}})}),
                  InputError);
  const auto history = open_metrics_text({gauge({{{}, 1, 12.0}, {{}, 2, 13.0}})});
  CHECK(history ==
        "# TYPE a_gauge gauge\n# HELP a_gauge A gauge.\na_gauge 1 12.000\na_gauge 2 13.000\n# EOF\n");
}

TEST_CASE("a histogram has its buckets, its sum and its count in every form", "[telemetry]") {
  MetricFamily f{
      "a_seconds", "Times.", MetricType::histogram, {{{{"k", "v"}}, 2.5, {}, {1, 3, 4}}}, {0.1, 1}};
  const std::string lines =
      "a_seconds_bucket{k=\"v\",le=\"0.1\"} 1\na_seconds_bucket{k=\"v\",le=\"1\"} 3\n"
      "a_seconds_bucket{k=\"v\",le=\"+Inf\"} 4\na_seconds_sum{k=\"v\"} 2.5\na_seconds_count{k=\"v\"} 4\n";
  CHECK(prometheus_text({f}) == "# HELP a_seconds Times.\n# TYPE a_seconds histogram\n" + lines);
  CHECK(open_metrics_text({f}).find(lines + "# EOF\n") != std::string::npos);
  // OTLP counts between bounds.
  CHECK(
      otlp_metrics_json({f}, 5).find(
          "\"count\":\"4\",\"sum\":2.5,\"bucketCounts\":[\"1\",\"2\",\"1\"],\"explicitBounds\":[0.1,1.0]") !=
      std::string::npos);
  f.samples[0].counts.pop_back();
  CHECK_THROWS_AS(prometheus_text({f}), InputError);
  f.samples[0].counts.push_back(4);
  f.samples[0].labels["le"] = "1";
  CHECK_THROWS_AS(prometheus_text({f}), InputError);
}

TEST_CASE("samples go into the groups that their labels name", "[telemetry]") {
  const MetricFamily one{
      "a", "A.", MetricType::gauge, {{{{"p", "x"}}, 1, {}}, {{{"p", "y"}}, 2, {}}, {{}, 3, {}}}};
  const MetricFamily two{"b", "B.", MetricType::gauge, {{{{"p", "x"}, {"q", "z"}}, 4, {}}}};
  const auto groups = by_group({one, two}, {"p"});
  REQUIRE(groups.size() == 3);
  const auto& x = groups.at({{"p", "x"}});
  REQUIRE(x.size() == 2);
  CHECK(x[0].samples.size() == 1);
  CHECK(x[1].samples[0].value == 4);
  CHECK(groups.at({})[0].samples[0].value == 3);
  // A label that is empty is none.
  const MetricFamily empty{"a", "A.", MetricType::gauge, {{{{"p", ""}}, 1, {}}}};
  CHECK(by_group({empty}, {"p"}).contains({}));
}

TEST_CASE("keys of groups", "[telemetry]") {
  const std::vector<MetricFamily> none;
  CHECK(push_url({"http://h:9091/", "ci", {{"family", "Audio"}}}, none) ==
        "http://h:9091/metrics/job/ci/family/Audio");
  CHECK(push_url({"http://h", "a/b", {{"m", ""}}}, none) == "http://h/metrics/job@base64/YS9i/m@base64/=");
  CHECK(push_url({"http://h", "Computer Vision", {}}, none) ==
        "http://h/metrics/job@base64/Q29tcHV0ZXIgVmlzaW9u");
  CHECK_THROWS_AS(push_url({"http://h", "", {}}, none), InputError);
  CHECK_THROWS_AS(push_url({"http://h", "ci", {{"a", "x"}}}, {gauge({{{{"a", "y"}}, 1, {}}})}), InputError);
  CHECK_NOTHROW(push_url({"http://h", "ci", {{"a", "y"}}}, {gauge({{{{"a", "y"}}, 1, {}}})}));
  CHECK(masked_url("http://me:secret@h:1/x") == "http://***@h:1/x");
  CHECK(masked_url("http://h:1/x@y") == "http://h:1/x@y");
  try {
    send({.url = "ftp://me:canary@h/x", .type = "text/plain", .body = "x", .tries = 1});
    FAIL("sent");
  } catch (const InputError& error) {
    CHECK(std::string(error.what()).find("canary") == std::string::npos);
  }
}

TEST_CASE("too many series are folded, and their sum stays", "[telemetry]") {
  MetricFamily f{"many", "Many.", MetricType::gauge, {}};
  double sum = 0;
  for (int i = 0; i < 3000; ++i) {
    f.samples.push_back({{{"reason", std::to_string(i)}, {"model", "m" + std::to_string(i % 3)}},
                         static_cast<double>(i),
                         {}});
    sum += i;
  }
  CHECK(fold_labels(f, {}) == 2500);
  CHECK(f.samples.size() == 503);
  for (const auto& s : f.samples) sum -= s.value;
  CHECK(sum == 0);
}

TEST_CASE("a record is one line, whatever is in it, and comes back", "[telemetry]") {
  std::mt19937 random(3);
  std::vector<LogRecord> log;
  for (int i = 0; i < 2000; ++i) {
    std::string value;
    for (auto n = random() % 20; n > 0; --n) value += static_cast<char>(random() % 256);
    log.push_back({static_cast<std::uint64_t>(i), {{"reason", value}, {"b", "x y"}}});
  }
  const auto text = logfmt_text(log);
  CHECK(std::count(text.begin(), text.end(), '\n') == 2000);
  const auto back = read_logfmt(text);
  REQUIRE(back.size() == 2000);
  for (std::size_t i = 0; i < back.size(); ++i) REQUIRE(back[i] == log[i].fields);
  CHECK_THROWS_AS(read_logfmt("a=\"b"), InputError);
  CHECK_THROWS_AS(read_logfmt("=x"), InputError);
}

TEST_CASE("lines of breaks in the other forms", "[telemetry]") {
  const auto log = compile_log(samples(), 1000);
  REQUIRE(log.size() == 19);
  CHECK(log[18].time == 1018);
  const auto lines = json_lines(log);
  CHECK(std::count(lines.begin(), lines.end(), '\n') == 19);
  const auto csv = csv_text(log);
  CHECK(csv.starts_with(
      "level,kind,model_family,model_name,commit,type,category,gb_id,file,line,function,reason\r\n"));
  const auto bodies = loki_bodies(log, "ci");
  REQUIRE(bodies.size() == 1);
  CHECK(
      bodies[0].find("\"stream\":{\"service_name\":\"mlsysim\",\"job\":\"ci\",\"kind\":\"compile_break\"}") !=
      std::string::npos);
  CHECK(bodies[0].find("\"1018\"") != std::string::npos);
  CHECK(otlp_metrics_json(compile_metrics(samples(), Aliases::none), 5).find("\"isMonotonic\":true") !=
        std::string::npos);
}

TEST_CASE("bodies of lines stay below what servers take, whatever a line holds", "[telemetry]") {
  std::vector<LogRecord> log;
  const auto add = [&](std::string reason) {
    log.push_back({log.size() + 1, {{"kind", "x"}, {"model_name", "m"}, {"reason", std::move(reason)}}});
  };
  for (int i = 0; i < 2500; ++i) add("short");
  std::string accents;
  while (accents.size() < 600'000) accents += "\u00e9";
  add(std::string(200'000, '"'));     // two characters of logfmt, four of JSON
  add(std::string(600'000, '\x01'));  // six of JSON
  add(accents);
  for (int i = 0; i < 10; ++i) add(std::string(200'000, 'x'));
  const auto bodies = loki_bodies(log, "ci");
  CHECK(bodies.size() >= 5);
  std::size_t lines = 0, cut = 0;
  std::uint64_t last = 0;
  for (const auto& body : bodies) {
    CHECK(body.size() <= 1'000'000);
    CHECK(body.find("\xEF\xBF\xBD") == std::string::npos);  // no character was cut in two
    const auto json = nlohmann::json::parse(body);
    REQUIRE(json.at("streams").size() == 1);
    const auto& values = json.at("streams")[0].at("values");
    CHECK(values.size() <= 1000);
    for (const auto& value : values) {
      const auto time = std::stoull(value[0].get<std::string>());
      CHECK(time > last);
      last = time;
      const auto line = value[1].get<std::string>();
      CHECK(line.size() <= 256 * 1024);
      const auto fields = read_logfmt(line);  // a cut line is one that can be read
      REQUIRE(fields.size() == 1);
      REQUIRE(fields[0].size() == 3);
      cut += fields[0][2].second.ends_with("...[cut]") ? 1 : 0;
      ++lines;
    }
  }
  CHECK(lines == log.size());
  CHECK(cut == 3);
}
