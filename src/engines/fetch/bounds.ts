/** Of an address that a caller names; browsers and servers take no more. */
export const addressCharacters = 8_192

/** Hops to where a file really lies: a shortener and a mirror, and one more. */
export const redirectsAtMost = 3

/** Looking up a name and opening a connection, until its server says the first word. */
export const fetchAnswerMs = 10_000

/** Silence within a file, after which its server counts as gone. */
export const fetchSilenceMs = 10_000

/** Connections to one server on behalf of callers; beyond them fetches wait for a free one. */
export const connectionsPerAddress = 16

/** Ports of the web. Others are of services that expect no stranger. */
export const webPorts: ReadonlySet<string> = new Set(['', '80', '443'])
