//===- Children.c - Seeds, in children that may crash -------------*- C -*-===//
// Children take batches of seeds and send an outcome each; one that crashes or hangs is a finding
// with its seed, and another child goes on behind it.
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE

#include "Run.h"

#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BATCH = 50, MAX_JOBS = 64 };

static void runSeed(const Options *options, uint64_t seed, Outcome *out) {
  Draws draws = {.state = seed};
  Program program;
  programCreate(&draws, !options->even, &program);
  program.planted = options->planted;
  *out = (Outcome){.seed = seed};
  char *stock = NULL;
  if (options->stock && seed - options->first < (uint64_t)options->nStock * 2 &&
      asprintf(&stock, "%s/%" PRIu64 ".mlir", options->stock, seed) < 0)
    stopWith("out of memory");
  checkProgram(&program, stock, out);
  free(stock);
  programRelease(&program);
  drawsRelease(&draws);
}

typedef struct Child {
  pid_t pid; // 0: free
  int outcomes, errors;
  uint64_t next, end; // seeds
  double since;       // it last sent something
  Outcome partly;
  size_t received;
} Child;

static void sendAll(int file, const void *data, size_t bytes) {
  for (size_t sent = 0; sent < bytes;) {
    ssize_t n = write(file, (const char *)data + sent, bytes - sent);
    if (n <= 0)
      _exit(3);
    sent += (size_t)n;
  }
}

/// Forks. In the child: `*outFile` takes outcomes, standard error goes to a file that the parent
/// reads.
static pid_t startChild(int *outFile, int *outErrors) {
  int ends[2];
  char name[] = "/tmp/fuzz-graphs-XXXXXX";
  if (pipe(ends) != 0 || (*outErrors = mkstemp(name)) < 0)
    stopWith("cannot start a child");
  unlink(name);
  fflush(NULL);
  pid_t pid = fork();
  if (pid < 0)
    stopWith("cannot start a child");
  if (pid == 0) {
    close(ends[0]);
    dup2(*outErrors, STDERR_FILENO);
    *outFile = ends[1];
    return 0;
  }
  close(ends[1]);
  *outFile = ends[0];
  return pid;
}

/// What the child said last on standard error.
static void readErrors(int file, char *out, size_t outBytes) {
  off_t size = lseek(file, 0, SEEK_END);
  off_t begin = size > (off_t)outBytes - 1 ? size - ((off_t)outBytes - 1) : 0;
  ssize_t n = pread(file, out, outBytes - 1, begin);
  out[n > 0 ? n : 0] = 0;
  for (char *c = out; *c; ++c)
    if (*c == '\n')
      *c = ' ';
}

static void describeEnd(Child *child, int status, bool hung, Outcome *out) {
  *out = (Outcome){.seed = child->next};
  readErrors(child->errors, out->message, sizeof out->message);
  size_t n = strlen(out->message);
  if (hung) {
    out->verdict = HUNG;
  } else if (WIFSIGNALED(status)) {
    out->verdict = CRASHED;
    snprintf(out->message + n, sizeof out->message - n, "%s", strsignal(WTERMSIG(status)));
  } else {
    out->verdict = FAILED;
  }
}

static void endChild(Child *child) {
  close(child->outcomes);
  close(child->errors);
  child->pid = 0;
}

static void runBatch(const Options *options, Child *child, int file) {
  for (uint64_t seed = child->next; seed < child->end; ++seed) {
    Outcome outcome;
    runSeed(options, seed, &outcome);
    sendAll(file, &outcome, sizeof outcome);
  }
  _exit(0);
}

void runForked(const Options *options, const Program *program, uint64_t seed, Outcome *out) {
  int file;
  Child child = {.next = seed};
  child.pid = startChild(&file, &child.errors);
  if (child.pid == 0) {
    *out = (Outcome){.seed = seed};
    checkProgram(program, NULL, out);
    sendAll(file, out, sizeof *out);
    _exit(0);
  }
  child.outcomes = file;
  size_t received = 0;
  double end = now() + options->seconds;
  while (received < sizeof *out) {
    struct pollfd wait = {.fd = file, .events = POLLIN};
    double left = end - now();
    if (left <= 0 || poll(&wait, 1, (int)(1000 * left) + 1) <= 0)
      break;
    ssize_t got = read(file, (char *)out + received, sizeof *out - received);
    if (got <= 0)
      break;
    received += (size_t)got;
  }
  bool hung = received < sizeof *out && now() >= end;
  if (hung)
    kill(child.pid, SIGKILL);
  int status = 0;
  waitpid(child.pid, &status, 0);
  if (received < sizeof *out)
    describeEnd(&child, status, hung, out);
  endChild(&child);
}

//===----------------------------------------------------------------------===//
// All seeds
//===----------------------------------------------------------------------===//

typedef struct Queue {
  uint64_t next, end; // seeds that no child has yet
  uint64_t batch;     // seeds for a child, several batches each so that they end together
  double limit;       // when no more are begun
} Queue;

static void refill(const Options *options, Child *child, Queue *queue) {
  if (child->next == child->end) {
    if (queue->next == queue->end || now() > queue->limit)
      return;
    child->next = queue->next;
    child->end = queue->end - queue->next < queue->batch ? queue->end : queue->next + queue->batch;
    queue->next = child->end;
  }
  int file;
  child->received = 0;
  child->since = now();
  child->pid = startChild(&file, &child->errors);
  if (child->pid == 0)
    runBatch(options, child, file);
  child->outcomes = file;
}

/// Takes what a child sent: whole outcomes are in `child->partly` then. False at its end.
static bool receive(Child *child) {
  ssize_t n = read(child->outcomes, (char *)&child->partly + child->received,
                   sizeof child->partly - child->received);
  if (n <= 0)
    return false;
  child->received += (size_t)n;
  return true;
}

uint64_t runAll(const Options *options, void (*take)(void *user, const Outcome *outcome),
                void *user) {
  Child children[MAX_JOBS] = {{0}};
  Queue queue = {.next = options->first,
                 .end = options->first + options->count,
                 .batch = options->count / (8 * (uint64_t)options->jobs),
                 .limit = options->limit ? now() + options->limit : 1e300};
  queue.batch = queue.batch < 1 ? 1 : queue.batch > BATCH ? BATCH : queue.batch;
  for (;;) {
    struct pollfd files[MAX_JOBS];
    Child *of[MAX_JOBS];
    int n = 0;
    for (int i = 0; i < options->jobs; ++i) {
      if (!children[i].pid)
        refill(options, &children[i], &queue);
      if (!children[i].pid)
        continue;
      of[n] = &children[i];
      files[n++] = (struct pollfd){.fd = children[i].outcomes, .events = POLLIN};
    }
    if (n == 0)
      return queue.next - options->first;
    poll(files, (nfds_t)n, 1000);
    for (int i = 0; i < n; ++i) {
      Child *child = of[i];
      bool hung = now() - child->since > options->seconds;
      if (!hung && (!files[i].revents || receive(child))) {
        if (child->received == sizeof child->partly) {
          take(user, &child->partly);
          child->received = 0;
          child->since = now();
          ++child->next;
        }
        continue;
      }
      if (hung)
        kill(child->pid, SIGKILL);
      int status = 0;
      waitpid(child->pid, &status, 0);
      if (child->next < child->end) { // it ended before its batch did
        Outcome outcome;
        describeEnd(child, status, hung, &outcome);
        take(user, &outcome);
        ++child->next;
      }
      endChild(child);
    }
  }
}
