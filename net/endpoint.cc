#include "net/endpoint.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace crossover::net {
namespace {

constexpr absl::string_view kGaveUp = " gave up: ";

// "rank 12 gave up: ..."
bool AreLastWords(absl::string_view text) {
  if (!absl::ConsumePrefix(&text, "rank ")) return false;
  const auto end_of_number = std::find_if_not(text.begin(), text.end(), [](char c) {
    return absl::ascii_isdigit(static_cast<unsigned char>(c));
  });
  const size_t digits = static_cast<size_t>(end_of_number - text.begin());
  return digits > 0 && absl::StartsWith(text.substr(digits), kGaveUp);
}

}  // namespace

std::string LastWords(int rank, const absl::Status& why) {
  std::string words = AreLastWords(why.message())
                          ? std::string(why.message())
                          : absl::StrCat("rank ", rank, kGaveUp, why.message());
  if (words.size() > kLastWordsBytesMax) words.resize(kLastWordsBytesMax);
  return words;
}

}  // namespace crossover::net
