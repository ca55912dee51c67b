#include "allreduce/flight.h"

#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

namespace crossover::allreduce {
namespace {

Flight Fp32Flight(Schedule schedule) {
  Operation operation;
  operation.frame.type = DataType::kFloat32;
  operation.schedule = std::make_shared<const Schedule>(std::move(schedule));
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

// Ends what is open, in no order.
void CompleteAll(Flight& flight) {
  for (FlightStep& step : flight.steps()) {
    for (std::vector<FlightTransfer>* transfers : {&step.sends, &step.receives}) {
      for (FlightTransfer& transfer : *transfers) {
        transfer.moved = transfer.final = transfer.length;
        flight.Complete(transfer);
      }
    }
  }
}

TEST(Flight, RestartedIsAsNew) {
  Operation operation;
  operation.frame.type = DataType::kFloat32;
  operation.frame.sequence = 1;
  operation.schedule = std::make_shared<const Schedule>(RingOfThree());
  Flight flight(operation);
  // The same; values of another size; another schedule.
  Operation longer = operation;
  longer.frame.type = DataType::kFloat64;
  Operation other = operation;
  other.schedule = std::make_shared<const Schedule>(
      Schedule{{.sends = {{1, {0, 5}}}, .receives = {{1, {0, 5}}}, .action = Action::kReduce}});
  for (Operation& next : std::vector<Operation>{operation, longer, other, operation}) {
    CompleteAll(flight);
    EXPECT_TRUE(flight.done());
    ++next.frame.sequence;
    flight.Restart(next);
    const Flight fresh(next);
    EXPECT_FALSE(flight.done());
    EXPECT_EQ(flight.first_open_step(), 0u);
    EXPECT_EQ(flight.FrameOf(2, 1, 40), fresh.FrameOf(2, 1, 40));
    ASSERT_EQ(flight.steps().size(), next.schedule->size());
    for (size_t k = 0; k < flight.steps().size(); ++k) {
      const FlightTransfer& send = flight.steps()[k].sends[0];
      const FlightTransfer& receive = flight.steps()[k].receives[0];
      EXPECT_EQ(send.moved, 0);
      EXPECT_EQ(receive.final, 0);
      EXPECT_EQ(send.length, (*next.schedule)[k].sends[0].segment.length * flight.value_bytes());
      EXPECT_EQ(flight.Sendable(k, send), k == 0 ? send.length : -1);
    }
  }
}

TEST(Flight, AMessagesFrameSaysWhoseItIs) {
  Operation operation;
  operation.frame.sequence = 41;
  operation.schedule = std::make_shared<const Schedule>();
  Frame expected = operation.frame;
  expected.sender = 3;
  expected.step = 2;
  expected.bytes = 64;
  EXPECT_EQ(Flight(std::move(operation)).FrameOf(3, 2, 64), EncodeFrame(expected));
}

TEST(Flight, OfOneRankIsDoneAtOnce) { EXPECT_TRUE(Fp32Flight({}).done()); }

}  // namespace
}  // namespace crossover::allreduce
