//===- OutputFile.c - An output that is whole or not there --------*- C -*-===//
#define _GNU_SOURCE
#include "OutputFile.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

//===----------------------------------------------------------------------===//
// Signals
//===----------------------------------------------------------------------===//

// Names that a signal may read at any time: they are never freed. A file beyond them is not
// removed.
static char temporaries[32][PATH_MAX];
static pid_t owner;

void shardOutputFileMark(const char *temporary) {
  for (size_t i = 0; owner && i < sizeof temporaries / sizeof *temporaries; ++i)
    if (!*temporaries[i] && strlen(temporary) < PATH_MAX) {
      strcpy(temporaries[i], temporary);
      return;
    }
}

void shardOutputFileUnmark(const char *temporary) {
  for (size_t i = 0; owner && i < sizeof temporaries / sizeof *temporaries; ++i)
    if (strcmp(temporaries[i], temporary) == 0)
      *temporaries[i] = 0;
}

static void removeAll(int signal) {
  for (size_t i = 0; getpid() == owner && i < sizeof temporaries / sizeof *temporaries; ++i)
    if (*temporaries[i])
      unlink(temporaries[i]);
  raise(signal); // with its default action
}

// What a program prints for a reader is checked like any other output.
static void checkStandardOutput(int status, void *unused) {
  (void)unused;
  bool failed = ferror(stdout);
  errno = 0;
  if (status != 0 || (fflush(stdout) == 0 && !failed))
    return;
  fprintf(stderr, "%s: error: cannot write '-': %s\n", program_invocation_short_name,
          strerror(errno ? errno : EIO));
  _exit(1);
}

void shardOutputFilesGuard(void) {
  static const int signals[] = {SIGHUP, SIGINT, SIGTERM, SIGPIPE, SIGXCPU};
  // A file that is opened would take the number of a stream that is closed, and its text.
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd)
    if (fcntl(fd, F_GETFD) < 0)
      (void)!open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  owner = getpid();
  on_exit(checkStandardOutput, NULL);
  for (size_t i = 0; i < sizeof signals / sizeof *signals; ++i) {
    struct sigaction action, now;
    memset(&action, 0, sizeof action);
    action.sa_handler = removeAll;
    action.sa_flags = (int)SA_RESETHAND | SA_NODEFER;
    if (sigaction(signals[i], NULL, &now) == 0 && now.sa_handler == SIG_DFL)
      sigaction(signals[i], &action, NULL);
  }
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

static bool fail(char *message, size_t messageBytes, const char *path, int error) {
  snprintf(message, messageBytes, "cannot write '%s': %s", path, strerror(error));
  return false;
}

static void release(ShardOutputFile *file) {
  if (file->tempPath)
    shardOutputFileUnmark(file->tempPath);
  free(file->path);
  free(file->tempPath);
  *file = (ShardOutputFile){0};
}

mode_t shardOutputFileNewMode(void) {
  mode_t mask = umask(0);
  umask(mask);
  return 0666 & ~mask;
}

bool shardOutputFileOpen(const char *path, ShardOutputFile *out, char *message,
                         size_t messageBytes) {
  *out = (ShardOutputFile){0};
  if (strcmp(path, "-") == 0) {
    *out = (ShardOutputFile){.stream = stdout, .path = strdup(path)};
    return out->path || fail(message, messageBytes, path, ENOMEM);
  }
  struct stat status;
  bool exists = stat(path, &status) == 0;
  if (!*path || (exists && S_ISDIR(status.st_mode)))
    return fail(message, messageBytes, path, *path ? EISDIR : ENOENT);
  if (exists && access(path, W_OK) != 0)
    return fail(message, messageBytes, path, errno);
  out->path = strdup(path);
  int fd = -1;
  if (exists && !S_ISREG(status.st_mode)) {
    fd = open(path, O_WRONLY | O_CLOEXEC);
  } else if (out->path) {
    // A symbolic link stays one: the file that it names is replaced.
    char *target = exists ? realpath(path, NULL) : NULL;
    const char *place = target ? target : path;
    if (asprintf(&out->tempPath, "%s.XXXXXX", place) < 0)
      out->tempPath = NULL;
    if (target) {
      free(out->path);
      out->path = target;
    }
    if (out->tempPath) {
      fd = mkostemp(out->tempPath, O_CLOEXEC);
      if (fd >= 0)
        (void)!fchmod(fd, exists ? status.st_mode & 07777 : shardOutputFileNewMode());
    }
  }
  int error = errno;
  out->stream = fd >= 0 ? fdopen(fd, "w") : NULL;
  if (out->stream && out->tempPath)
    shardOutputFileMark(out->tempPath);
  if (out->stream)
    return true;
  if (fd >= 0)
    close(fd);
  if (fd >= 0 && out->tempPath)
    unlink(out->tempPath);
  release(out);
  return fail(message, messageBytes, path, error);
}

bool shardOutputFileCheck(const char *path, char *message, size_t messageBytes) {
  struct stat status;
  // Whoever reads a pipe would take it for the end when it is closed again.
  if (stat(path, &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode))
    return access(path, W_OK) == 0 || fail(message, messageBytes, path, errno);
  ShardOutputFile file;
  if (!shardOutputFileOpen(path, &file, message, messageBytes))
    return false;
  shardOutputFileAbandon(&file);
  return true;
}

bool shardOutputFileCommit(ShardOutputFile *file, char *message, size_t messageBytes) {
  errno = 0;
  bool ok = !ferror(file->stream);
  ok = fflush(file->stream) == 0 && ok;
  int error = errno ? errno : EIO;
  if (file->stream != stdout && fclose(file->stream) != 0 && ok) {
    ok = false;
    error = errno;
  }
  if (ok && file->tempPath && rename(file->tempPath, file->path) != 0) {
    ok = false;
    error = errno;
  }
  if (!ok) {
    if (file->tempPath)
      unlink(file->tempPath);
    fail(message, messageBytes, file->path, error);
  }
  release(file);
  return ok;
}

void shardOutputFileAbandon(ShardOutputFile *file) {
  if (file->stream && file->stream != stdout)
    fclose(file->stream);
  if (file->tempPath)
    unlink(file->tempPath);
  release(file);
}
