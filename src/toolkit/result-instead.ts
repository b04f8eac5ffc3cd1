import type { Shown } from './shown.ts'

/** What a call of a tool gives its caller. */
export interface ToolResult {
  output: Record<string, unknown>
  /** The output in words. */
  text: string
  files: { path: string; mimeType: string }[]
  shows?: readonly Shown[]
  /** The job as which the call goes on; absent where this is its end. */
  jobId?: string
}

/**
 * Thrown by a context's effects, never caught by a tool: the call comes to this and not to the tool's own result. Work that
 * takes too long has become a job; and who waits for such a job gets the result of the tool that began it.
 */
export class ResultInstead extends Error {
  readonly result: ToolResult

  constructor(result: ToolResult) {
    super(result.text)
    this.name = 'ResultInstead'
    this.result = result
  }
}
