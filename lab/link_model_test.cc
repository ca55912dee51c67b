#include "lab/link_model.h"

#include <gtest/gtest.h>

namespace crossover::lab {
namespace {

constexpr int64_t kStart = 1'000'000'000;

LinkSpec Gigabit() { return {.rate_bits_per_s = 1e9}; }

TEST(LinkModelTest, FramesFollowOneAnotherAtTheRate) {
  LinkModel model({Gigabit(), Gigabit()}, 1);
  model.SawEmpty(0, kStart);
  const LinkModel::Arrival first = model.Transmit(0, 1250, kStart);
  EXPECT_EQ(first.first_bit_ns, kStart);
  EXPECT_EQ(first.last_bit_ns, kStart + 10'000);
  EXPECT_EQ(model.free_at_ns(0), kStart + 10'000);
  EXPECT_EQ(model.Transmit(0, 1250, kStart).last_bit_ns, kStart + 20'000);
  // Serialised once: it leaves as it arrives.
  EXPECT_EQ(model.Enqueue(1, first, 1250), kStart + 10'000);
}

TEST(LinkModelTest, DelayIsTheSendersAndUnlimitedLinksTakeNoTime) {
  LinkModel model({{.rate_bits_per_s = 0, .delay_us = 500}, {}}, 1);
  model.SawEmpty(0, kStart);
  const LinkModel::Arrival arrival = model.Transmit(0, 1'000'000, kStart);
  EXPECT_EQ(arrival.first_bit_ns, kStart + 500'000);
  EXPECT_EQ(arrival.last_bit_ns, kStart + 500'000);
  EXPECT_EQ(model.Enqueue(1, arrival, 1'000'000), kStart + 500'000);
}

TEST(LinkModelTest, ALateReaderLosesNoRate) {
  LinkModel model({Gigabit(), Gigabit()}, 1);
  model.SawEmpty(0, kStart);
  model.Transmit(0, 125'000, kStart);  // 1 ms
  // Read 1.5 ms late, though it stood waiting: sent right after the first.
  EXPECT_EQ(model.Transmit(0, 1250, kStart + 2'500'000).first_bit_ns, kStart + 1'000'000);
  // Later than the catch-up allows.
  EXPECT_EQ(model.Transmit(0, 1250, kStart + 10'000'000).first_bit_ns,
            kStart + 10'000'000 - LinkModel::kCatchUpNs);
}

TEST(LinkModelTest, SilenceEarnsNoCredit) {
  LinkModel model({Gigabit(), Gigabit()}, 1);
  model.SawEmpty(0, kStart);
  model.Transmit(0, 1250, kStart);
  model.SawEmpty(0, kStart + 1'000'000);
  EXPECT_EQ(model.Transmit(0, 1250, kStart + 1'000'100).first_bit_ns, kStart + 1'000'000);
}

TEST(LinkModelTest, ASlowReceiverQueuesAndDrops) {
  LinkModel model({{.rate_bits_per_s = 10e9}, {.rate_bits_per_s = 1e9, .queue_bytes = 100'000}}, 1);
  model.SawEmpty(0, kStart);
  int delivered = 0;
  int64_t last_due = kStart;
  for (int i = 0; i < 200; ++i) {
    const LinkModel::Arrival arrival = model.Transmit(0, 1250, kStart);
    const std::optional<int64_t> due = model.Enqueue(1, arrival, 1250);
    if (!due.has_value()) continue;
    ++delivered;
    EXPECT_EQ(*due, last_due + 10'000) << "at the slower rate, without gaps";
    last_due = *due;
  }
  // 200 frames arrive in 200 us; 20 leave in that time and 80 fit into the queue.
  EXPECT_NEAR(delivered, 101, 2);
}

TEST(LinkModelTest, TwoSendersShareOneReceiver) {
  LinkModel model({Gigabit(), Gigabit(), Gigabit()}, 1);
  model.SawEmpty(0, kStart);
  model.SawEmpty(1, kStart);
  const LinkModel::Arrival a = model.Transmit(0, 1250, kStart);
  const LinkModel::Arrival b = model.Transmit(1, 1250, kStart);
  EXPECT_EQ(model.Enqueue(2, a, 1250), kStart + 10'000);
  EXPECT_EQ(model.Enqueue(2, b, 1250), kStart + 20'000);
}

TEST(LinkModelTest, ASlowSenderIsNotHeldUpByAFastReceiver) {
  LinkModel model({Gigabit(), {.rate_bits_per_s = 10e9}}, 1);
  model.SawEmpty(0, kStart);
  EXPECT_EQ(model.Enqueue(1, model.Transmit(0, 1250, kStart), 1250), kStart + 10'000);
}

TEST(LinkModelTest, LossIsTheFractionAskedFor) {
  LinkModel model({Gigabit(), Gigabit(), Gigabit()}, 7);
  EXPECT_EQ(model.SegmentsBeforeLoss(0, 1, 44), 44);
  EXPECT_FALSE(model.MayLose(0, 1));
  model.SetLoss(1, 0.05);
  EXPECT_FALSE(model.MayLose(0, 2));
  for (const auto& [from, to] : {std::pair(0, 1), std::pair(1, 2)}) {
    EXPECT_TRUE(model.MayLose(from, to));
    int64_t lost = 0, sent = 0;
    while (sent < 100'000) {
      const int64_t passed = model.SegmentsBeforeLoss(from, to, 10);
      lost += passed < 10 ? 1 : 0;
      sent += passed + (passed < 10 ? 1 : 0);
    }
    EXPECT_NEAR(static_cast<double>(lost) / static_cast<double>(sent), 0.05, 0.003);
  }
}

TEST(LinkModelTest, TheSameSeedLosesTheSameFrames) {
  LinkModel one({{.loss_fraction = 0.3}, {}}, 3), same({{.loss_fraction = 0.3}, {}}, 3);
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(one.SegmentsBeforeLoss(0, 1, 5), same.SegmentsBeforeLoss(0, 1, 5));
  }
}

TEST(LinkModelTest, ACutPortPassesNothing) {
  LinkModel model({Gigabit(), Gigabit(), Gigabit()}, 1);
  model.SetCut(1, true);
  EXPECT_FALSE(model.Passes(0, 1));
  EXPECT_FALSE(model.Passes(1, 0));
  EXPECT_TRUE(model.Passes(0, 2));
  model.SetCut(1, false);
  EXPECT_TRUE(model.Passes(0, 1));
}

}  // namespace
}  // namespace crossover::lab
