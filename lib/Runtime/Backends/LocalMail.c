//===- LocalMail.c - Send and receive ------------------------------*- C -*-===//
// A send writes into the buffer of a receive that waits for it, else its bytes go to the mailbox of
// the rank that will ask for them.
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE
#include "Local.h"

#include <string.h>

enum { maxPooledMessages = 8 }; // buffers kept for the next sends to a rank

/// Bytes on their way to a rank that had not asked for them yet.
struct LocalMessage {
  struct LocalMessage *next;
  int32_t source;
  ShardRtCollective collective;
  size_t capacity; // bytes behind the header
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

/// A message with room for the bytes, from the pool if it has one. NULL: out of memory.
static LocalMessage *takeMessage(Local *local, LocalMailbox *mailbox, size_t bytes) {
  shardRtLock(&mailbox->gate.mutex);
  LocalMessage **best = NULL;
  for (LocalMessage **link = &mailbox->pool; *link; link = &(*link)->next)
    if ((*link)->capacity >= bytes && (!best || (*link)->capacity < (*best)->capacity))
      best = link;
  LocalMessage *message = best ? *best : NULL;
  if (message) {
    *best = message->next;
    --mailbox->nPooled;
  }
  pthread_mutex_unlock(&mailbox->gate.mutex);
  size_t all = messageHeaderBytes + (bytes + 63) / 64 * 64;
  if (!message && (message = shardRtAllocate(local->world->arena, all)))
    message->capacity = (bytes + 63) / 64 * 64;
  return message;
}

/// With the gate locked.
static void recycleMessage(Local *local, LocalMailbox *mailbox, LocalMessage *message) {
  if (mailbox->nPooled == maxPooledMessages) { // the smallest goes: it is the cheapest to make
    LocalMessage **least = &mailbox->pool;
    for (LocalMessage **link = &mailbox->pool; *link; link = &(*link)->next)
      if ((*link)->capacity < (*least)->capacity)
        least = link;
    LocalMessage *victim = *least;
    *least = victim->next;
    --mailbox->nPooled;
    shardRtRelease(local->world->arena, victim);
  }
  message->next = mailbox->pool;
  mailbox->pool = message;
  ++mailbox->nPooled;
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
        recycleMessage(local, mailbox, message);
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
    if (!(message = takeMessage(local, mailbox, bytes)))
      return SHARD_RT_OUT_OF_MEMORY;
    message->next = NULL;
    message->source = rank;
    message->collective = *collective;
    if (bytes)
      memcpy(messageData(message), collective->send, bytes);
  }
  shardRtGateBroadcast(gate);
  pthread_mutex_unlock(&gate->mutex);
  return SHARD_RT_OK;
}

ShardRtStatus shardRtLocalStartReceive(Local *local, int32_t rank,
                                       const ShardRtCollective *collective,
                                       ShardRtRequest *outRequest) {
  LocalMailbox *mailbox = &local->ranks[rank].mailbox;
  ShardRtArena *arena = local->world->arena;
  size_t bytes = bytesOf(collective);
  bool own = arena && collective->recv && !shardRtArenaHolds(arena, collective->recv);
  LocalReceive *receive = shardRtAllocate(arena, sizeof(*receive) + (own ? 64 + bytes : 0));
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
    pthread_mutex_unlock(&mailbox->gate.mutex);
    shardRtRelease(arena, receive);
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
    recycleMessage(local, mailbox, receive->message);
  shardRtRelease(local->world->arena, receive);
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

static void freeMessages(ShardRtArena *arena, LocalMessage *message) {
  while (message) {
    LocalMessage *next = message->next;
    shardRtRelease(arena, message);
    message = next;
  }
}

void shardRtLocalResetMailbox(ShardRtArena *arena, LocalMailbox *mailbox) {
  freeMessages(arena, mailbox->messages);
  mailbox->messages = NULL;
  mailbox->lastMessage = &mailbox->messages;
  while (mailbox->receives) {
    LocalReceive *next = mailbox->receives->next;
    shardRtRelease(arena, mailbox->receives->message);
    shardRtRelease(arena, mailbox->receives);
    mailbox->receives = next;
  }
  mailbox->lastReceive = &mailbox->receives;
}

/// After a rank was killed: its last changes may be half made, so that nothing is walked. What they

void shardRtLocalForgetMailbox(LocalMailbox *mailbox) {
  mailbox->messages = mailbox->pool = NULL;
  mailbox->lastMessage = &mailbox->messages;
  mailbox->receives = NULL;
  mailbox->lastReceive = &mailbox->receives;
  mailbox->nPooled = 0;
}

void shardRtLocalCloseMailbox(ShardRtArena *arena, LocalMailbox *mailbox) {
  shardRtLocalResetMailbox(arena, mailbox);
  freeMessages(arena, mailbox->pool);
  shardRtGateDestroy(&mailbox->gate);
}
