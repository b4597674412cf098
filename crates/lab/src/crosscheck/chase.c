/* A chain of dependent loads in random order, as a reference for memory.latency that shares no code with it.
 *
 * Arguments: bytes, loads, CPU, seed. Prints nanoseconds per load. The order is Sattolo's: one cycle through all lines.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#define LINE 64

static uint64_t state;

static uint64_t next(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

int main(int argc, char **argv)
{
    if (argc != 5)
        return 2;
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    CPU_SET(atoi(argv[3]), &cpus);
    if (sched_setaffinity(0, sizeof cpus, &cpus))
        return 1;
    size_t bytes = strtoull(argv[1], NULL, 10), lines = bytes / LINE;
    uint64_t loads = strtoull(argv[2], NULL, 10);
    state = (strtoull(argv[4], NULL, 10) * 0x9e3779b97f4a7c15u) | 1;
    char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uint32_t *order = malloc(lines * sizeof *order);
    if (memory == MAP_FAILED || !order || lines < 2)
        return 1;
    madvise(memory, bytes, MADV_NOHUGEPAGE);
    for (size_t i = 0; i < lines; i++)
        order[i] = (uint32_t)i;
    for (size_t i = lines - 1; i > 0; i--) {
        size_t j = next() % i;
        uint32_t other = order[j];
        order[j] = order[i];
        order[i] = other;
    }
    for (size_t i = 0; i < lines; i++)
        *(void **)(memory + i * LINE) = memory + (size_t)order[i] * LINE;
    free(order);
    void **at = (void **)memory;
    double start = 0;
    /* The first half warms the caches. */
    for (int half = 0; half < 2; half++) {
        start = now();
        for (uint64_t n = 0; n < loads; n++)
            at = (void **)*at;
        __asm__ volatile("" : "+r"(at));
    }
    printf("%.4f\n", (now() - start) / (double)loads);
    return at == NULL;
}
