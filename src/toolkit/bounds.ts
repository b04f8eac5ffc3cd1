import { hourMs, minuteMs } from '#contract/time.ts'

/** Client's wait of one call ends at about 60 s in the strictest assistants, so a wait stays well below. */
export const longestWaitSeconds = 45

/** Assistants move longer answers into files of their own, out of the model's sight. */
export const answerCharacters = 48_000

/** What is shown of a longer text that is saved whole: it stands in the words and in the structure of an answer. */
export const extractCharacters = 12_000

/** A refusal names this many wrong arguments; the next call shows the rest. */
export const refusedArguments = 5

/** What a service says of a refusal, and of one value in it: allowed values of a long list fit. */
export const saidCharacters = 1_500
export const reasonCharacters = 600

/** A name that a caller made up is repeated up to here. */
export const untrustedNameCharacters = 60

/** Ids of models and transactions as strangers name them; the longest honest ones have about 100 characters. */
export const untrustedIdCharacters = 120

/** Words within such an id: `black-forest-labs/flux-kontext-max` has six. */
export const untrustedIdWords = 6

/** The line that opens a frame: an id and a few words of ours. */
export const frameLabelCharacters = untrustedIdCharacters + 60

/** Results of one search, and how much of each is shown: twenty stay below a long page. */
export const webResults = { default: 10, maximum: 20, addressCharacters: 2_000 } as const
export const excerptCharacters = 1_000

/** Rows of a list that a model reads without harm to its context. */
export const listRows = { default: 10, maximum: 50 } as const

/** A model's record is about 120 tokens, so a full page of them stays below 3,000. */
export const modelRows = { default: 10, maximum: 20 } as const

/** A stranger's description of a model. */
export const descriptionCharacters = 160

/**
 * Images in one question or one video request (brief §2.6: nine references at most; published contract §7.4: three to
 * be edited).
 */
export const imagesInCall = { chat: 8, reference: 9, edit: 3 } as const

/** Recordings and films in one question, and earlier messages before it. */
export const chatMedia = { audio: 4, videos: 2, history: 200 } as const

/** Models that are named where one is not there. */
export const nearModels = 3
/** Prices of one model that are shown: each size at each quality is a dozen. */
export const unitPricesShown = 16

/** Rows of one kind that a resource shows, and that one of them is looked for in; a call of a tool shows fewer. */
export const resourceRows = { shown: 50, looked: 100, files: 100 } as const

/** A saved file within one message: base64 adds a third, and transports refuse messages above 10 MiB. */
export const resourceFileBytes = 6 * 1024 * 1024

/** What a client may keep: a list of models is that old here too, and money changes with every call. */
export const keepMs = { models: 5 * minuteMs, money: 0, files: hourMs } as const

/** Texts of one call for vectors: what services take at most. */
export const embeddingTexts = 2_048

/** Values of one call to a chain node; the longest methods have five. */
export const rpcParameters = 20

/** Days that a report is about; a service keeps them for years, and a reader wants weeks. */
export const reportDays = { default: 7, maximum: 90 } as const
/** Charges that a report of a wallet sums up, the newest. */
export const reportedCharges = 5_000

/** Values of one choice that are shown: some models have two hundred voices. */
export const choiceNames = 40

/** Questions to the user within one call; a call needs a payee, a price and a consent at most. */
export const questionsInARow = 3

/** Least time between two words on the progress of one call, in milliseconds; faster ones are not read by anyone. */
export const progressEveryMs = 500

/** Assistants cut a progress message here, and a terminal breaks the line. */
export const progressCharacters = 200

/** Of a server for programs of one machine: they are few, and a body of the largest size over loopback takes a second. */
export const loopbackConnections = 256

/** As Node names them; in milliseconds and bytes. */
export const loopbackServerOptions = {
  headersTimeout: 15_000,
  requestTimeout: 60_000,
  maxHeaderSize: 32 * 1024,
} as const
