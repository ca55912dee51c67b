#include "ps/status_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ps/status_fixture.h"
#include "ps/status_screen.h"

namespace crossover::ps {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(StatusText, IsAScreenOfAlignedColumns) {
  EXPECT_EQ(StatusText(SomeStatus(), nullptr),
            R"(server 1 of 2 at 10.0.0.1:40123   a "small" job, ps_ssp (job 00000000000012ab)
up 1 min 12 s   pid 4711 on alpha   processor time 12.3 s

step       1,041 of 2,000
parts      4 of version 3,120 to 3,123
pushes     2,500
applying   1.2 s, 500 us a push
received   164 MB
sent       164 MB
queued     2 messages, 131 kB
memory     parameters 407 kB, state 814 kB, transient at most 131 kB
           resident 23.4 MB (at most 25.0 MB)
staleness  0: 80.0%  1: 16.0%  2: 2.0%  3: 0.0%  4: 0.0%  5: 0.0%  6 and more: 2.0%  at most 9

worker  state      address          step  silent for  heartbeat  phase  unanswered  queued   held
     0  connected  10.0.0.2:51514  1,041       12 ms     410 ms  train      3 of 8       2
     1  LOST       10.0.0.3:40004  1,038  1 min 15 s                        8 of 8       0  2.3 s
     2  awaited                        -           -                        0 of 8       0
)");
}

TEST(StatusText, RatesAreSinceTheStatusBefore) {
  const proto::ServerStatus before = SomeStatus();
  proto::ServerStatus now = before;
  now.set_uptime_s(before.uptime_s() + 2);
  now.mutable_totals()->set_pushes(before.totals().pushes() + 3'000);
  now.mutable_totals()->set_payload_received_bytes(before.totals().payload_received_bytes() +
                                                   24'000'000);
  const std::string text = StatusText(now, &before);
  EXPECT_THAT(text, HasSubstr("pushes     5,500  (1,500/s)\n"));
  EXPECT_THAT(text, HasSubstr("received   188 MB  (12.0 MB/s)\n"));
  EXPECT_THAT(text, HasSubstr("sent       164 MB  (0 B/s)\n"));
  // The same moment, or an earlier one: another process at the address.
  EXPECT_THAT(StatusText(before, &before), Not(HasSubstr("/s")));
  EXPECT_THAT(StatusText(before, &now), Not(HasSubstr("/s")));
}

TEST(StatusText, BeforeTheFirstPlan) {
  proto::ServerStatus status;
  status.set_step(-1);
  status.set_uptime_s(0.5);
  const std::string text = StatusText(status, nullptr);
  EXPECT_THAT(text, HasSubstr("\nup 500 ms\n"));
  EXPECT_THAT(text, HasSubstr("step       no worker's plan yet\n"));
  EXPECT_THAT(text, HasSubstr("applying   0 us\n"));
  EXPECT_THAT(text, HasSubstr("staleness  no pushes yet\n"));
  status.set_total_steps(50);
  EXPECT_THAT(StatusText(status, nullptr), HasSubstr("step       none yet of 50\n"));
}

TEST(StatusText, LatePushesHaveAColumnWhereThereAreAny) {
  proto::ServerStatus status = SomeStatus();
  EXPECT_THAT(StatusText(status, nullptr), Not(HasSubstr("late")));
  for (const int64_t late : {0, 1'234, 0}) status.mutable_totals()->add_late_pushes(late);
  EXPECT_THAT(StatusText(status, nullptr), HasSubstr("   held   late\n"));
  EXPECT_THAT(StatusText(status, nullptr), HasSubstr("  2.3 s  1,234\n"));
}

TEST(StatusScreen, KeepsWhatTheTerminalHasRoomFor) {
  EXPECT_EQ(FitRows("a\nb\nc\n", 0), "a\nb\nc\n");
  EXPECT_EQ(FitRows("a\nb\nc\n", 4), "a\nb\nc\n");
  EXPECT_EQ(FitRows("a\nb\nc\n", 3), "a\n(2 more lines)\n");
  EXPECT_EQ(FitRows("a\nb\nc\n", 1), "(3 more lines)\n");
}

TEST(StatusScreen, LeavesNothingOfWhatStoodThere) {
  EXPECT_EQ(InPlace("a\nb\n"), "\x1b[Ha\x1b[K\nb\x1b[K\n\x1b[J");
}

}  // namespace
}  // namespace crossover::ps
