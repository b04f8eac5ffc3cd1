/** Every limit of what processes of one service share beside their books. */

/** How long a request waits for shared counts; then the own ones answer. A healthy server on a network needs one or two. */
export const sharedLimitMs = 100

/** After a failure the own counts answer for so long, so that an outage costs one request a second its wait, not each. */
export const restMs = 1_000

/** Commands on their way; more than a stalled server could answer in time. */
export const commandsUnderWay = 10_000

/** A server that is away is dialled again after so long. */
export const redialMs = 1_000
export const dialMs = 2_000

/** Counters live through their minute and the next, for clocks that differ a little. */
export const counterMs = 120_000

/** A process tells the others that it is there, and is forgotten after a while. */
export const presenceMs = 10_000
export const forgottenMs = 35_000

/** How many share the limits where the shared store never said. */
export const assumedProcesses = 4

/** More would let next to nobody in; an operator of more has a store that is not down. */
export const mostProcesses = 1_000

/** Blocks that are read when a process comes back to the store. */
export const blocksRead = 10_000
