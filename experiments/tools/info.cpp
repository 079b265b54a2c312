#include <fmt/format.h>

#include <CLI/Version.hpp>
#if __has_include(<nlohmann/detail/abi_macros.hpp>)
#include <nlohmann/detail/abi_macros.hpp>
#endif

#include <thread>

#include "autograd/machine/gemm.h"
#include "experiments/cli/program.h"
#include "experiments/registry.h"

// The engine's own libraries are not visible here; the build says what it found.
#ifndef GRADLAB_EIGEN_VERSION
#define GRADLAB_EIGEN_VERSION "unknown"
#endif
#ifndef GRADLAB_OPENMP_VERSION
#define GRADLAB_OPENMP_VERSION "unknown"
#endif

namespace experiments::tools {
namespace {

std::string compiler() {
#ifdef __clang__
  return "clang " __clang_version__;
#else
  return "gcc " __VERSION__;
#endif
}

std::string instruction_set() {
  std::string names;
  const auto add = [&names](const char* name) {
    names += (names.empty() ? "" : " ") + std::string(name);
  };
#ifdef __AVX512F__
  add("avx512f");
#endif
#ifdef __AVX2__
  add("avx2");
#endif
#ifdef __FMA__
  add("fma");
#endif
#ifdef __AVX__
  add("avx");
#endif
#ifdef __SSE4_2__
  add("sse4.2");
#endif
#ifdef __SSE2__
  add("sse2");
#endif
#ifdef __ARM_NEON
  add("neon");
#endif
  return (names.empty() ? "baseline" : names) + (GRADLAB_NATIVE ? " (of this machine)" : "");
}

std::string json_version() {
#ifdef NLOHMANN_JSON_VERSION_MAJOR
  return fmt::format("{}.{}.{}", NLOHMANN_JSON_VERSION_MAJOR, NLOHMANN_JSON_VERSION_MINOR,
                     NLOHMANN_JSON_VERSION_PATCH);
#else
  return "not found";
#endif
}

class Info : public Experiment {
 public:
  void add_options(Options&) override {}

  Report run(const Run& run) override {
    Report report;
    report.columns = {{"name", "name"}, {"value", "value"}};
    const auto add = [&report](const char* name, const std::string& value) {
      report.rows.push_back({name, value});
    };
    add("gradlab", cli::version());
    add("build", GRADLAB_BUILD_TYPE);
    add("compiler", compiler());
    add("instruction_set", instruction_set());
    add("threads",
        fmt::format("{} on {} processors", run.threads, std::thread::hardware_concurrency()));
    add("matrix_products", autograd::gemm_library());
    add("eigen", GRADLAB_EIGEN_VERSION);
    add("fmt",
        fmt::format("{}.{}.{}", FMT_VERSION / 10000, FMT_VERSION / 100 % 100, FMT_VERSION % 100));
    add("cli11", CLI11_VERSION);
    add("nlohmann_json", json_version());
    add("openmp", GRADLAB_OPENMP_VERSION);
    return report;
  }
};

}  // namespace

std::unique_ptr<Experiment> make_info() { return std::make_unique<Info>(); }

}  // namespace experiments::tools
