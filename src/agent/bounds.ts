import { dayMs, hourMs, minuteMs } from '#contract/time.ts'

/** Every limit of the agent, with its unit and reason. */

/** Within this time a repeated call counts as the same one; later it is a new request. */
export const sameCallMs = 10 * minuteMs
/**
 * A paid request ends after this time, even if its answer is still arriving. The service also continues this long after
 * a caller has left.
 */
export const paidAnswerMs = 10 * minuteMs
/** Most services show a charge this long after an answer was lost. Others may take longer, so the user decides then. */
export const chargeShownMs = 3 * minuteMs
/** For this long, a call without a key whose answer was lost is not a new request, because it may have been charged. */
export const lostCallMs = hourMs
/** Services' clocks may be off by this much, in either direction. */
export const clockSkewMs = minuteMs
/** Rows of delivered calls are kept for a day, so that charges can be checked. */
export const paidCallsKeptMs = dayMs
/** How long closing waits for paid calls in flight; what is still open then stays in its row. */
export const closingMs = 5_000

/**
 * How long a list of limits is cached, in milliseconds. It is read again sooner if this process made a call or a
 * payment; another process may have made one too.
 */
export const limitsLifeMs = 1_000
/** Prices and allowed values change rarely. */
export const modelsLifeMs = 5 * minuteMs
/** What a service puts before the first message: a template, and its own prompt (brief §1.5). No service reports it. */
export const templateTokens = 4_096
/** Overhead of a message: roles and separators. */
export const messageTokens = 16

/** Overhead of each embedded text: markers and an instruction. */
export const embeddingFrameTokens = 16
/** Overhead of an item or tool of a response when it is passed to a model as a message. */
export const responseItemTokens = 160
/** No speech codec in use has a lower bit rate, so this limits how many seconds a file of unknown length can have. */
export const leastSpeechBitsPerSecond = 6_000
/** The highest sample rate in use; a header that claims more is not trusted. */
export const mostSamplesPerSecond = 768_000
/** Readers that resample audio may count some samples more, which start another second. */
export const resamplingSeconds = 1
/** Poll interval of a job: short at first, then longer; brief §8.2 allows 120 polls a minute. */
export const pollMs = { first: 1_000, most: 5_000, growth: 1.5 } as const
/** How many running jobs a start resumes, no older than the service keeps their media. */
export const resumedJobs = 20
export const resumedJobMs = dayMs
/** A client's task can be polled for as long as services keep media and we keep answers. */
export const taskTtlMs = dayMs
/** Jobs that a process follows for clients that poll them; each costs a request every few seconds. */
export const followedJobs = 100
/** Assistants give up a call after 60 s, so before that, a longer one becomes a job. */
export const longCallMs = 40_000
/**
 * Services keep an answer for its key for a day. After that, the same key would buy a new one, so we stop well before.
 */
export const keysKeptMs = 20 * hourMs
/** One process saves a job's file at a time; a dead process's lease is taken over after this. */
export const savingLeaseMs = 10 * minuteMs
/** How many unknown faults of a job's answer are retried in one wait. */
export const jobFaults = 5

/** Largest file sent inline: base64 adds a third, and the service accepts 35 MB (published contract §4.2). */
export const inputFileBytes = 25 * 1024 * 1024
/** Longest accepted path. */
export const pathCharacters = 4_096

/** A request of `agent.fetch` is kept to be repeated after a 402; it may be as large as the contract's largest. */
export const fetchBodyBytes = 36 * 1024 * 1024
/** How much of a model's id a sentence shows. */
export const shownIdCharacters = 80
/** Ended jobs are kept for three months, and at most this many: each is below a kilobyte, and services keep fewer. */
export const finishedJobsKeptMs = 90 * dayMs
export const keptFinishedJobs = 5_000
/** Maximum number of jobs in a list. */
export const listedJobs = 100
/** Rows of saved files: a month of a busy assistant. Older rows are dropped; the files stay. */
export const keptSavedFiles = 1_000
/** Larger images would take gigabytes to decode. */
export const previewedPixels = 100_000_000
/** Time limit of making a preview; after that the result is delivered without one. */
export const previewMs = 8_000
/** Memory of the process that makes it: a hundred million pixels, decoded and as four-byte colours. */
export const previewMemoryMb = 1_536
/** Concurrent previews, each in its own process, and how many may wait. */
export const previewsAtOnce = 2
export const previewsWaiting = 16
/** A part that was not written to for this long is abandoned: a connection ends within minutes. */
export const oldPartMs = dayMs
/** The state of a service's limits expires within minutes; the limits themselves are kept for a day. */
export const notesKeptMs = dayMs

/** Receipts kept per service: some 40 MB, years of a busy assistant; the oldest are dropped. */
export const keptReceipts = 20_000
/** How long an answer waits for a service that does not respond about receipts. */
export const receiptAskMs = 3_000
/** Receipts per page (the contract's maximum), and how many pages one check of receipts fetches. */
export const receiptPageRows = 50
export const receiptPages = 4
/** How many receipts that waited for the service's keys are verified in one check. */
export const recheckedReceipts = 100

/**
 * Length of a proxy token that its owner chose. It need not be as hard to guess as a generated one, but a single word
 * is too short.
 */
export const proxyTokenCharacters = { least: 16, most: 256 } as const

/** For a program's request: how many files to show the user, and how deep in the body to search for them. */
export const askedFiles = { most: 12, depth: 8 } as const

/** Timeout of reading the credit for a status that should not be delayed. */
export const creditLookMs = 5_000

/** If a wallet did not open, a call tries again after this time; each attempt costs a third of a second. */
export const lockedAgainMs = 10_000
