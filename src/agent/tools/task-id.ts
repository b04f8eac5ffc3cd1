/** The job's own id is 80 random bits; the tool's name before it says whose result the task comes to. */
const form = /^([a-z][a-z0-9_]{0,63})\.(job_[0-9a-z]{16})$/

export const taskId = (tool: string, jobId: string): string => `${tool}.${jobId}`

/** Null for what is no id of ours. */
export function readTaskId(id: string): { tool: string; jobId: string } | null {
  const [, tool, jobId] = form.exec(id) ?? []
  return tool !== undefined && jobId !== undefined ? { tool, jobId } : null
}
