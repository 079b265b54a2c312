#pragma once

namespace experiments::cli {

enum ExitCode {
  kDone = 0,
  kCheckFailed = 1,
  kUsage = 2,
  kData = 3,
  kIo = 4,
  kNumeric = 5,
  kInternal = 70,
  kInterrupted = 130
};

}  // namespace experiments::cli
