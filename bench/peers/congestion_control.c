// A preload for programs that cannot choose TCP's congestion control themselves: sets
// $PEER_CONGESTION_CONTROL on each TCP socket that they make (those that they accept inherit it
// from the one that listens).
#define _GNU_SOURCE
#include <dlfcn.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

int socket(int domain, int type, int protocol) {
  int (*next)(int, int, int) = (int (*)(int, int, int))dlsym(RTLD_NEXT, "socket");
  const int fd = next(domain, type, protocol);
  const char* name = getenv("PEER_CONGESTION_CONTROL");
  const int is_tcp = (domain == AF_INET || domain == AF_INET6) && (type & 0xf) == SOCK_STREAM;
  if (fd >= 0 && name != NULL && is_tcp) {
    setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, strlen(name));
  }
  return fd;
}
