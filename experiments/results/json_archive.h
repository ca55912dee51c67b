// Structs as JSON and back. A struct lists its fields once, in a template that both
// the writer and the reader walk:
//
//   template <typename Archive> void Fields(Archive& a, Thing& v) { a("size", v.size); }
//
// a.Later(...) is for a field that older files may lack.
// Values are numbers, bools, strings, maps of strings, other such structs, vectors and
// optionals of them. A number that is not finite, and an empty optional, is null. Pure.
#ifndef CROSSOVER_EXPERIMENTS_RESULTS_JSON_ARCHIVE_H_
#define CROSSOVER_EXPERIMENTS_RESULTS_JSON_ARCHIVE_H_

#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"

namespace crossover::experiments {

// Keeps the fields in their order, so that a line begins with what it is about.
using Json = nlohmann::ordered_json;

// Makes JSON of a struct.
class JsonWriter {
 public:
  template <typename T>
  void operator()(const char* name, T& value) {
    json_[name] = Convert(value);
  }
  template <typename T>
  void Later(const char* name, T& value) {
    (*this)(name, value);
  }
  Json Take() { return std::move(json_); }

  template <typename T>
  static Json Convert(T& value) {
    if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::string> ||
                  std::is_same_v<T, std::map<std::string, std::string>>) {
      return Json(value);
    } else {
      JsonWriter writer;
      Fields(writer, value);
      return writer.Take();
    }
  }
  template <typename T>
  static Json Convert(std::optional<T>& value) {
    return value.has_value() ? Convert(*value) : Json(nullptr);
  }
  template <typename T>
  static Json Convert(std::vector<T>& values) {
    Json array = Json::array();
    for (T& value : values) array.push_back(Convert(value));
    return array;
  }

 private:
  Json json_ = Json::object();
};

// Reads a struct from JSON: every field must be there and of its kind, others are ignored.
// Keeps the first error, which names the field, and reads nothing after it.
class JsonReader {
 public:
  JsonReader(const Json& json, std::string path, std::string& error)
      : json_(json), path_(std::move(path)), error_(error) {}

  template <typename T>
  void operator()(const char* name, T& value) {
    if (!error_.empty()) return;
    const std::string path = path_.empty() ? name : absl::StrCat(path_, ".", name);
    const auto found = json_.find(name);
    if (found == json_.end()) {
      error_ = absl::StrCat("field '", path, "' is missing");
      return;
    }
    Read(*found, path, value);
  }
  // Where the field is not there, the value stays as it is.
  template <typename T>
  void Later(const char* name, T& value) {
    if (json_.contains(name)) (*this)(name, value);
  }

  void Read(const Json& json, const std::string& path, std::string& value) {
    if (!json.is_string()) return Wrong(json, path, "a string");
    value = json.get<std::string>();
  }
  void Read(const Json& json, const std::string& path, bool& value) {
    if (!json.is_boolean()) return Wrong(json, path, "true or false");
    value = json.get<bool>();
  }
  void Read(const Json& json, const std::string& path, int64_t& value) {
    const bool fits =
        json.is_number_integer() &&
        (!json.is_number_unsigned() ||
         json.get<uint64_t>() <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max()));
    if (!fits) return Wrong(json, path, "an integer of 64 bits");
    value = json.get<int64_t>();
  }
  // JSON has no NaN: a figure that is not finite was written as null.
  void Read(const Json& json, const std::string& path, double& value) {
    if (!json.is_number() && !json.is_null()) return Wrong(json, path, "a number or null");
    value = json.is_null() ? std::nan("") : json.get<double>();
  }
  void Read(const Json& json, const std::string& path, std::map<std::string, std::string>& values) {
    if (!json.is_object()) return Wrong(json, path, "an object");
    values.clear();
    for (const auto& [key, value] : json.items()) {
      if (error_.empty()) Read(value, absl::StrCat(path, ".", key), values[key]);
    }
  }
  template <typename T>
  void Read(const Json& json, const std::string& path, std::optional<T>& value) {
    value.reset();
    if (json.is_null()) return;
    Read(json, path, value.emplace());
  }
  template <typename T>
  void Read(const Json& json, const std::string& path, std::vector<T>& values) {
    if (!json.is_array()) return Wrong(json, path, "an array");
    values.assign(json.size(), T());
    for (size_t i = 0; i < values.size() && error_.empty(); ++i) {
      Read(json[i], absl::StrCat(path, "[", i, "]"), values[i]);
    }
  }
  template <typename T>
  void Read(const Json& json, const std::string& path, T& value) {
    if (!json.is_object()) return Wrong(json, path, "an object");
    JsonReader reader(json, path, error_);
    Fields(reader, value);
  }

 private:
  void Wrong(const Json& json, const std::string& path, const char* expected) {
    std::string found = json.dump(-1, ' ', false, Json::error_handler_t::replace);
    if (found.size() > 40) found = absl::StrCat(found.substr(0, 40), "...");
    error_ = absl::StrCat("field '", path, "': found ", found, ", expected ", expected);
  }

  const Json& json_;
  const std::string path_;
  std::string& error_;
};

// One line of JSON, without the newline. Bytes that are not UTF-8 are replaced.
template <typename T>
std::string WriteJson(const T& value) {
  T copy = value;
  return JsonWriter::Convert(copy).dump(-1, ' ', false, Json::error_handler_t::replace);
}

inline constexpr char kNotAnObject[] = "not one JSON object";

// Reads one object. The error, "" if there is none: kNotAnObject, or "field 'x.y': found ...,
// expected ...".
template <typename T>
std::string ReadJson(std::string_view text, T& value) {
  const Json json = Json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded() || !json.is_object()) return kNotAnObject;
  std::string error;
  JsonReader reader(json, "", error);
  Fields(reader, value);
  return error;
}

}  // namespace crossover::experiments

#endif  // CROSSOVER_EXPERIMENTS_RESULTS_JSON_ARCHIVE_H_
