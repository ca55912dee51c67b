#include "net/tls_pem.h"

#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <cstdint>
#include <memory>

#include "absl/strings/str_cat.h"
#include "core/status.h"

namespace crossover::net {
namespace {

constexpr long kDayS = 24L * 60 * 60;
constexpr long kValidS = 365 * kDayS;

template <typename T, void (*free)(T*)>
struct Free {
  void operator()(T* object) const { free(object); }
};
using Key = std::unique_ptr<EVP_PKEY, Free<EVP_PKEY, EVP_PKEY_free>>;
using Certificate = std::unique_ptr<X509, Free<X509, X509_free>>;
using Bio = std::unique_ptr<BIO, Free<BIO, BIO_free_all>>;

absl::Status OpenSslError(absl::string_view what) {
  char reason[256] = "no reason given";
  if (const unsigned long code = ERR_get_error(); code != 0) {
    ERR_error_string_n(code, reason, sizeof reason);
  }
  ERR_clear_error();
  return absl::InternalError(absl::StrCat("OpenSSL cannot ", what, ": ", reason));
}

bool AddName(X509* certificate) {
  X509_NAME* const name = X509_get_subject_name(certificate);
  const auto* const text = reinterpret_cast<const unsigned char*>(kTlsName);
  if (X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, text, -1, -1, 0) != 1) return false;
  if (X509_set_issuer_name(certificate, name) != 1) return false;
  X509_EXTENSION* const alternative = X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name,
                                                          absl::StrCat("DNS:", kTlsName).c_str());
  const bool added = alternative != nullptr && X509_add_ext(certificate, alternative, -1) == 1;
  X509_EXTENSION_free(alternative);
  return added;
}

bool SetSerialAndTimes(X509* certificate) {
  uint32_t serial = 0;
  return RAND_bytes(reinterpret_cast<unsigned char*>(&serial), sizeof serial) == 1 &&
         ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate), serial) == 1 &&
         // Hosts' clocks may differ.
         X509_gmtime_adj(X509_getm_notBefore(certificate), -kDayS) != nullptr &&
         X509_gmtime_adj(X509_getm_notAfter(certificate), kValidS) != nullptr;
}

Bio Reader(const std::string& text) {
  return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

// Nobody is asked for a passphrase.
int NoPassphrase(char*, int, int, void*) { return 0; }

absl::Status Unusable(absl::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat(what, "; allowed: one certificate for the name \"", kTlsName,
                   "\" and its private key, as PEM; fix: openssl req -x509 -newkey ec -pkeyopt "
                   "ec_paramgen_curve:prime256v1 -nodes -subj /CN=",
                   kTlsName, " -addext subjectAltName=DNS:", kTlsName, " -keyout - -out -"));
}

}  // namespace

absl::StatusOr<std::string> MakeTlsPem() {
  const Key key(EVP_EC_gen("P-256"));
  const Certificate certificate(X509_new());
  if (key == nullptr || certificate == nullptr) return OpenSslError("make a key");
  // Version 3 is written as 2.
  const bool made = X509_set_version(certificate.get(), 2) == 1 &&
                    SetSerialAndTimes(certificate.get()) && AddName(certificate.get()) &&
                    X509_set_pubkey(certificate.get(), key.get()) == 1 &&
                    X509_sign(certificate.get(), key.get(), EVP_sha256()) > 0;
  if (!made) return OpenSslError("make a certificate");
  const Bio out(BIO_new(BIO_s_mem()));
  if (out == nullptr || PEM_write_bio_X509(out.get(), certificate.get()) != 1 ||
      PEM_write_bio_PrivateKey(out.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr) != 1) {
    return OpenSslError("write a certificate");
  }
  char* text = nullptr;
  const long length = BIO_get_mem_data(out.get(), &text);
  return std::string(text, static_cast<size_t>(length));
}

absl::Status CheckTlsPem(const std::string& pem) {
  const Bio certificates = Reader(pem);
  const Certificate certificate(
      PEM_read_bio_X509(certificates.get(), nullptr, NoPassphrase, nullptr));
  const Certificate second(PEM_read_bio_X509(certificates.get(), nullptr, NoPassphrase, nullptr));
  const Key key(PEM_read_bio_PrivateKey(Reader(pem).get(), nullptr, NoPassphrase, nullptr));
  const bool belong = certificate != nullptr && key != nullptr &&
                      X509_check_private_key(certificate.get(), key.get()) == 1;
  ERR_clear_error();
  if (certificate == nullptr) return Unusable("there is no certificate");
  // Whoever it vouches for would be believed.
  if (second != nullptr) return Unusable("there is more than one certificate");
  if (key == nullptr) return Unusable("there is no private key without a passphrase");
  if (!belong) return Unusable("the private key is not the certificate's");
  if (X509_check_host(certificate.get(), kTlsName, sizeof(kTlsName) - 1, 0, nullptr) != 1) {
    return Unusable("the certificate is for another name");
  }
  if (X509_cmp_current_time(X509_get0_notBefore(certificate.get())) > 0) {
    return Unusable("the certificate is not valid yet, by this host's clock");
  }
  if (X509_cmp_current_time(X509_get0_notAfter(certificate.get())) < 0) {
    return Unusable("the certificate is valid no more, by this host's clock");
  }
  return absl::OkStatus();
}

}  // namespace crossover::net
