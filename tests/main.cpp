// The one main of every test program. It names each test case when it begins, so that the log of a
// test that hangs or dies says where.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>
#include <cstdio>

namespace {

struct announcer final : doctest::IReporter {
  explicit announcer(const doctest::ContextOptions&) {}

  void test_case_start(const doctest::TestCaseData& test) override {
    std::fprintf(stderr, "[case] %s\n", test.m_name);
  }

  void report_query(const doctest::QueryData&) override {}
  void test_run_start() override {}
  void test_run_end(const doctest::TestRunStats&) override {}
  void test_case_reenter(const doctest::TestCaseData&) override {}
  void test_case_end(const doctest::CurrentTestCaseStats&) override {}
  void test_case_exception(const doctest::TestCaseException&) override {}
  void subcase_start(const doctest::SubcaseSignature&) override {}
  void subcase_end() override {}
  void log_assert(const doctest::AssertData&) override {}
  void log_message(const doctest::MessageData&) override {}
  void test_case_skipped(const doctest::TestCaseData&) override {}
};

REGISTER_LISTENER("announcer", 1, announcer);

}  // namespace

#if defined(__SANITIZE_THREAD__)
// ConcurrentQueue orders its block indexes by fences, which the thread sanitizer does not model;
// the counts of exception_ptr are in the standard library's file, where it does not look.
extern "C" const char* __tsan_default_suppressions() {
  return "race_top:moodycamel::\nrace:std::__exception_ptr::exception_ptr::_M_release\n";
}
#endif
