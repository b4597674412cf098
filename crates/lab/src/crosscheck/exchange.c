/* Round trips of one byte over loopback, as a reference for net.local-rr that shares no code with it.
 *
 * Arguments: tcp or udp, milliseconds. Prints round trips per second; a fifth of the time before is not counted. The
 * two sides are threads, on any CPU that this process may use. A datagram is waited for 0.2 s at most, as in
 * net.local-rr, where it would be sent again; here it ends the program. That time-out takes 2 % of a round trip. A
 * stream has none.
 */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static int ends[2];

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void *answers(void *unused)
{
    char byte;
    while (recv(ends[1], &byte, 1, 0) == 1)
        if (send(ends[1], &byte, 1, 0) != 1)
            break;
    return unused;
}

static int bound(int type, struct sockaddr_in *at)
{
    socklen_t length = sizeof *at;
    int made = socket(AF_INET, type, 0);
    memset(at, 0, sizeof *at);
    at->sin_family = AF_INET;
    at->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (made < 0 || bind(made, (struct sockaddr *)at, length) || getsockname(made, (struct sockaddr *)at, &length))
        exit(1);
    return made;
}

static void to(int from, const struct sockaddr_in *at)
{
    if (connect(from, (const struct sockaddr *)at, sizeof *at))
        exit(1);
}

/* Round trips for so long, per second. */
static double rate(double milliseconds)
{
    uint64_t done = 0;
    double start = now(), at;
    do {
        for (int n = 0; n < 32; n++, done++) {
            char sent = (char)done, came;
            if (send(ends[0], &sent, 1, 0) != 1 || recv(ends[0], &came, 1, 0) != 1 || came != sent)
                exit(1);
        }
        at = now();
    } while (at - start < milliseconds);
    return (double)done * 1e3 / (at - start);
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    double milliseconds = atof(argv[2]);
    struct sockaddr_in at, own;
    pthread_t other;
    struct timeval wait = { 0, 200000 };
    int yes = 1;
    if (strcmp(argv[1], "udp") == 0) {
        ends[1] = bound(SOCK_DGRAM, &at);
        ends[0] = bound(SOCK_DGRAM, &own);
        to(ends[0], &at);
        to(ends[1], &own);
        for (int side = 0; side < 2; side++)
            if (setsockopt(ends[side], SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait))
                return 1;
    } else {
        int listener = bound(SOCK_STREAM, &at);
        if (listen(listener, 1))
            return 1;
        ends[0] = socket(AF_INET, SOCK_STREAM, 0);
        to(ends[0], &at);
        ends[1] = accept(listener, NULL, NULL);
        for (int side = 0; side < 2; side++)
            if (setsockopt(ends[side], IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes))
                return 1;
    }
    if (pthread_create(&other, NULL, answers, NULL))
        return 1;
    rate(milliseconds / 5);
    printf("%.1f\n", rate(milliseconds));
    return 0;
}
