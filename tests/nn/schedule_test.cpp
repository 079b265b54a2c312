#include "nn/schedule.h"

#include <cmath>
#include <limits>
#include <numbers>

#include "tests/nn/check.h"

namespace nn {
namespace {

using autograd::ValueError;
using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr double kPeak = 0.6, kMin = 0.06;

Schedule schedule(ScheduleKind kind, Index warmup, Index decay) {
  return {.kind = kind, .lr = kPeak, .min_lr = kMin, .warmup_iters = warmup, .decay_iters = decay};
}

TEST(Schedule, CosineByHand) {
  const Schedule s = schedule(ScheduleKind::cosine, 2, 8);
  EXPECT_DOUBLE_EQ(s.at(0), kPeak / 3);
  EXPECT_DOUBLE_EQ(s.at(1), kPeak * 2 / 3);
  EXPECT_DOUBLE_EQ(s.at(2), kPeak);
  EXPECT_DOUBLE_EQ(s.at(3), kMin + (kPeak - kMin) * (1 + std::cos(std::numbers::pi / 6)) / 2);
  EXPECT_DOUBLE_EQ(s.at(5), (kPeak + kMin) / 2);
  EXPECT_DOUBLE_EQ(s.at(6), kMin + (kPeak - kMin) / 4);
  EXPECT_DOUBLE_EQ(s.at(8), kMin);
  EXPECT_DOUBLE_EQ(s.at(1'000'000), kMin);
}

TEST(Schedule, LinearByHand) {
  const Schedule s = schedule(ScheduleKind::linear, 1, 4);
  EXPECT_DOUBLE_EQ(s.at(0), kPeak / 2);
  EXPECT_DOUBLE_EQ(s.at(1), kPeak);
  EXPECT_DOUBLE_EQ(s.at(2), kMin + (kPeak - kMin) * 2 / 3);
  EXPECT_DOUBLE_EQ(s.at(3), kMin + (kPeak - kMin) / 3);
  EXPECT_DOUBLE_EQ(s.at(4), kMin);
}

TEST(Schedule, ConstantNeverDecays) {
  const Schedule s = schedule(ScheduleKind::constant, 1, 4);
  EXPECT_DOUBLE_EQ(s.at(0), kPeak / 2);
  for (const Index iter : {1, 4, 100}) EXPECT_EQ(s.at(iter), kPeak);
}

// The corners at which warm-up and decay meet: no NaN, the peak at the end of the warm-up, the
// minimum afterwards, and a first rate above 0.
TEST(Schedule, Corners) {
  for (const ScheduleKind kind : {ScheduleKind::linear, ScheduleKind::cosine}) {
    for (const auto& [warmup, decay] :
         {std::pair<Index, Index>{100, 100}, {0, 0}, {0, 1}, {1, 0}, {1, 1}, {5, 2}, {5, 6}}) {
      const Schedule s = schedule(kind, warmup, decay);
      SCOPED_TRACE(fmt::format("{} warmup {} decay {}", name(kind), warmup, decay));
      EXPECT_EQ(s.at(warmup), kPeak);
      for (Index iter = 0; iter <= 2 * warmup + 2; ++iter) {
        EXPECT_GT(s.at(iter), 0);
        EXPECT_LE(s.at(iter), kPeak);
        if (iter > warmup) {
          EXPECT_EQ(s.at(iter), kMin);
        } else if (iter > 0) {
          EXPECT_GT(s.at(iter), s.at(iter - 1));
        }
      }
    }
  }
}

TEST(Schedule, NeverRisesAfterTheWarmUp) {
  for (const ScheduleKind kind : kScheduleKinds) {
    const Schedule s = schedule(kind, 10, 1000);
    for (Index iter = 11; iter < 1100; ++iter) {
      ASSERT_LE(s.at(iter), s.at(iter - 1)) << name(kind) << " at " << iter;
      ASSERT_GE(s.at(iter), kMin);
    }
  }
}

TEST(Schedule, HugeCountsDoNotOverflow) {
  constexpr Index kHuge = std::numeric_limits<Index>::max();
  const Schedule s = schedule(ScheduleKind::cosine, kHuge, kHuge);
  EXPECT_GT(s.at(0), 0);
  EXPECT_LT(s.at(0), 1e-15);
  EXPECT_EQ(s.at(kHuge), kPeak);
}

TEST(Schedule, Names) {
  for (const ScheduleKind kind : kScheduleKinds) EXPECT_EQ(parse_schedule(name(kind)), kind);
  EXPECT_THAT([] { parse_schedule("cosin"); },
              ThrowsMessage<ValueError>("schedule: expected constant, linear or cosine, got "
                                        "'cosin'"));
}

TEST(Schedule, CheckedNamesTheValue) {
  EXPECT_NO_THROW(checked(schedule(ScheduleKind::cosine, 0, 0)));
  const auto refused = [](Schedule s, const char* what, const char* value) {
    EXPECT_THAT([&] { checked(s); },
                ThrowsMessage<ValueError>(AllOf(HasSubstr(what), HasSubstr(value))));
  };
  refused({.lr = -0.25}, "lr", "-0.25");
  refused({.lr = std::nan("")}, "lr", "nan");
  refused({.lr = std::numeric_limits<double>::infinity()}, "lr", "inf");
  refused({.lr = 0.5, .min_lr = 0.75}, "min_lr: expected a number in [0, lr = 0.5]", "0.75");
  refused({.lr = 0.5, .min_lr = -1}, "min_lr", "-1");
  refused({.warmup_iters = -3}, "warmup_iters", "-3");
  refused({.decay_iters = -4}, "decay_iters", "-4");
}

}  // namespace
}  // namespace nn
