import { hourMs, minuteMs } from '#contract/time.ts'

/** The strictest assistants wait about 60 s for a call, so a wait stays well below that. */
export const longestWaitSeconds = 45

/** Assistants move longer answers into files, where the model does not see them. */
export const answerCharacters = 48_000

/**
 * How much to show of a longer text that is saved whole: it appears in both the text and the structure of an answer.
 */
export const extractCharacters = 12_000

/** How many wrong arguments a refusal names; the next call shows the rest. */
export const refusedArguments = 5

/** Longest text of a service about a refusal, and about one value in it: a long list of allowed values fits. */
export const saidCharacters = 1_500
export const reasonCharacters = 600

/** How much of a caller's own name is repeated. */
export const untrustedNameCharacters = 60

/** Longest untrusted id of a model or transaction; the longest honest ones have about 100 characters. */
export const untrustedIdCharacters = 120

/** Words in such an id: `black-forest-labs/flux-kontext-max` has six. */
export const untrustedIdWords = 6

/** Longest label of a quoted block: an id and a few words of ours. */
export const frameLabelCharacters = untrustedIdCharacters + 60

/** Results of one search, and how much of each is shown: twenty stay below a long page. */
export const webResults = { default: 10, maximum: 20, addressCharacters: 2_000 } as const
export const excerptCharacters = 1_000

/** Rows of a list that a model can read without harm to its context. */
export const listRows = { default: 10, maximum: 50 } as const

/** A model's record is about 120 tokens, so a full page of them stays below 3,000. */
export const modelRows = { default: 10, maximum: 20 } as const

/** Longest untrusted description of a model. */
export const descriptionCharacters = 160

/** Images in one prompt, in one video request (brief §2.6) and in one edit (published contract §7.4). */
export const imagesInCall = { chat: 8, reference: 9, edit: 3 } as const

/** Recordings and videos in one prompt, and earlier messages before it. */
export const chatMedia = { audio: 4, videos: 2, history: 200 } as const

/** Similar models to name if one does not exist. */
export const nearModels = 3
/** Prices to show per model: each size at each quality is a dozen. */
export const unitPricesShown = 16

/** Rows of one kind that a resource shows, and among which it searches for one; a tool call shows fewer. */
export const resourceRows = { shown: 50, looked: 100, files: 100 } as const

/** Largest saved file within one message: base64 adds a third, and transports refuse messages above 10 MiB. */
export const resourceFileBytes = 6 * 1024 * 1024

/**
 * How long a client may cache an answer: the list of models is cached as long here too, and money changes with every
 * call.
 */
export const keepMs = { models: 5 * minuteMs, money: 0, files: hourMs } as const

/** Texts per embedding call: the most that services accept. */
export const embeddingTexts = 2_048

/** Parameters of one call to a chain node; the longest methods have five. */
export const rpcParameters = 20

/** Days that a report covers; a service keeps years, and a reader wants weeks. */
export const reportDays = { default: 7, maximum: 90 } as const
/** How many of the newest charges a wallet's report sums up. */
export const reportedCharges = 5_000

/** Values of one choice to show: some models have two hundred voices. */
export const choiceNames = 40

/** Requests for approval within one call; a call needs at most a payee, a price and a consent. */
export const approvalsInARow = 3

/** Minimum time between two progress messages of one call, in milliseconds, because users cannot read faster ones. */
export const progressEveryMs = 500

/** Assistants truncate a progress message here, and a terminal wraps it. */
export const progressCharacters = 200

/**
 * Connections of a server for this machine's programs: they are few, and the largest body takes a second over loopback.
 */
export const loopbackConnections = 256

/** Names as in Node; in milliseconds and bytes. */
export const loopbackServerOptions = {
  headersTimeout: 15_000,
  requestTimeout: 60_000,
  maxHeaderSize: 32 * 1024,
} as const
