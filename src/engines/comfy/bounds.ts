/** A workflow of some hundred nodes has tens of kilobytes. */
export const workflowBytes = 4 * 1024 * 1024

/** An answer about a job repeats its workflow. */
export const comfyAnswerBytes = 8 * 1024 * 1024

/** How long the server may take to answer a question, or to take in a picture. */
export const comfyQuestionMs = 30_000

/** Work of late among which a lost one is looked for: the server keeps ten thousand, and each repeats its workflow. */
export const comfyHistoryEntries = 32

/** Of their list; work of the server's own page brings the picture of its workflow as well, some hundred kilobytes. */
export const comfyHistoryBytes = 64 * 1024 * 1024

/** A picture from its submission to its last byte; others may stand in line before it. */
export const comfyRunMs = 600_000

/** The server says when work ends; it is asked this often all the same, because what it says may be lost. */
export const comfyPollMs = 2_000

/** How often a video is begun anew whose server has forgotten it: its line lives in memory and ends with it. */
export const comfyBeginnings = 3
