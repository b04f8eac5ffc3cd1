/** `farebox/toolkit`: everything needed to write a tool or prompt, and to run one. */

export {
  type AnswerKept,
  type ApprovalDecision,
  type ApprovalRequest,
  ApprovalRequired,
  type ConsentRequest,
  type PayeeRequest,
  type SpendRequest,
  sayOpenRequest,
  sayRequest,
} from './approval.ts'
export type { Catalogue, FormField, UserForm } from './define.ts'
export {
  type Choices,
  definePrompt,
  defineResource,
  defineTool,
  type Prompt,
  type Resource,
  type ResourceContent,
  type Tool,
  type ToolAnnotations,
  type ToolSet,
  toolSets,
} from './define.ts'
export { paidOutput, paidShape, sayPaid, Usd } from './output/paid.ts'
export { ResultInstead, runTool, type ToolOutcome, type ToolResult } from './run-tool.ts'
export type * from './tool-context.ts'
export type { Shown } from './tool-context.ts'
export { type FailureFacts, type FailureOutput, failureOutput, sayFailure, ToolFailure } from './tool-failure.ts'
export type { CalledTool, Invocation, Task, TaskState, TaskStore, ToolHost } from './tool-host.ts'
export { isoTime, sayUsd, usd } from './values/amounts.ts'
export { FormFile } from './values/form-file.ts'
export { fromOutside } from './values/untrusted.ts'
