/** How long a node may take for a call or a batch. */
export const nodeAnswerMs = 30_000

/** Until a connection to a node stands. */
export const nodeConnectMs = 5_000

/** A whole answer: a block with all receipts is a few megabytes. */
export const nodeAnswerBytes = 16 * 1024 * 1024

/** Connections to one node. */
export const nodeConnections = 64

/** Nesting of a node's answer; call traces are the deepest. */
export const nodeAnswerDepth = 512
