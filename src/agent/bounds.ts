import { dayMs, hourMs, minuteMs } from '#contract/time.ts'

/** Every bound of the agent, with its unit and why that number. */

/** A repeated call is taken for the same one within this time; later it is a new wish. */
export const sameCallMs = 10 * minuteMs
/** One paid request ends after this, however its answer drips: as long as the service works on for a caller who has left. */
export const paidAnswerMs = 10 * minuteMs
/** Most services have shown a charge so long after an answer was lost; the others may do it later, so a person is asked then. */
export const chargeShownMs = 3 * minuteMs
/** For as long a call without a key whose answer was lost is no new wish, because it may have been charged. */
export const lostCallMs = hourMs
/** Clocks of services may be off by this (design: both ways). */
export const clockSkewMs = minuteMs
/** Rows of delivered calls are kept for a day, to look into a charge. */
export const paidCallsKeptMs = dayMs
/** How long closing waits for paid calls that are in flight; what is then still open stands in its row. */
export const closingMs = 5_000

/** A list of limits serves again for so long, in milliseconds, unless this process called or paid since: another one may have. */
export const limitsLifeMs = 1_000
/** Prices and allowed values change rarely. */
export const modelsLifeMs = 5 * minuteMs
/** What a service puts before the first message: a template, and a prompt of its own (brief §1.5). The one thing nobody tells. */
export const templateTokens = 4_096
/** Roles and separators of a message. */
export const messageTokens = 16

/** What a model adds to each text that it embeds: a beginning, an end, a word on what it is for. */
export const embeddingFrameTokens = 16
/** What a service writes round an item or a tool of a response when it hands it to a model as a message. */
export const responseItemTokens = 160
/**
 * No audio of speech in use has fewer bits: a file that nothing measures is held to have no more seconds than this
 * gives.
 */
export const leastSpeechBitsPerSecond = 6_000
/** Samples a second of the finest audio in use; a header that claims more is not believed. */
export const mostSamplesPerSecond = 768_000
/** Readers that bring audio to another rate may count some samples more, which begin a second. */
export const resamplingSeconds = 1
/** Between two questions after a job: the first soon, then slower; brief §8.2 allows 120 a minute. */
export const pollMs = { first: 1_000, most: 5_000, growth: 1.5 } as const
/** A start takes up so many running jobs, no older than the service keeps their media. */
export const resumedJobs = 20
export const resumedJobMs = dayMs
/** A task of a client can be looked at for as long as services keep media and we keep answers. */
export const taskTtlMs = dayMs
/** Jobs that a process follows for clients who look at them; each costs a question every few seconds. */
export const followedJobs = 100
/** Assistants give a call up after 60 s, so a longer one becomes a job before that. */
export const longCallMs = 40_000
/** Services keep an answer by its key for a day; later the same key would buy another, so we stop well before. */
export const keysKeptMs = 20 * hourMs
/** One process saves a job's file at a time; a dead one is taken over after this. */
export const savingLeaseMs = 10 * minuteMs
/** An unknown fault of a job's answer is asked for again this often in one wait. */
export const jobFaults = 5

/** Files that are sent inline: base64 adds a third, and the service takes 35 MB (published contract §4.2). */
export const inputFileBytes = 25 * 1024 * 1024
/** Longest path that is looked at. */
export const pathCharacters = 4_096

/** A request of `agent.fetch` is kept to be repeated after a 402; larger ones than the contract's largest are refused. */
export const fetchBodyBytes = 36 * 1024 * 1024
/** A model's id as it stands in a sentence. */
export const shownIdCharacters = 80
/** Jobs that have ended are kept for a quarter, and so many: each is below a kilobyte, and the services keep less. */
export const finishedJobsKeptMs = 90 * dayMs
export const keptFinishedJobs = 5_000
/** Rows of jobs that are listed at most. */
export const listedJobs = 100
/** Rows of saved files: a busy assistant saves so many in a month, and nobody looks further back here; the files stay. */
export const keptSavedFiles = 1_000
/**
 * A model reads an image of so many pixels, the longer side, as a few hundred words, and every assistant shows one of
 * so many bytes.
 */
export const previewPixels = 512
export const previewBytes = 100_000
/** Larger images would take gigabytes to decode. */
export const previewedPixels = 100_000_000
/** One attempt to make a small image; after that the result is delivered without a preview. */
export const previewMs = 8_000
/** Memory of the process that makes one: a hundred million pixels, decoded and as colours of four bytes. */
export const previewMemoryMb = 1_536
/** Previews that are made at once, each by a process of its own, and those that wait. */
export const previewsAtOnce = 2
export const previewsWaiting = 16
/** A part that nobody has written to for so long belongs to nothing: a connection ends within minutes. */
export const oldPartMs = dayMs
/** What is known of a service's limits is over within minutes; the limits themselves are worth a day. */
export const notesKeptMs = dayMs

/** Receipts of charges that are kept of each service: some 40 MB, years of a busy assistant; the oldest go first. */
export const keptReceipts = 20_000
/** A service that does not answer about receipts keeps nobody from an answer for longer. */
export const receiptAskMs = 3_000
/** Receipts a page (the contract's largest), and pages at most, that one look at receipts fetches. */
export const receiptPageRows = 50
export const receiptPages = 4
/** Receipts that one look checks, which had to wait for the service's keys. */
export const recheckedReceipts = 100

/** Of the proxy's token that its owner chose: as hard to guess as one of ours must not be asked of people, a word must not pass. */
export const proxyTokenCharacters = { least: 16, most: 256 } as const

/** Of a program's request: files that the user is told of, and how deep in its body they are looked for. */
export const askedFiles = { most: 12, depth: 8 } as const

/** A look at the credit, for a status that is not to be waited for. */
export const creditLookMs = 5_000

/** A wallet that did not open is tried again by a call after this; each try costs a third of a second. */
export const lockedAgainMs = 10_000
