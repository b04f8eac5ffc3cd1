import { dayMs } from '#contract/time.ts'

/** Brief §2.6: a prompt's length on a model that says nothing else. */
export const promptCharacters = 2_500

/** Models of one service; the list is one answer. */
export const modelCount = 1_000

/** Ids that an answer about a model that there is not names; all of them are a list of its own. */
export const namedModels = 3

/** A voice made of a recording is good for seven days (published contract §8.3). */
export const voiceRetentionMs = 7 * dayMs

/** What chat templates add of their own before the first message: a date, a default instruction, a frame for tools. */
export const templateTokens = 256

/** What chat templates add round every message, beyond the bytes of its JSON. */
export const messageFrameTokens = 16

/** Without a maximum of its own a call holds at most this part of the available credit. */
export const creditParts = 5n

/** Tokens of an answer below which a call without a maximum is not worth starting. */
export const usefulCompletionTokens = 256

/** Tokens that an engine may report of one call; more is a fault of its counter, and the text is counted here instead. */
export const reportedTokens = 1_000_000_000

/** What a model adds to each text that it embeds: a beginning, an end, a word on what it is for. */
export const embeddingFrameTokens = 16
