/** Of a server for programs of one machine: they are few, and a body of the largest size over loopback takes a second. */
export const loopbackConnections = 256

/** As Node names them; in milliseconds and bytes. */
export const loopbackServerOptions = {
  headersTimeout: 15_000,
  requestTimeout: 60_000,
  maxHeaderSize: 32 * 1024,
} as const
