/** States that are worth a test only if a run has really been in them. A long run that misses one proves less than it says. */
export const interestingStates = [
  'a facilitator accepts and times out',
  'a facilitator fails after it settled',
  'a facilitator resets before it sends',
  'a facilitator is slow',
  'a facilitator sends twice',
  'a facilitator answers garbage',
  'a facilitator lies that it settled',
  'a facilitator lies that it refused',
  'a facilitator does not send',
  'an engine fails before the first byte',
  'an engine breaks off',
  'an engine hangs',
  'an engine reports no usage',
  'an engine reports ten times the usage',
  'an engine says nothing',
  'a video fails',
  'a video is refused for its content',
  'a video gets no verdict',
  'a call was refused for want of credit',
  'a chat was answered whole',
  'a clock went backward',
  'a clock went forward',
  'a day passed at once',
  'a payer cancelled an authorization',
  'a payment that came again got its answer again',
  'a payment was answered as expired',
  'a payment was refused because its payer had nothing',
  'a process was killed',
  'a process was killed while it started',
  'a process was stopped',
  'a reader left a stream',
  'a stranger submitted a payment',
  'a stream ended with an error in it',
  'a stream was read to its end',
  'a top-up was answered as pending',
  'a top-up was credited',
  'a video was delivered',
  'a video was queued',
  'the chain dropped a block with a payment',
  'the chain was down',
  'the machine slept',
  'a key was in use',
  'a request under a key was answered again, byte for byte',
  'a key came with another request',
  'a copied sign-in was refused',
  'a key of a dead process was taken over',
  'a hold grew while its call went on',
  'a running call wrote down what it owed',
  'a dead hold was freed',
  'a job was refunded',
  'the books were read-only',
  'a job failed',
  'a job was completed',
  'a job of a dead process was set free',
  'a job was taken up again',
  'a settlement was unknown, and then credited',
  'a settlement was credited at once',
  'a payment was credited that somebody else had brought',
  'a rejected payment was taken up again',
  'a payment was rejected',
  'a payment expired',
  'a settlement became unknown',
  'an unknown payment was settled again',
  'a key was given up',
  'an answer was kept under its key',
  'a commit came again and got its first outcome',
  'a dead hold was charged what its checkpoint said',
  'a call cost more than its hold, and the rest was written off',
  'recovery met a live lease',
  'a key had used up its budget',
  'an account had too many calls open',
  'a hold was refused because the books were read-only',
  'two processes moved one job',
  'two drivers moved one payment',
  'two processes moved one key',
  'a hold had been recovered from a process that lived',
  'staking credit paid for a call',
  'staking credit was given back',
  'a key began a new period of its budget',
  'a charge was paid with staking credit and USD together',
  'work under a key was paid for by its dead attempt',
  'a process was killed between a commit and its answer',
] as const

export type InterestingState = (typeof interestingStates)[number]

/** How often each state was reached. */
export class Sometimes {
  readonly counts = new Map<string, number>(interestingStates.map(state => [state, 0]))

  reached(state: string): void {
    this.add(state, 1)
  }

  /** A name that is not in the list is a mistake of ours. */
  add(state: string, times: number): void {
    const count = this.counts.get(state)
    if (count === undefined) throw new Error(`Nobody has listed the state "${state}".`)
    this.counts.set(state, count + times)
  }

  missing(): string[] {
    return [...this.counts].filter(([, count]) => count === 0).map(([state]) => state)
  }
}
