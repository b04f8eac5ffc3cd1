/** Of a message that a demonstration repeats, so that its answers stay short. */
export const quotedCharacters = 240

/** How far a demonstration counts when it is asked to: enough for a long stream. */
export const countedNumbers = 10_000

/** Between two chunks, so that a stream can be seen as one. */
export const chunkPauseMs = 15

/** All pauses of one stream together, so that a long answer is not slow for show. */
export const streamPauseMs = 4_000

/** Encodes that run at once; the machine serves requests beside them. */
export const encodesAtOnce = 2

/** Jobs that wait for an encoder; what comes beyond is told to come again. */
export const encodesWaiting = 1_000

/** A demonstration takes seconds; an encoder that needs longer than this hangs. */
export const encodeMs = 120_000

/** The largest file of an encode: ten seconds of 1080p stay below 30 MB. */
export const encodedBytes = 200 * 1024 * 1024

/** What is kept of an encoder's complaints. */
export const complaintCharacters = 2_000

/** Failures that are remembered until their job asks; the oldest are forgotten, and would be tried again. */
export const rememberedFailures = 1_000

/** Characters of a prompt that are drawn into the image. */
export const captionCharacters = 96

/** How long a server may take to accept a connection; on a healthy network it is milliseconds. */
export const connectMs = 5_000

/** Until the first byte of a stream: a long prompt on a busy machine is read within two minutes. */
export const firstByteMs = 120_000

/** A whole answer that is not streamed. */
export const answerMs = 600_000

/** Silence between two pieces of an answer, after which its server counts as gone. */
export const silenceMs = 60_000

/** The longest stream; at ten tokens a second it is 18,000. */
export const streamMs = 1_800_000

/**
 * A whole answer: sixteen choices of 32,000 tokens stay below it. With log probabilities, of which twenty take 2,000 bytes a
 * token and more, it is 12,000 tokens: the service refuses requests for larger ones before it asks.
 */
export const answerBytes = 32 * 1024 * 1024

/** All of a stream; every event repeats some 200 bytes of frame. */
export const streamBytes = 64 * 1024 * 1024

/** One line of a stream, and the data of one event; tool calls may come whole. */
export const eventCharacters = 1024 * 1024

/** Of an answer that says what went wrong. */
export const refusalBytes = 64 * 1024

/** Connections to one server; beyond them calls wait for a free one. */
export const connectionsPerEngine = 1_024

/** An idle connection is kept this long, below the 5 s after which common servers close theirs. */
export const idleConnectionMs = 4_000

/** How long a stream that said it is done may take to end, before its connection is given up. */
export const lingerMs = 1_000

/** The longest wait that a server's Retry-After may ask of our callers. */
export const retryAfterSeconds = 3_600

/** Nesting of an answer's JSON; real ones stay below 20. */
export const answerDepth = 64

/** Vectors of one answer: 2,048 of 1,024 dimensions, each printed in up to 22 characters. */
export const vectorBytes = 64 * 1024 * 1024

/** One text of Flite, and those that wait for it: 4,096 characters take some 5 s. */
export const fliteMs = 60_000
export const flitesWaiting = 100

/** The audio of a video that is transcribed; at this rate speech loses nothing, and two hours are 58 MB as MP3. */
export const heardRate = 16_000
export const heardSeconds = 2 * 60 * 60

/** The answer of a transcription: hours of words with their times. */
export const transcriptBytes = 16 * 1024 * 1024

/** Images of one answer as base64: four of some megabytes each. */
export const imageAnswerBytes = 64 * 1024 * 1024

/** The context of a GGUF file, where its operator says nothing: longer ones cost memory that most prompts never use. */
export const ggufContextTokens = 8_192

/** llama.cpp makes no context that is shorter. */
export const leastContextTokens = 1_024

/** Texts that the local embedding model takes at once; more need memory and are no faster. */
export const textsAtOnce = 32

/** All texts of a request: 2,048 long ones take half a minute. */
export const embedMs = 120_000

/** Memory of the thread that embeds; the model takes 60 MB of it. */
export const embedHeapMb = 512

/** Requests that wait for that thread; what comes beyond is told to come again. */
export const embedsWaiting = 64

/** How long a server of this machine may take to list its models; whoever looks for one must hardly notice. */
export const localServerMs = 500

/** Of such a list. */
export const localListBytes = 1024 * 1024
export const localModels = 1_000

/** One recording of speech: an hour takes twenty minutes of one core. */
export const hearingMs = 1_800_000

/** Recordings that are heard at once, each on a core of its own, and those that wait; what comes beyond is told to come again. */
export const hearingsAtOnce = 2
export const hearingsWaiting = 32

/** Of an answer about a voice: an id and a model's name. */
export const voiceAnswerBytes = 64 * 1024
