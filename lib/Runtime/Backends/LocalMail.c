//===- LocalMail.c - Send and receive ------------------------------*- C -*-===//
// A send writes into the buffer of a receive that waits for it, else its bytes go to the mailbox of
// the rank that will ask for them. The messages that a program plans for lie ready in the mailbox's
// pool, each of the size that it will hold: a step takes them by best fit, so that one of a size is
// there as often as the plan says, whatever the order in which they come.
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE
#include "Local.h"

#include <string.h>

enum { maxPooledMessages = 8 }; // kept beyond the planned ones for the next sends to a rank

/// Bytes on their way to a rank that had not asked for them yet.
struct LocalMessage {
  struct LocalMessage *next;
  int32_t source;
  ShardRtCollective collective;
  size_t capacity; // bytes behind the header
  bool planned;    // is kept until the world ends
};

/// Where the bytes of a message begin: the next multiple of 64.
enum { messageHeaderBytes = (sizeof(LocalMessage) + 63) / 64 * 64 };

static size_t bytesOf(const ShardRtCollective *c) {
  return c->chunk * shardRtElementSize(c->element);
}

static bool messageMatches(const ShardRtCollective *send, const ShardRtCollective *receive) {
  return send->element == receive->element && send->chunk == receive->chunk &&
         send->site == receive->site;
}

static char *messageData(LocalMessage *message) { return (char *)message + messageHeaderBytes; }

/// NULL: out of memory.
static LocalMessage *createMessage(ShardRtArena *arena, size_t bytes) {
  LocalMessage *message = shardRtAllocate(arena, messageHeaderBytes + bytes);
  if (message)
    message->capacity = bytes;
  return message;
}

/// A message with room for the bytes of a send, from the pool if it has one. NULL: out of memory.
static LocalMessage *takeMessage(Local *local, LocalMailbox *mailbox, int32_t source,
                                 const ShardRtCollective *send) {
  size_t bytes = bytesOf(send);
  shardRtLock(&mailbox->gate.mutex);
  LocalMessage **best = NULL;
  for (LocalMessage **link = &mailbox->pool; *link; link = &(*link)->next)
    if ((*link)->capacity >= bytes && (!best || (*link)->capacity < (*best)->capacity))
      best = link;
  LocalMessage *message = best ? *best : NULL;
  if (message) {
    *best = message->next;
    mailbox->nPooled -= !message->planned;
  }
  mailbox->stagedBytes += bytes;
  if (mailbox->stagedBytes > mailbox->mostStagedBytes)
    mailbox->mostStagedBytes = mailbox->stagedBytes;
  pthread_mutex_unlock(&mailbox->gate.mutex);
  if (!message && !(message = createMessage(local->world->arena, bytes))) {
    shardRtLock(&mailbox->gate.mutex);
    mailbox->stagedBytes -= bytes;
    pthread_mutex_unlock(&mailbox->gate.mutex);
    return NULL;
  }
  message->next = NULL;
  message->source = source;
  message->collective = *send;
  return message;
}

/// With the gate locked.
static void recycleMessage(ShardRtArena *arena, LocalMailbox *mailbox, LocalMessage *message) {
  mailbox->stagedBytes -= bytesOf(&message->collective);
  if (!message->planned && mailbox->nPooled == maxPooledMessages) {
    // The smallest goes: it is the cheapest to make.
    LocalMessage **least = NULL;
    for (LocalMessage **link = &mailbox->pool; *link; link = &(*link)->next)
      if (!(*link)->planned && (!least || (*link)->capacity < (*least)->capacity))
        least = link;
    LocalMessage *victim = *least;
    *least = victim->next;
    --mailbox->nPooled;
    shardRtRelease(arena, victim);
  }
  message->next = mailbox->pool;
  mailbox->pool = message;
  mailbox->nPooled += !message->planned;
}

/// The first receive that waits for a message of this source and channel. With the gate locked.
static LocalReceive *findReceive(LocalMailbox *mailbox, int32_t source, int32_t channel) {
  for (LocalReceive *receive = mailbox->receives; receive; receive = receive->next)
    if (receive->collective.peer == source && receive->collective.channel == channel &&
        !receive->message && !receive->copying && !receive->complete)
      return receive;
  return NULL;
}

ShardRtStatus shardRtLocalStartSend(Local *local, int32_t rank,
                                    const ShardRtCollective *collective) {
  LocalMailbox *mailbox = &local->ranks[collective->peer].mailbox;
  ShardRtGate *gate = &mailbox->gate;
  size_t bytes = bytesOf(collective);
  LocalMessage *message = NULL;
  for (;;) {
    shardRtLock(&gate->mutex);
    LocalReceive *receive = findReceive(mailbox, rank, collective->channel);
    if (receive && !messageMatches(collective, &receive->collective)) {
      ShardRtCollective copy = receive->collective;
      if (message)
        recycleMessage(local->world->arena, mailbox, message);
      pthread_mutex_unlock(&gate->mutex);
      return shardRtLocalFailMismatch(local->world, rank, collective, collective->peer, &copy);
    }
    if (receive && message) { // it came while the bytes were copied
      receive->message = message;
      break;
    }
    if (receive) {
      receive->copying = true;
      receive->sender = rank;
      pthread_mutex_unlock(&gate->mutex);
      if (bytes)
        memcpy(receive->collective.recv, collective->send, bytes);
      shardRtLock(&gate->mutex);
      receive->copying = false;
      receive->complete = true;
      break;
    }
    if (message) {
      *mailbox->lastMessage = message;
      mailbox->lastMessage = &message->next;
      break;
    }
    pthread_mutex_unlock(&gate->mutex);
    if (!(message = takeMessage(local, mailbox, rank, collective)))
      return SHARD_RT_OUT_OF_MEMORY;
    if (bytes)
      memcpy(messageData(message), collective->send, bytes);
  }
  shardRtGateBroadcast(gate);
  pthread_mutex_unlock(&gate->mutex);
  return SHARD_RT_OK;
}

/// A receive that has been used, or a new one with room behind it. NULL: out of memory.
static LocalReceive *takeReceive(ShardRtArena *arena, LocalMailbox *mailbox, size_t room) {
  if (room)
    return shardRtAllocate(arena, sizeof(LocalReceive) + room);
  shardRtLock(&mailbox->gate.mutex);
  LocalReceive *receive = mailbox->freeReceives;
  if (receive)
    mailbox->freeReceives = receive->next;
  pthread_mutex_unlock(&mailbox->gate.mutex);
  return receive ? memset(receive, 0, sizeof(*receive)) : shardRtAllocate(arena, sizeof(*receive));
}

/// With the gate locked.
static void recycleReceive(ShardRtArena *arena, LocalMailbox *mailbox, LocalReceive *receive) {
  if (receive->userRecv) {
    shardRtRelease(arena, receive);
    return;
  }
  receive->next = mailbox->freeReceives;
  mailbox->freeReceives = receive;
}

ShardRtStatus shardRtLocalStartReceive(Local *local, int32_t rank,
                                       const ShardRtCollective *collective,
                                       ShardRtRequest *outRequest) {
  LocalMailbox *mailbox = &local->ranks[rank].mailbox;
  ShardRtArena *arena = local->world->arena;
  size_t bytes = bytesOf(collective);
  bool own = arena && collective->recv && !shardRtArenaHolds(arena, collective->recv);
  LocalReceive *receive = takeReceive(arena, mailbox, own ? 64 + bytes : 0);
  if (!receive)
    return SHARD_RT_OUT_OF_MEMORY;
  receive->rank = rank;
  receive->collective = *collective;
  if (own) { // the sender cannot reach it
    receive->userRecv = collective->recv;
    receive->collective.recv = (char *)(receive + 1);
  }
  shardRtLock(&mailbox->gate.mutex);
  LocalMessage **link = &mailbox->messages;
  while (*link && ((*link)->source != collective->peer ||
                   (*link)->collective.channel != collective->channel))
    link = &(*link)->next;
  LocalMessage *message = *link;
  if (message && !messageMatches(&message->collective, collective)) {
    ShardRtCollective copy = message->collective;
    recycleReceive(arena, mailbox, receive);
    pthread_mutex_unlock(&mailbox->gate.mutex);
    return shardRtLocalFailMismatch(local->world, rank, collective, collective->peer, &copy);
  }
  if (message) {
    *link = message->next;
    if (!*link)
      mailbox->lastMessage = link;
    receive->message = message;
  }
  *mailbox->lastReceive = receive;
  mailbox->lastReceive = &receive->next;
  pthread_mutex_unlock(&mailbox->gate.mutex);
  outRequest->state = receive;
  return SHARD_RT_OK;
}

/// Whether a sender that lives writes into the receive's buffer. With the gate locked.
static bool isCopying(Local *local, const LocalReceive *receive) {
  return receive->copying && !atomic_load(&local->ranks[receive->sender].lost);
}

/// Takes the receive off the mailbox and frees it. With the gate locked.
static void endReceive(Local *local, LocalMailbox *mailbox, LocalReceive *receive) {
  LocalReceive **link = &mailbox->receives;
  while (*link != receive)
    link = &(*link)->next;
  *link = receive->next;
  if (!*link)
    mailbox->lastReceive = link;
  if (receive->message)
    recycleMessage(local->world->arena, mailbox, receive->message);
  recycleReceive(local->world->arena, mailbox, receive);
}

ShardRtStatus shardRtLocalWaitReceive(Local *local, int32_t rank, LocalReceive *receive,
                                      bool blocks, bool *outComplete) {
  LocalMailbox *mailbox = &local->ranks[rank].mailbox;
  ShardRtGate *gate = &mailbox->gate;
  int64_t deadlineNs = 0;
  ShardRtStatus status = SHARD_RT_OK;
  *outComplete = true;
  shardRtLock(&gate->mutex);
  for (;;) {
    if (receive->message) {
      size_t bytes = bytesOf(&receive->collective);
      pthread_mutex_unlock(&gate->mutex);
      void *to = receive->userRecv ? receive->userRecv : receive->collective.recv;
      if (bytes)
        memcpy(to, messageData(receive->message), bytes);
      shardRtLock(&gate->mutex);
      endReceive(local, mailbox, receive);
      break;
    }
    if (receive->complete) {
      if (receive->userRecv && bytesOf(&receive->collective))
        memcpy(receive->userRecv, receive->collective.recv, bytesOf(&receive->collective));
      endReceive(local, mailbox, receive);
      break;
    }
    if (shardRtFailed(local->world)) {
      while (isCopying(local, receive))
        shardRtGateWait(gate, -1);
      if (!receive->complete)
        status = shardRtFailureFor(local->world, rank);
      endReceive(local, mailbox, receive);
      break;
    }
    if (!blocks) {
      *outComplete = false;
      break;
    }
    pthread_mutex_unlock(&gate->mutex);
    if (!deadlineNs)
      deadlineNs = shardRtLocalDeadline(local);
    shardRtLocalBlock(local, rank, (LocalBlocked){.receive = receive}, deadlineNs);
    shardRtLock(&gate->mutex);
  }
  pthread_mutex_unlock(&gate->mutex);
  return status;
}

bool shardRtLocalCancelReceives(Local *local, int32_t rank, bool incomplete, char *text,
                                size_t size) {
  LocalMailbox *mailbox = &local->ranks[rank].mailbox;
  shardRtLock(&mailbox->gate.mutex);
  while (mailbox->receives) {
    LocalReceive *receive = mailbox->receives;
    while (isCopying(local, receive))
      shardRtGateWait(&mailbox->gate, -1);
    if (!receive->complete && !receive->message) {
      if (!incomplete)
        shardRtDescribe(&receive->collective, text, size);
      incomplete = true;
    }
    endReceive(local, mailbox, receive);
  }
  pthread_mutex_unlock(&mailbox->gate.mutex);
  return incomplete;
}

ShardRtStatus shardRtLocalPrepareMailbox(ShardRtArena *arena, LocalMailbox *mailbox,
                                         int32_t nMessages, const ShardProgramMessage *messages) {
  shardRtLock(&mailbox->gate.mutex);
  bool ok = true;
  if (nMessages && !mailbox->freeReceives) {
    LocalReceive *receive = shardRtAllocate(arena, sizeof(*receive));
    if (receive)
      recycleReceive(arena, mailbox, receive);
    ok = receive != NULL;
  }
  for (int32_t i = 0; i < nMessages; ++i) {
    int64_t left = messages[i].count;
    for (LocalMessage *message = mailbox->pool; message; message = message->next)
      left -= message->planned && message->capacity == (size_t)messages[i].bytes;
    for (; ok && left > 0; --left) {
      LocalMessage *message = createMessage(arena, (size_t)messages[i].bytes);
      if (!(ok = message != NULL))
        break;
      message->planned = true;
      message->next = mailbox->pool;
      mailbox->pool = message;
      mailbox->stagingBytes += message->capacity;
    }
  }
  pthread_mutex_unlock(&mailbox->gate.mutex);
  return ok ? SHARD_RT_OK : SHARD_RT_OUT_OF_MEMORY;
}

void shardRtLocalResetMailbox(ShardRtArena *arena, LocalMailbox *mailbox) {
  while (mailbox->messages) {
    LocalMessage *next = mailbox->messages->next;
    recycleMessage(arena, mailbox, mailbox->messages);
    mailbox->messages = next;
  }
  mailbox->lastMessage = &mailbox->messages;
  while (mailbox->receives) {
    LocalReceive *next = mailbox->receives->next;
    if (mailbox->receives->message)
      recycleMessage(arena, mailbox, mailbox->receives->message);
    recycleReceive(arena, mailbox, mailbox->receives);
    mailbox->receives = next;
  }
  mailbox->lastReceive = &mailbox->receives;
}

void shardRtLocalForgetMailbox(LocalMailbox *mailbox) {
  mailbox->messages = mailbox->pool = NULL;
  mailbox->lastMessage = &mailbox->messages;
  mailbox->receives = mailbox->freeReceives = NULL;
  mailbox->lastReceive = &mailbox->receives;
  mailbox->nPooled = 0;
  mailbox->stagingBytes = mailbox->stagedBytes = 0;
}

void shardRtLocalCloseMailbox(ShardRtArena *arena, LocalMailbox *mailbox) {
  shardRtLocalResetMailbox(arena, mailbox);
  for (LocalMessage *message = mailbox->pool, *next; message; message = next) {
    next = message->next;
    shardRtRelease(arena, message);
  }
  for (LocalReceive *receive = mailbox->freeReceives, *next; receive; receive = next) {
    next = receive->next;
    shardRtRelease(arena, receive);
  }
  shardRtGateDestroy(&mailbox->gate);
}
