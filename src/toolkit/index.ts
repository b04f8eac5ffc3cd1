/** The door `farebox/toolkit`: what is needed to write a tool or prompt, and to run one. */
export type { Catalogue } from './catalogue.ts'
export { type Choices, definePrompt, type Prompt } from './define-prompt.ts'
export { defineResource, type Resource, type ResourceContent } from './define-resource.ts'
export { defineTool, type Tool, type ToolAnnotations, type ToolSet, toolSets } from './define-tool.ts'
export { type FailureOutput, failureOutput } from './failure-output.ts'
export { FormFile } from './form-file.ts'
export { fromOutside } from './from-outside.ts'
export { paidOutput, paidShape, sayPaid, Usd } from './paid.ts'
export {
  type AnswerKept,
  type ConsentQuestion,
  NeedsPerson,
  type PayeeQuestion,
  type PersonAnswer,
  type Question,
  type SpendQuestion,
} from './person.ts'
export type { FormField, PersonForm } from './person-form.ts'
export { ResultInstead, type ToolResult } from './result-instead.ts'
export { runTool, type ToolOutcome } from './run-tool.ts'
export { isoTime, sayUsd, usd } from './say-amount.ts'
export { sayFailure } from './say-failure.ts'
export { sayOpenQuestion, sayQuestion } from './say-question.ts'
export type { Shown } from './shown.ts'
export type { Task, TaskDesk, TaskState } from './task-desk.ts'
export type * from './tool-context.ts'
export { type FailureFacts, ToolFailure } from './tool-failure.ts'
export type { CalledTool, Invocation, ToolHost } from './tool-host.ts'
