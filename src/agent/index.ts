/** The door `farebox`: an agent that pays its own way. */
export type { Question } from '#toolkit/approval.ts'
export { NeedsPerson, type PersonAnswer } from '#toolkit/approval.ts'
export type { Receipt, Shown, ToppedUp, WalletClient, WalletView } from '#toolkit/tool-context.ts'
export { type FailureFacts, ToolFailure } from '#toolkit/tool-failure.ts'
export { agentFromEnvironment, type EnvironmentAgentOptions } from './agent-from-environment.ts'
export { type Agent, type AgentOptions, createAgent } from './create-agent.ts'
export { refusalHeader } from './fetch/fetch.ts'
export type { UnpricedCalls } from './fetch/unpriced-calls.ts'
export type { AgentTool, AgentToolResult } from './tools/agent-tool.ts'
export { type AiSdkTool, aiSdkTools } from './tools/ai-sdk-tools.ts'
export {
  type OpenAiTool,
  type OpenAiToolCall,
  type OpenAiToolMessage,
  type OpenAiTools,
  openAiTools,
} from './tools/openai-tools.ts'
export type { AskPerson } from './tools/person-asked.ts'
