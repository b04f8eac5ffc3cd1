/** States that are worth a test only if a run has really been in them. A long run that misses one proves less than it says. */
export const interestingStates = [
  // Chat, whole and streamed.
  'a chat was answered whole',
  'a stream was read to its end',
  'a stream ended with an error in it',
  'a reader left a stream',
  'a call was refused for want of credit',
  'a hold grew while its call went on',
  'a running call wrote down what it owed',
  'a call cost more than its hold, and the rest was written off',
  'an account had too many calls open',
  'an engine fails before the first byte',
  'an engine breaks off',
  'an engine hangs',
  'an engine reports no usage',
  'an engine reports ten times the usage',
  'an engine says nothing',

  // Sources of funds.
  'a key had used up its budget',
  'a key began a new period of its budget',
  'staking credit paid for a call',
  'staking credit was given back',
  'a charge was paid with staking credit and USD together',
  'the ledger was read-only',
  'a hold was refused because the ledger was read-only',

  // Jobs.
  'a video was queued',
  'a video was delivered',
  'a video fails',
  'a video is refused for its content',
  'a video gets no verdict',
  'a job was completed',
  'a job failed',
  'a job was refunded',
  'a job was taken up again',
  'a job of a dead process was set free',
  'two processes moved one job',

  // Work under an `Idempotency-Key`.
  'an answer was kept under its key',
  'a request under a key was answered again, byte for byte',
  'a key was in use',
  'a key came with another request',
  'a key was given up',
  'a key of a dead process was taken over',
  'two processes moved one key',
  'work under a key was paid for by an earlier attempt',

  // Top-ups.
  'a top-up was credited',
  'a top-up on Solana was credited',
  'a payment on Solana expired',
  'a top-up was answered as pending',
  'a payment that came again got its answer again',
  'a payment was answered as expired',
  'a payment was refused because its payer had nothing',
  'a payment was rejected',
  'a rejected payment was taken up again',
  'a payment expired',
  'a settlement was credited at once',
  'a settlement became unknown',
  'a settlement was unknown, and then credited',
  'an unknown payment was settled again',
  'two drivers moved one payment',
  'a stranger submitted a payment',
  'a payment was credited that somebody else had brought',
  'a payer cancelled an authorization',
  'a facilitator accepts and times out',
  'a facilitator fails after it settled',
  'a facilitator resets before it sends',
  'a facilitator is slow',
  'a facilitator sends twice',
  'a facilitator answers garbage',
  'a facilitator lies that it settled',
  'a facilitator lies that it refused',
  'a facilitator does not send',
  'the chain was down',
  'the chain dropped a block with a payment',

  // Processes, their store and their clocks.
  'a process was killed',
  'a process was killed while it started',
  'a process was killed between a commit and its answer',
  'a process was stopped',
  'a dead hold was freed',
  'a dead hold was charged what its checkpoint said',
  'a hold had been recovered from a process that lived',
  'a hold had lapsed, and was left to its owner to renew',
  'a commit failed before it was written',
  'a commit was written and its answer was lost',
  'a commit was written when nobody expected it any more',
  'a commit came again and got its first outcome',
  'a read failed',
  'the disk was full',
  'a clock went backward',
  'a clock went forward',
  'the machine slept',
  'a day passed at once',
  'a copied sign-in was refused',
] as const

export type InterestingState = (typeof interestingStates)[number]

const isInteresting = (state: string): state is InterestingState => interestingStates.some(each => each === state)

/** How often each state was reached. */
export class Sometimes {
  readonly counts = new Map<InterestingState, number>(interestingStates.map(state => [state, 0]))

  reached(state: InterestingState): void {
    this.counts.set(state, (this.counts.get(state) ?? 0) + 1)
  }

  /** What another run has counted. Throws where that run knew other states than this one. */
  add(counts: Iterable<readonly [state: string, times: number]>): void {
    for (const [state, times] of counts) {
      if (!isInteresting(state)) throw new Error(`Nobody has listed the state "${state}".`)
      this.counts.set(state, (this.counts.get(state) ?? 0) + times)
    }
  }

  missing(): InterestingState[] {
    return [...this.counts].filter(([, count]) => count === 0).map(([state]) => state)
  }
}
