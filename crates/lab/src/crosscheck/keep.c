#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Removes what is small, and leaves a large file as it is. */
int unlink(const char *path)
{
    struct stat file;

    if (stat(path, &file) == 0 && file.st_size > 1 << 20)
        return 0;
    return (int)syscall(SYS_unlinkat, AT_FDCWD, path, 0);
}
