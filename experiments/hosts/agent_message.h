// What the launcher and the agent on a host say to each other over ssh: a line of JSON, and
// after it as many raw bytes as its field "bytes" says. Requests have "do", the agent's
// messages "is". Pure.
//
//   alive                                    no answer; says that the launcher lives
//   time                                     wall_ns
//   address   interface                      address, choice (net/interface_choice.h)
//   hash      path                           sha256, size
//   libraries path                           missing: shared libraries that the host lacks
//   put       path mode offset + bytes       writes there; from offset 0 the file is new
//   rename    from to
//   get       path offset size               + bytes, fewer than `size` at the file's end
//   begin                                    directory: a new one, for one run
//   start     id arguments environment       pid
//   signal    id signal                      no answer
//   end                                      ends all processes, removes the run's directory
//   probe_listen address                     port, secret
//   probe     address secret seconds         rtt_us, bytes_per_s
//   clean                                    removes the programs kept for later runs
//
// A request that is answered has a number, "request"; its answer, "is": "answer", has the same,
// and "error" and "code" where it failed. By itself the agent sends "hello" first, and of each
// process it started "output" (id, + bytes) and "exit" (id, code, signal).
#ifndef CROSSOVER_EXPERIMENTS_HOSTS_AGENT_MESSAGE_H_
#define CROSSOVER_EXPERIMENTS_HOSTS_AGENT_MESSAGE_H_

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace crossover::experiments {

struct AgentMessage {
  nlohmann::json fields = nlohmann::json::object();
  std::string bytes;

  // "", 0 or nothing where the field is missing or of another type.
  std::string Text(const char* name) const;
  int64_t Number(const char* name) const;
  double Real(const char* name) const;
  std::vector<std::string> Texts(const char* name) const;
};

std::string EncodeMessage(const AgentMessage& message);

// An answer's error, or OK.
absl::Status StatusOfAnswer(const AgentMessage& answer);
AgentMessage AnswerOf(const absl::Status& status);

// Cuts a stream into messages. Longer lines or payloads are refused.
class MessageReader {
 public:
  static constexpr size_t kLineBytesMax = 1 << 20;
  static constexpr size_t kPayloadBytesMax = 1 << 22;

  void Add(std::string_view bytes) { buffer_.append(bytes); }
  // The next whole message, or nothing yet. After an error the stream is of no use.
  absl::StatusOr<std::optional<AgentMessage>> Next();

 private:
  std::string buffer_;
  std::optional<AgentMessage> begun_;  // its line is there, its payload not yet
  size_t payload_bytes_ = 0;
};

}  // namespace crossover::experiments

#endif  // CROSSOVER_EXPERIMENTS_HOSTS_AGENT_MESSAGE_H_
