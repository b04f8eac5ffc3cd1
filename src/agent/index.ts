/** The door `farebox`: an agent that pays its own way. */
export type { Question } from '#toolkit/person.ts'
export { NeedsPerson, type PersonAnswer } from '#toolkit/person.ts'
export type { Receipt, ToppedUp, WalletDesk, WalletView } from '#toolkit/tool-context.ts'
export { type FailureFacts, ToolFailure } from '#toolkit/tool-failure.ts'
export type { AgentTool, AgentToolResult } from './agent-tool.ts'
export { type Agent, type AgentOptions, createAgent } from './create-agent.ts'
export { refusalHeader } from './fetch.ts'
export type { AskPerson } from './person-asked.ts'
