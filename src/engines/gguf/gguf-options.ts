export interface GgufOptions {
  /** The file of the model. */
  path: string
  /** Of prompt and answer together; what the model was trained on, or 8,192 where that is more, where absent. */
  contextTokens?: number
  /** Answers that are made at once, each with a context of its own in memory; 1 where absent. More are told to come again. */
  parallel?: number
  /** Of the processor; all that llama.cpp finds useful where absent. */
  threads?: number
}
