/* Preloaded into osmo-msc: on kernels without SCTP its listener for LTE (SGs), which no test uses, gets a TCP
 * socket, because osmo-msc ends when it cannot open one. Everything else is passed on. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <netinet/in.h>
#include <sys/socket.h>

/* The protocol of sockets, which is the level of their options, too. */
#define SCTP 132
/* What libsctp calls to bind a socket to more addresses (SCTP_SOCKOPT_BINDX_ADD). */
#define BIND_MORE 100

int socket(int domain, int type, int protocol)
{
	int (*next)(int, int, int) = dlsym(RTLD_NEXT, "socket");

	return next(domain, type, protocol == SCTP ? IPPROTO_TCP : protocol);
}

int setsockopt(int fd, int level, int name, const void *value, socklen_t length)
{
	int (*next)(int, int, int, const void *, socklen_t) = dlsym(RTLD_NEXT, "setsockopt");

	if (level != SCTP)
		return next(fd, level, name, value, length);
	return name == BIND_MORE ? bind(fd, value, length) : 0;
}

int getsockopt(int fd, int level, int name, void *value, socklen_t *length)
{
	int (*next)(int, int, int, void *, socklen_t *) = dlsym(RTLD_NEXT, "getsockopt");

	return level == SCTP ? 0 : next(fd, level, name, value, length);
}
