/** Every bound of the proxy, with its unit and why that number. */

/** Where it listens unless told. */
export const proxyPort = 8403
/** Of a token of ours. */
export const tokenBytes = 24

/** How long running answers may go on when the proxy is stopped. */
export const proxyDrainMs = 5_000
