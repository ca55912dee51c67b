#include "core/job.h"

#include <cstdint>
#include <span>
#include <string>

#include "core/check.h"
#include "core/fnv1a.h"
#include "core/job_internal.h"
#include "core/strategy_traits.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "google/protobuf/text_format.h"

namespace crossover {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

// Writes out the default of every scalar field that is unset and has one.
void FillDefaults(Message& message) {
  const Reflection& reflection = *message.GetReflection();
  for (int i = 0; i < message.GetDescriptor()->field_count(); ++i) {
    const FieldDescriptor& field = *message.GetDescriptor()->field(i);
    if (field.is_repeated()) continue;
    if (field.message_type() != nullptr) {
      FillDefaults(*reflection.MutableMessage(&message, &field));
    } else if (field.has_default_value() && !reflection.HasField(message, &field)) {
      const std::string text = field.cpp_type() == FieldDescriptor::CPPTYPE_STRING
                                   ? field.default_value_string()
                                   : ValueText(message, field);
      CROSSOVER_CHECK(SetFromText(field, text, message).ok(), "a default is a value of its field");
    }
  }
}

}  // namespace

proto::Job WithDefaults(const proto::Job& job) {
  proto::Job full = job;
  // Deterministic mode implies the algorithm that sums in rank order; ValidateJob
  // refuses a job that asks for another one.
  if (job.deterministic() && !job.allreduce().has_algorithm()) {
    full.mutable_allreduce()->set_algorithm(proto::AllReduce::direct);
  }
  FillDefaults(full);
  // The count takes the fraction's place.
  if (job.learning_rate().has_warmup_steps()) {
    full.mutable_learning_rate()->clear_warmup_fraction();
  }
  if (job.local_sgd().has_first_phase_steps()) {
    full.mutable_local_sgd()->clear_first_phase_fraction();
  }
  return full;
}

std::string PrintJob(const proto::Job& job) {
  google::protobuf::TextFormat::Printer printer;
  printer.SetUseUtf8StringEscaping(true);
  std::string text;
  CROSSOVER_CHECK(printer.PrintToString(job, &text), "printing to a string cannot fail");
  return text;
}

uint64_t JobFingerprint(const proto::Job& job) {
  proto::Job canonical = WithDefaults(job);
  canonical.DiscardUnknownFields();
  canonical.clear_name();
  canonical.clear_comparison();
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream output(&stream);
    output.SetSerializationDeterministic(true);
    CROSSOVER_CHECK(canonical.SerializeToCodedStream(&output), "a job has no required fields");
  }
  return Fnv1a(std::as_bytes(std::span(bytes)));
}

std::string StrategyName(proto::Strategy::Name name) { return proto::Strategy::Name_Name(name); }

bool UsesServers(const proto::Job& job) { return TraitsOf(job).servers; }

bool UsesCollectives(const proto::Job& job) { return TraitsOf(job).collective; }

int WorkerProcesses(const proto::Job& job) { return TraitsOf(job).one_process ? 1 : job.workers(); }

}  // namespace crossover
