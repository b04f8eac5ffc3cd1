/** Rounds of all sides in turn; odd, so that the median is one of them. */
export const rounds = 5

/** How long one side is measured in a round, in milliseconds, and before the first one. */
export const phaseMs = 2_000
export const warmUpMs = 2_000

/** Of a run that only shows that the benchmark works. */
export const short = { rounds: 1, phaseMs: 300, warmUpMs: 100 } as const

/** Callers at once. */
export const connections = 32

/** Keys and known wallets that calls are spread over; each may make 500 requests a minute. */
export const customers = 400

/** Requests a second that one side can make on this machine at most: so many new wallets are made ready for each second. */
export const mostPerSecond = 4_000

/** Requests a second of each kind while the others' times are taken: well below what one core can do. */
export const besideRate = 300

/** The address that the service is signed in at; where it listens is another matter. */
export const publicUrl = 'https://bench.example'
