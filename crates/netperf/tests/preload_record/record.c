/* Records the times of sends and receives of the program that it is preloaded into: a line
 * "descriptor S|R nanoseconds" for the beginning of each send and the end of each receive.
 * Each receive is delayed by a time between 0.1 and 10 ms, so that the times differ. Lines are
 * kept in memory, and written to RECORD_FILE when the program ends. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>

#define MOST 4000000

static struct { int64_t at; int32_t descriptor; char kind; } calls[MOST];
static size_t made;

static void note(int descriptor, char kind)
{
    struct timespec now;
    size_t slot = __atomic_fetch_add(&made, 1, __ATOMIC_RELAXED);
    if (slot >= MOST)
        return;
    clock_gettime(CLOCK_MONOTONIC, &now);
    calls[slot].at = now.tv_sec * 1000000000LL + now.tv_nsec;
    calls[slot].descriptor = descriptor;
    calls[slot].kind = kind;
}

static void delay(void)
{
    /* Steps of 3.137 ms modulo 9.9 ms: 9,900 different times, evenly spread. */
    static int64_t step;
    int64_t wait = 100000 + __atomic_add_fetch(&step, 3137000, __ATOMIC_RELAXED) % 9900000;
    struct timespec time = { 0, wait };
    nanosleep(&time, NULL);
}

__attribute__((destructor)) static void write_calls(void)
{
    const char *path = getenv("RECORD_FILE");
    FILE *file = path ? fopen(path, "w") : NULL;
    if (!file)
        return;
    for (size_t slot = 0; slot < made && slot < MOST; slot++)
        fprintf(file, "%d %c %lld\n", (int)calls[slot].descriptor, calls[slot].kind,
                (long long)calls[slot].at);
    fclose(file);
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define FORWARD(name, before, after, parameters, ...) \
    ssize_t name parameters                           \
    {                                                 \
        static __typeof__(&name) next;                \
        if (!next)                                    \
            next = NEXT(name);                        \
        before;                                       \
        ssize_t result = next(__VA_ARGS__);           \
        after;                                        \
        return result;                                \
    }
#define SENDING(name, ...) FORWARD(name, note(s, 'S'), , __VA_ARGS__)
#define RECEIVING(name, ...) FORWARD(name, , (delay(), note(s, 'R')), __VA_ARGS__)

SENDING(send, (int s, const void *b, size_t n, int f), s, b, n, f)
SENDING(sendto, (int s, const void *b, size_t n, int f, const struct sockaddr *a, socklen_t l),
        s, b, n, f, a, l)
SENDING(sendmsg, (int s, const struct msghdr *m, int f), s, m, f)
RECEIVING(recv, (int s, void *b, size_t n, int f), s, b, n, f)
RECEIVING(recvfrom,
          (int s, void *restrict b, size_t n, int f, struct sockaddr *restrict a, socklen_t *restrict l),
          s, b, n, f, a, l)
RECEIVING(recvmsg, (int s, struct msghdr *m, int f), s, m, f)
