/*
 * The small C program inside the process tests: it forks, replaces itself, or runs a command, over and over.
 *
 * fork(2) and execve(2) cost what the calling process costs to copy or to load, so these tests need a process like
 * the one that the figures are compared with: a tiny C program, dynamically linked against libc and nothing else,
 * with two pages of bss. A program of kurabe's own size would measure itself. The same source is also linked
 * statically, for the separate test of a static program's execve.
 *
 *     helper spawn                       per operation: fork, the child exits with 0, wait, check the status
 *     helper 0 TARGET COUNT START        per operation: replace itself by itself, with its state in the arguments
 *     helper run PROGRAM ARGUMENT...     per operation: fork, the child executes PROGRAM, wait, check the status
 *
 * Each first reports zero operations, which tells that it runs at all. Then it reads from stdin how many operations
 * to do (8 bytes), does them, and writes what came of it to stdout (struct reply). To 0 operations it answers with
 * what it and the children it waited for have used until now (struct used): nobody else can tell that exactly while
 * it lives. It ends when stdin does, or with the first failure. Byte order is the machine's own.
 *
 * It refuses to print anything: whoever started it puts failures into words.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* What failed; the numbers are known to helper.rs. */
enum stage { NOTHING = 0, FORK = 1, WAIT = 2, STATUS = 3, EXEC = 4, OPEN_NULL = 5 };

struct reply {
    uint64_t done;   /* operations finished */
    uint32_t stage;  /* what failed after them, or NOTHING */
    uint32_t detail; /* errno, or for STATUS the wait status */
};

struct used {
    uint64_t user;        /* CPU time in user mode, in microseconds */
    uint64_t system;      /* CPU time in kernel mode */
    uint64_t voluntary;   /* context switches */
    uint64_t involuntary;
    uint64_t major_faults;
    uint64_t minor_faults;
};

/* No chain of replacements goes on for longer without reporting, whatever became of the one who waits for it. */
#define CHAIN_SECONDS_MAX 600

/* Two pages of zeroed memory: the loader has to map them, as in the program that is imitated. */
char ballast[8192];

#ifdef OLDEST_START
/*
 * The entry point with its oldest version, so that a helper built on a new system runs on an old one: nothing else
 * here needs a newer libc. Linked with --wrap=__libc_start_main.
 */
__asm__(".symver oldest_start, __libc_start_main@" OLDEST_START);
int oldest_start(int (*)(int, char **, char **), int, char **, void (*)(void), void (*)(void), void (*)(void), void *);
int __wrap___libc_start_main(int (*program)(int, char **, char **), int argc, char **argv, void (*init)(void),
                             void (*fini)(void), void (*loader_fini)(void), void *stack_end);
int __wrap___libc_start_main(int (*program)(int, char **, char **), int argc, char **argv, void (*init)(void),
                             void (*fini)(void), void (*loader_fini)(void), void *stack_end) {
    return oldest_start(program, argc, argv, init, fini, loader_fini, stack_end);
}
#endif

static void tell_used(void) {
    static const int whose[] = {RUSAGE_SELF, RUSAGE_CHILDREN};
    struct used used = {0};
    ssize_t put;
    for (int i = 0; i < 2; i++) {
        struct rusage part;
        if (getrusage(whose[i], &part) != 0) _exit(1);
        used.user += (uint64_t)part.ru_utime.tv_sec * 1000000 + (uint64_t)part.ru_utime.tv_usec;
        used.system += (uint64_t)part.ru_stime.tv_sec * 1000000 + (uint64_t)part.ru_stime.tv_usec;
        used.voluntary += (uint64_t)part.ru_nvcsw;
        used.involuntary += (uint64_t)part.ru_nivcsw;
        used.major_faults += (uint64_t)part.ru_majflt;
        used.minor_faults += (uint64_t)part.ru_minflt;
    }
    do {
        put = write(1, &used, sizeof used);
    } while (put < 0 && errno == EINTR);
    if (put != (ssize_t)sizeof used) _exit(1);
}

/* The next operations asked for, or the end of the program where nobody will ask for any. */
static uint64_t next_request(void) {
    for (;;) {
        uint64_t operations;
        ssize_t got;
        do {
            got = read(0, &operations, sizeof operations);
        } while (got < 0 && errno == EINTR);
        if (got != (ssize_t)sizeof operations) _exit(got == 0 ? 0 : 1);
        if (operations > 0) return operations;
        tell_used();
    }
}

/* Reports; a failure or a lost reader ends the program. */
static void report(uint64_t done, enum stage stage, int detail) {
    struct reply reply = {done, (uint32_t)stage, (uint32_t)detail};
    ssize_t put;
    do {
        put = write(1, &reply, sizeof reply);
    } while (put < 0 && errno == EINTR);
    if (put != (ssize_t)sizeof reply || stage != NOTHING) _exit(1);
}

static void reap(pid_t child, uint64_t done) {
    int status;
    if (wait(&status) != child) report(done, WAIT, errno);
    if (status != 0) report(done, STATUS, status);
}

static void spawn_for_ever(void) {
    report(0, NOTHING, 0);
    for (;;) {
        uint64_t operations = next_request();
        for (uint64_t done = 0; done < operations; done++) {
            pid_t child = fork();
            if (child == 0) exit(0);
            if (child < 0) report(done, FORK, errno);
            reap(child, done);
        }
        report(operations, NOTHING, 0);
    }
}

static void run_for_ever(char **command) {
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0) report(0, OPEN_NULL, errno);
    report(0, NOTHING, 0);
    for (;;) {
        uint64_t operations = next_request();
        for (uint64_t done = 0; done < operations; done++) {
            pid_t self = getpid();
            pid_t child = fork();
            if (child == 0) {
                /* The pipes to the worker stay ours: a command that prints must not write into the report. */
                prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
                if (getppid() == self && dup2(null, 0) == 0 && dup2(null, 1) == 1) execv(command[0], command);
                _exit(127);
            }
            if (child < 0) report(done, FORK, errno);
            reap(child, done);
        }
        report(operations, NOTHING, 0);
    }
}

/* One link of the chain: everything it knows came in its arguments, everything it leaves goes out in them. */
static void replace_itself(char **argv) {
    int target = atoi(argv[2]);
    int count = atoi(argv[3]);
    long start = atol(argv[4]);
    time_t now;
    char target_text[16], count_text[16], start_text[32];

    time(&now);
    if (count >= target || (long)now - start > CHAIN_SECONDS_MAX) {
        report((uint64_t)count, NOTHING, 0);
        target = (int)next_request();
        time(&now);
        start = (long)now;
        count = 0;
    }
    sprintf(target_text, "%d", target);
    sprintf(count_text, "%d", count + 1);
    sprintf(start_text, "%ld", start);
    execl(argv[0], argv[0], "0", target_text, count_text, start_text, (char *)0);
    report((uint64_t)count, EXEC, errno);
}

int main(int argc, char **argv) {
    if (argc == 5 && strcmp(argv[1], "0") == 0) replace_itself(argv);
    if (argc == 2 && strcmp(argv[1], "spawn") == 0) spawn_for_ever();
    if (argc > 2 && strcmp(argv[1], "run") == 0) run_for_ever(argv + 2);
    return 2;
}
