/** `farebox`: an agent that pays for its own calls. */
export type { ApprovalRequest } from '#toolkit/approval.ts'
export { type ApprovalDecision, ApprovalRequired } from '#toolkit/approval.ts'
export type { Receipt, Shown, ToppedUp, WalletClient, WalletView } from '#toolkit/tool-context.ts'
export { type FailureFacts, ToolFailure } from '#toolkit/tool-failure.ts'
export { type Agent, agentFromEnvironment, createAgent } from './create-agent.ts'
export { refusalHeader } from './fetch/refused-answer.ts'
export type {
  AgentOptions,
  AskUser,
  EnvironmentAgentOptions,
  UnpricedCalls,
} from './settings/agent-options.ts'
export type {
  AgentTool,
  AgentToolResult,
  CallOptions,
  CallTool,
  ToolArguments,
  ToolCalls,
  ToolName,
  ToolOutput,
} from './tools/agent-tool.ts'
export {
  type AiSdkTool,
  aiSdkTools,
  type LangChainTool,
  langChainTools,
  type OpenAiTool,
  type OpenAiToolCall,
  type OpenAiToolMessage,
  type OpenAiTools,
  openAiTools,
} from './tools/agent-tool.ts'
