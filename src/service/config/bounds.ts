/** A configuration of a thousand models with all their texts stays below this. */
export const configBytes = 4 * 1024 * 1024

/** A file that a variable names as the place of its value. */
export const valueFileBytes = 64 * 1024

/** Aliases that a file may have: enough for a server that every model names, too few to blow a file up. */
export const configAliases = 1_000

/** Faults that are told at once; the rest shows once these are mended. */
export const faultsTold = 20

/** Of a value that was found, in a fault. */
export const foundCharacters = 60

/** Upstreams of one model. */
export const upstreamsOfModel = 64

/** Signs and hashes; a word could be guessed. */
export const secretCharacters = 32

/** Of a system prompt, a description or a policy. */
export const textCharacters = 100_000

/** Requests and tokens of a minute that a setting may name: more than any machine serves, and sums stay exact. */
export const requestsPerMinute = 10_000_000
export const tokensPerMinute = 100_000_000_000

/** More would be a network, which callers had better not reach. */
export const fetchHostCount = 100

/** Of one blockchain, each asked where the one before it is away. */
export const nodesOfNetwork = 16

/** Characters of one service, and what is told of one: a list of all goes through memory at each search. */
export const charactersOfService = 1_000
export const labelsOfCharacter = 100
export const labelCharacters = 200
export const reviewsOfCharacter = 1_000

/** Networks of proxies; a large provider's list has some hundred. */
export const trustedProxyCount = 1_000
