#include "core/layer_profile.h"

#include "absl/strings/str_cat.h"
#include "core/job.h"
#include "core/job_internal.h"
#include "core/status.h"

namespace crossover {
namespace {

// A step takes so many waits.
constexpr int kLayersMax = 10'000;
constexpr double kLayerMsMax = 1e6;
constexpr int64_t kLayerBytesMax = int64_t{1} << 40;

}  // namespace

absl::Status CheckLayers(const google::protobuf::RepeatedPtrField<proto::Layer>& layers,
                         absl::string_view path) {
  if (layers.size() > kLayersMax) {
    return Refusal(path, absl::StrCat("a list of ", layers.size()),
                   absl::StrCat("at most ", kLayersMax, " layers"), "join layers");
  }
  int64_t gradient_bytes = 0;
  for (int i = 0; i < layers.size(); ++i) {
    const proto::Layer& layer = layers[i];
    const std::string at = absl::StrCat(path, "[", i, "]");
    const std::string name = absl::StrCat("\"", Clipped(layer.name()), "\", a layer of ");
    for (const double ms : {layer.forward_ms(), layer.backward_ms()}) {
      if (ms >= 0 && ms <= kLayerMsMax) continue;
      return Refusal(at, absl::StrCat(name, ms, " ms"), "0 to 1e6 ms", "mend the profile");
    }
    if (layer.gradient_bytes() < 0 || layer.gradient_bytes() % 4 != 0 ||
        layer.gradient_bytes() > kLayerBytesMax) {
      return Refusal(at, absl::StrCat(name, layer.gradient_bytes(), " gradient bytes"),
                     "a multiple of 4 (fp32) up to 1 TiB", "mend the profile");
    }
    gradient_bytes += layer.gradient_bytes();
  }
  if (!layers.empty() && gradient_bytes == 0) {
    return Refusal(path, "a list without gradients",
                   "at least one layer with gradient_bytes above 0", "mend the profile");
  }
  return absl::OkStatus();
}

absl::StatusOr<proto::LayerProfile> ParseProfile(std::string_view text, std::string_view file) {
  proto::LayerProfile profile;
  FieldPositions positions;
  RETURN_IF_ERROR(ParseText(ToAbsl(text), ToAbsl(file), "a layer profile", profile, positions));
  if (profile.layers().empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(ToAbsl(file), ": no layers; allowed: at least one layers { ... }"));
  }
  RETURN_IF_ERROR(AtPosition(CheckLayers(profile.layers(), "layers"), positions));
  if (profile.batch() < 0) {
    return AtPosition(Refusal("batch", absl::StrCat(profile.batch()), "0 (unknown) or samples",
                              "mend the profile"),
                      positions);
  }
  return profile;
}

}  // namespace crossover
