#include "experiments/hosts/agent_message.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace crossover::experiments {

std::string AgentMessage::Text(const char* name) const {
  const auto found = fields.find(name);
  return found != fields.end() && found->is_string() ? found->get<std::string>() : "";
}

int64_t AgentMessage::Number(const char* name) const {
  const auto found = fields.find(name);
  return found != fields.end() && found->is_number_integer() ? found->get<int64_t>() : 0;
}

double AgentMessage::Real(const char* name) const {
  const auto found = fields.find(name);
  return found != fields.end() && found->is_number() ? found->get<double>() : 0;
}

std::vector<std::string> AgentMessage::Texts(const char* name) const {
  std::vector<std::string> texts;
  const auto found = fields.find(name);
  if (found == fields.end() || !found->is_array()) return texts;
  for (const nlohmann::json& item : *found) {
    if (item.is_string()) texts.push_back(item.get<std::string>());
  }
  return texts;
}

std::string EncodeMessage(const AgentMessage& message) {
  nlohmann::json fields = message.fields;
  if (!message.bytes.empty()) fields["bytes"] = message.bytes.size();
  return absl::StrCat(fields.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace), "\n",
                      message.bytes);
}

absl::Status StatusOfAnswer(const AgentMessage& answer) {
  if (!answer.fields.contains("error")) return absl::OkStatus();
  const auto code = static_cast<absl::StatusCode>(answer.Number("code"));
  return absl::Status(code == absl::StatusCode::kOk ? absl::StatusCode::kUnknown : code,
                      answer.Text("error"));
}

AgentMessage AnswerOf(const absl::Status& status) {
  AgentMessage answer;
  answer.fields["is"] = "answer";
  if (status.ok()) return answer;
  answer.fields["error"] = std::string(status.message());
  answer.fields["code"] = static_cast<int>(status.code());
  return answer;
}

absl::StatusOr<std::optional<AgentMessage>> MessageReader::Next() {
  if (!begun_.has_value()) {
    const size_t end = buffer_.find('\n');
    if (end == std::string::npos) {
      if (buffer_.size() > kLineBytesMax) return absl::DataLossError("a line without an end");
      return std::nullopt;
    }
    AgentMessage message;
    message.fields =
        nlohmann::json::parse(buffer_.begin(), buffer_.begin() + static_cast<long>(end), nullptr,
                              /*allow_exceptions=*/false);
    if (!message.fields.is_object()) {
      return absl::DataLossError(absl::StrCat("not a message: \"", buffer_.substr(0, 80), "\""));
    }
    const int64_t bytes = message.Number("bytes");
    if (bytes < 0 || bytes > static_cast<int64_t>(kPayloadBytesMax)) {
      return absl::DataLossError(absl::StrCat("a message of ", bytes, " bytes"));
    }
    buffer_.erase(0, end + 1);
    payload_bytes_ = static_cast<size_t>(bytes);
    begun_ = std::move(message);
  }
  if (buffer_.size() < payload_bytes_) return std::nullopt;
  begun_->bytes = buffer_.substr(0, payload_bytes_);
  buffer_.erase(0, payload_bytes_);
  return std::exchange(begun_, std::nullopt);
}

}  // namespace crossover::experiments
