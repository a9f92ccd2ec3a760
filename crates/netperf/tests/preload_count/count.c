/* Counts the socket calls of whatever it is preloaded into, in a file shared by
 * all processes that name it in COUNT_FILE. Shared memory, not a note at exit:
 * a process that is killed has counted all the same. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

enum { SOCKET, CONNECT, ACCEPT, SEND, RECV, SHUTDOWN, KINDS };

static uint64_t *counts;

__attribute__((constructor)) static void open_counts(void)
{
    const char *path = getenv("COUNT_FILE");
    int fd = path ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;
    if (fd < 0 || ftruncate(fd, KINDS * sizeof *counts) != 0)
        return;
    void *shared = mmap(NULL, KINDS * sizeof *counts, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (shared != MAP_FAILED)
        counts = shared;
}

#define COUNT(kind, type, name, parameters, ...)                      \
    type name parameters                                              \
    {                                                                 \
        static type (*next) parameters;                               \
        if (!next)                                                    \
            next = (type (*) parameters)dlsym(RTLD_NEXT, #name);      \
        if (counts)                                                   \
            __atomic_add_fetch(&counts[kind], 1, __ATOMIC_RELAXED);   \
        return next(__VA_ARGS__);                                     \
    }

COUNT(SOCKET, int, socket, (int d, int t, int p), d, t, p)
COUNT(CONNECT, int, connect, (int s, const struct sockaddr *a, socklen_t l), s, a, l)
COUNT(ACCEPT, int, accept, (int s, struct sockaddr *a, socklen_t *l), s, a, l)
COUNT(ACCEPT, int, accept4, (int s, struct sockaddr *a, socklen_t *l, int f), s, a, l, f)
COUNT(SEND, ssize_t, send, (int s, const void *b, size_t n, int f), s, b, n, f)
COUNT(SEND, ssize_t, sendto,
      (int s, const void *b, size_t n, int f, const struct sockaddr *a, socklen_t l), s, b, n, f, a, l)
COUNT(SEND, ssize_t, sendmsg, (int s, const struct msghdr *m, int f), s, m, f)
COUNT(RECV, ssize_t, recv, (int s, void *b, size_t n, int f), s, b, n, f)
COUNT(RECV, ssize_t, recvfrom,
      (int s, void *b, size_t n, int f, struct sockaddr *a, socklen_t *l), s, b, n, f, a, l)
COUNT(RECV, ssize_t, recvmsg, (int s, struct msghdr *m, int f), s, m, f)
COUNT(SHUTDOWN, int, shutdown, (int s, int how), s, how)
