// The ops of scheduled programs (L4) that are not upstream's: a collective or message of the shard
// dialect in two halves, its start and its wait, tied by a token. A start has the operands and
// attributes of the op of the shard dialect that it begins, and its token; a wait takes the token,
// maybe what was sent, so that it is not written over before, and has the result. Between the two
// the device computes. `spmd.wait` ends starts of any kind that have no result.
//   mlir-opt --irdl-file=share/shard/spmd.irdl.mlir scheduled.mlir
irdl.dialect @spmd {
  irdl.type @token
  irdl.operation @all_reduce_start {
    %value = irdl.any
    %index = irdl.base "!builtin.index"
    %token = irdl.base @spmd::@token
    irdl.operands(value: %value, peers: variadic %index)
    irdl.results(token: %token)
  }
  irdl.operation @all_reduce_done {
    %token = irdl.base @spmd::@token
    %sent = irdl.any
    %value = irdl.any
    irdl.operands(token: %token, sent: optional %sent)
    irdl.results(value: optional %value)
  }
  irdl.operation @all_gather_start {
    %value = irdl.any
    %index = irdl.base "!builtin.index"
    %token = irdl.base @spmd::@token
    irdl.operands(value: %value, peers: variadic %index)
    irdl.results(token: %token)
  }
  irdl.operation @all_gather_done {
    %token = irdl.base @spmd::@token
    %sent = irdl.any
    %value = irdl.any
    irdl.operands(token: %token, sent: optional %sent)
    irdl.results(value: optional %value)
  }
  irdl.operation @reduce_scatter_start {
    %value = irdl.any
    %index = irdl.base "!builtin.index"
    %token = irdl.base @spmd::@token
    irdl.operands(value: %value, peers: variadic %index)
    irdl.results(token: %token)
  }
  irdl.operation @reduce_scatter_done {
    %token = irdl.base @spmd::@token
    %sent = irdl.any
    %value = irdl.any
    irdl.operands(token: %token, sent: optional %sent)
    irdl.results(value: optional %value)
  }
  irdl.operation @all_to_all_start {
    %value = irdl.any
    %index = irdl.base "!builtin.index"
    %token = irdl.base @spmd::@token
    irdl.operands(value: %value, peers: variadic %index)
    irdl.results(token: %token)
  }
  irdl.operation @all_to_all_done {
    %token = irdl.base @spmd::@token
    %sent = irdl.any
    %value = irdl.any
    irdl.operands(token: %token, sent: optional %sent)
    irdl.results(value: optional %value)
  }
  irdl.operation @shift_start {
    %value = irdl.any
    %index = irdl.base "!builtin.index"
    %token = irdl.base @spmd::@token
    irdl.operands(value: %value, peers: variadic %index)
    irdl.results(token: %token)
  }
  irdl.operation @shift_done {
    %token = irdl.base @spmd::@token
    %sent = irdl.any
    %value = irdl.any
    irdl.operands(token: %token, sent: optional %sent)
    irdl.results(value: optional %value)
  }
  irdl.operation @broadcast_start {
    %value = irdl.any
    %index = irdl.base "!builtin.index"
    %token = irdl.base @spmd::@token
    irdl.operands(value: %value, peers: variadic %index)
    irdl.results(token: %token)
  }
  irdl.operation @broadcast_done {
    %token = irdl.base @spmd::@token
    %sent = irdl.any
    %value = irdl.any
    irdl.operands(token: %token, sent: optional %sent)
    irdl.results(value: optional %value)
  }
  irdl.operation @send_start {
    %value = irdl.any
    %index = irdl.base "!builtin.index"
    %token = irdl.base @spmd::@token
    irdl.operands(value: %value, peers: variadic %index)
    irdl.results(token: %token)
  }
  irdl.operation @send_done {
    %token = irdl.base @spmd::@token
    %sent = irdl.any
    %value = irdl.any
    irdl.operands(token: %token, sent: optional %sent)
    irdl.results(value: optional %value)
  }
  irdl.operation @recv_start {
    %value = irdl.any
    %index = irdl.base "!builtin.index"
    %token = irdl.base @spmd::@token
    irdl.operands(value: %value, peers: variadic %index)
    irdl.results(token: %token)
  }
  irdl.operation @recv_done {
    %token = irdl.base @spmd::@token
    %sent = irdl.any
    %value = irdl.any
    irdl.operands(token: %token, sent: optional %sent)
    irdl.results(value: optional %value)
  }
  irdl.operation @wait {
    %token = irdl.base @spmd::@token
    irdl.operands(tokens: variadic %token)
  }
}
