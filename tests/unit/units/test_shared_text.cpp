#include <mlsysim/units/shared_text.hpp>

#include <catch2/catch.hpp>

#include <string>
#include <thread>
#include <vector>

using namespace mlsysim;

TEST_CASE("a literal is pointed to, other text is copied once", "[units]") {
  static constexpr char words[] = "zoo/defaults.yaml";
  const SharedText literal = words;
  CHECK(literal.view().data() == words);

  std::string made = "electricity.us_industrial";
  const SharedText owned = made;
  const SharedText copy = owned;
  made.assign(made.size(), 'x');
  CHECK(owned == "electricity.us_industrial");
  CHECK(copy.view().data() == owned.view().data());
  CHECK(owned.view().data() != made.data());
}

TEST_CASE("shared text compares, joins and moves like a string", "[units]") {
  const SharedText a = "ttft", b = std::string("ttft"), c = "itl";
  CHECK(a == b);
  CHECK_FALSE(a == c);
  CHECK(std::string("performance.") + b == "performance.ttft");
  CHECK(b + " [ms]" == "ttft [ms]");
  CHECK(SharedText(std::string()).empty());
  std::vector<SharedText> many{a, b, c};
  many.erase(many.begin());
  many.push_back(many.front());
  many.front() = std::move(many.back());
  CHECK(many.front() == "ttft");
  CHECK(many[1] == "itl");
  many[1] = many[1];  // NOLINT: a text may be put where it came from
  CHECK(many[1].str() == "itl");
}

TEST_CASE("text is only kept when somebody keeps it", "[units]") {
  const std::string name = "H100";
  const TextRef borrowed = name;
  CHECK(borrowed.view().data() == name.data());
  CHECK(borrowed.keep().view().data() != name.data());
  const SharedText shared = name;
  CHECK(TextRef(shared).keep().view().data() == shared.view().data());
  const TextRef lasting = TextRef::lasting(name);
  CHECK(lasting.keep().view().data() == name.data());
}

TEST_CASE("copies of one text may be made and dropped by many threads", "[units]") {
  const SharedText text = std::string("a text of some length that no small buffer holds");
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([text] {
      for (int k = 0; k < 20000; ++k) {
        const SharedText copy = text;
        if (copy.empty()) throw 0;
      }
    });
  for (auto& t : threads) t.join();
  CHECK(text == "a text of some length that no small buffer holds");
}
