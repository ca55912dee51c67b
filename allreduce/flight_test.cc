#include "allreduce/flight.h"

#include <gtest/gtest.h>

#include <vector>

namespace crossover::allreduce {
namespace {

Flight Fp32Flight(Schedule schedule) {
  Operation operation;
  operation.frame.type = DataType::kFloat32;
  operation.schedule = std::move(schedule);
  return Flight(std::move(operation));
}

// Rank 0 of a ring of three: sends segment 2, adds to 1 what comes, passes 1 on.
Schedule RingOfThree() {
  return {{.sends = {{1, {20, 10}}}, .receives = {{2, {10, 10}}}, .action = Action::kReduce},
          {.sends = {{1, {10, 10}}}, .receives = {{2, {0, 10}}}, .action = Action::kReduce}};
}

TEST(Flight, PassesOnWhatHasBeenReducedAndNoMore) {
  Flight flight = Fp32Flight(RingOfThree());
  FlightTransfer& first = flight.steps()[0].sends[0];
  FlightTransfer& second = flight.steps()[1].sends[0];
  FlightTransfer& received = flight.steps()[0].receives[0];
  EXPECT_EQ(flight.Sendable(0, first), 40);
  EXPECT_EQ(flight.Sendable(1, second), -1);
  received.moved = received.final = 12;
  EXPECT_EQ(flight.Sendable(1, second), 12);
  received.moved = received.final = 40;
  flight.Complete(received);
  EXPECT_EQ(flight.Sendable(1, second), 40);
}

TEST(Flight, PartOfASegmentWaitsOnlyForWhatItOverlaps) {
  // The second half of [0, 20) is sent while the receive of [0, 20) has come to 15.
  Flight flight = Fp32Flight({{.sends = {}, .receives = {{1, {0, 20}}}},
                              {.sends = {{2, {10, 10}}}, .receives = {}},
                              {.sends = {{2, {30, 10}}}, .receives = {}}});
  FlightTransfer& received = flight.steps()[0].receives[0];
  EXPECT_EQ(flight.Sendable(1, flight.steps()[1].sends[0]), -1);
  EXPECT_EQ(flight.Sendable(2, flight.steps()[2].sends[0]), 40);
  received.final = 60;
  EXPECT_EQ(flight.Sendable(1, flight.steps()[1].sends[0]), 20);
}

TEST(Flight, OverwritesOnlyWhatHasBeenHandedOver) {
  // Recursive doubling: the same values leave and are added to.
  Flight flight = Fp32Flight(
      {{.sends = {{1, {0, 10}}}, .receives = {{1, {0, 10}}}, .action = Action::kReduce}});
  FlightTransfer& send = flight.steps()[0].sends[0];
  FlightTransfer& receive = flight.steps()[0].receives[0];
  EXPECT_EQ(flight.Placeable(0, receive), 0);
  send.moved = 24;
  EXPECT_EQ(flight.Placeable(0, receive), 24);
  send.moved = 40;
  flight.Complete(send);
  EXPECT_EQ(flight.Placeable(0, receive), 40);
}

TEST(Flight, KeepsTheOrderOfTwoSumsIntoOnePlace) {
  Flight flight =
      Fp32Flight({{.sends = {}, .receives = {{1, {0, 10}}}, .action = Action::kReduce},
                  {.sends = {}, .receives = {{2, {0, 10}}}, .action = Action::kReduce}});
  FlightTransfer& first = flight.steps()[0].receives[0];
  FlightTransfer& second = flight.steps()[1].receives[0];
  EXPECT_EQ(flight.Placeable(1, second), 0);
  first.final = 16;
  EXPECT_EQ(flight.Placeable(1, second), 16);
}

TEST(Flight, AnOrderedStepSendsNotEvenAFrameBeforeAllHasCome) {
  Flight flight = Fp32Flight(
      {{.sends = {}, .receives = {{1, {}}, {2, {}}}},
       {.sends = {{1, {}}}, .receives = {}, .action = Action::kReplace, .ordered = true}});
  FlightTransfer& answer = flight.steps()[1].sends[0];
  EXPECT_EQ(flight.Sendable(1, answer), -1);
  flight.Complete(flight.steps()[0].receives[0]);
  EXPECT_EQ(flight.Sendable(1, answer), -1);
  flight.Complete(flight.steps()[0].receives[1]);
  EXPECT_EQ(flight.Sendable(1, answer), 0);
  EXPECT_FALSE(flight.done());
  flight.Complete(answer);
  EXPECT_TRUE(flight.done());
}

TEST(Flight, OfOneRankIsDoneAtOnce) { EXPECT_TRUE(Fp32Flight({}).done()); }

}  // namespace
}  // namespace crossover::allreduce
