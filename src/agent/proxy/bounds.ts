/** Every bound of the proxy, with its unit and why that number. */

/** Where it listens unless told. */
export const proxyPort = 8403
/** Of a token that its owner chose: as hard to guess as one of ours must not be asked of people, a word must not pass. */
export const tokenCharacters = { least: 16, most: 256 } as const
/** Of a token of ours. */
export const tokenBytes = 24

/** Programs of one machine; a body of the largest size over loopback takes a second. */
export const proxyLimits = {
  headersTimeoutMs: 15_000,
  requestTimeoutMs: 60_000,
  headerBytes: 32 * 1024,
  connections: 256,
} as const

/** How long running answers may go on when the proxy is stopped. */
export const proxyDrainMs = 5_000
